const caption = () => one("caption").textContent, note = () => one(".note").textContent;
const numbers = () => all("td.number").map((cell) => cell.textContent).join();
const changed = async (action, shown) => {
  const before = shown();
  action();
  await until(`another ${before}`, () => shown() !== before);
};
const [sentence, layer] = all("select"), heads = () => all(".head");
equal(all("td.number").length, 64);  // the chapter's sentence has 8 words
demand(heads().length === 5 && heads().every((head) => head.querySelector("rect")), "four heads, and their mean");
await changed(() => heads()[2].click(), numbers);
demand(caption().endsWith("layer 1, head 2"), caption());
equal(heads()[2].getAttribute("aria-pressed"), true);
await changed(() => heads()[4].click(), numbers);
demand(caption().endsWith("mean of the heads"), caption());
await changed(() => choose(layer, 1), numbers);
demand(caption().includes("layer 2"), caption());
const rows = all("tbody tr"), buttons = rows.map((row) => row.querySelector("button"));
await changed(() => rows[3].dispatchEvent(new Event("pointerover", { bubbles: true })), note);
demand(note().startsWith("两 looks at "), note());
buttons[0].focus();
key(buttons[0], "ArrowDown");
demand(document.activeElement === buttons[1], "an arrow leads to the next row");
buttons[1].dispatchEvent(new FocusEvent("focusin", { bubbles: true }));  // a window behind others gets none
demand(note().startsWith("认 looks at "), note());
const labels = buttons.map((button) => button.getAttribute("aria-label"));
demand(labels.every((label) => /looks at \S+ [01]\.\d\d/.test(label)), "rows say where they look");
for (const { value } of sentence.options)
  if (value !== sentence.value) await changed(() => choose(sentence, value), numbers);
