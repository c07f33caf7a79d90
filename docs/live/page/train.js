"use strict";
// <abh-train>: chapter 9's own training, from random weights: the loss, a translation, and what it attends to.
class AbhTrain extends LivePart {
  static eager = false;
  static keeps = true;
  static invitation = "Train a small Transformer in this page (loads 0.4 MB)";
  static notebook = ["ich mochte ein bier P", "i want a beer ."];
  static pair = [  // of the grammar, held out both ways round
    ["这 个 老 师 喜 欢 这 个 学 生", "this teacher likes this student ."],
    ["这 个 学 生 喜 欢 这 个 老 师", "this student likes this teacher ."],
  ];
  static least = 25;  // milliseconds from step to step, so that the page has little to do
  static round = Array.from({ length: 50 }, (_, i) => [1, 2, 5].map((digit) => Number(`${digit}e${i - 6}`))).flat();

  async start(body) {
    const again = () => this.again();
    const corpora = [["grammar", "the grammar"], ["notebook", "the notebook's two sentences"]];
    this.corpus = choice("corpus", corpora, again);
    this.optimizer = choice("optimizer", [["adam", "Adam"], ["sgd", "SGD"]], again);
    this.seed = make("input", { type: "number", min: "0", max: "999999", step: "1", value: "1", class: "seed" });
    this.button = press("stop", () => (this.wish ? this.stop("stopped") : this.go()));
    const rate = { min: -5, max: 1, step: 0.1, value: -3 }, warmup = { min: 0, max: 400, step: 10, value: 50 };
    this.rate = slider("learning rate", rate, (x) => `${AbhTrain.peak(x)}`, () => {});
    this.warmup = slider("warm-up", warmup, (x) => `${x} steps`, () => {});
    for (const { input } of [this.rate, this.warmup]) input.addEventListener("change", () => this.change());
    this.numbers = make("p", { class: "note" });
    this.curve = svg("svg", { role: "img", viewBox: "0 0 700 220", "aria-label": "the loss of each step" });
    this.box = make("div", {}, this.curve);
    this.asked = make("p");
    this.heard = make("ol", { class: "heard" });
    this.map = make("div");
    this.order = make("p");
    const seed = make("label", {}, "seed ", this.seed);
    const learned = make("div", { class: "learned" }, this.asked, this.heard, this.order);
    body.append(
      make("div", { class: "bar" }, this.corpus.row, this.optimizer.row, seed, press("begin again", again)),
      make("div", { class: "bar" }, this.button, this.rate.row, this.warmup.row),
      this.numbers, this.box, make("div", { class: "grids" }, learned, this.map));
    new ResizeObserver(() => this.about && this.draw()).observe(this.box);
    this.model = await live.transformer();
    this.again();
  }
  disconnectedCallback() {
    this.model?.end();
    this.model = this.about = this.work = undefined;  // what is waited for does not come
    if (this.button) this.stop("");
  }
  /** What a place of the slider means, in the two digits that it shows. */
  static peak(x) {
    return Number((10 ** x).toPrecision(2));
  }

