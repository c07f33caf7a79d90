"use strict";
// What the parts with maps of attention share: a model to ask, and its weights by layer and head.

/** Sentences of the grammar; training has not seen the first two. */
live.sentences = ["我 有 一 个 女 朋 友", "你 认 识 两 个 老 师 吗", "这 个 老 师 喜 欢 这 个 学 生", "这 个 学 生 喜 欢 这 个 老 师",
  "他 没 有 两 个 好 孩 子"];

/** Attention weights: small maps, one for each head of a layer, by which to choose the one that is shown large. */
class HeadMaps {
  /**
   * @param kinds  names for the reader of the kinds of maps in the module's answers
   * @param say    called with what is shown after a choice
   * @param last   whether the last layer is shown first
   * @param pick   called with the number of a row that is clicked, and the kind
   */
  constructor(kinds, say, { last = false, pick } = {}) {
    Object.assign(this, { kinds, say, last, pick, head: 0 });
    const draw = () => {
      this.draw();
      say(this.title);
    };
    this.kind = choice("map", Object.entries(kinds), draw);
    this.layer = choice("layer", [], draw);
    this.heads = make("div", { class: "heads", role: "group", "aria-label": "heads" });
    this.place = make("div");
    this.note = make("p", { class: "note" });
    this.bar = make("div", { class: "bar" }, ...(Object.keys(kinds).length > 1 ? [this.kind.row] : []), this.layer.row);
    this.box = make("div", {}, this.bar, make("div", { class: "look" }, this.heads, this.place), this.note);
  }
  /**
   * @param maps    by kind, a list of layers, each with the weights [heads, rows, columns]
   * @param labels  by kind, what rows and columns are called
   * @param row     the one that is marked in maps of the decoder
   */
  show(maps, labels, row) {
    Object.assign(this, { maps, labels, row });
    this.draw();
  }
  /** The weights of a head, or the mean of all, [rows, columns]. */
  weights(head) {
    const { rows, columns } = this.labels[this.kind.select.value], size = rows.length * columns.length;
    if (head !== "mean") return this.all.slice(head * size, (head + 1) * size);
    const mean = Array(size).fill(0);
    this.all.forEach((x, at) => (mean[at % size] += (x * size) / this.all.length));
    return mean;
  }
  draw() {
    const kind = this.kind.select.value, { rows, columns } = this.labels[kind], size = rows.length * columns.length;
    const layers = this.maps[kind], select = this.layer.select;
    if (select.options.length !== layers.length) {
      select.replaceChildren(...layers.map((_, i) => make("option", { value: `${i}` }, `${i + 1}`)));
      select.value = `${this.last ? layers.length - 1 : 0}`;
    }
    this.all = layers[select.value];
    const heads = [...Array(this.all.length / size).keys(), "mean"];
    if (!heads.includes(this.head)) this.head = 0;
    this.heads.replaceChildren(...heads.map((head) => {
      const label = head === "mean" ? "mean" : `head ${head}`;
      const button = press(small(this.weights(head), rows.length, columns.length), () => {
        this.head = head;
        for (const other of this.heads.children) other.setAttribute("aria-pressed", `${other === button}`);
        this.fill();
        this.say(this.title);
      }, { class: "head", "aria-pressed": `${head === this.head}` });
      button.append(label);
      return button;
    }));
    this.place.replaceChildren(this.table(rows, columns, kind));
    this.fill();
  }
  /** The large map, still without numbers. Arrows lead from row to row. */
  table(rows, columns, kind) {
    const names = labels(rows).map((row, i) => press(row, () => this.pick?.(i, kind)));
    const { box, cells } = grid("", names, columns, () => make("td", { class: "number" }));
    Object.assign(this, { cells, names, rows: [...box.querySelectorAll("tbody tr")] });
    box.classList.add("map");
    box.classList.toggle("many", columns.length > 16);
    box.classList.toggle("long", columns.some((column) => [...column].length > 4));
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    arrows(names, 1);
    for (const event of ["pointerover", "focusin"])
      box.addEventListener(event, ({ target }) => {
        const i = this.rows.indexOf(target.closest("tr"));
        if (i >= 0) this.tell(i);
      });
    return box;
  }
  /** Writes the weights of the chosen head. */
  fill() {
    this.now = this.weights(this.head);
    this.place.querySelector("caption").textContent = this.title;
    this.place.firstChild.setAttribute("aria-label", this.title);
    this.now.forEach((x, at) => {
      paint(this.cells[at], x, 1);
      this.cells[at].textContent = x < 5e-3 ? "" : shown(x).replace(/^0/, "");
    });
    this.names.forEach((button, i) => button.setAttribute("aria-label", this.told(i)));
    this.note.textContent = "Rows ask, columns answer.";
    this.mark(this.row);
  }
  get title() {
    const head = this.head === "mean" ? "mean of the heads" : `head ${this.head}`;
    return `${this.kinds[this.kind.select.value]}, layer ${+this.layer.select.value + 1}, ${head}`;
  }
  tell(i) {
    this.note.replaceChildren(...glossed(this.told(i)));
  }
  /** Shows the map of a kind, layer (from 0) and head; what is left out stays. */
  set({ kind, layer, head } = {}) {
    if (kind) this.kind.select.value = kind;
    this.draw();
    if (layer !== undefined) this.layer.select.value = `${layer}`;
    this.head = head ?? this.head;
    this.draw();
  }
  /** Where a row looks. */
  told(i) {
    const { rows, columns } = this.labels[this.kind.select.value];
    const best = columns.map((column, j) => [this.now[i * columns.length + j], column]).sort((a, b) => b[0] - a[0]);
    const most = best.slice(0, 3).filter(([x]) => x >= 5e-3).map(([x, column]) => `${column} ${shown(x)}`);
    return `${rows[i]} looks at ${most.join(", ")}`;
  }
  /** Marks a row, and brings it into view in a map that scrolls. */
  mark(row) {
    this.row = row;
    if (row === undefined || this.kind.select.value === "encoder") return;
    this.rows.forEach((tr, i) => {
      tr.classList.toggle("now", i === row);
      i === row ? this.names[i].setAttribute("aria-current", "step") : this.names[i].removeAttribute("aria-current");
    });
    const box = this.place.firstChild;
    box.scrollTop = this.rows[row].offsetTop - box.clientHeight / 2;
    this.tell(row);
  }
}
/** A map without words. */
const small = (weights, rows, columns) => {
  const cells = weights.flatMap((x, at) => x < 0.02 ? [] : [svg("rect", {
    x: at % columns, y: Math.floor(at / columns), width: 1, height: 1, "fill-opacity": x.toFixed(2) })]);
  const box = { viewBox: `0 0 ${columns} ${rows}`, preserveAspectRatio: "none", "aria-hidden": "true" };
  return svg("svg", box, ...cells);
};
