"use strict";
// What all live parts of the pages share: the book's own code as WebAssembly, and elements to build with. A page that is
// opened from a file can neither fetch nor import another one, so everything comes by plain scripts.
const live = {
  supported: typeof WebAssembly === "object" && typeof DecompressionStream === "function",
  base: document.currentScript.src.replace(/[^/]*$/, ""),
  /** A list that tests provide; it gets each call with what went in and what came out. */
  log: window.liveLog ?? null,

  /** Loads a script of this folder, once. */
  script(name) {
    live.script[name] ??= new Promise((resolve, reject) => {
      const element = document.createElement("script");
      element.src = live.base + name;
      element.onload = resolve;
      element.onerror = () => reject(new Error(`${name} cannot be loaded`));
      document.head.append(element);
    });
    return live.script[name];
  },
  /** The bytes of a text that a script brought: base64 of gzip. */
  async inflated(text) {
    const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  },

  /** Text as the book's programs give it to a model: `tidy` of lib/io/unicode.cpp. */
  tidy(text) {
    const blank = /[\p{Z}\p{Cc}\u2800\u3164\uFFA0]/gu, unseen = /(?![\u200C\u200D])[\p{DI}\uFFF9-\uFFFB]/gu;
    return text.replace(blank, " ").replace(unseen, "").replace(/ +/g, " ").replace(/^ | $/g, "").normalize("NFC");
  },

  /** The layers of chapters 2 to 9, in double precision, on this page's own thread. */
  layers: () => live.numbers("layers"),
  /** How chapter 15 draws words. */
  sampling: () => live.numbers("sampling"),
  numbers(name) {
    live.numbers[name] ??= (async () => {
      await live.script(`${name}.js`);
      const make = window[`abh_${name}`];
      return new Layers(await make({ wasmBinary: await live.inflated(make.packed) }), name);
    })();
    return live.numbers[name];
  },

  /** A Transformer in a worker, so that the page stays free while it computes. Every call makes a new one. */
  async transformer() {
    await live.script("transformer.js");
    // A worker may not come from a file either. This one is made of the texts of functions that are here already.
    const source = `"use strict"; var _scriptDir = ""; const make = ${abh_transformer};(${live.serve})(make);`;
    const number = (live.transformer.count = (live.transformer.count ?? 0) + 1);
    const worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    let next = 0;
    const waiting = new Map();
    worker.onmessage = ({ data: { id, value, error } }) => {
      const { resolve, reject } = waiting.get(id);
      waiting.delete(id);
      error === undefined ? resolve(value) : reject(new Error(error));
    };
    const send = (message, transfer = []) =>
      new Promise((resolve, reject) => {
        waiting.set(++next, { resolve, reject });
        worker.postMessage({ id: next, ...message }, transfer);
      });
    const bytes = await live.inflated(abh_transformer.packed);
    await send({ start: bytes }, [bytes]);
    const text = async (name, given) => {
      const value = await send({ name, values: [given] });
      live.log?.push({ module: `transformer ${number}`, name, given: [given], out: value });
      return JSON.parse(value);
    };
    return {
      /** Calls `live_NAME` with a request; both it and the answer are objects. */
      call: (name, request) => text(`live_${name}`, JSON.stringify(request)),
      /** One step of training. @return the loss */
      async step(peak, warmup) {
        const loss = await send({ name: "live_step", values: [peak, warmup] });
        live.log?.push({ module: `transformer ${number}`, name: "live_step", given: [peak, warmup], out: loss });
        return loss;
      },
      /** Opens a checkpoint; its bytes are given away. */
      async open(name, buffer) {
        await send({ file: buffer }, [buffer]);
        return text("live_open", name);
      },
      /** Bytes of the module's memory. */
      memory: () => send({ memory: true }),
      end: () => worker.terminate(),
    };
  },
  /**
   * Opens a checkpoint in a worker of its own; by default the grammar's model. Its weights come with the pages, and so do
   * those of the same model `without position codes`.
   * @return  the model, and what `open` tells about it
   */
  async opened(name = "the grammar's model", bytes) {
    const own = name === "without position codes" ? "without_codes" : "weights";
    const [model] = await Promise.all([live.transformer(), bytes ?? live.script(`${own}.js`)]);
    try {
      return { model, about: await model.open(name, bytes ?? (await live.inflated(live[own]))) };
    } catch (error) {
      model.end();
      throw error;
    }
  },
  /** What the worker runs. */
  serve: function (make) {  // not a method: its text must be an expression
    let m;
    const answer = {
      async start({ start }) {
        m = await make({ wasmBinary: start });
      },
      file({ file }) {
        const place = m._live_file(file.byteLength);
        if (!place) throw new Error("there is no room in memory for this file");
        m.HEAPU8.set(new Uint8Array(file), place);
      },
      memory: () => m.HEAPU8.length,
      name({ name, values }) {
        const number = name === "live_step";
        const types = values.map((v) => (typeof v === "string" ? "string" : "number"));
        const value = m.ccall(name, "number", types, values);
        if (number ? Number.isNaN(value) : value === 0) throw new Error(m.UTF8ToString(m._live_error()));
        return number ? value : m.UTF8ToString(value);
      },
    };
    onmessage = async ({ data }) => {
      const kind = ["start", "file", "memory", "name"].find((k) => k in data);
      try {
        postMessage({ id: data.id, value: await answer[kind](data) });
      } catch (error) {
        postMessage({ id: data.id, error: String(error.message ?? error) });
      }
    };
  },
};

