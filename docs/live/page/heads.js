"use strict";
// <abh-heads>: where the heads of chapter 10's small translator look in a sentence.
class AbhHeads extends LivePart {
  static eager = false;
  static invitation = "Choose sentence, layer and head (loads 2 MB)";

  async start(body) {
    await live.script("maps.js");
    ({ model: this.model, about: this.about } = await live.opened());
    const words = choice("sentence", live.sentences.map((sentence) => [sentence, sentence]), () => this.update());
    this.sentence = words.select;
    this.sentence.value = live.sentences[1];  // the chapter's
    this.maps = new HeadMaps({ encoder: "encoder self-attention" }, (shown) => this.say(`Shown: ${shown}.`));
    this.maps.bar.prepend(words.row);
    body.append(this.maps.box);
    body.append(...listings("heads-cpp-split-and-join", "attend-heads-cpp-plain"));
    await this.look();
  }
  async update() {
    try {
      await this.look();
      this.say(`The words now are ${this.sentence.value}.`);
    } catch (error) {
      this.say(error.message);
    }
  }
  /** @param state  `sentence`, `layer` and `head` (from 0, or "mean"), and `row`, the word that asks */
  async pose({ sentence = live.sentences[1], layer = 0, head = 0, row }) {
    this.sentence.value = sentence;
    await this.look();
    this.maps.set({ layer, head });
    this.say(`Shown: ${this.maps.title}.`);
    if (row === undefined) return `${this.maps.title}.`;
    this.maps.tell(row);
    return `in ${this.maps.title}, ${this.maps.told(row)}.`;
  }
  async look() {
    const { source, maps } = await this.model.call("next", { words: this.sentence.value, prefix: [] });
    const words = source.map((id) => this.about.source[id]);
    this.maps.show(maps, { encoder: { rows: words, columns: words } });
  }
}
customElements.define("abh-heads", AbhHeads);
