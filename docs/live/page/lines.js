"use strict";
// What the home page's parts share: a translation, and from each of its words lines to the characters that it looked at.

/** What each character of the grammar means by itself. */
live.glosses = { 我: "I", 你: "you", 他: "he", 她: "she", 们: "(plural)", 有: "have", 没: "not", 不: "not", 喜: "like", 欢: "like", 认: "know",
  识: "know", 一: "one", 两: "two", 个: "(unit)", 这: "this", 好: "good", 老: "old", 女: "woman", 男: "man", 朋: "friend", 友: "friend",
  师: "teacher", 学: "study", 生: "student", 孩: "child", 子: "child", 吗: "(asks)" };
/** A character with its gloss. */
const glossed = (character) => make("ruby", {}, character, make("rt", {}, live.glosses[character] ?? ""));

/** A sentence above, its translation below, and lines between, as thick as the weights. */
class Lines {
  static least = 0.05;  // of a weight that gets a line
  static thickest = 11;  // pixels

  /**
   * @param touch  called with what there is to hear about a word whose lines are lit
   * @param pick   called with the number of a character that is pressed; without it, none can be
   */
  constructor(touch = () => {}, pick) {
    Object.assign(this, { touch, pick, lit: -1, now: new Map() });
    this.above = make("div", { class: "above", role: "group", "aria-label": "the sentence" });
    this.below = make("div", { class: "below", role: "group", "aria-label": "its translation" });
    this.picture = svg("svg", { "aria-hidden": "true" });
    this.box = make("div", { class: "lines" }, this.above, this.picture, this.below);
    this.below.addEventListener("pointerleave", () => this.light(-1));
    new ResizeObserver(() => this.words && this.draw(false)).observe(this.box);
  }
  /**
   * @param characters  [{ id, text }]; one that is known by its id from before moves to its new place
   * @param words       the translation
   * @param weights     [words, characters]
   */
  show(characters, words, weights) {
    const places = new Map([...this.above.children].map((cell) => [cell.dataset.id, cell.getBoundingClientRect().left]));
    const held = this.above.contains(document.activeElement) && document.activeElement.dataset.id;
    Object.assign(this, { characters, words, weights, lit: -1 });
    const properties = ({ id }) => ({ class: "character", "data-id": `${id}`, lang: "zh" });
    this.above.replaceChildren(...characters.map((one, j) => this.pick
      ? press(glossed(one.text), () => this.pick(j), { ...properties(one), "aria-pressed": "false" })
      : make("span", properties(one), glossed(one.text))));
    this.below.replaceChildren(...words.map((word, i) => {
      const button = press(word, () => this.light(i), { class: "word-said" });
      for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => this.light(i));
      return button;
    }));
    this.box.style.setProperty("--count", `${characters.length}`);
    this.box.style.setProperty("--letters", `${words.join("").length + 3 * words.length}`);
    for (const cell of this.above.children) {
      if (cell.dataset.id === held) cell.focus();
      const moved = places.get(cell.dataset.id) - cell.getBoundingClientRect().left;
      if (moved && !Lines.still) cell.animate([{ transform: `translateX(${moved}px)` }, { transform: "none" }], { duration: 600, easing: "ease" });
    }
    this.draw(!Lines.still);
  }
  /** Whether nothing may move. */
  static get still() {
    return matchMedia("(prefers-reduced-motion: reduce)").matches;
  }

  draw(moves) {
    const { left, width, height } = this.picture.getBoundingClientRect(), n = this.characters.length;
    const middle = (element) => element.offsetLeft + element.offsetWidth / 2 - this.picture.parentElement.offsetLeft;
    const wanted = new Map();
    if (!width) return;
    this.weights.forEach((weight, at) => {
      if (weight < Lines.least) return;
      const i = Math.floor(at / n), j = at % n;
      wanted.set(`${i} ${this.characters[j].id}`, { i, from: middle(this.below.children[i]), to: middle(this.above.children[j]), thick: Lines.thickest * weight });
    });
    this.picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const before = new Map(moves ? this.now : []), ways = new Map();
    for (const [key, { i, from, to }] of [...before, ...wanted])
      ways.set(key, { start: before.get(key) ?? { from, to, thick: 0 }, end: wanted.get(key) ?? { from, to, thick: 0 }, i });
    const begun = performance.now(), turn = (this.turn = {});
    const frame = () => {
      if (this.turn !== turn) return;
      const t = moves ? Math.min(1, (performance.now() - begun) / 600) : 1, part = t * t * (3 - 2 * t);
      const mix = (a, b) => a + (b - a) * part;
      this.now = new Map([...ways].map(([key, { start, end, i }]) =>
        [key, { i, from: mix(start.from, end.from), to: mix(start.to, end.to), thick: mix(start.thick, end.thick) }]));
      this.picture.replaceChildren(...[...this.now.values()].map(({ i, from, to, thick }) => svg("path", {
        d: `M${from} ${height}C${from} ${0.55 * height} ${to} ${0.45 * height} ${to} 0`, "stroke-width": thick.toFixed(2),
        class: i === this.lit ? "lit" : "" })));
      if (t < 1) requestAnimationFrame(frame);
      else this.now = new Map([...this.now].filter(([key]) => wanted.has(key)));
    };
    frame();
  }
  /** Lets the lines of one word stand out; of -1, none. */
  light(i) {
    if (i === this.lit) return;
    this.lit = i;
    this.box.classList.toggle("some", i >= 0);
    [...this.now.values()].forEach((line, at) => this.picture.children[at]?.setAttribute("class", line.i === i ? "lit" : ""));
    [...this.below.children].forEach((word, at) => word.classList.toggle("lit", at === i));
    const n = this.characters.length;
    [...this.above.children].forEach((cell, j) => cell.classList.toggle("lit", i >= 0 && this.weights[i * n + j] >= Lines.least));
    if (i >= 0) this.touch(this.told(i));
  }
  /** Where a word looked, in words. */
  told(i) {
    const n = this.characters.length;
    const best = this.characters.map(({ text }, j) => [this.weights[i * n + j], text]).sort((a, b) => b[0] - a[0]);
    const shares = best.filter(([weight], at) => !at || weight >= Lines.least).map(([weight, text]) => {
      const gloss = live.glosses[text];
      return `${text}${gloss ? ` ${gloss.startsWith("(") ? gloss : `(${gloss})`}` : ""} ${shown(weight)}`;
    });
    return `${this.words[i]} looks at ${shares.join(", ")}`;
  }
}

/** What a model says to a sentence, and the last layer's cross-attention, mean over heads. */
async function looked(model, { target, end }, words, most = 20) {
  const { source, ids, finished, maps } = await model.call("translate", { words, max_words: most });
  const steps = ids.length + (finished ? 1 : 0), size = steps * source.length, layer = maps.cross.at(-1), heads = layer.length / size;
  const mean = (at) => Array.from({ length: heads }, (_, head) => layer[head * size + at]).reduce((a, b) => a + b) / heads;
  return { words: ids.map((id) => target[id]), finished, end, weights: Array.from({ length: ids.length * source.length }, (_, at) => mean(at)) };
}
