"use strict";
// <abh-softmax>: a row of scores, its weights at a temperature, and what reaches the scores from one of the weights.
class AbhSoftmax extends LivePart {
  static eager = true;

  async start(body) {
    this.layers = await live.layers();
    const example = this.layers.call("example"), [q, k, v] = [32, 32, 16].map((n) => example.take(n));
    // Attention with scale 1 gives q · k of all words, before they are divided by the root.
    this.example = this.layers.call("attention", 8, 8, 4, 2, 1, 0, q, k, v, v.map(() => 0), Array(64).fill(0)).take(64);
    this.words = this.layers.words.slice(0, 7);  // without the padding
    const options = named(this.words).map((word, j) => [j, word]);
    this.row = choice("scores of", options, () => this.again(`The scores of ${this.words[this.row.select.value]}`));
    const degrees = (x) => shown(AbhSoftmax.temperature(x));
    this.heat = slider("temperature", { min: -1, max: 1, step: 0.02, value: 0 }, degrees, () => this.update());
    this.of = choice("loss: the weight of", options, () =>
      this.update(`The loss is the weight of ${this.words[this.of.select.value]}`));
    body.append(
      make("div", { class: "bar" }, this.row.row, this.heat.row,
        press("divide by √dₖ = 2", () => this.cool(2, "Divided by √dₖ"))),
      this.table(),
      make("div", { class: "bar" }, this.of.row, press("start again", () => {
        this.row.select.value = this.of.select.value = "4";
        this.cool(1, "");
        this.again("As in the chapter");
      })),
      make("p", {}, "The weights are softmax of s / temperature, and √dₖ is such a temperature. ds says how fast the ",
        "loss grows with each score. If one weight is nearly 1, every ds is nearly 0: the row is saturated."),
      this.said);
    this.row.select.value = this.of.select.value = "4";
    this.again();
  }
  /** Of a logarithmic slider, to three digits: 2 at 0.3. */
  static temperature(x) {
    return Number((10 ** x).toPrecision(3));
  }

  table() {
    const { box, cells } = grid("", ["s", "weight", "ds"], this.words, (i, j) => {
      if (i) return make("td", { class: i === 1 ? "number column" : "number column signed" });
      const label = `score of ${this.words[j]}`;
      return numeric(label, (x) => {
        this.z[j] = x;
        this.update(`The ${label} is ${shown(x)}`);
      }, () => this.sayLater("A score is a number from −99 to 99."));
    });
    box.querySelector("caption").remove();
    box.querySelector("table").setAttribute("aria-label", "Scores, weights and gradients of a row");
    [this.inputs, this.weights, this.dz] = [0, 7, 14].map((at) => cells.slice(at, at + 7));
    return box;
  }

  cool(temperature, said) {
    this.heat.input.value = `${Math.log10(temperature)}`;
    this.heat.input.say();
    if (said) this.update(said);
  }
  /** The scores of the chosen word. */
  again(said) {
    const at = 8 * this.row.select.value;
    this.z = [...this.example.subarray(at, at + 7)];
    this.z.forEach((z, j) => (this.inputs[j].value = `${z}`));
    this.update(said);
  }
  /** @param state  `row`, whose scores, or the scores `z` themselves; the `temperature`; `of`, whose weight is the loss */
  pose({ row = 4, z, temperature = 1, of = row }) {
    this.row.select.value = `${row}`;
    this.of.select.value = `${of}`;
    this.cool(temperature);
    this.again("As the task says");
    if (z) {
      this.z = [...z];
      z.forEach((score, j) => (this.inputs[j].value = `${score}`));
      this.update("As the task says");
    }
    const weights = this.weights.map((cell) => Number(cell.textContent)), most = Math.max(...weights);
    const slopes = this.dz.map((cell) => cell.textContent), own = slopes[of];
    return `the largest weight is ${shown(most, 3)}, at ${this.words[weights.indexOf(most)]}; ds of ${this.words[of]} is ${own}.`;
  }
  update(said) {
    const { words } = this, of = Number(this.of.select.value);
    const temperature = AbhSoftmax.temperature(this.heat.input.valueAsNumber);
    let result;
    try {
      result = this.layers.call("softmax", words.length, temperature, this.z, words.map((_, j) => (j === of ? 1 : 0)));
    } catch (error) {
      this.sayLater(error.message);
      return;
    }
    const weights = result.take(7), dz = result.take(7), large = (x) => Math.max(...x.map(Math.abs));
    weights.forEach((w, j) => {
      paint(this.weights[j], w, 1);
      this.weights[j].textContent = shown(w, 3);
      this.weights[j].classList.toggle("picked", j === of);
      paint(this.dz[j], dz[j], Math.max(0.1, large(dz)), true);  // so that small ones look small
      this.dz[j].textContent = shown(dz[j], 3);
    });
    const small = large(dz) < 0.001 ? large(dz).toExponential(0).replace("-", "−") : shown(large(dz), 3);
    said ??= `Temperature ${shown(temperature)}`;
    this.sayLater(`${said}. The largest weight is ${shown(large(weights), 3)}, the largest ds ${small}.`);
  }
}
customElements.define("abh-softmax", AbhSoftmax);
