async (part) => {
  const demand = (holds, what) => {
    if (!holds) throw new Error(`translate: ${what}`);
  };
  const one = (selector) => part.querySelector(selector);
  const button = (text) => [...part.querySelectorAll("button")].find((found) => found.textContent === text);
  const trouble = () => part.trouble.textContent, said = () => trouble() || one(".said").textContent, reads = () => one(".reads").textContent;
  const until = async (holds, what) => {
    for (let i = 0; !holds(); ++i) {
      demand(i < 2000, `${what}; it says: ${said()}; ${one(".note").textContent}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const [example, kind, layer] = part.querySelectorAll("select");
  const text = one("input[type=text]"), file = one("input[type=file]");
  const slide = one("input[type=range]"), next = () => [...part.querySelectorAll(".next:not([hidden])")];
  const change = (element, value, event) => {
    element.value = value;
    element.dispatchEvent(new Event(event, { bubbles: true }));
  };
  const ask = async (sentence, wanted) => {
    text.value = sentence;
    text.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    await part.queue;
    await until(() => said() === wanted, `${sentence} gives: ${wanted}`);
  };
  const girl = "The translation is: I have a girl friend .";

  // sentences
  demand(reads().replace(/\s+/g, " ") === "reads S says I then haveagirlfriend.E", reads());
  await ask("猫", "unknown word 猫; the words above are all that it knows");
  demand(one(".result").classList.contains("stale"), "what is shown belongs to the sentence before");
  await ask("", "there is no word to translate");
  await ask("我有一个女朋友", girl);
  demand(text.value === "我 有 一 个 女 朋 友", "words of one character are told apart");
  for (let i = 0; i < 7; ++i) button("remove last word").click();
  demand(text.value === "" && one(".said").textContent === "The sentence is empty.", text.value);
  for (const word of "我 有 一 个 朋 友".split(" ")) button(word).click();
  demand(text.value === "我 有 一 个 朋 友", text.value);
  button("translate").click();
  await until(() => said() === "The translation is: I have a friend .", "words are buttons");
  change(example, example.options[2].value, "change");
  await until(() => said() === "The translation is: do you know two teachers ?", "an example is translated");
  await ask("我 有 一 个 女 朋 友", girl);

  // steps
  button("next word").click();
  demand(said().startsWith("After S I the likeliest word is have, 0.9"), said());
  change(slide, "4", "input");
  slide.dispatchEvent(new Event("change"));
  demand(said().startsWith("After S I have a the likeliest word is girl, 0."), said());
  demand(one("[aria-current=step]").textContent === "a → girl", "the step's row is marked");
  demand(next().length === 6, "the six likeliest words are shown");
  button("back").click();
  button("first").click();
  demand(button("first").disabled && button("back").disabled, "this is the first step");
  change(slide, "4", "input");
  next()[1].click();
  await until(() => said().includes("your choice"), "another word is taken");
  demand(one(".word.chosen").textContent.endsWith("*") && !said().includes("girl"), "it is marked as the reader's");
  demand(slide.value === "5", "the step after it is shown");
  button("back").click();
  demand(/✓.*your choice/.test(next()[1].textContent), "the choice is marked among the likeliest");
  change(slide, "2", "input");
  const other = next()[5].querySelector("span").textContent;
  next()[5].click();
  await until(() => said().startsWith(`After ${other}, your choice, the translation is: I`), "another choice, earlier");
  demand(part.querySelectorAll(".word.chosen").length === 1, "what followed an earlier word is gone");
  button("likeliest again").click();
  await until(() => said() === girl && button("likeliest again").disabled, "the likeliest words are back");

  // maps
  const numbers = () => [...part.querySelectorAll("td.number")].map((cell) => cell.textContent).join();
  const before = numbers();
  for (const head of [...part.querySelectorAll(".head")]) head.click();
  const caption = () => one("caption").textContent;
  demand(numbers() !== before && caption() === "cross-attention, layer 2, mean of the heads", caption());
  change(layer, "0", "change");
  change(kind, "self", "change");
  demand(part.querySelectorAll("td.number").length === 49, "the decoder's map has seven words");
  demand(caption().startsWith("decoder self-attention, layer 1"), caption());
  part.querySelectorAll("tbody th button")[2].click();
  demand(slide.value === "3" && one("[aria-current=step]").textContent === "have → a", "a row leads to its step");
  change(kind, "encoder", "change");
  demand(one(".map th button").getAttribute("aria-label").startsWith("我 looks at "), "the encoder's map");
  demand(!one("[aria-current=step]"), "a step has no row in the encoder");
  change(kind, "cross", "change");

  // the cache
  part.querySelectorAll("[role=tab]")[1].click();
  const count = (cells) => part.querySelectorAll(cells).length;
  demand(count("td.new") === 3 + 1 + 7 && count("td.kept") === 2 + 7, "what is kept is marked");
  demand(/take [\d,]+ multiply-adds without the cache and [\d,]+ with/.test(part.textContent), "products are counted");
  button("time both").click();
  await until(() => said().includes("the same words"), "both ways are timed");

  // other checkpoints: what the page brings serves as the reader's own, whole, spoilt and with subwords
  const bytes = await live.inflated(live.weights), name = "grammar-seed1.safetensors";
  const own = (parts, as = name) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(parts, as));
    return transfer;
  };
  const choose = (parts, as) => {
    file.files = own(parts, as).files;
    file.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const inUse = () => one(".own p").textContent;
  choose(["no tensors"], "notes.txt");
  await until(() => said() === "notes.txt is not a safetensors file", "another kind of file is refused");
  choose([bytes.slice(0, -4)], "cut.safetensors");
  await until(() => said().startsWith("cut.safetensors: not a usable safetensors file: "), "a spoilt file is refused");
  demand(inUse().startsWith("In use: the grammar’s model"), inUse());
  await ask("我 有 一 个 女 朋 友", girl);
  part.dispatchEvent(new DragEvent("drop", { dataTransfer: own([bytes]), bubbles: true, cancelable: true }));
  await until(() => inUse().startsWith(`In use: ${name}`) && said() === girl, "a checkpoint is dropped");

  // The same weights, with subwords for words: the native program has no such file, so it is not logged.
  const { log } = live, encoder = new TextEncoder();
  live.log = null;
  const field = (number, value) => {
    if (typeof value === "number") return [number * 8, value];
    const inside = typeof value === "string" ? [...encoder.encode(value)] : value;
    const n = inside.length, length = n < 128 ? [n] : [n % 128 + 128, n >> 7];
    return [number * 8 + 2, ...length, ...inside];
  };
  const model = (pieces) => [
    ...pieces.flatMap(([piece, type], id) => field(1, [...field(1, piece), 21, 0, 0, id, 0xc3, ...field(3, type)])),
    ...field(2, field(3, 2)), ...field(3, field(3, 1))].map((x) => x.toString(16).padStart(2, "0")).join("");
  const size = Number(new DataView(bytes).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.slice(8, 8 + size)));
  const pieces = (words) => [["<pad>", 3], ["<unk>", 2], ["<s>", 3], ["</s>", 3], ...words.map((word) => [word, 1])];
  header.__metadata__ = {
    options: header.__metadata__.options,
    source_subwords: model(pieces([..."▁我有一个女朋友", "▁我", "朋友", ..."甲乙丙丁戊己庚辛壬癸子丑寅卯"].slice(0, 24))),
    target_subwords: model(pieces(Array.from({ length: 30 }, (_, i) => `▁${String.fromCharCode(97 + i % 26)}${i}`))),
  };
  const written = encoder.encode(JSON.stringify(header)), length = new BigUint64Array([BigInt(written.length)]);
  choose([length, written, bytes.slice(8 + size)], "model.safetensors");
  await until(() => inUse().startsWith("In use: model.safetensors"), "a model with subwords is opened");
  await until(() => said().startsWith("The translation, cut off after "), "it translates");
  demand(text.value === "我有一个女朋友", text.value);
  part.querySelectorAll("[role=tab]")[0].click();
  change(kind, "encoder", "change");
  const columns = [...part.querySelectorAll(".map thead th")].map((cell) => cell.textContent).join(" ");
  demand(columns === "▁我 有 一 个 女 朋友 </s>", columns);
  change(kind, "cross", "change");
  live.log = log;
  button("the grammar’s model again").click();
  await until(() => inUse().startsWith("In use: the grammar’s model") && said() === girl, "the grammar is back");
}