/** A module of layers or of sampling: numbers go in and come out in one order, which module/NAME.cpp gives for each call. */
class Layers {
  constructor(module, name) {
    this.m = module;
    this.name = name;
  }
  /**
   * Calls `live_NAME`.
   * @param parts  numbers and lists of numbers
   * @return       take(n), which gives the next n numbers of the result, and left, all that are left
   */
  call(name, ...parts) {
    const m = this.m;
    const given = parts.flatMap((part) => (typeof part === "number" ? [part] : [...part]));
    // A memory that has grown has another buffer, so each view is made anew.
    new Float64Array(m.HEAPU8.buffer, m._live_numbers(given.length), given.length).set(given);
    const count = m[`_live_${name}`]() - 1;
    if (count < 0) throw new Error(m.UTF8ToString(m._live_error()));
    const out = new Float64Array(m.HEAPU8.buffer, m._live_numbers(count), count).slice();
    live.log?.push({ module: this.name, name: `live_${name}`, given, out: [...out] });
    let at = 0;
    return { take: (n) => out.subarray(at, (at += n)), get left() { return out.subarray(at); } };
  }
  get words() {
    return this.m.UTF8ToString(this.m._live_words()).split(" ");
  }
}

// Elements ------------------------------------------------------------------------------------------

/** An element with attributes; what is no string is set as a property. */
const make = (tag, properties = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties))
    key in element && typeof value !== "string" ? (element[key] = value) : element.setAttribute(key, value);
  element.append(...children);
  return element;
};
const svg = (tag, properties = {}, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(properties)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};
const press = (text, action, properties = {}) => {
  const button = make("button", { type: "button", ...properties }, text);
  button.addEventListener("click", action);
  return button;
};
/** A number with a true minus sign; 0 for what is too small to be seen. */
const shown = (x, digits = 2) =>
  (Math.abs(x) < 0.5 * 10 ** -digits ? (0).toFixed(digits) : x.toFixed(Math.abs(x) >= 100 ? 0 : digits)).replace("-", "−");
let ids = 0;
/** A slider with its label and its value. @param say  the text for a value */
const slider = (label, { min, max, step, value }, say, action) => {
  const id = `live-${++ids}`, text = make("span", { class: "value" }, say(value));
  const input = make("input", { type: "range", id, min: `${min}`, max: `${max}`, step: `${step}`, value: `${value}` });
  input.setAttribute("aria-valuetext", say(value));
  input.addEventListener("input", () => {
    input.say();
    action(input.valueAsNumber);
  });
  input.say = () => {
    text.textContent = say(input.valueAsNumber);
    input.setAttribute("aria-valuetext", text.textContent);
  };
  return { input, row: make("span", { class: "slide" }, make("label", { for: id }, label, " ", text), input) };
};
/** Sets a slider, without the action that a reader's hand causes. */
const slide = ({ input }, value) => {
  input.value = `${value}`;
  input.say();
};
const choice = (label, options, action) => {
  const select = make("select", {}, ...options.map(([value, text]) => make("option", { value: `${value}` }, text)));
  select.addEventListener("change", () => action(select.value));
  return { select, row: make("label", { class: "choice" }, `${label} `, select) };
};
// Chinese words with their glosses, from glosses.js -----------------------------------------------------

const longest = (characters, at) =>
  [4, 3, 2].find((n) => at + n <= characters.length && characters.slice(at, at + n).join("") in live.glosses) ?? 1;
