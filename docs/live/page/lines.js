"use strict";
// What the home page's parts share: a translation, and from each of its words lines to the characters that it looked at.

/** Characters as words: [{ id, text }], where two characters that are one word stay together. */
const wordsOf = (characters) => {
  const found = [];
  for (let at = 0, count; at < characters.length; at += count)
    found.push({ id: ++ids, text: characters.slice(at, at + (count = longest(characters, at))).join("") });
  return found;
};

/** A sentence above, its translation below, and lines between, as thick as the weights. */
class Lines {
  static least = 0.05;  // of a weight that gets a line
  static thickest = 11;  // pixels
  static lasts = 600;  // milliseconds, from one sentence to the next

  /**
   * @param touch  called with what there is to hear about a word whose lines are lit
   * @param pick   called with the number of a word above that is pressed; without it, none can be
   */
  constructor(touch = () => {}, pick) {
    Object.assign(this, { touch, pick, lit: -1, now: new Map() });
    this.above = make("div", { class: "above", role: "group", "aria-label": "the sentence" });
    this.below = make("div", { class: "below", role: "group", "aria-label": "its translation" });
    this.picture = svg("svg", { "aria-hidden": "true" });
    this.box = make("div", { class: "lines" }, this.above, this.picture, this.below);
    this.below.addEventListener("pointerleave", () => this.light(-1));
    new ResizeObserver(() => this.said && this.draw(false)).observe(this.box);
  }
  /**
   * @param words    as of `wordsOf`; one that is known by its id from before moves to its new place
   * @param said     the words of the translation
   * @param weights  [said, characters]
   */
  show(words, said, weights) {
    const places = new Map([...this.above.children].map((cell) => [cell.dataset.id, cell.getBoundingClientRect().left]));
    const held = this.above.contains(document.activeElement) && document.activeElement.dataset.id;
    Object.assign(this, { words, said, weights, lit: -1 });
    this.box.classList.remove("some");
    this.above.replaceChildren(...words.map((word, k) => this.cell(word, k)));
    this.characters = [...this.above.querySelectorAll(".character")];
    this.below.replaceChildren(...said.map((word, i) => {
      const button = press(word, () => this.light(i), { class: "word-said" });
      for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => this.light(i));
      return button;
    }));
    this.box.style.setProperty("--count", `${this.characters.length}`);
    this.box.style.setProperty("--letters", `${said.join("").length + 3 * said.length}`);
    this.draw(!Lines.still);
    for (const cell of this.above.children) {
      if (cell.dataset.id === held) cell.focus();
      const moved = places.get(cell.dataset.id) - cell.getBoundingClientRect().left;
      if (moved && !Lines.still) cell.animate([{ transform: `translateX(${moved}px)` }, { transform: "none" }], { duration: Lines.lasts, easing: "ease" });
    }
  }
  cell({ id, text }, k) {
    const gloss = meaning(text), inside = [
      make("span", { lang: "zh" }, ...[...text].map((character) => make("span", { class: "character" }, character))), make("span", { class: "gloss" }, gloss)];
    const cell = this.pick ? press("", () => this.pick(k), { "aria-pressed": "false", "aria-label": `${text}, ${gloss}` }) : make("span");
    cell.className = "cell";
    cell.dataset.id = `${id}`;
    cell.append(...inside);
    return cell;
  }
  /** Whether nothing may move. */
  static get still() {
    return matchMedia("(prefers-reduced-motion: reduce)").matches;
  }

  draw(moves) {
    const { left, width, height } = this.picture.getBoundingClientRect(), n = this.characters.length, wanted = new Map();
    if (!width) return;
    const names = this.words.flatMap(({ id, text }) => [...text].map((_, part) => `${id}.${part}`));
    const middle = (element) => {
      const place = element.getBoundingClientRect();
      return place.left + place.width / 2 - left;
    };
    this.weights.forEach((weight, at) => {
      if (weight < Lines.least) return;
      const i = Math.floor(at / n), j = at % n;
      wanted.set(`${i} ${names[j]}`, { i, from: middle(this.below.children[i]), to: middle(this.characters[j]), thick: Lines.thickest * weight });
    });
    this.picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const before = new Map(moves ? this.now : []), ways = new Map();
    for (const [key, { i, from, to }] of [...before, ...wanted])
      ways.set(key, { start: before.get(key) ?? { from, to, thick: 0 }, end: wanted.get(key) ?? { from, to, thick: 0 }, i });
    const begun = performance.now(), turn = (this.turn = {});
    const frame = () => {
      if (this.turn !== turn) return;
      const t = moves ? Math.min(1, (performance.now() - begun) / Lines.lasts) : 1, part = t * t * (3 - 2 * t);
      const mix = (a, b) => a + (b - a) * part;
      this.now = new Map([...ways].filter(([key]) => t < 1 || wanted.has(key)).map(([key, { start, end, i }]) =>
        [key, { i, from: mix(start.from, end.from), to: mix(start.to, end.to), thick: mix(start.thick, end.thick) }]));
      this.picture.replaceChildren(...[...this.now.values()].map(({ i, from, to, thick }) => svg("path", {
        d: `M${from} ${height}C${from} ${0.55 * height} ${to} ${0.45 * height} ${to} 0`, "stroke-width": thick.toFixed(2),
        class: i === this.lit ? "lit" : "" })));
      if (t < 1) requestAnimationFrame(frame);
    };
    frame();
  }
  /** Lets the lines of one word stand out; of -1, none. */
  light(i) {
    if (i >= 0) this.touch(this.told(i));
    this.lit = i;
    this.box.classList.toggle("some", i >= 0);
    [...this.now.values()].forEach((line, at) => this.picture.children[at]?.setAttribute("class", line.i === i ? "lit" : ""));
    [...this.below.children].forEach((word, at) => word.classList.toggle("lit", at === i));
    this.characters.forEach((character, j) => {
      const lit = i >= 0 && this.weight(i, j) >= Lines.least;
      character.classList.toggle("lit", lit);
      character.dataset.weight = lit ? shown(this.weight(i, j)) : "";
    });
  }
  weight(i, j) {
    return this.weights[i * this.characters.length + j];
  }
  /** Where a word looked: the weight of a word above is that of its characters together. */
  told(i) {
    let j = 0;
    const sums = this.words.map(({ text }) => [[...text].reduce((sum) => sum + this.weight(i, j++), 0), text]).sort((a, b) => b[0] - a[0]);
    const most = sums.filter(([weight], at) => !at || weight >= Lines.least).map(([weight, text]) => `${text} ${shown(weight)}`);
    return `${this.said[i]} looks at ${most.join(", ")}`;
  }
}

/** What a model says to a sentence, and the last layer's cross-attention, the mean over heads: [ids.length, characters]. */
async function looked(model, { target }, sentence, most = 20) {
  const { source, ids, finished, maps } = await model.call("translate", { words: sentence, max_words: most });
  const size = (ids.length + (finished ? 1 : 0)) * source.length, layer = maps.cross.at(-1), heads = layer.length / size;
  const mean = (at) => Array.from({ length: heads }, (_, head) => layer[head * size + at]).reduce((a, b) => a + b) / heads;
  return { said: ids.map((id) => target[id]), finished, weights: Array.from({ length: ids.length * source.length }, (_, at) => mean(at)) };
}
