"use strict";
// <abh-translate>: chapter 10's greedy decoding, word by word, by the grammar's model or by a reader's own.
class AbhTranslate extends LivePart {
  static eager = false;
  static keeps = true;
  static invitation = "Translate word by word (loads 2 MB)";

  async start(body) {
    await live.script("maps.js");
    this.queue = Promise.resolve();
    const kinds = { cross: "cross-attention", self: "decoder self-attention", encoder: "encoder self-attention" };
    this.maps = new HeadMaps(kinds, (shown) => this.say(`Shown: ${shown}.`),
      { last: true, pick: (row, kind) => kind !== "encoder" && this.go(row, true) });
    const rows = make("p", { class: "note" }, "Rows of the decoder: the word it reads → the word it says.");
    this.result = make("div", { class: "result" }, this.stepping(), tabs("What happens in this step",
      { "Attention": make("div", {}, this.maps.box, rows), "Key-value cache": this.caching() }));
    body.append(this.asking(), this.result, this.own());
    body.append(...listings("greedy-decoding-cpp-greedy", "incremental-decoder-cpp-one-word"));
    await this.load();
    this.text.value = live.sentences[0];
    await this.translate();
  }

  /** The sentence, and the model's words to make one of. */
  asking() {
    const id = `live-${++ids}`;
    this.text = make("input", { type: "text", id, autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
    this.text.addEventListener("keydown", (event) => event.key === "Enter" && !event.isComposing && this.ask());
    this.example = choice("example", [["", "choose"], ...live.sentences.map((words) => [words, `${words}: ${meaning(words)}`])], (words) => {
      if (!words) return;
      this.text.value = words;
      this.ask();
    });
    this.words = make("div", { class: "words", role: "group", "aria-label": "add a word" });
    this.trouble = make("p", { class: "note", role: "status" });
    this.text.addEventListener("input", () => this.typed());
    this.shorter = press("remove last word", () => this.write(this.text.value.trim().replace(/\s*\S+$/, "")));
    const label = make("label", { for: id }, "sentence"), translate = press("translate", () => this.ask());
    return make("div", {}, make("div", { class: "bar sentence" }, label, this.text, translate),
      make("div", { class: "bar" }, this.example.row, this.shorter), this.words, this.trouble);
  }
  write(text) {
    this.text.value = text;
    this.typed();
    this.say(`The sentence is ${text || "empty"}.`);
  }
  /** What is shown belongs to the sentence before. */
  typed() {
    const { value } = this.text;
    this.example.select.value = live.sentences.includes(value) ? value : "";
    const old = !!this.run && value !== this.run.text;
    this.result.classList.toggle("stale", old);
    this.trouble.textContent = old ? "Press translate for this sentence; below is still the one before." : "";
  }
  /** The words so far, the likeliest next ones, and a way through the steps. */
  stepping() {
    this.reads = make("p", { class: "reads" });
    this.source = make("p");
    const of = (x) => `${x} of ${this.run?.says.length ?? 1}`;
    this.step = slider("word", { min: 1, max: 1, step: 1, value: 1 }, of, (x) => this.go(x - 1));
    this.step.input.addEventListener("change", () => this.tell());
    this.first = press("first", () => this.go(0, true));
    this.back = press("back", () => this.go(this.at - 1, true));
    this.forth = press("next word", () => this.go(this.at + 1, true));
    this.again = press("likeliest again", () => this.ask(this.run.request));
    this.next = Array.from({ length: 6 }, (_, rank) => press(make("span"), () => this.choose(rank), { class: "next" }));
    for (const button of this.next) button.append(" ", make("span"));
    return make("div", {}, this.source, this.reads,
      make("div", { class: "bar" }, this.first, this.back, this.forth, this.step.row, this.again),
      make("div", { class: "nexts", role: "group", "aria-label": "likeliest next words" }, ...this.next));
  }
  caching() {
    this.kept = make("div", { class: "keys" });
    this.cost = make("p");
    return make("div", {}, this.kept, this.cost);
  }
  /** A checkpoint of the reader's own, which is chosen, or dropped anywhere on this part. */
  own() {
    const id = `live-${++ids}`, input = make("input", { type: "file", id, accept: ".safetensors" });
    const open = (file) => file && this.turn(() => this.open(file), `opening ${file.name} …`);
    input.addEventListener("change", () => {
      open(input.files[0]);
      input.value = "";  // so that the same file can be chosen again
    });
    for (const kind of ["dragover", "drop"])
      this.addEventListener(kind, (event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        if (kind === "drop") open(event.dataTransfer.files[0]);
      });
    this.using = make("p");
    this.grammar = press("the grammar’s model again", () => this.turn(() => this.open()));
    return make("details", { class: "own" }, make("summary", {}, "A checkpoint of your own"), this.using,
      make("p", {}, "Choose a checkpoint of chapter 9, or drop it here. ",
        "It is read in this page; nothing leaves your machine."),
      make("div", { class: "bar" }, make("label", { for: id }, "checkpoint"), input, this.grammar));
  }

  /** One thing after the other. One that fails says why, and what was there stays. */
  turn(action, doing = "") {
    return (this.queue = this.queue.then(async () => {
      this.trouble.textContent = doing;
      try {
        await action();
        this.trouble.textContent = "";
      } catch (error) {
        this.typed();
        const said = error.message.replace(/^(vocabulary|greedy decoding): /, "");
        this.trouble.textContent = said.startsWith("unknown word") ? `${said}; the words above are all that it knows` : said;
      }
    }));
  }

  // The model -----------------------------------------------------------------------------------------

  /** Loads a checkpoint, or without a file the grammar's. The model before goes first, since memory is for one. */
  async load(file) {
    this.model?.end();
    this.model = null;
    const { model, about } = await live.opened(file?.name, await file?.arrayBuffer());
    Object.assign(this, { model, about, file });
    const { n_encoder_layers, n_decoder_layers, n_heads, pad } = about.options, bytes = await model.memory();
    this.using.textContent = `In use: ${file?.name ?? "the grammar’s model"}, with ` +
      `${about.parameters.toLocaleString("en-US")} parameters in ${n_encoder_layers} + ${n_decoder_layers} layers of ` +
      `${n_heads} heads. It takes ${(bytes / 1e6).toFixed(0)} MB of memory.`;
    this.grammar.disabled = !file;
    this.example.row.hidden = !!file;
    const words = about.source.length > 80 ? [] : about.source.filter((_, id) => id !== pad);
    this.shorter.hidden = !words.length;
    const add = (label, i) => press(label, () => this.write(`${this.text.value.trim()} ${words[i]}`.trim()));
    this.words.replaceChildren(...labels(words).map(add));
  }
  /** Goes over to another checkpoint; if that cannot be, back to the one before. */
  async open(file) {
    const before = this.file;
    try {
      await this.load(file);
    } catch (error) {
      if (!this.model) await this.load(before).catch(() => this.load());
      throw new Error(error.message.startsWith(file.name) ? error.message : `${file.name}: ${error.message}`);
    }
    if (!file) this.text.value = live.sentences[0];
    try {
      await this.translate();
    } catch {  // the sentence has other words
      this.text.value = this.about.source.slice(1, 4).join(" ");
      await this.translate();
    }
  }

  // Translating ---------------------------------------------------------------------------------------

  ask(request) {
    this.turn(() => this.translate(request));
  }
  /** A sentence as the model takes it; words of one character may stand together. */
  request(text) {
    const known = new Set(this.about.source);
    const cut = (word) => (!known.has(word) && [...word].every((c) => known.has(c)) ? [...word] : [word]);
    return { words: live.tidy(text).split(" ").flatMap(cut).join(" ") };
  }
  static join({ about }, ids) {
    return ids.map((id) => about.target[id]).join(" ");
  }
  async translate(request = this.request(this.text.value)) {
    const run = await this.model.call("translate", request);
    this.text.value = request.words;
    this.show({ ...run, request, chosen: new Set(), about: this.about, text: this.text.value }, 0);
    const cut = run.finished ? "" : `, cut off after ${run.ids.length} words,`;
    this.say(`The translation${cut} is: ${AbhTranslate.join(this, run.ids)}`);
  }
  /** Takes a word that the reader chooses, and then the likeliest ones to the end. */
  choose(rank) {
    const { run, at } = this, [id] = run.steps[at][rank];
    if (id === run.taken[at]) return this.go(at + 1, true);
    this.turn(async () => {
      if (this.run !== run) return;  // another one was quicker
      const chosen = new Set([...run.chosen].filter((t) => t < at)), ids = run.ids.slice(0, at);
      if (rank) chosen.add(at);
      const next = () => this.model.call("next", { ...run.request, prefix: ids });
      let finished = id === run.about.end, answer;
      if (finished) answer = await next();
      else
        for (ids.push(id); !finished && ids.length < 50;) {
          answer = await next();
          const [[likeliest]] = answer.steps.at(-1);
          finished = likeliest === run.about.end;
          if (!finished) ids.push(likeliest);
        }
      this.show({ ...run, ...answer, ids, finished, chosen }, at + 1);
      this.say(`After ${run.about.target[id]}, your choice, the translation is: ${AbhTranslate.join(run, ids)}`);
    });
  }

  /** @param state  `words`, the `step` (from 0), and the `kind`, `layer` and `head` of the map, or `cache` */
  async pose({ words = live.sentences[0], step = 0, cache = false, ...map }) {
    if (this.file) await this.turn(() => this.open());
    await this.turn(() => this.translate({ words }));
    this.maps.set(map);
    this.go(step, true);
    this.querySelectorAll("[role=tab]")[cache ? 1 : 0].click();
    if (cache) return `keys and values are made for ${this.made("no cache")} words without the cache, and for ${this.made("cache")} with it.`;
    return `${this.maps.told(step)}; the translation is “${AbhTranslate.join(this, this.run.ids)}”.`;
  }
  show(run, at) {
    const { source, target } = run.about, sentence = run.source.map((id) => source[id]);
    run.taken = run.steps.map((_, t) => run.ids[t] ?? run.about.end);
    run.says = run.taken.map((id) => target[id]);
    run.reads = ["S", ...run.says.slice(0, -1)];
    run.sentence = sentence;
    this.run = run;
    this.source.replaceChildren(...glossed(run.sentence.join(" ")));
    this.typed();
    const rows = run.says.map((word, t) => `${run.reads[t]} → ${word}`);
    at = Math.min(at, rows.length - 1);
    this.maps.show(run.maps, { encoder: { rows: sentence, columns: sentence }, self: { rows, columns: run.reads },
      cross: { rows, columns: sentence } }, at);
    const [plain, cached] = run.products.map((n) => n.toLocaleString("en-US"));
    this.cost.textContent = `For the likeliest translation, the decoder’s matrix products take ${plain} ` +
      `multiply-adds without the cache and ${cached} with it.`;
    this.again.disabled = !run.chosen.size;
    this.step.input.max = `${rows.length}`;
    this.go(at);
  }
  /** Goes to a step. */
  go(at, tell = false) {
    const { run } = this, { says, reads, chosen } = run, last = says.length - 1;
    if (at < 0 || at > last) return;
    this.at = at;
    this.step.input.value = `${at + 1}`;
    this.step.input.say();
    this.first.disabled = this.back.disabled = at === 0;
    this.forth.disabled = at === last;
    const word = (text, ...kinds) => make("span", { class: ["word", ...kinds].join(" ") }, text);
    const words = says.map((text, t) => {
      const kind = t === at ? "now" : t > at ? "later" : "read";
      return chosen.has(t) ? word(`${text}*`, kind, "chosen") : word(text, kind);
    });
    const ends = [run.finished ? "" : ` … cut off after ${run.ids.length} words`, chosen.size ? " * your choice" : ""];
    this.reads.replaceChildren("reads ", word(reads[0], "read"), ...words.slice(0, at), " says ", words[at],
      at < last ? " then " : "", ...words.slice(at + 1), ...ends);
    this.next.forEach((button, rank) => {
      const [id, p] = run.steps[at][rank] ?? [], taken = id === run.taken[at], [name, number] = button.children;
      button.hidden = id === undefined;
      if (button.hidden) return;
      name.textContent = `${taken ? "✓ " : ""}${run.about.target[id]}${id === run.about.end ? " (end)" : ""}` +
        (taken && chosen.has(at) ? " * your choice" : "");
      number.textContent = shown(p, 3);
      button.style.setProperty("--part", p.toFixed(4));
      button.setAttribute("aria-pressed", `${taken}`);
    });
    this.maps.mark(at);
    this.keep(at);
    if (tell) this.tell();
  }
  tell() {
    const { run, at } = this, [[id, p]] = run.steps[at], likeliest = `${run.about.target[id]}, ${shown(p, 3)}`;
    this.say(`After ${run.reads.slice(0, at + 1).join(" ")} the likeliest word is ${likeliest}.`);
  }
  /** For how many words the step shown makes keys and values, of the sentence and of what is read. */
  made(row) {
    const rows = [...this.kept.querySelectorAll("tbody tr")].filter((tr) => tr.firstChild.textContent === row);
    return rows.reduce((sum, tr) => sum + tr.querySelectorAll(".new").length, 0);
  }
  /** Which keys and values a step computes. */
  keep(at) {
    const table = (title, columns, kept) => {
      const { box } = grid(title, ["no cache", "cache"], columns, (i, j) => {
        const word = i && kept(j) ? "kept" : "new";
        return make("td", { class: word }, word);
      });
      focusable(box, title);
      return box;
    };
    this.kept.replaceChildren(
      table("Keys and values of the words read", this.run.reads.slice(0, at + 1), (j) => j < at),
      table("Keys and values of the sentence", this.run.sentence, () => at > 0));
  }
}
customElements.define("abh-translate", AbhTranslate);
