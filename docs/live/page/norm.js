"use strict";
// <abh-norm>: one row through layer norm, forward and backward, and its result for every epsilon.
class AbhNorm extends LivePart {
  static eager = true;
  static exponents = Array.from({ length: 27 }, (_, i) => -12 + i / 2);

  async start(body) {
    this.layers = await live.layers();
    this.eps = slider("ε", { min: -12, max: 1, step: 0.5, value: -5 }, (x) => AbhNorm.short(AbhNorm.epsilon(x)),
      () => this.update());
    this.gamma = slider("γ", { min: -2, max: 3, step: 0.1, value: 1 }, (x) => shown(x, 1), () => this.update());
    this.beta = slider("β", { min: -2, max: 2, step: 0.1, value: 0 }, (x) => shown(x, 1), () => this.update());
    this.cells = {};
    this.plot = svg("svg", { viewBox: "0 0 340 230", role: "img" });
    this.checked = make("p", { class: "note" });
    const note = make("p", { class: "note" }, "Where ε is large against the variance of x, y shrinks.");
    body.append(
      make("div", { class: "bar" }, this.eps.row, this.gamma.row, this.beta.row),
      make("div", { class: "bar" },
        press("a nearly constant row", () => this.set([1, 1, 1, 1.004], "A nearly constant row")),
        press("equal numbers", () => this.set([7, 7, 7, 7], "Equal numbers")),
        press("start again", () => this.again("As in the chapter"))),
      make("div", { class: "grids" },
        make("div", {}, this.table("x"),
          tabs("Layer norm", {
            "Forward": make("div", {}, this.table("y"), note),
            "Backward": make("div", {}, this.table("dy", "dx", "dγ", "dβ"), this.checked),
          })),
        this.plot),
      this.said);
    body.append(...listings("layer-norm-cpp-plain-the-row", "layer-norm-cpp-plain-backward-the-row"));
    this.again();
  }
  static epsilon(x) {
    return Number((10 ** x).toPrecision(2));
  }
  static short(x) {
    return x < 1 ? x.toExponential().replace("-", "−") : `${x}`;
  }

  /** Rows of four numbers; x and dy are to be edited. */
  table(...names) {
    const { box, cells } = grid("", names, ["0", "1", "2", "3"], (i, j) => {
      const name = names[i], label = `${name}, ${j}`;
      if (name !== "x" && name !== "dy") return make("td", { class: "number" });
      return numeric(label, (x, said) => {
        this[name][j] = x;
        this.update(`${label} is ${said}`);
      }, () => this.sayLater(`${name} takes numbers from −99 to 99.`));
    });
    box.querySelector("caption").remove();
    box.querySelector("table").setAttribute("aria-label", names.join(", "));
    names.forEach((name, i) => (this.cells[name] = cells.slice(4 * i, 4 * i + 4)));
    return box;
  }
  set(x, said) {
    this.x = x;
    x.forEach((number, j) => (this.cells.x[j].value = `${number}`));
    this.update(said);
  }
  /** @param state  `x`, `dy`, the exponent `eps`, `gamma`, `beta`, and `backward`, whether to show the gradients */
  pose({ x = [1, 1, 1, 5], dy = [1, 0, 0, 0], eps = -5, gamma = 1, beta = 0, backward = false }) {
    this.again();
    for (const [one, value] of [[this.eps, eps], [this.gamma, gamma], [this.beta, beta]]) slide(one, value);
    this.dy = dy;
    dy.forEach((number, j) => (this.cells.dy[j].value = `${number}`));
    this.set(x);
    this.querySelectorAll("[role=tab]")[+backward].click();
    const numbers = (name) => this.cells[name].map((cell) => cell.textContent).join(", ");
    return backward ? `dx is ${numbers("dx")}.` : `y is ${numbers("y")}.`;
  }
  again(said) {
    reset(this.eps, this.gamma, this.beta);
    this.dy = [1, 0, 0, 0];
    this.dy.forEach((number, j) => (this.cells.dy[j].value = `${number}`));
    this.set([1, 1, 1, 5], said);
  }

  update(said) {
    const [eps, gamma, beta] = [this.eps, this.gamma, this.beta].map(({ input }) => input.valueAsNumber);
    const norm = (power, dy) => this.layers.call("layer_norm", 4, AbhNorm.epsilon(power), gamma, beta, this.x, dy);
    const result = norm(eps, this.dy), y = result.take(4);
    [y, ...[1, 2, 3].map(() => result.take(4))].forEach((numbers, i) => {
      const cells = this.cells[["y", "dx", "dγ", "dβ"][i]], most = Math.max(...numbers.map(Math.abs));
      numbers.forEach((x, j) => {
        cells[j].textContent = shown(x, 4);
        paint(cells[j], x, most, true);
      });
    });
    const error = result.take(1)[0], coarse = error > 1e-6 ? ": for so flat a row their step, 1e−5, is too large" : "";
    const off = error.toExponential(0).replace("-", "−");
    this.checked.textContent = `dx against differences: largest relative error ${off}${coarse}.`;
    // The curves ask for no gradient.
    const key = [gamma, beta, ...this.x].join();
    if (key !== this.drawn) this.curves = AbhNorm.exponents.map((exponent) => norm(exponent, [0, 0, 0, 0]).take(4));
    this.drawn = key;
    this.draw(eps, y);
    said ??= `ε ${AbhNorm.short(AbhNorm.epsilon(eps))}, γ ${shown(gamma, 1)}, β ${shown(beta, 1)}`;
    this.sayLater(`${said}. y is ${[...y].map((x) => shown(x, 4)).join(", ")}.`);
  }
  /** y for every epsilon; that of the slider is marked. */
  draw(eps, y) {
    const most = Math.max(2, ...this.curves.flatMap((numbers) => [...numbers.map(Math.abs)]));
    const across = (exponent) => 40 + ((exponent + 12) / 13) * 290, up = (x) => 110 - (x / most) * 85;
    this.plot.replaceChildren(
      svg("path", { d: `M40 25v170h290M40 110h290M${across(eps)} 25v170`, class: "axis" }),
      text(40, 14, "y for every ε", "start"),
      text(36, 29, shown(most, 0), "end"), text(36, 114, "0", "end"), text(36, 199, shown(-most, 0), "end"),
      ...[-12, -9, -6, -3, 0].map((exponent) => text(across(exponent), 212, AbhNorm.short(10 ** exponent), "middle")),
      ...[0, 1, 2, 3].map((j) => {
        const point = (y, i) => `${across(AbhNorm.exponents[i]).toFixed(1)},${up(y[j]).toFixed(1)}`;
        return svg("polyline", { class: "curve", points: this.curves.map(point).join(" ") });
      }),
      ...[...y].map((x) => svg("circle", { cx: across(eps), cy: up(x), r: 4, class: "picked" })));
    const [first, last] = [0, 26].map((i) => [...this.curves[i]].map((x) => shown(x)).join(", "));
    this.plot.setAttribute("aria-label",
      `The four numbers of y against ε, on a logarithmic axis: ${first} at 1e−12, ${last} at 10.`);
  }
}
customElements.define("abh-norm", AbhNorm);
