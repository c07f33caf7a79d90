"use strict";
// <abh-attention>: the running example of chapter 4, forward and backward, by the book's own attention.
class AbhAttention extends LivePart {
  static eager = true;
  static columns = ["who", "does", "how many", "what"];
  static parts = ["place", "friend"];

  async start(body) {
    this.layers = await live.layers();
    const example = this.layers.call("example");
    this.words = this.layers.words;
    this.example = { q: example.take(32), k: example.take(32), v: example.take(16) };
    const fills = (this.fills = [-1e9, -20, -10, -5, -4, -3, -2, -1, 0]);
    const filled = (x) => (x ? shown(fills[x], 0) : "−10⁹");
    this.scale = slider("scale", { min: 0, max: 3, step: 1 / 16, value: 0.5 }, (x) => `${x}`, (x) => this.update(`Scale ${x}`));
    this.fill = slider("fill of hidden scores", { min: 0, max: fills.length - 1, step: 1, value: 0 }, filled,
      (x) => this.update(`Fill ${filled(x)}`));
    this.asks = choice("asking word", named(this.words).map((word, i) => [i, word]), () => this.ask());
    const forward = this.forward(), backward = this.backward();
    body.append(
      make("div", { class: "bar" }, this.asks.row, this.scale.row, this.fill.row),
      make("div", { class: "bar" }, press("scale 1/√dₖ", () => this.set(this.scale, 0.5, "Scale 0.5")),
        press("hide nothing", () => this.hide(() => false, "Nothing is hidden")),
        press("hide P", () => this.hide((i, j) => j === 7, "P is hidden")),
        press("hide P and the future", () => this.hide((i, j) => j === 7 || j > i, "P and the future are hidden")),
        press("start again", () => this.again())),
      this.said, tabs("Attention", { "Forward": forward, "Backward": backward }));
    body.append(...listings("scaled-dot-product-attention-cpp-attention", "scaled-dot-product-attention-cpp-attention-backward"));
    this.again("");
  }

  forward() {
    const { words } = this, { columns, parts } = AbhAttention;
    this.cells = {};
    return make("div", { class: "grids" },
      this.editor("q", "Queries", columns), this.editor("k", "Keys", columns), this.editor("v", "Values", parts),
      this.shown("scores", "Scores, before hiding", words), this.map(), this.shown("y", "Result", parts));
  }
  backward() {
    const { words } = this, { columns, parts } = AbhAttention;
    return make("div", {},
      make("p", {}, "The loss is the sum of the products of dy and the result. dy asks for the column ", make("em", {}, "friend"),
        " of all words but P; edit it to ask for something else. ", make("a", { href: "#backward" }, "The gradients are derived below.")),
      make("div", { class: "grids" },
        this.editor("dy", "dy", parts), this.shown("ds", "ds, of the scores", words)),
      make("div", { class: "grids" },
        this.shown("dq", "dq", columns), this.shown("dk", "dk", columns), this.shown("dv", "dv", parts)),
      make("div", { class: "bar" }, press("compare with differences", () => this.compare())));
  }

  /** A table of boxes to type into. */
  editor(name, title, columns) {
    const { box, cells } = grid(title, this.words, columns, (i, j) => {
      const at = i * columns.length + j;
      const label = `${title}: ${this.words[i]}${i === 7 ? ", padding" : ""}, ${columns[j]}`;
      const input = numeric(label, (x, said) => {
        this.input[name][at] = x;
        this.update(`${label} is ${said}`);
      });
      input.addEventListener("focus", () => input.select());
      input.addEventListener("change", () => (input.value = `${this.input[name][at]}`));  // what is no number is undone
      return input;
    });
    this.cells[name] = cells;
    return box;
  }
  shown(name, title, columns) {
    const { box, cells } = grid(title, this.words, columns, () => make("td", { class: "number" }));
    cells.forEach((cell, at) => {
      const label = `${title}: ${this.words[Math.floor(at / columns.length)]}, ${columns[at % columns.length]} is `;
      cell.addEventListener("click", () => this.say(label + cell.title.replace("-", "−")));
    });
    this.cells[name] = cells;
    box.classList.add(name);
    return box;
  }
  /** The weights: a click hides a key from a query, or shows it; a click on a key's head, from all queries. */
  map() {
    const names = labels(this.words), all = (j) => press(names[j], () => {
      const hide = !this.mask.every((hidden, at) => at % 8 !== j || hidden);
      this.hide((i, k) => (k === j ? hide : this.mask[8 * i + k] === 1), `${this.words[j]} is ${hide ? "hidden from" : "shown to"} all`);
    }, { class: "key", "aria-label": `${this.words[j]}, for all queries` });
    const { box, cells } = grid("Weights: click to hide or show", this.words, this.words.map((_, j) => all(j)), (i, j) =>
      press("", () => {
        this.mask[8 * i + j] ^= 1;
        this.update(`${this.words[j]} is ${this.mask[8 * i + j] ? "hidden from" : "shown to"} ${this.words[i]}`);
      }));
    arrows(cells, 8);
    this.cells.weights = cells;
    box.classList.add("weights");
    return box;
  }

