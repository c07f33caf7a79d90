"use strict";
// <abh-order>: who likes whom, as the grammar's model says it, and as the same model says it when trained without position codes.
class AbhOrder extends LivePart {
  static eager = false;
  static keeps = true;
  static invitation = "Exchange who and whom (loads 2 MB)";
  static people = ["这 个 老 师", "这 个 学 生", "这 个 孩 子", "这 个 好 朋 友", "我", "她", "他 们"];
  static verbs = ["喜 欢", "认 识"];

  async start(body) {
    this.queue = Promise.resolve();
    const list = (label, words) => choice(label, words.map((word) => [word, `${word} (${meaning(word)})`]), () => this.ask());
    this.who = list("who", AbhOrder.people);
    this.verb = list("verb", AbhOrder.verbs);
    this.whom = list("whom", AbhOrder.people);
    [this.who.select.value, this.whom.select.value] = AbhOrder.people;
    this.told = make("td");
    this.other = make("td", {}, press("load this model, too (1 MB more)", () => this.load()));
    this.sentence = make("caption");
    const row = (name, cell) => make("tr", {}, make("th", { scope: "row" }, name), cell);
    body.append(
      make("div", { class: "bar" }, this.who.row, this.verb.row, this.whom.row, press("exchange who and whom", () => this.exchange())),
      make("div", { class: "part" }, make("table", {}, this.sentence,
        make("tbody", {}, row("trained with position codes", this.told), row("trained without codes", this.other)))),
      make("p", { class: "note" }, ...glossed("Neither model was trained on 这 个 老 师 喜 欢 这 个 学 生 or its reverse; some of the others were in training.")),
      this.said);
    this.models = [await live.opened()];
    await this.ask();
  }
  exchange() {
    const { who: { select: one }, whom: { select: two } } = this;
    [one.value, two.value] = [two.value, one.value];
    this.ask();
  }
  load() {
    this.other.firstChild.disabled = true;
    this.queue = this.queue.then(async () => this.models.push(await live.opened("without position codes")));
    return this.ask();
  }
  /** @param state  `who`, `verb` and `whom`, and `without`, whether to load the other model, too */
  async pose({ who = AbhOrder.people[0], verb = AbhOrder.verbs[0], whom = AbhOrder.people[1], without = false }) {
    [this.who.select.value, this.verb.select.value, this.whom.select.value] = [who, verb, whom];
    await (without && this.models.length < 2 ? this.load() : this.ask());
    const other = this.models.length > 1 ? `, and without codes “${this.other.textContent}”` : "";
    return `with codes “${this.told.textContent}”${other}.`;
  }
  /** Asks all models that are there, one after the other. */
  ask() {
    return (this.queue = this.queue.then(async () => {
      if (this.who.select.value === this.whom.select.value) return this.say("Choose two different ones; the grammar has no such sentence.");
      const words = [this.who, this.verb, this.whom].map(({ select }) => select.value).join(" "), said = [];
      for (const { model, about } of this.models) {
        const { ids } = await model.call("translate", { words, max_words: 20, cached: true });
        said.push(ids.map((id) => about.target[id]).join(" "));
      }
      this.sentence.replaceChildren(...glossed(words));
      this.told.textContent = said[0];
      if (said[1]) this.other.textContent = said[1];
      this.say(said.length > 1 ? `With codes: ${said[0]} Without: ${said[1]}` : said[0]);
    }).catch((error) => this.say(error.message)));
  }
}
customElements.define("abh-order", AbhOrder);