  /** Does one piece of work after the other, but of those that wait only the last. */
  later(work) {
    const wish = (this.wish = {});
    this.button.textContent = "stop";
    this.button.disabled = false;
    this.work = (this.work ?? Promise.resolve()).then(() => this.wish === wish && work(wish)).catch((error) => {
      if (this.wish !== wish) return;
      this.stop(error.message);
      this.button.disabled = true;
    });
  }
  /** The step that is being computed still counts. */
  stop(said) {
    this.wish = undefined;
    this.button.textContent = "continue";
    this.button.disabled = !this.about;
    this.say(said);
  }
  go() {
    this.later((wish) => this.steps(wish));
    this.say("training goes on");
  }
  again() {
    const corpus = this.corpus.select.value, optimizer = this.optimizer.select.value, seed = this.seed.valueAsNumber;
    if (!(seed >= 0) || !this.seed.validity.valid) return this.say("a seed is a whole number from 0 to 999999");
    this.later(async (wish) => {
      this.model ??= await live.transformer();
      if (!this.isConnected) return this.disconnectedCallback();
      let about = await this.model.call("train", { corpus: "grammar", optimizer, seed });
      if (corpus === "notebook") {  // with half the width
        const options = { ...about.options, d_model: 64, d_ff: 128 };
        about = await this.model.call("train", { corpus, options, optimizer, seed });
      }
      Object.assign(this, { about, losses: [], marks: [], speed: 0 });
      this.prepare();
      this.change();
      this.say(`begun with random weights from seed ${seed}`);
      await this.look();
      await this.steps(wish);
    });
  }
  /** @param state  `corpus`, `optimizer`, `seed`, `warmup` and `rate`, a power of ten; training begins anew with these */
  async pose({ corpus = "grammar", optimizer = "adam", seed = 1, rate = -3, warmup = 50 }) {
    [this.corpus.select.value, this.optimizer.select.value, this.seed.value] = [corpus, optimizer, `${seed}`];
    slide(this.rate, rate);
    slide(this.warmup, warmup);
    const { about } = this;
    this.again();
    while (this.wish && (this.about === about || !this.losses.length)) await new Promise((on) => setTimeout(on, 50));
    return this.losses.length ? `the first loss is ${shown(this.losses[0])}; training goes on.` : "training was stopped.";
  }
  /** The sentence to translate, and an empty map. */
  prepare() {
    const { unseen } = this.about;
    [this.source, this.target] = unseen ?? AbhTrain.notebook;
    const which = unseen ? "(training never sees it)" : "(one of the two that it is trained on)";
    this.asked.replaceChildren(...glossed(`${this.source} = `), make("em", {}, this.target), ` ${which}. The model says, by step:`);
    this.heard.replaceChildren();
    this.latest = undefined;
    this.order.replaceChildren();
    this.both = 0;  // the step from which on both orders are right
    const cell = () => make("td", { class: "number" }), rows = [...this.target.split(" "), "E"];
    const { box, cells } = grid("Cross-attention, last layer, mean of heads", rows, this.source.split(" "), cell);
    this.cells = cells;
    this.map.replaceChildren(box);
  }

  /** What goes into the next steps, and a mark where it changes. */
  change() {
    const peak = AbhTrain.peak(this.rate.input.valueAsNumber), warmup = this.warmup.input.valueAsNumber;
    this.given = [peak, warmup];
    if (!this.about) return;
    const step = this.losses.length, last = this.marks.at(-1);
    if (last && (step === last.step || (last.step && step < last.step + 20))) last.given = this.given;
    else this.marks.push({ step, given: this.given });
    this.draw();
    this.say(`from step ${step + 1} on, learning rate ${peak}, warm-up ${warmup} steps`);
  }
  async steps(wish) {
    let times = [];
    while (this.wish === wish) {
      if (document.hidden) {
        await new Promise((seen) => document.addEventListener("visibilitychange", seen, { once: true }));
        times = [];
        continue;
      }
      const begun = performance.now();
      this.losses.push(await this.model.step(...this.given));
      const n = this.losses.length, { steps } = this.about;
      if (n % 20 === 0) await this.look();
      if (this.wish === wish && n % steps === 0) this.stop(`${n} steps are done; the chapter's program does ${steps}`);
      await new Promise((on) => setTimeout(on, AbhTrain.least - (performance.now() - begun)));
      times = [...times.slice(-30), performance.now()];
      if (times.length > 1) this.speed = (1000 * (times.length - 1)) / (times.at(-1) - times[0]);
      if (this.wish !== wish || performance.now() > this.drawn + 300) this.draw();
    }
  }
  /** Translates the sentence, and looks from each word of the right translation. */
  async look() {
    const words = this.source, { target } = this.about, step = this.losses.length, size = this.cells.length;
    const { ids, finished } = await this.model.call("translate", { words, max_words: 12, cached: true });
    const prefix = this.target.split(" ").map((word) => target.indexOf(word));
    const layer = (await this.model.call("next", { words, prefix })).maps.cross.at(-1);
    this.cells.forEach((cell, at) => {
      const heads = layer.filter((_, i) => i % size === at), mean = heads.reduce((a, b) => a + b) / heads.length;
      paint(cell, mean, 1);
      cell.textContent = mean < 5e-3 ? "" : shown(mean).replace(/^0/, "");
    });
    const said = `${ids.map((id) => target[id]).join(" ") || "(nothing)"}${finished ? "" : " …"}`;
    if (this.about.unseen) await this.lookAtOrder(step);
    if (said === this.latest) return;
    this.latest = said;
    const text = said === this.target ? make("strong", {}, `${said} ✓`) : said;
    this.heard.prepend(make("li", {}, make("span", { class: "value" }, `${step}`), text));
    this.heard.children[6]?.remove();
    if (step) this.say(`after ${step} steps: ${said}`);
  }
  /** Translates a sentence and its reverse, which consist of the same words. */
  async lookAtOrder(step) {
    const parts = [];
    let right = true;
    for (const [words, wanted] of AbhTrain.pair) {
      const { ids } = await this.model.call("translate", { words, max_words: 12, cached: true });
      const said = ids.map((id) => this.about.target[id]).join(" ");
      right &&= said === wanted;
      parts.push(make("br"), ...glossed(`${words} = `), said === wanted ? make("strong", {}, `${said} ✓`) : said || "(nothing)");
    }
    this.both = right ? this.both || step : 0;
    this.order.replaceChildren(right ? `Both ways round, since step ${this.both}:` : "Who likes whom, both ways round:", ...parts);
  }

