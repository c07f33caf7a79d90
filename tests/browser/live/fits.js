const sizes = (state) => ({ ...AbhFits.first, ...state });
// `./book run 09 systems` counts the article's encoder and decoder, which has 4 d^2 + 6 d more a layer, and three tables.
equal(AbhFits.parameters(6, 512, 1000) + 6 * (16 * 512 ** 2 + 19 * 512) + 2 * 512 * 1000 + 1000, 45675496);
// what the page says of 32 layers of width 4096, and of 16, 9, 5.5 and 2 bytes for each parameter
for (const [kept, wanted] of [["all", "30.6"], ["weights", "9.1"], ["inputs", "0.5"]])
  equal(AbhFits.gigabytes(sizes({ kept }))[3].toFixed(1), wanted);
[16, 9, 5.5, 2].forEach((bytes, stage) => {
  const sum = AbhFits.gigabytes(sizes({ stage, batch: 0 })).reduce((a, b) => a + b);
  demand(Math.abs((sum * 1e9) / AbhFits.parameters(32, 4096, 32000) / bytes - 1) < 1e-12, `stage ${stage}: ${sum} GB`);
});
equal(row(all("td").slice(-5)), "26.3 26.3 6.6 30.6 89.8");
choose(part.controls.stage.select, 2);
await says("6,575 million parameters, and 66.8 GB on each rank.");
type(part.controls.length.input, 128);
await says("and 36.8 GB");
