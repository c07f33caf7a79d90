"use strict";
// <abh-fits>: bytes of a training on each rank, for a stack of layers with one table of words and Adam in single precision, and
// activations in 16 bits.
class AbhFits extends LivePart {
  static eager = false;
  static keeps = true;
  static invitation = "Compute it for other sizes";
  static first = { layers: 32, width: 4096, words: 32000, batch: 1, length: 2048, ranks: 8, stage: 1, kept: "all" };

  async start(body) {
    const update = () => this.update(), whole = (x) => x.toLocaleString("en"), { first } = AbhFits;
    const size = (label, min, max, step, value) => slider(label, { min, max, step, value }, whole, update);
    this.controls = {
      layers: size("layers", 1, 96, 1, first.layers),
      width: size("width", 256, 12288, 256, first.width),
      words: size("vocabulary", 4000, 128000, 4000, first.words),
      batch: size("texts on a rank", 1, 64, 1, first.batch),
      length: size("words of a text", 128, 8192, 128, first.length),
      ranks: size("ranks", 1, 64, 1, first.ranks),
      stage: choice("ZeRO stage", [0, 1, 2, 3].map((n) => [n, n || "none"]), update),
      kept: choice("kept activations", [["all", "all"], ["weights", "no attention weights"], ["inputs", "layers’ inputs"]], update),
    };
    const { box, cells } = grid("Gigabytes on each rank", ["weights", "gradient", "Adam’s means", "activations, in 16 bits", "together"], ["GB"], () => make("td"));
    this.cells = cells;
    const rows = Object.values(this.controls).map(({ row }) => row);
    body.append(make("div", { class: "grids" }, make("div", { class: "sliders" }, ...rows), box), this.said);
    this.pose({});
  }
  /** Maps of 12 d², and biases and norms, of a layer that is four times as wide inside; and the table. */
  static parameters(layers, width, words) {
    return layers * (12 * width ** 2 + 13 * width) + words * width;
  }
  /** Gigabytes of weights, gradient, means and activations; a head has 128 columns. */
  static gigabytes({ layers, width, words, batch, length, ranks, stage, kept }) {
    const all = AbhFits.parameters(layers, width, words), sliced = (from) => (stage >= from ? all / ranks : all);
    const row = { all: 34 + (5 * length) / 128, weights: 34, inputs: 2 }[kept];
    return [4 * sliced(3), 4 * sliced(2), 8 * sliced(1), layers * batch * length * width * row].map((bytes) => bytes / 1e9);
  }

  /** @param state  the sizes, as in `first` */
  pose(state) {
    for (const [name, value] of Object.entries({ ...AbhFits.first, ...state })) {
      const { input, select } = this.controls[name];
      if (input) slide(this.controls[name], value);
      else select.value = `${value}`;
    }
    return this.update();
  }
  update() {
    const of = Object.entries(this.controls).map(([name, { input, select }]) => [name, input?.valueAsNumber ?? select.value]);
    const sizes = Object.fromEntries(of), parts = AbhFits.gigabytes(sizes);
    const all = [...parts, parts.reduce((a, b) => a + b)].map((x) => shown(x, 1));
    this.cells.forEach((cell, i) => (cell.textContent = all[i]));
    const parameters = AbhFits.parameters(sizes.layers, sizes.width, sizes.words);
    const said = `${(parameters / 1e6).toLocaleString("en", { maximumFractionDigits: 0 })} million parameters, and ${all[4]} GB on each rank.`;
    this.sayLater(said);
    return said;
  }
}
customElements.define("abh-fits", AbhFits);
