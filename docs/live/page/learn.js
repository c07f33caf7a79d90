"use strict";
// <abh-learn>: a small Transformer learns to translate while the reader watches, from random weights.
class AbhLearn extends LivePart {
  static eager = false;
  static invitation = "Start the training (loads 0.4 MB)";
  static sentences = [  // training sees the last one, but not the others
    ["我 有 一 个 女 朋 友", "I have a girl friend ."],
    ["这 个 老 师 喜 欢 这 个 学 生", "this teacher likes this student ."],
    ["这 个 学 生 喜 欢 这 个 老 师", "this student likes this teacher ."],
    ["我 喜 欢 他", "I like him ."],
  ];
  static steps = 120;
  static every = 10;  // steps from look to look
  static rate = [1e-3, 50];  // learning rate and warm-up

  async start(body) {
    await live.script("lines.js");
    this.seed = 0;
    this.button = press("stop", () => (this.wish ? this.stop() : this.go(AbhLearn.steps)));
    this.numbers = make("span", { class: "note" });
    this.curve = svg("svg", { role: "img", viewBox: "0 0 700 170", "aria-label": "the loss of each step" });
    this.lines = new Lines((told) => this.say(told));
    this.words = wordsOf(AbhLearn.sentences[0][0].split(" "));
    this.answers = AbhLearn.sentences.slice(1).map(([words]) => {
      const answer = make("span", { class: "answer-now" });
      return { answer, row: make("li", {}, make("p", {}, ...glossed(words)), answer) };
    });
    body.append(
      make("div", { class: "bar" }, this.button, press("begin again, with other random numbers", () => this.again()), this.numbers),
      this.curve, this.lines.box, make("ul", { class: "answers" }, ...this.answers.map(({ row }) => row)));
    new ResizeObserver(() => this.losses && this.draw()).observe(this.curve);
    this.model = await live.transformer();
    this.again();
  }
  disconnectedCallback() {
    this.wish = undefined;
    this.model?.end();
  }

  /** @param state  `steps`, after which it rests; it begins anew */
  async pose({ steps = AbhLearn.steps }) {
    await this.again(steps, 1);
    return `after ${this.losses.length} steps, ${this.right} of ${this.heard.length} are right. ` +
      AbhLearn.sentences.map(([words], at) => `${words} becomes “${this.heard[at]}”`).slice(0, 3).join(", ") + ".";
  }

  /** Does one piece of work after the other; the one before ends at its next step. */
  later(work) {
    const wish = (this.wish = {});
    this.button.textContent = "stop";
    this.button.disabled = false;
    return (this.work = (this.work ?? Promise.resolve()).then(() => this.wish === wish && work(wish)).catch((error) => {
      if (this.isConnected) this.say(error.message);
    }));
  }
  stop() {
    this.wish = undefined;
    this.button.textContent = "go on";
    this.button.disabled = this.losses?.length >= AbhLearn.steps;
  }
  /** From random weights. @param until  the step after which it rests */
  again(until = AbhLearn.steps, seed = this.seed + 1) {
    this.seed = seed;
    return this.later(async (wish) => {
      this.about = await this.model.call("train", { corpus: "grammar", seed });
      this.losses = [];
      await this.look();
      await this.steps(wish, until);
    });
  }
  go(until) {
    return this.later((wish) => this.steps(wish, until));
  }
  async steps(wish, until) {
    while (this.wish === wish && this.losses.length < until) {
      if (document.hidden) {
        await new Promise((seen) => document.addEventListener("visibilitychange", seen, { once: true }));
        continue;
      }
      this.losses.push(await this.model.step(...AbhLearn.rate));
      this.draw();
      if (this.losses.length % AbhLearn.every === 0) await this.look();
    }
    if (this.wish === wish) this.stop();
  }
  /** What it says now, to each sentence. */
  async look() {
    const step = this.losses.length, said = [];
    for (const [at, [words, wanted]] of AbhLearn.sentences.entries()) {
      const found = await looked(this.model, this.about, words, at ? 14 : 10), text = found.said.join(" ") + (found.finished ? "" : " …");
      said.push(text);
      if (at) this.answers[at - 1].answer.replaceChildren(text === wanted ? make("strong", {}, `${text} ✓`) : text || "(nothing)");
      else {
        this.lines.show(this.words, found.said, found.weights);
        this.lines.box.classList.toggle("right", text === wanted);
      }
    }
    this.heard = said;
    this.right = said.filter((text, at) => text === AbhLearn.sentences[at][1]).length;
    this.draw();
    if (step % 40 === 0) this.say(`After ${step} steps, ${this.right} of ${said.length} are right; to the first it says: ${said[0] || "nothing"}`);
  }

  draw() {
    const { losses } = this, { steps } = AbhLearn, n = losses.length, now = n ? losses.at(-1).toFixed(2) : "–";
    this.numbers.textContent = `step ${n} of ${steps} · loss ${now}`;
    const width = Math.max(280, this.curve.clientWidth || 700), left = 30, right = width - 14, floor = 132, top = 20, most = 4;
    const x = (step) => left + ((right - left) * step) / steps, y = (loss) => floor - ((floor - top) * Math.min(loss, most)) / most;
    const drawn = [0, 1, 2, 3, 4].flatMap((loss) => [svg("line", { class: "rule", x1: left, y1: y(loss), x2: right, y2: y(loss) }),
      text(left - 8, y(loss) + 4, `${loss}`, "end")]);
    for (let step = 0; step <= steps; step += 20) drawn.push(text(x(step), floor + 17, `${step}`, "middle"));
    drawn.push(text(4, 11, "loss", "start"), text((left + right) / 2, floor + 33, "step", "middle"));
    drawn.push(svg("polyline", { class: "losses", points: losses.map((loss, i) => `${x(i + 1).toFixed(1)},${y(loss).toFixed(1)}`).join(" ") }));
    this.curve.setAttribute("viewBox", `0 0 ${width} 170`);
    this.curve.setAttribute("aria-label", `the loss of each step; now ${now}, after ${n} steps`);
    this.curve.replaceChildren(...drawn);
  }
}
customElements.define("abh-learn", AbhLearn);
