"use strict";
// <abh-front>: the translator of chapter 10 on the home page. Words change places, and the lines go with them.
class AbhFront extends LivePart {
  static eager = false;
  static invitation = "Touch it: swap words, write your own sentence (loads 2 MB)";
  static sentences = ["我 有 一 个 女 朋 友", "我 喜 欢 他", "这 个 老 师 喜 欢 这 个 学 生", "你 认 识 她 吗", "他 们 没 有 两 个 好 孩 子"];

  connectedCallback() {
    super.connectedCallback();
    if (this.invitation) this.querySelector("figure")?.addEventListener("click", () => this.begin());
  }
  async start(body) {
    await live.script("lines.js");
    this.queue = Promise.resolve();
    this.picked = -1;
    this.lines = new Lines((told) => this.say(told), (j) => this.pick(j));
    const named = (words) => `${words}  ${words.split(" ").map((c) => live.glosses[c]).join(" ")}`;
    this.example = choice("sentence", [["", "your own"], ...AbhFront.sentences.map((words) => [words, named(words)])], (words) => words && this.ask(words));
    const id = `live-${++ids}`;
    this.text = make("input", { type: "text", id, autocomplete: "off", autocapitalize: "off", spellcheck: "false", lang: "zh" });
    this.text.addEventListener("keydown", (event) => event.key === "Enter" && !event.isComposing && this.ask(this.text.value));
    this.palette = make("div", { class: "words", role: "group", "aria-label": "all words that it knows" });
    body.append(
      make("div", { class: "bar" }, this.example.row),
      make("p", { class: "note" }, "Point at an English word to see where it looked. Press two Chinese words: they change places."), this.lines.box, this.said,
      make("details", { class: "own" }, make("summary", {}, "Other words"),
        make("p", {}, "These are all the words that it knows. One that you press takes the place of the picked word; if none is picked, it goes to the end."),
        this.palette,
        make("div", { class: "bar sentence" }, press("remove", () => this.remove()), make("label", { for: id }, "or type"), this.text,
          press("translate", () => this.ask(this.text.value)))));
    const { model, about } = await live.opened();
    Object.assign(this, { model, about });
    const words = about.source.filter((_, word) => word !== about.options.pad);
    this.palette.append(...words.map((word) => press(glossed(word), () => this.put(word), { class: "character", lang: "zh" })));
    await this.translate(AbhFront.sentences[0]);
  }
  disconnectedCallback() {
    this.model?.end();
  }

  /** Words of one character may stand together. @return a list */
  cut(text) {
    const known = new Set(this.about.source);
    return live.tidy(text).split(" ").filter(Boolean).flatMap((word) => (!known.has(word) && [...word].every((c) => known.has(c)) ? [...word] : [word]));
  }
  /** Translates a text, or these characters, after what is being done. */
  ask(sentence) {
    return (this.queue = this.queue.then(() => this.translate(sentence)).catch((error) => {
      this.say(error.message.replace(/^(vocabulary|greedy decoding): /, ""));
    }));
  }
  async translate(sentence) {
    const characters = typeof sentence === "string" ? this.cut(sentence).map((text) => ({ id: ++ids, text })) : sentence;
    const words = characters.map(({ text }) => text).join(" "), found = await looked(this.model, this.about, words);
    this.characters = characters;
    this.text.value = words;
    this.example.select.value = AbhFront.sentences.includes(words) ? words : "";
    this.lines.show(characters, found.words, found.weights);
    this.mark(-1);
    this.translation = found.words.join(" ") + (found.finished ? "" : " …");
    this.say(`It says: ${this.translation}`);
  }

  /** A character is pressed: the first is picked, the second changes places with it. */
  pick(j) {
    const i = this.picked, changed = [...this.characters];
    if (i < 0) return this.mark(j);
    if (i === j) return this.mark(-1);
    [changed[i], changed[j]] = [changed[j], changed[i]];
    this.ask(changed);
  }
  mark(j) {
    this.picked = j;
    [...this.lines.above.children].forEach((cell, at) => cell.setAttribute("aria-pressed", `${at === j}`));
    const text = this.characters[j]?.text;
    if (text) this.say(`${text} (${live.glosses[text]}) is picked. Press the word with which it shall change places.`);
  }
  put(word) {
    const changed = [...this.characters], one = { id: ++ids, text: word };
    this.picked < 0 ? changed.push(one) : changed.splice(this.picked, 1, one);
    this.ask(changed);
  }
  remove() {
    this.ask(this.characters.filter((_, j) => j !== (this.picked < 0 ? this.characters.length - 1 : this.picked)));
  }
}
customElements.define("abh-front", AbhFront);