const zh = (word, gloss) => (gloss ? make("span", { class: "zh", "data-gloss": gloss }, word) : word);
/** The glosses of words of one character each; two that are one word get half of its gloss each. */
const glosses = (words) => {
  const found = [];
  for (let count; found.length < words.length;) {
    const at = found.length, word = words.slice(at, at + (count = longest(words, at))).join("");
    found.push(...(count > 1 ? live.glosses[word] : [live.alone[word] ?? ""]));
  }
  return found;
};
/** Such words as labels of rows or columns. */
const labels = (words) => glosses(words).map((gloss, i) => zh(words[i], gloss));
/** The same for a list to choose from, in which there is only text. */
const named = (words) => glosses(words).map((gloss, i) => `${words[i]} ${gloss}`.trim());
/** A text, its Chinese words with their glosses below them; one word's characters stay together. */
const glossed = (text) =>
  text.split(/(\p{Script=Han}(?: ?\p{Script=Han})*)/u).flatMap((run, i) => {
    if (i % 2 === 0) return run ? [run] : [];
    const characters = run.match(/\p{Script=Han}/gu), blank = run.includes(" ") ? " " : "", parts = [];
    for (let at = 0, count; at < characters.length; at += count) {
      const word = characters.slice(at, at + (count = longest(characters, at)));
      const gloss = count > 1 ? live.glosses[word.join("")].join("").replaceAll("--", "") : live.alone[word[0]];
      parts.push(...(at ? [blank] : []), zh(word.join(blank), gloss));
    }
    return parts;
  });
/** The glosses alone. */
const meaning = (text) => glossed(text).map((part) => part.dataset?.gloss ?? part).join("");

/** A table of cells. @param cell  makes the one of row i and column j. @return the table's box, and its cells, row by row */
const grid = (title, rows, columns, cell) => {
  const cells = [], text = (name) => typeof name === "string";
  [rows, columns] = [rows, columns].map((names) => (names.every(text) ? labels(names) : names));
  const body = rows.map((row, i) =>
    make("tr", {}, make("th", { scope: "row" }, row), ...columns.map((_, j) => {
      const inside = cell(i, j);
      cells.push(inside);
      return inside.tagName === "TD" ? inside : make("td", {}, inside);
    })));
  const head = make("tr", {}, make("td"), ...columns.map((c) => make("th", { scope: "col" }, c)));
  const box = make("div", { class: "part" }, make("table", {}, make("caption", {}, title), make("thead", {}, head), make("tbody", {}, ...body)));
  return { box, cells };
};
/** Colors a cell by a number, deepest at `most`: blue, or, if numbers are signed, orange if positive and blue if negative. */
const paint = (cell, x, most, signed = false) => {
  cell.style.setProperty("--part", most > 0 ? Math.min(1, Math.abs(x) / most).toFixed(3) : "0");
  cell.classList.toggle("plus", signed && x > 0);
  cell.classList.toggle("minus", x < 0);
};
/** Lets a box that may scroll be reached by keyboard. */
const focusable = (box, label) => {
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", label);
};
/** Arrow keys, Home and End lead from one of these to another; Tab reaches one of them. @param go  called with its number */
const arrows = (cells, width, go = () => {}) => {
  cells.forEach((cell, at) => {
    cell.tabIndex = at ? -1 : 0;
    cell.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -width, ArrowDown: width }[event.key];
      const to = { Home: 0, End: cells.length - 1 }[event.key] ?? at + step, row = (i) => Math.floor(i / width);
      if (!cells[to] || (/Left|Right/.test(event.key) && row(at) !== row(to))) return;
      event.preventDefault();
      for (const other of cells) other.tabIndex = -1;
      cells[to].tabIndex = 0;
      cells[to].focus();
      go(to);
    });
  });
};
/** A box for a number. @param change  is called with it and its text, `refused`, if given, with none from −99 to 99 */
const numeric = (label, change, refused) => {
  const limits = refused ? { min: "-99", max: "99" } : {};
  const input = make("input", { type: "number", step: "any", inputmode: "decimal", "aria-label": label, ...limits });
  input.addEventListener("input", () => {
    if (!input.validity.valid) refused?.();
    else if (input.value !== "") change(input.valueAsNumber, input.value.replace("-", "−"));  // else half a number
  });
  return input;
};
const reset = (...sliders) => {
  for (const { input } of sliders) {
    input.value = input.defaultValue;
    input.say();
  }
};
/** A word in a picture. */
const text = (x, y, said, anchor) => svg("text", { x, y, "text-anchor": anchor }, said);
/** A pointer on a picture, pressed or dragged, calls `action` with its place, in parts of the picture's width and height. */
const picks = (picture, action) => {
  const pick = ({ clientX, clientY }) => {
    const { left, top, width, height } = picture.getBoundingClientRect();
    action((clientX - left) / width, (clientY - top) / height);
  };
  picture.addEventListener("click", pick);
  picture.addEventListener("pointermove", (event) => event.pointerType === "mouse" && event.buttons && pick(event));
};

