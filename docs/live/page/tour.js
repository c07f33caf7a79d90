"use strict";
// <abh-tour>: one sentence through the whole model, in five steps.
class AbhTour extends LivePart {
  static keeps = true;
  static invitation = "Take the tour: the Transformer in five minutes (loads 2 MB)";

  async start(body) {
    await live.script("maps.js");
    ({ model: this.worker, about: this.model } = await live.opened());
    this.layers = await live.layers();
    this.sentence = choice("Sentence", live.sentences.map((s) => [s, s]), (s) => this.translate(s));
    this.place = make("span", { class: "note" });
    this.back = press("back", () => this.go(this.step - 1));
    this.next = press("next", () => this.go(this.step + 1));
    this.panel = make("div", { class: "tour-panel" });
    body.append(make("div", { class: "bar" }, this.sentence.row, this.back, this.next, this.place), this.panel, this.said);
    this.step = 0;
    await this.translate(live.sentences[0]);
  }

  async translate(sentence) {
    try {
      this.found = await this.worker.call("translate", { words: sentence });
    } catch (error) {
      this.say(error.message);
      return;
    }
    this.source = sentence.split(" ");
    this.says = [...this.found.ids.map((id) => this.model.target[id]), ...(this.found.finished ? ["E"] : [])];
    this.go(this.step);
  }

  /** @param state  `sentence` and `step`, from 0 */
  async pose({ sentence = live.sentences[0], step = 0 }) {
    this.sentence.select.value = sentence;
    this.step = step;
    await this.translate(sentence);
    return `${sentence} becomes “${this.says.filter((word) => word !== "E").join(" ")}”.`;
  }
  go(step) {
    this.step = step;
    this.training = null;
    const [title, show] = this.steps[step];
    this.place.textContent = `step ${step + 1} of ${this.steps.length}`;
    this.back.disabled = step === 0;
    this.next.disabled = step === this.steps.length - 1;
    if (document.activeElement?.disabled) (step ? this.back : this.next).focus();
    this.say(`Step ${step + 1}: ${title}.`);
    this.panel.replaceChildren(make("h3", {}, title), ...show.call(this));
  }
  steps = [
    ["Words become rows of numbers", this.rows],
    ["Each word looks at the others", this.encoder],
    ["The translation looks at the source", this.decoder],
    ["The next word is chosen", this.words],
    ["All of this is learned", this.learning],
  ];

  text(...parts) {
    return make("p", {}, ...parts);
  }
  /** A link to a chapter. */
  to(folder, text) {
    return make("a", { href: `chapters/${folder}/index.html` }, text);
  }

  rows() {
    const shownColumns = 16, width = this.model.options.d_model, table = this.layers.call("sinusoids", this.source.length, width);
    const { box, cells } = grid(`The code of each position, ${shownColumns} of ${width} columns`, this.source,
      [...Array(shownColumns).keys()].map(String), () => make("td", { class: "number" }));
    this.source.forEach((_, t) => table.take(width).slice(0, shownColumns).forEach((x, column) => {
      const cell = cells[t * shownColumns + column];
      paint(cell, x, 1);
      cell.textContent = shown(x, 1);
    }));
    focusable(box, "The code of each position");
    const ids = this.source.map((word, i) => `${word} ${this.found.source[i]}`).join(", ");
    return [
      this.text("A vocabulary gives each word a number (", ids, "), and a table gives each number a row of ", `${width}`, " learned numbers: its ",
        this.to("01_embedding", "embedding"), ". A row alone does not know its place in the sentence, so a ",
        this.to("02_positional_encoding", "code of its position"), " is added:"), box,
    ];
  }