  /** @param state  `row`, the word that asks; `causal`, whether the future is hidden; `scale`; `fill`, from 0, minus 10⁹, to 8, zero */
  pose({ row = 4, causal = false, scale = 0.5, fill = 0 }) {
    this.again("");
    this.asks.select.value = `${row}`;
    slide(this.scale, scale);
    slide(this.fill, fill);
    this.mark();
    this.hide((i, j) => j === 7 || (causal && j > i), causal ? "P and the future are hidden" : "P is hidden");
    return this.looks();
  }
  ask() {
    this.mark();
    this.say(`Now ${this.looks()}`);
  }
  /** Marks the row of the word that asks. */
  mark() {
    for (const name of ["scores", "weights", "y"]) {
      const rows = this.cells[name][0].closest("tbody").children;
      [...rows].forEach((row, i) => row.classList.toggle("asks", i === this.row));
    }
  }
  get row() {
    return Number(this.asks.select.value);
  }
  /** Where the word that asks looks. */
  looks() {
    const best = this.words.map((word, j) => [this.weights[8 * this.row + j], word]).sort((a, b) => b[0] - a[0]).slice(0, 3);
    return `${this.words[this.row]} looks at ${best.map(([weight, word]) => `${word} ${shown(weight)}`).join(", ")}.`;
  }
  set({ input }, value, said) {
    input.value = `${value}`;
    input.say();
    this.update(said);
  }
  hide(f, said) {
    this.mask = Array.from({ length: 64 }, (_, at) => (f(Math.floor(at / 8), at % 8) ? 1 : 0));
    this.update(said);
  }
  again(said = "As in the chapter") {
    this.input = { ...Object.fromEntries(Object.entries(this.example).map(([name, x]) => [name, [...x]])), dy: Array.from({ length: 16 }, (_, i) => (i < 14 ? i % 2 : 0)) };
    for (const [name, numbers] of Object.entries(this.input)) numbers.forEach((x, at) => (this.cells[name][at].value = `${x}`));
    reset(this.scale, this.fill);
    this.asks.select.value = "4";
    this.mark();
    this.hide((i, j) => j === 7, said);
  }

  /** What goes into a call. A scale of 0 would mean 1/sqrt(d_k), so the smallest stands for it. */
  get given() {
    const { q, k, v, dy } = this.input;
    return [8, 8, 4, 2, this.scale.input.valueAsNumber || 1e-30, this.fills[this.fill.input.value], q, k, v, dy, this.mask];
  }
  update(said) {
    let result;
    try {
      result = this.layers.call("attention", ...this.given);
    } catch (error) {
      this.say(error.message);
      return;
    }
    for (const [name, count] of [["scores", 64], ["weights", 64], ["y", 16], ["ds", 64], ["dq", 32], ["dk", 32], ["dv", 16]]) {
      const numbers = result.take(count), most = Math.max(...numbers.map(Math.abs));
      const map = name === "weights";
      if (map) this.weights = numbers;
      numbers.forEach((x, at) => {
        const cell = this.cells[name][at];
        paint(cell, x, map ? 1 : name === "y" ? 0 : most, !map);
        const text = map ? shown(x).replace(/^0/, "") : shown(x, name === "scores" ? 1 : 2);
        cell.textContent = x === 0 ? (map ? "" : "0") : text;  // what is not quite 0 looks otherwise
        cell.title = `${x}`;
        cell.classList.toggle("zero", Math.abs(x) < 5e-3);
        if (name === "scores" || map) cell.classList.toggle("hidden", this.mask[at] === 1);
        if (!map) return;
        cell.setAttribute("aria-pressed", `${this.mask[at] === 1}`);
        cell.setAttribute("aria-label", `${this.words[at >> 3]} gives ${this.words[at % 8]} ${shown(x)}${this.mask[at] ? ", hidden" : ""}`);
      });
    }
    if (said) this.say(`${said}. Now ${this.looks()}`);
  }
  compare() {
    const result = this.layers.call("attention_check", ...this.given);
    const errors = ["dq", "dk", "dv"].map((name) => `${name} ${result.take(4)[0].toExponential(0).replace("-", "−")}`);
    this.say(`Largest relative errors: ${errors.join(", ")}.`);
  }
}
customElements.define("abh-attention", AbhAttention);
