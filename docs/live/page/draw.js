"use strict";
// <abh-draw>: the next word of a line, as two models have it: what temperature, top-k and top-p leave of their probabilities, and
// darts that draw from it.
class AbhDraw extends LivePart {
  static eager = true;
  static rows = 8;  // at most seven words fit at one place; the last row is all others

  async start(body) {
    [this.module] = await Promise.all([live.sampling(), live.script("next.js")]);
    const { words, line } = live.next, again = () => this.again();
    this.model = choice("model trained", [["smooth", "with label smoothing"], ["exact", "without label smoothing"]], again);
    this.place = slider("words so far", { min: 1, max: line.length, step: 1, value: 4 }, String, again);
    this.heat = slider("temperature", { min: 0, max: 3, step: 0.05, value: 1 }, (x) => shown(x), again);
    this.k = slider("top-k", { min: 0, max: 12, step: 1, value: 0 }, (k) => (k ? `${k}` : "all"), again);
    this.p = slider("top-p", { min: 0.05, max: 1, step: 0.05, value: 1 }, (x) => shown(x), again);
    this.read = make("p", { class: "reads" });
    this.strip = svg("svg", { viewBox: "0 0 440 62", role: "img", class: "strip" });
    this.note = make("p", { class: "note" });
    this.names = Array.from({ length: AbhDraw.rows }, () => make("th", { scope: "row" }));
    this.cells = this.names.map(() => ["figure", "figure", "bars", "figure"].map((kind) => make("td", { class: kind })));
    const head = ["", "softmax", "drawn from", "", "drawn"].map((name) => make(name ? "th" : "td", name ? { scope: "col" } : {}, name));
    this.lines = this.names.map((name, i) => make("tr", {}, name, ...this.cells[i]));
    const table = make("table", { "aria-label": "next words" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...this.lines));
    body.append(
      make("div", { class: "bar" }, this.model.row, this.place.row),
      this.read,
      make("div", { class: "bar" }, this.heat.row, this.k.row, this.p.row),
      this.strip, make("div", { class: "part" }, table), this.note,
      make("div", { class: "bar" },
        press("throw a dart", () => this.draw(1)), press("throw 100", () => this.draw(100)),
        press("start again", () => this.pose({}) && this.say("As at the start"))),
      this.said);
    body.append(...listings("sampling-cpp-sampling-the-idea", "sampling-cpp-draw"));
    this.total = words.length;
    this.again();
  }

  /** @param state  `model`, "exact" or "smooth"; the `place`, how many words are there; `temperature`, `top_k`, `top_p`; `draws` */
  pose({ model = "smooth", place = 4, temperature = 1, top_k = 0, top_p = 1, draws = 0 }) {
    this.model.select.value = model;
    for (const [one, value] of [[this.place, place], [this.heat, temperature], [this.k, top_k], [this.p, top_p]]) slide(one, value);
    this.again();
    if (draws) this.draw(draws);
    const others = `${shown(this.others(this.q), 3)} on words that do not fit`;
    return draws ? `of ${draws} words, ${this.counted.at(-1)} do not fit.` : `this leaves ${others}.`;
  }
  get given() {
    return [this.heat.input.valueAsNumber, this.k.input.valueAsNumber, this.p.input.valueAsNumber, this.total, this.logits];
  }
  get at() {
    return this.place.input.valueAsNumber;
  }
  others(p) {
    return p.reduce((sum, x, j) => sum + (this.fits.includes(j) ? 0 : x), 0);
  }

