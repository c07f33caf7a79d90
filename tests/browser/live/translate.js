const said = () => part.trouble.textContent || one(".said").textContent;
const become = (holds, what) => until(`${what} (${said()}; ${one(".note").textContent})`, holds);
const [example, kind, layer] = all("select");
const text = one("input[type=text]"), file = one("input[type=file]");
const slide = one("input[type=range]"), next = () => all(".next:not([hidden])");
const ask = async (sentence, wanted) => {
  text.value = sentence;
  key(text, "Enter");
  await part.queue;
  await become(() => said() === wanted, `${sentence} gives: ${wanted}`);
};
const girl = "The translation is: I have a girl friend .";

// sentences
equal(one(".reads").textContent.replace(/\s+/g, " "), "reads S says I then haveagirlfriend.E");
await ask("猫", "unknown word 猫; the words above are all that it knows");
demand(one(".result").classList.contains("stale"), "what is shown belongs to the sentence before");
await ask("", "there is no word to translate");
await ask("我有一个女朋友", girl);
equal(text.value, "我 有 一 个 女 朋 友");  // words of one character are told apart
for (let i = 0; i < 7; ++i) button("remove last word").click();
equal([text.value, one(".said").textContent], ["", "The sentence is empty."]);
for (const word of "我 有 一 个 朋 友".split(" ")) button(word).click();
equal(text.value, "我 有 一 个 朋 友");
button("translate").click();
await become(() => said() === "The translation is: I have a friend .", "words are buttons");
choose(example, example.options[2].value);
await become(() => said() === "The translation is: do you know two teachers ?", "an example is translated");
await ask("我 有 一 个 女 朋 友", girl);

// steps
button("next word").click();
demand(said().startsWith("After S I the likeliest word is have, 0.9"), said());
type(slide, 4);
slide.dispatchEvent(new Event("change"));
demand(said().startsWith("After S I have a the likeliest word is girl, 0."), said());
equal(one("[aria-current=step]").textContent, "a → girl");
equal(next().length, 6);
button("back").click();
button("first").click();
demand(button("first").disabled && button("back").disabled, "this is the first step");
type(slide, 4);
next()[1].click();
await become(() => said().includes("your choice"), "another word is taken");
demand(one(".word.chosen").textContent.endsWith("*") && !said().includes("girl"), "it is marked as the reader's");
equal(slide.value, 5);
button("back").click();
demand(/✓.*your choice/.test(next()[1].textContent), "the choice is marked among the likeliest");
type(slide, 2);
const other = next()[5].querySelector("span").textContent;
next()[5].click();
await become(() => said().startsWith(`After ${other}, your choice, the translation is: I`), "another choice, earlier");
equal(all(".word.chosen").length, 1);  // what followed an earlier word is gone
button("likeliest again").click();
await become(() => said() === girl && button("likeliest again").disabled, "the likeliest words are back");

// maps
const numbers = () => row(all("td.number")), caption = () => one("caption").textContent;
const before = numbers();
for (const head of all(".head")) head.click();
demand(numbers() !== before, "heads differ");
equal(caption(), "cross-attention, layer 2, mean of the heads");
choose(layer, 0);
choose(kind, "self");
equal(all("td.number").length, 49);  // seven words
demand(caption().startsWith("decoder self-attention, layer 1"), caption());
all("tbody th button")[2].click();
equal([slide.value, one("[aria-current=step]").textContent], [3, "have → a"]);
choose(kind, "encoder");
demand(one(".map th button").getAttribute("aria-label").startsWith("我 looks at "), "the encoder's map");
equal(all("[aria-current=step]").length, 0);  // a step has no row in the encoder
choose(kind, "cross");

// the cache
all("[role=tab]")[1].click();
equal([all("td.new").length, all("td.kept").length], [3 + 1 + 7, 2 + 7]);
demand(/take [\d,]+ multiply-adds without the cache and [\d,]+ with/.test(part.textContent), "products are counted");

// other checkpoints: what the page brings serves as the reader's own, whole and spoilt
const bytes = await live.inflated(live.weights), inUse = () => one(".own p").textContent;
const open = (content, name) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([content], name));
  file.files = transfer.files;
  file.dispatchEvent(new Event("change", { bubbles: true }));
};
for (const [content, name] of [["no tensors", "notes.txt"], [bytes.slice(0, -4), "cut.safetensors"]]) {
  open(content, name);
  await become(() => said().startsWith(`${name}: not a usable safetensors file: `), `${name} is refused`);
}
demand(inUse().startsWith("In use: the grammar’s model"), inUse());
await ask("我 有 一 个 女 朋 友", girl);
drop(bytes, "grammar-seed1.safetensors");
await become(() => inUse().startsWith("In use: grammar-seed1.safetensors") && said() === girl, "a checkpoint is dropped");
button("the grammar’s model again").click();
await become(() => inUse().startsWith("In use: the grammar’s model") && said() === girl, "the grammar is back");
