async (part) => {
  const demand = (holds, what) => {
    if (!holds) throw new Error(`heads: ${what}`);
  };
  const caption = () => part.querySelector("caption").textContent, note = () => part.querySelector(".note").textContent;
  const numbers = () => [...part.querySelectorAll("td.number")].map((cell) => cell.textContent).join();
  const changed = async (action, shown) => {
    const before = shown();
    action();
    for (let i = 0; shown() === before; ++i) {
      demand(i < 500, `nothing has changed: ${before}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const choose = (select, value) => {
    select.value = value;
    select.dispatchEvent(new Event("change"));
  };
  const [sentence, layer] = part.querySelectorAll("select");
  demand(part.querySelectorAll("td.number").length === 64, "the chapter's sentence has 8 words");
  const heads = () => [...part.querySelectorAll(".head")];
  demand(heads().length === 5 && heads().every((head) => head.querySelector("rect")), "four heads, and their mean");
  await changed(() => heads()[2].click(), numbers);
  demand(caption().endsWith("layer 1, head 2"), caption());
  demand(heads()[2].getAttribute("aria-pressed") === "true", "head 2 is chosen");
  await changed(() => heads()[4].click(), numbers);
  demand(caption().endsWith("mean of the heads"), "the mean is chosen");
  await changed(() => choose(layer, "1"), numbers);
  demand(caption().includes("layer 2"), "layer 2 is shown");
  const rows = [...part.querySelectorAll("tbody tr")], buttons = rows.map((row) => row.querySelector("button"));
  await changed(() => rows[3].dispatchEvent(new Event("pointerover", { bubbles: true })), note);
  demand(note().startsWith("两 looks at "), note());
  buttons[0].focus();
  buttons[0].dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
  demand(document.activeElement === buttons[1], "an arrow leads to the next row");
  buttons[1].dispatchEvent(new FocusEvent("focusin", { bubbles: true }));  // a window behind others gets none
  demand(note().startsWith("认 looks at "), note());
  const labels = buttons.map((button) => button.getAttribute("aria-label"));
  demand(labels.every((label) => /looks at \S+ [01]\.\d\d/.test(label)), "rows say where they look");
  for (const { value } of sentence.options)
    if (value !== sentence.value) await changed(() => choose(sentence, value), numbers);
}