  /** New probabilities: the darts are counted anew, from number 0 of the stream on. */
  again() {
    const { words, line, counts } = live.next, n = this.total, here = (numbers) => numbers.slice((this.at - 1) * n, this.at * n);
    const row = here(live.next[this.model.select.value]), often = here(counts);
    this.order = words.map((_, j) => j).sort((i, j) => row[j] - row[i]);  // as they lie on the bar, the likeliest first
    this.logits = this.order.map((j) => row[j]);
    const byWord = (found) => words.map((_, j) => found[this.order.indexOf(j)]);
    this.fits = words.map((_, j) => j).filter((j) => often[j] > 0);
    this.q = byWord(this.module.call("sampling", ...this.given).left);
    this.softmax = byWord(this.module.call("sampling", 1, 0, 1, n, this.logits).left);
    this.fits.sort((i, j) => this.softmax[j] - this.softmax[i]);
    this.counted = Array(this.fits.length + 1).fill(0);
    this.thrown = 0;
    this.dart = undefined;
    this.read.replaceChildren(...glossed(line.slice(0, this.at).join(" ")), " ", make("span", { class: "word now" }, "?"));
    this.show();
    const kept = this.q.filter((q) => q > 0).length;
    this.sayLater(`${kept} of ${n} words are left; ${shown(this.others(this.q), 3)} lies on words that do not fit.`);
  }
  draw(count) {
    const { words } = live.next, result = this.module.call("draw", ...this.given, 1, this.thrown, count).left;
    for (let i = 0; i < result.length; i += 2) {
      const row = this.fits.indexOf(this.order[result[i + 1]]);
      this.counted.splice(row, 1, this.counted.at(row) + 1);  // −1 is the last row
    }
    this.thrown += count;
    this.dart = { u: result.at(-2), word: this.order[result.at(-1)] };
    this.show();
    const hit = `Number ${this.thrown - 1} of seed 1 is ${shown(this.dart.u, 3)} and hits ${words[this.dart.word]}`;
    this.say(`${hit}. Of ${this.thrown}, ${this.counted.at(-1)} do not fit.`);
  }
  show() {
    const { words } = live.next, { fits } = this, tail = this.others(this.q);
    this.lines.forEach((line, i) => {
      const last = i === fits.length, j = fits[i];
      line.classList.toggle("unused", i > fits.length);
      line.classList.toggle("others", last);
      if (i > fits.length) return;
      const p = last ? this.others(this.softmax) : this.softmax[j], q = last ? tail : this.q[j];
      this.names[i].replaceChildren(...(last ? [`${words.length - fits.length} others`] : glossed(words[j])));
      const [before, now, bars, count] = this.cells[i];
      before.textContent = shown(p, 3);
      now.textContent = shown(q, 3);
      bars.style.setProperty("--part", q.toFixed(4));
      bars.style.setProperty("--drawn", (this.counted[i] / (this.thrown || 1)).toFixed(4));
      count.textContent = `${this.counted[i]}`;
    });
    this.note.textContent = `The others do not fit: no line of the grammar has them here. With such a tail at each of fourteen words, ${shown(1 - tail, 3)}¹⁴ = ${shown((1 - tail) ** 14)} of all lines would be right.`;
    this.pieces();
  }
  /** The bar, the likeliest word first, and the last dart. */
  pieces() {
    const { words } = live.next, parts = [];
    let left = 0;
    for (const j of this.order.filter((j) => this.q[j])) {
      const q = this.q[j];
      const fits = this.fits.includes(j), hit = this.dart?.word === j, x = 4 + 432 * left, width = 432 * q;
      const kind = `${fits ? "fits" : "other"}${hit ? " hit" : ""}`;
      parts.push(svg("rect", { x: x.toFixed(2), y: 22, width: width.toFixed(2), height: 26, class: kind }));
      if (width > 8 + 13 * words[j].length) parts.push(text(x + width / 2, 40, words[j], "middle"));
      left += q;
    }
    const at = this.dart && 4 + 432 * this.dart.u;
    if (this.dart) parts.push(svg("path", { d: `M${at} 52V20l-5 -10h10l-5 10`, class: "dart" }));
    parts.push(text(4, 60, "0", "start"), text(436, 60, "1", "end"));
    this.strip.replaceChildren(...parts);
    const dart = this.dart ? `; a dart at ${shown(this.dart.u, 3)} hits ${words[this.dart.word]}` : "";
    this.strip.setAttribute("aria-label", `The bar from 0 to 1, a piece for each word that is left${dart}`);
  }
}
customElements.define("abh-draw", AbhDraw);