  /** The maps of all heads. */
  map(kind, name, rows) {
    const maps = new HeadMaps({ [kind]: name }, (shown) => this.say(`Shown: ${shown}.`), { last: true });
    maps.head = "mean";
    maps.show(this.found.maps, { [kind]: { rows, columns: this.source } });
    return maps.box;
  }
  encoder() {
    return [
      this.text("In ", this.to("04_scaled_dot_product_attention", "attention"), ", each row asks with a query, and every row answers with a key. The better they fit, the more of that row's value flows into the result. ",
        "Several ", this.to("05_multi_head_attention", "heads"), " do this side by side, and ", this.to("07_encoder", "layers"), " one after the other; between them, a ",
        this.to("06_feed_forward", "feed-forward layer"), " changes each row by itself."),
      this.map("encoder", "encoder self-attention", this.source),
    ];
  }
  decoder() {
    return [
      this.text("The ", this.to("08_decoder", "decoder"), " writes the translation. A ", this.to("03_masks", "mask"), " hides from each of its words what comes after it. In cross-attention its rows ask, and the encoder's rows answer: where does the model look for the word that it says? The heads differ; try them."),
      this.map("cross", "cross-attention", this.says),
    ];
  }

  words() {
    const prefix = [], said = make("p", { class: "tour-said" }), list = make("div", { class: "bars" });
    const show = (candidates) => {
      said.textContent = `${this.source.join(" ")} → ${prefix.map((id) => this.model.target[id]).join(" ")} …`;
      list.replaceChildren(...candidates.map(([id, p]) => {
        const bar = press(`${this.model.target[id]}  ${p.toFixed(3)}`, async () => {
          if (id === this.model.end) {
            said.textContent = said.textContent.replace(" …", "");
            list.replaceChildren(press("from the start", () => this.go(this.step)));
            this.say("The end symbol ends the translation.");
            return;
          }
          prefix.push(id);
          show((await this.worker.call("next", { words: this.source.join(" "), prefix })).steps.at(-1));
          this.say(`Said ${this.model.target[id]}. The likeliest next word is ${list.firstChild.textContent}.`);
          list.firstChild.focus();
        }, { class: "bar-button" });
        bar.style.setProperty("--part", p.toFixed(4));
        return bar;
      }));
    };
    show(this.found.steps[0]);
    return [
      this.text("The last row of the decoder becomes one number for each word of the vocabulary, and softmax turns these into probabilities. ",
        this.to("10_greedy_decoding", "Greedy decoding"), " always takes the likeliest, reads it, and asks again. You need not be greedy: click a word, and the model goes on from there."),
      said, list,
    ];
  }

  learning() {
    const line = svg("polyline", { fill: "none", stroke: "currentColor", "stroke-width": "1.5" });
    const first = svg("text", { x: "4", y: "14" }), last = svg("text", { x: "596", y: "14", "text-anchor": "end" });
    const curve = svg("svg", { viewBox: "0 0 600 120", role: "img", "aria-label": "the loss of each step" }, line, first, last);
    const button = press("train 60 steps", async () => {
      button.disabled = true;
      const wish = (this.training = {});
      const worker = await live.transformer(), losses = [];
      try {
        const task = await worker.call("train", { corpus: "grammar" }), [unseen] = task.unseen;
        while (losses.length < 60 && this.training === wish && this.isConnected) {
          losses.push(await worker.step(task.learning_rate, 50));
          const points = losses.map((loss, i) => `${i * 10},${(115 - (110 * loss) / losses[0]).toFixed(1)}`);
          line.setAttribute("points", points.join(" "));
          first.textContent = `loss ${losses[0].toFixed(2)}`;
          last.textContent = losses.length > 20 ? losses.at(-1).toFixed(2) : "";
          if (losses.length % 20) continue;
          const { ids } = await worker.call("translate", { words: unseen, max_words: 12 });
          this.say(`Step ${losses.length}: ${unseen} → ${ids.map((id) => task.target[id]).join(" ")}`);
        }
      } catch (error) {
        this.say(error.message);
      }
      worker.end();
      button.disabled = false;
    });
    return [
      this.text("At first all these numbers are random. ", this.to("09_training", "Training"), " shows the model pairs of sentences; the loss says how wrong its probabilities were, and the gradient of the loss says how each of the ", this.model.parameters.toLocaleString("en"), " numbers should change. ",
        "This book derives that gradient by hand, and here it runs, in your browser:"),
      make("div", { class: "bar" }, button), curve,
    ];
  }
}
customElements.define("abh-tour", AbhTour);
