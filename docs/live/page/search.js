"use strict";
// <abh-search>: chapter 13's beam search, drawn as a tree.
class AbhSearch extends LivePart {
  static eager = false;
  static invitation = "Watch a beam search with chapter 9's model of the grammar (loads 2 MB)";
  static sentences = {
    "我 有 两 个": "two of what?", "有 一 个 老 师": "who has?", "没 喜 欢 一 个 老 师 吗": "who does not?",
    "你 喜 欢 两 个 老": "old what?", "我 有 一 个 女 朋 友": "nothing missing",
  };

  async start(body) {
    const search = () => this.search(), sentences = Object.entries(AbhSearch.sentences);
    const options = sentences.map(([words, about]) => [words, `${words} (${about})`]);
    this.examples = choice("sentence", [...options, ["", "your own"]], (words) => words && this.ask(words));
    this.words = make("input", { type: "text", lang: "zh", "aria-label": "the sentence's words" });
    this.words.value = sentences[0][0];
    this.words.addEventListener("change", () => this.ask(this.words.value));
    this.beam = slider("beam", { min: 1, max: 8, step: 1, value: 4 }, (k) => `${k}`, search);
    this.penalty = slider("length penalty α", { min: 0, max: 2, step: 0.1, value: 1 }, (x) => x.toFixed(1), search);
    this.read = make("p", { class: "note" });
    this.tree = make("div", { class: "part tree", tabIndex: 0, role: "group", "aria-label": "the tree" });
    this.found = make("ol", { class: "found" });
    this.greedy = make("p");
    this.rounds = make("div", { class: "part", tabIndex: 0, role: "group", "aria-label": "all prefixes" });
    body.append(
      make("div", { class: "bar" }, this.examples.row, this.words),
      this.read, make("div", { class: "bar" }, this.beam.row, this.penalty.row),
      this.tree,
      make("p", { class: "note" }, "Each line is as thick as its word is likely; under each word is the probability ",
        "of all words up to it. Dashed: leads to no hypothesis. E: a hypothesis, with its place in this list:"),
      this.found, this.greedy, make("details", {}, make("summary", {}, "All prefixes, round by round"), this.rounds));
    ({ model: this.model, about: this.about } = await live.opened());
    this.work = Promise.resolve();
    await this.search();
  }

  /** A sentence; Chinese words are single characters, between spaces. */
  ask(text) {
    this.words.value = live.tidy(text).replace(/\p{Script=Han}(?=\p{Script=Han})/gu, "$& ");
    this.examples.select.value = this.words.value in AbhSearch.sentences ? this.words.value : "";
    return this.search();
  }
  /** @param state  `words`, the `beam` and the length `penalty` */
  async pose({ words = "我 有 两 个", beam = 4, penalty = 1 }) {
    slide(this.beam, beam);
    slide(this.penalty, penalty);
    await this.ask(words);
    const [best] = this.hypotheses, said = ({ log_probability }) => AbhSearch.probability(log_probability);
    return `the best is “${this.brief(best)}”, with probability ${said(best)}; greedy decoding finds “${this.brief(this.first)}”, with ${said(this.first)}.`;
  }
  /** Searches when the module is free, unless something else is wanted by then. */
  search() {
    const wish = (this.wish = {});
    return (this.work = this.work.then(async () => {
      if (this.wish !== wish) return;
      const request = { words: this.words.value, length_penalty: this.penalty.input.valueAsNumber };
      const greedy = await this.model.call("search", { ...request, beam: 1 });
      const result = await this.model.call("search", { ...request, beam: this.beam.input.valueAsNumber });
      if (this.wish === wish) this.show(greedy.hypotheses[0], result);
    }).catch((error) => this.say(error.message)));
  }