/**
 * A live part. What stands on its stage in the page, a figure, is shown until the first result, in print, and where there is no
 * WebAssembly; its caption stays. A subclass has `start`, which builds and shows; `eager` ones start by themselves, others when a
 * reader asks; `keeps`: the figure stays. `pose`, where a page has tasks, puts the part into a state and returns what it then
 * computes, a sentence for the reader; what the state leaves out is as at the start.
 */
class LivePart extends HTMLElement {
  connectedCallback() {
    if (this.begun !== undefined) return;
    this.begun = null;
    this.stage = this.querySelector(".stage");
    if (!live.supported) {
      this.stage.append(make("p", { class: "invitation" }, "With WebAssembly, this part runs the book's own code."));
      return;
    }
    for (const task of this.querySelectorAll(".task"))
      for (const answer of task.querySelectorAll("details.answer"))
        answer.addEventListener("toggle", () => answer.open && this.answer(JSON.parse(task.dataset.show), answer));
    if (this.constructor.eager) this.begin();
    else {
      this.invitation = make("p", { class: "invitation" }, press(this.constructor.invitation, () => this.begin()));
      this.stage.append(this.invitation);
    }
  }
  /** Shows what a task asks about, and adds to the reply what comes out. */
  async answer(state, answer) {
    await this.begin();
    if (!this.classList.contains("is-live")) return;
    const line = answer.querySelector(".computed") ?? make("p", { class: "computed" });
    line.replaceChildren("Computed here: ", ...glossed(await this.pose(state)));
    answer.querySelector(".reply").append(line);
  }
  /** Starts, once. @return when it runs */
  begin() {
    this.begun ??= (async () => {
      const figures = [...this.stage.children].filter((node) => node !== this.invitation);
      const body = make("div", { class: "live-body" });
      this.said = make("p", { role: "status", class: "said" });
      const held = this.invitation?.contains(document.activeElement);
      if (this.invitation) {
        const button = this.invitation.firstChild;
        button.disabled = true;
        button.textContent = "loading …";
      }
      try {
        await this.start(body);
      } catch (error) {
        console.error(error);
        this.invitation?.replaceChildren(`This part cannot run here: ${error.message}`);
        return;
      }
      this.invitation?.remove();
      this.stage.append(body, ...(body.contains(this.said) ? [] : [this.said]));
      if (!this.constructor.keeps)
        for (const figure of figures) {
          const caption = figure.querySelector("figcaption");
          for (const node of caption ? figure.children : [figure]) if (node !== caption) node.classList.add("until-live");
          if (caption) this.stage.append(figure);
        }
      if (held) body.querySelector("button, select, input[type=range]")?.focus();
      this.classList.add("is-live");
      this.dispatchEvent(new Event("live", { bubbles: true }));
    })();
    return this.begun;
  }
  /** For those who listen: what changed. */
  say(text) {
    clearTimeout(this.saying);
    this.said.replaceChildren(...glossed(text));
  }
  /** The same when the reader rests, not at each step of a drag. */
  sayLater(text) {
    clearTimeout(this.saying);
    if (this.classList.contains("is-live")) this.saying = setTimeout(() => this.say(text), 200);
    else this.say(text);
  }
}

/** Panels under tabs. @param panels  by name */
const tabs = (label, panels) => {
  const names = Object.keys(panels);
  const show = (chosen) =>
    names.forEach((name, i) => {
      buttons[i].setAttribute("aria-selected", `${i === chosen}`);
      buttons[i].tabIndex = i === chosen ? 0 : -1;
      boxes[i].hidden = i !== chosen;
    });
  const first = ++ids;
  const buttons = names.map((name, i) => press(name, () => show(i), { role: "tab", id: `live-tab-${first}-${i}`, "aria-controls": `live-panel-${first}-${i}` }));
  const boxes = names.map((name, i) => make("div", { role: "tabpanel", id: `live-panel-${first}-${i}`, "aria-labelledby": `live-tab-${first}-${i}` }, panels[name]));
  arrows(buttons, buttons.length, show);
  show(0);
  return make("div", { class: "tabs" }, make("div", { role: "tablist", "aria-label": label, class: "tablist" }, ...buttons), ...boxes);
};
/** A fold with the page's own listings of the code that runs, if it has them. @param names  their anchors */
const listings = (...names) => {
  const found = names.map((name) => document.getElementById(name)).filter(Boolean);
  const copies = found.map((listing) => {
    const copy = listing.cloneNode(true);
    for (const element of [copy, ...copy.querySelectorAll("[id]")]) element.removeAttribute("id");
    for (const button of copy.querySelectorAll(".copybtn")) button.remove();
    for (const box of copy.querySelectorAll("[data-scrolls]")) scrolling.observe(box);  // book.js
    return copy;
  });
  return found.length ? [make("details", { class: "running" }, make("summary", {}, "The code that runs"), ...copies)] : [];
};
