// Searches in every way that a reader can.
const done = async () => {
  for (let work; work !== part.work; await work) work = part.work;
};
const set = async (control, value) => {
  for (const kind of ["input", "change"]) type(control, value, kind);
  await done();
};
const [select, words] = [one("select"), one("input[type=text]")], [beam, penalty] = all("input[type=range]");
const found = () => all(".found button");
/** Whether what is shown agrees with itself. */
const look = () => {
  const list = found(), k = Number(beam.value);
  demand(list.length >= 1 && list.length <= k, `a beam of ${k} has ${list.length} hypotheses`);
  equal(all("rect[rx='17']").length, list.length);  // ends in the tree
  equal(all(".tree line").length, all(".rounds tbody tr").length);
  equal(list.filter((button) => button.getAttribute("aria-pressed") === "true").length, 1);
};

look();
for (const { value } of [...select.options].filter(({ value }) => value)) {
  await set(select, value);
  equal(words.value, value);
  look();
}
for (let k = 1; k <= 8; ++k) {
  await set(beam, k);
  look();
  if (k === 1) equal(found()[0].textContent, one("p em").textContent);  // what greedy decoding finds
}
for (const alpha of [0, 0.5, 2]) {
  await set(penalty, alpha);
  look();
}
await set(penalty, 1);
await set(beam, 4);
found().forEach((button, i) => {
  button.click();
  equal(found()[i].getAttribute("aria-pressed"), true);
  equal(all("g.way .word").map((word) => word.textContent).join(" "), `S ${button.textContent} E, ${i + 1}`);
});

await set(words, "她喜欢三个老师");
equal([words.value, select.value], ["她 喜 欢 三 个 老 师", ""]);
look();
const before = row(found());
for (const [wrong, said] of [["我 有 狗", "unknown word 狗"], ["", "no word"]]) {
  await set(words, wrong);
  await says(said);
  equal(row(found()), before);
}
await set(words, "我 有 两 个");
look();