  static probability(log) {
    const p = Math.exp(log);
    const digits = [0.0995, 0.00095, 0.000095].findIndex((least) => p >= least);
    return digits < 0 ? p.toExponential(0).replace("-", "−") : p.toFixed(digits + 2);
  }
  text(ids, finished = true) {
    return ids.map((id) => this.about.target[id]).join(" ") + (finished ? "" : " …");
  }
  /** A hypothesis that went astray may have a hundred words. */
  brief({ ids, finished }) {
    return this.text(ids.slice(0, 12), finished && ids.length <= 12) || "nothing";
  }
  show(greedy, { rounds, hypotheses }) {
    const { target, end } = this.about;
    const node = (parent, id, sum, rank) => ({ parent, ids: [...parent.ids, id], word: target[id], sum, rank });
    let prefixes = [{ word: "S", ids: [], sum: 0, at: 0 }];
    this.columns = [prefixes];
    rounds.forEach((round, t) => {
      const next = round.map(([id, parent, sum]) => node(prefixes[parent], id, sum));
      const ended = hypotheses.flatMap(({ ids, finished, log_probability }, rank) => {
        const all = finished ? [...ids, end] : ids;
        const parent = all.length === t + 1 && prefixes.find((prefix) => prefix.ids.every((id, i) => id === all[i]));
        return parent ? [node(parent, all.at(-1), log_probability, rank)] : [];
      });
      // sons in the order of their parents, so that no lines cross
      this.columns.push([...next, ...ended].sort((a, b) => a.parent.at - b.parent.at || b.sum - a.sum));
      this.columns.at(-1).forEach((one, at) => (one.at = at));
      prefixes = next;
    });
    this.ends = this.columns.flat().filter(({ rank }) => rank !== undefined);
    for (let one of this.ends) for (; one; one = one.parent) one.leads = true;
    this.found.replaceChildren(...hypotheses.map(({ ids, finished, score, log_probability }, rank) =>
      make("li", {}, press(this.text(ids, finished) || "(nothing)", () => this.choose(rank)), " ",
        make("span", {}, `score ${shown(score, 3)}, probability ${AbhSearch.probability(log_probability)}`))));
    this.greedy.replaceChildren("Greedy decoding, a beam of 1, finds ", make("em", {}, this.brief(greedy)),
      `, with probability ${AbhSearch.probability(greedy.log_probability)}.`);
    this.first = greedy;
    this.read.replaceChildren(...glossed(this.words.value));
    this.table();
    this.tree.scrollLeft = 0;
    this.hypotheses = hypotheses;
    this.choose(0);
  }
  /** Every prefix in words, and what became of it. */
  table() {
    const rows = this.columns.slice(1).flatMap((column, t) => [...column].sort((a, b) => b.sum - a.sum).map((one) => {
      const ended = one.rank !== undefined;
      const fate = ended ? `is hypothesis ${one.rank + 1}` : `leads to ${one.leads ? "a hypothesis" : "none"}`;
      const cells = [this.text(one.ids), shown(one.sum, 3), AbhSearch.probability(one.sum), fate];
      return make("tr", {}, make("th", { scope: "row" }, `${t + 1}`), ...cells.map((text) => make("td", {}, text)));
    }));
    const head = ["round", "prefix", "sum", "probability", "then"].map((text) => make("th", { scope: "col" }, text));
    const parts = [make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)];
    this.rounds.replaceChildren(make("table", { class: "rounds" }, ...parts));
  }
  /** Shows the way to a hypothesis. */
  choose(rank) {
    const chosen = this.hypotheses[rank], place = `place ${rank + 1} of ${this.hypotheses.length}`;
    [...this.found.children].forEach(({ firstChild }, i) => firstChild.setAttribute("aria-pressed", `${i === rank}`));
    const way = new Set();
    for (let one = this.ends.find((end) => end.rank === rank); one; one = one.parent) way.add(one);
    this.draw(way);
    this.say(`beam ${this.beam.input.value}, ${place}: ${this.brief(chosen)}, score ${shown(chosen.score, 3)}`);
  }
  draw(way) {
    const wide = (text) => [...text].reduce((sum, c) => sum + (c > "\u2e80" ? 13 : 7.5), 0);
    const box = 16 + Math.max(30, ...this.columns.flat().map(({ word }) => wide(word))), step = box + 28, row = 42;
    const height = Math.max(...this.columns.map((column) => column.length)) * row;
    const width = (this.columns.length - 1) * step + box + 4, x = (t) => 2 + t * step;
    const y = (one, t) => height / 2 + (one.at - (this.columns[t].length - 1) / 2) * row;
    const lines = [], boxes = [];
    this.columns.forEach((column, t) => column.forEach((one) => {
      const kind = way.has(one) ? "way" : one.leads ? "" : "dropped", ended = one.rank !== undefined;
      if (t) {
        const from = { x1: x(t - 1) + box, y1: y(one.parent, t - 1) }, to = { x2: x(t), y2: y(one, t) };
        const likely = Math.exp(one.sum - one.parent.sum);
        lines.push(svg("line", { class: kind, ...from, ...to, "stroke-width": (1 + 4 * likely).toFixed(2) }));
      }
      const middle = x(t) + box / 2, frame = { x: x(t), y: y(one, t) - 17, width: box, height: 34, rx: ended ? 17 : 4 };
      boxes.push(svg("g", { class: kind }, svg("rect", frame),
        svg("text", { x: middle, y: y(one, t) - 2, class: "word" }, ended ? `${one.word}, ${one.rank + 1}` : one.word),
        svg("text", { x: middle, y: y(one, t) + 12 }, AbhSearch.probability(one.sum))));
    }));
    const label = `Tree of ${this.columns.length - 1} rounds; each prefix is in the table, each end in the list below`;
    const looks = { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label };
    const picture = svg("svg", looks, ...lines, ...boxes);
    picture.style.width = `${width}px`;
    this.tree.replaceChildren(picture);
  }
}
customElements.define("abh-search", AbhSearch);
