"use strict";
// <abh-rate>: the learning rate at each of 400 steps, for a peak and a warm-up.
class AbhRate extends LivePart {
  static eager = true;
  static keeps = true;
  static steps = 400;

  async start(body) {
    const { steps } = AbhRate;
    this.layers = await live.layers();
    this.peak = slider("peak", { min: 1e-5, max: 1e-3, step: 1e-5, value: 3e-4 }, AbhRate.short, () => this.update());
    this.warmup = slider("warm-up", { min: 0, max: steps, step: 1, value: 40 }, String, () => this.update());
    this.step = slider("step", { min: 1, max: steps, step: 1, value: 100 }, String, () => this.show());
    this.plot = svg("svg", { viewBox: "0 0 400 220", role: "img" });
    picks(this.plot, (x) => {
      this.step.input.value = `${Math.round(((x * 400 - 44) / 346) * steps)}`;
      this.step.input.say();
      this.show();
    });
    body.append(
      make("div", { class: "grids" },
        make("div", { class: "sliders" }, this.peak.row, this.warmup.row, this.step.row), this.plot),
      this.said);
    body.append(...listings("optimizer-cpp-schedule"));
    this.update();
  }
  static short(x) {
    return x.toExponential(1).replace("-", "−");
  }

  /** @param state  `peak`, `warmup` and `step` */
  pose({ peak = 3e-4, warmup = 40, step = 100 }) {
    for (const [one, value] of [[this.peak, peak], [this.warmup, warmup], [this.step, step]]) slide(one, value);
    this.update();
    return `at step ${step} the rate is ${AbhRate.short(this.rates[step - 1])}.`;
  }
  get chosen() {
    return [this.peak, this.warmup, this.step].map(({ input }) => input.valueAsNumber);
  }
  update() {
    const [peak, warmup] = this.chosen;
    this.rates = this.layers.call("learning_rate", AbhRate.steps, peak, warmup).left;
    this.show();
  }
  show() {
    const { short } = AbhRate, [peak, warmup, step] = this.chosen;
    const rate = this.rates[step - 1];
    const across = (s) => 44 + (s / AbhRate.steps) * 346, up = (r) => 185 - (r / 1e-3) * 160;
    const points = [...this.rates].map((r, i) => `${across(i + 1).toFixed(1)},${up(r).toFixed(1)}`);
    const beside = (s, far, y, said) =>
      s < 240 ? text(across(s) + far, y, said, "start") : text(across(s) - far, y, said, "end");
    this.plot.replaceChildren(
      svg("path", { d: `M44 25v160h346${warmup ? `M${across(warmup)} 25v160` : ""}`, class: "axis" }),
      text(44, 14, "learning rate", "start"),
      ...[0, 5e-4, 1e-3].map((r) => text(40, up(r) + 4, r ? r.toExponential(0).replace("-", "−") : "0", "end")),
      ...[0, 100, 200, 300, 400].map((s) => text(across(s), 203, `${s}`, s === 400 ? "end" : "middle")),
      text(217, 217, "step", "middle"),
      ...(warmup ? [beside(warmup, 4, 178, "end of warm-up")] : []),
      svg("polyline", { points: points.join(" "), class: "curve" }),
      svg("circle", { cx: across(step), cy: up(rate), r: 4, class: "picked" }),
      beside(step, 8, up(rate) - 8, short(rate)));
    const end = `and is ${short(this.rates[AbhRate.steps - 1])} at step ${AbhRate.steps}`;
    const grows = warmup ? `grows to ${short(peak)} over ${warmup} steps, ${end}` : `is ${short(peak)} at every step`;
    this.plot.setAttribute("aria-label", `The learning rate ${grows}; step ${step} is marked.`);
    this.sayLater(`The rate ${grows}. At step ${step} it is ${short(rate)}.`);
  }
}
customElements.define("abh-rate", AbhRate);
