"use strict";
// <abh-sinusoids>: the table of positions as a heat map, a row of it as hands of clocks, and that row's dot products.
class AbhSinusoids extends LivePart {
  static eager = true;
  static shades = 60;

  async start(body) {
    this.layers = await live.layers();
    this.width = slider("d_model", { min: 4, max: 64, step: 2, value: 16 }, String, () => this.update());
    this.count = slider("positions", { min: 2, max: 100, step: 1, value: 100 }, String, () => this.update());
    this.at = slider("position t", { min: 0, max: 99, step: 1, value: 12 }, String, () => this.show());
    this.map = svg("svg", { viewBox: "0 0 340 290", role: "img" });
    this.curve = svg("svg", { viewBox: "0 0 340 290", role: "img" });
    this.hands = make("div", { class: "hands" });
    picks(this.map, (x, y) => this.pick((y * 290 - 24) / 240));
    picks(this.curve, (x) => this.pick((x * 340 - 34) / 300));
    body.append(
      make("div", { class: "bar" }, this.width.row, this.count.row, this.at.row),
      make("div", { class: "grids" }, this.map, this.curve),
      make("p", {}, "The row of position t: each pair of columns as the hand of a clock, with its sine and cosine."),
      this.hands, this.said);
    body.append(...listings("positional-encoding-cpp-table"));
    this.update();
  }
  /** @param state  `d_model`, `positions`, and the position `t`; `other`, a position whose dot product with it is told */
  pose({ d_model = 16, positions = 100, t = 12, other = t }) {
    slide(this.width, d_model);
    slide(this.count, positions);
    this.update();
    this.pick((t + 0.5) / positions);
    return `the dot product of position ${t} is ${shown(this.dots[t])} with itself` +
      (other === t ? "." : ` and ${shown(this.dots[other])} with ${other}.`);
  }
  /** Shows the position that a place in a picture is. */
  pick(t) {
    this.at.input.value = `${Math.max(0, Math.floor(t * this.count.input.value))}`;
    this.at.input.say();
    this.show();
  }

  /** The table, for a number of columns and of positions. */
  update() {
    const [columns, rows] = [this.width, this.count].map(({ input }) => input.valueAsNumber);
    const result = this.layers.call("sinusoids", rows, columns);
    this.table = result.take(rows * columns);
    this.frequencies = result.left;
    this.at.input.max = `${rows - 1}`;
    this.at.input.say();
    // Cells of one shade make one path.
    const w = 300 / columns, h = 240 / rows, shades = new Map();
    this.table.forEach((x, at) => {
      const shade = Math.round(x * AbhSinusoids.shades);
      const left = 34 + (at % columns) * w, top = 24 + Math.floor(at / columns) * h;
      shades.set(shade, `${shades.get(shade) ?? ""}M${left.toFixed(2)} ${top.toFixed(2)}h${w}v${h}h${-w}z`);
    });
    this.map.replaceChildren(
      ...[...shades].filter(([shade]) => shade).map(([shade, d]) => {
        const path = svg("path", { d, class: "cells" });
        paint(path, shade, AbhSinusoids.shades, true);
        return path;
      }),
      svg("rect", { x: 34, y: 24, width: 300, height: 240, class: "axis" }),
      text(34, 14, "a row per position; orange positive, blue negative", "start"),
      text(30, 33, "0", "end"), text(30, 264, `${rows - 1}`, "end"),
      text(34, 280, "column 0", "start"), text(334, 280, `${columns - 1}`, "end"),
      (this.mark = svg("path", { class: "picked" })));
    this.show();
  }

  /** One position. */
  show() {
    const [columns, rows, t] = [this.width, this.count, this.at].map(({ input }) => input.valueAsNumber);
    const row = this.table.subarray(t * columns, (t + 1) * columns), none = Array(rows).fill(0);
    // Attention's scores, with this row as the query, all rows as keys, and scale 1, are the dot products.
    const dots = this.layers.call("attention", 1, rows, columns, 1, 1, 0, row, this.table, none, 0, none).take(rows);
    this.dots = dots;
    const most = dots[t], lowest = dots.indexOf(Math.min(...dots)), floor = Math.min(0, dots[lowest]);
    const x = (s) => 34 + ((s + 0.5) / rows) * 300, y = (dot) => 24 + ((most - dot) / (most - floor)) * 240;
    const points = [...dots].map((dot, s) => `${x(s).toFixed(1)},${y(dot).toFixed(1)}`);
    const top = 24 + ((t + 0.5) / rows) * 240;
    this.mark.setAttribute("d", `M34 ${top}l-9 -5v10zM334 ${top}l6 -4v8z`);
    this.map.setAttribute("aria-label",
      `Heat map of the code: ${rows} positions, ${columns} columns; position ${t} is marked.`);
    this.curve.replaceChildren(
      svg("path", { d: `M34 24v240M34 ${y(0)}h300`, class: "axis" }),
      text(34, 14, `dot products of position ${t} with all positions`, "start"),
      text(30, 28, shown(most, 0), "end"), text(30, y(0) + 4, "0", "end"),
      ...(floor < -0.1 * most ? [text(30, 268, shown(floor, 1), "end")] : []),
      text(x(0), 280, "0", "middle"), text(334, 280, `position ${rows - 1}`, "end"),
      svg("polyline", { class: "curve", points: points.join(" ") }),
      svg("circle", { cx: x(t), cy: y(most), r: 4, class: "picked" }));
    const near = [t - 1, t + 1].filter((s) => s >= 0 && s < rows);
    const beside = near.map((s) => `${shown(dots[s])} with ${s}`).join(" and ");
    this.curve.setAttribute("aria-label",
      `Curve of dot products: ${shown(most)} with itself, ${beside}, lowest ${shown(dots[lowest])} with ${lowest}.`);
    this.hands.replaceChildren(
      ...[...this.frequencies].map((frequency, i) => this.hand(row[2 * i], row[2 * i + 1], i, frequency)));
    const said = `Position ${t}: its dot product is ${shown(most)} with itself, ${beside}.`;
    this.sayLater(`${rows} positions, ${columns} columns. ${said}`);
  }
  /** Two columns as the hand of a clock. */
  hand(sine, cosine, i, frequency) {
    const cell = (x) => {
      const span = make("span", {}, shown(x));
      paint(span, x, 1, true);
      return span;
    };
    const turns = `hand ${i}, ${frequency.toPrecision(2)} radian per position`;
    const label = `${turns}: sine ${shown(sine)}, cosine ${shown(cosine)}`;
    return make("div", { class: "hand", role: "img", "aria-label": label, title: label },
      svg("svg", { viewBox: "0 0 36 36" },
        svg("circle", { cx: 18, cy: 18, r: 16, class: "axis" }),
        svg("path", { d: `M18 18l${14 * sine} ${-14 * cosine}`, class: "curve" })),
      make("div", {}, cell(sine), cell(cosine)));
  }
}
customElements.define("abh-sinusoids", AbhSinusoids);