  draw() {
    const { about, marks, losses } = this, n = losses.length, now = n ? losses.at(-1).toPrecision(4) : "–";
    this.drawn = performance.now();
    this.numbers.textContent = `step ${n} · loss ${now} · ${this.speed.toFixed(1)} steps per second · ` +
      `${about.parameters.toLocaleString("en")} parameters · ${about.pairs.toLocaleString("en")} pairs`;
    const every = Math.ceil(n / 600), points = losses.map((loss, i) => [i + 1, Math.max(loss, 1e-6)])
      .filter(([step]) => step % every === 0 || step === 1 || step === n);
    const heights = points.map(([, loss]) => loss), least = Math.min(0.5, ...heights), most = Math.max(5, ...heights);
    const width = Math.max(280, this.box.clientWidth || 700), left = 48, right = width - 12, top = 22, floor = 184;
    const x = (step) => left + ((right - left) * step) / Math.max(60, n);
    const y = (loss) => top + ((floor - top) * Math.log(most / loss)) / Math.log(most / least);
    const line = (kind, x1, y1, x2, y2) => svg("line", { class: kind, x1, y1, x2, y2 });
    const drawn = [text((left + right) / 2, 217, "step", "middle"), text(left - 6, 12, "loss", "end")];
    const ticks = AbhTrain.round.filter((loss) => loss >= least && loss <= most);
    const leap = ticks.length < 9 ? 1 : 3 * Math.ceil(ticks.length / 24);  // powers of ten, or a few of them
    for (const loss of ticks.filter((loss) => AbhTrain.round.indexOf(loss) % leap === 0)) {
      const label = loss < 1e5 && loss > 1e-5 ? `${loss}` : loss.toExponential().replace("+", "").replace("-", "−");
      drawn.push(line("rule", left, y(loss), right, y(loss)), text(left - 6, y(loss) + 4, label, "end"));
    }
    const stride = AbhTrain.round.find((steps) => steps >= 10 && x(steps) - left > 50);
    for (let step = 0; x(step) <= right; step += stride) drawn.push(text(x(step), floor + 16, `${step}`, "middle"));
    let free = left;
    marks.forEach(({ step, given: [peak, warmup] }, i) => {
      if (step) drawn.push(line("mark", x(step), top, x(step), floor));
      const said = i && marks[i - 1].given[0] === peak ? `warm-up ${warmup}` : `rate ${peak}`, wide = 7 * said.length;
      const at = Math.min(x(step), right - wide);
      if (at < free) return;
      drawn.push(text(at, 12, said, "start"));
      free = at + wide + 8;
    });
    const way = points.map(([step, loss]) => `${x(step)},${y(loss)}`).join(" ");
    drawn.push(svg("polyline", { class: "losses", points: way }));
    this.curve.setAttribute("viewBox", `0 0 ${width} 220`);
    this.curve.setAttribute("aria-label", `The loss of each step, on a logarithmic axis; now ${now}, after ${n} steps`);
    this.curve.replaceChildren(...drawn);
  }
}
customElements.define("abh-train", AbhTrain);
