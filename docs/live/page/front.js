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
    this.lines = new Lines((told) => this.say(told), (k) => this.pick(k));
    const sentences = AbhFront.sentences.map((words) => [words, `${words} (${meaning(words)})`]);
    this.example = choice("sentence", [["", "your own"], ...sentences], (words) => words && this.ask(words));
    const id = `live-${++ids}`;
    this.text = make("input", { type: "text", id, autocomplete: "off", autocapitalize: "off", spellcheck: "false", lang: "zh" });
    this.text.addEventListener("keydown", (event) => event.key === "Enter" && !event.isComposing && this.ask(this.text.value));
    this.palette = make("div", { class: "words", role: "group", "aria-label": "all words that it knows" });
    body.append(
      make("div", { class: "bar" }, this.example.row),
      make("p", { class: "note" }, "Point at an English word to see where it looked. Press two Chinese words: they change places."), this.lines.box, this.said,
      make("details", { class: "own" }, make("summary", {}, "Other words"),
        make("p", {}, "These are all the words that it knows. The one that you press takes the place of the picked one; if none is picked, it goes to the end."),
        this.palette,
        make("div", { class: "bar sentence" }, press("remove", () => this.remove()), make("label", { for: id }, "or type"), this.text,
          press("translate", () => this.ask(this.text.value)))));
    const { model, about } = await live.opened();
    Object.assign(this, { model, about });
    const known = new Set(about.source), place = (word) => about.source.indexOf(word[0]);
    const whole = Object.keys(live.glosses).filter((word) => live.glosses[word].length > 1 && [...word].every((character) => known.has(character)));
    const alone = about.source.filter((word, at) => at !== about.options.pad && !live.alone[word]?.includes("-"));
    this.palette.append(...[...whole, ...alone].sort((one, other) => place(one) - place(other))
      .map((word) => press(zh(word, meaning(word)), () => this.put(word))));
    await this.translate(AbhFront.sentences[0]);
    this.lines.light(this.lines.said.indexOf("friend"));  // as in the figure
    this.say(`It says: ${this.translation}`);
  }
  disconnectedCallback() {
    this.model?.end();
  }

  /** @param state  `words`, a sentence, and `swap`, two words of it that then change places */
  async pose({ words = AbhFront.sentences[0], swap }) {
    await this.ask(words);
    if (swap) {
      await new Promise((seen) => setTimeout(seen, 1000));
      const [i, j] = swap.map((word) => this.words.findIndex(({ text }) => text === word));
      await this.swap(i, j);
    }
    return `${this.text.value} becomes “${this.translation}”.`;
  }

  /** A text as the model's words; words of one character may stand together. */
  cut(text) {
    const known = new Set(this.about.source);
    return live.tidy(text).split(" ").filter(Boolean).flatMap((word) => (!known.has(word) && [...word].every((c) => known.has(c)) ? [...word] : [word]));
  }
  /** Translates a text, or these words, after what is being done. */
  ask(sentence) {
    return (this.queue = this.queue.then(() => this.translate(sentence)).catch((error) => {
      this.say(error.message.replace(/^(vocabulary|greedy decoding): /, ""));
    }));
  }
  async translate(sentence) {
    const words = wordsOf(typeof sentence === "string" ? this.cut(sentence) : sentence.flatMap(({ text }) => [...text]));
    if (words.every(({ text }, k) => text === sentence[k]?.text)) words.forEach((word, k) => (word.id = sentence[k].id));  // the same ones
    const text = words.flatMap((word) => [...word.text]).join(" "), { said, finished, weights } = await looked(this.model, this.about, text);
    this.words = words;
    this.text.value = text;
    this.example.select.value = AbhFront.sentences.includes(text) ? text : "";
    this.lines.show(words, said, weights);
    this.mark(-1);
    this.translation = said.join(" ") + (finished ? "" : " …");
    this.say(`It says: ${this.translation}`);
  }

  /** A word is pressed: the first is picked, the second changes places with it. */
  pick(k) {
    if (this.picked < 0) {
      this.mark(k);
      this.say(`${this.words[k].text} is picked. Press the word with which it shall change places.`);
    } else if (k === this.picked) this.mark(-1);
    else this.swap(this.picked, k);
  }
  mark(k) {
    this.picked = k;
    [...this.lines.above.children].forEach((cell, at) => cell.setAttribute("aria-pressed", `${at === k}`));
  }
  swap(i, j) {
    const changed = [...this.words];
    [changed[i], changed[j]] = [changed[j], changed[i]];
    return this.ask(changed);
  }
  put(text) {
    const changed = [...this.words], one = { id: ++ids, text };
    this.picked < 0 ? changed.push(one) : changed.splice(this.picked, 1, one);
    this.ask(changed);
  }
  remove() {
    this.ask(this.words.filter((_, k) => k !== (this.picked < 0 ? this.words.length - 1 : this.picked)));
  }
}
customElements.define("abh-front", AbhFront);
