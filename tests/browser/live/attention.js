async (part) => {
  const type = (element, value, event = "input") => {
    element.value = value;
    element.dispatchEvent(new Event(event, { bubbles: true }));
  };
  const said = (text) => {
    if (!part.said.textContent.includes(text)) throw new Error(`it says "${part.said.textContent}", not "${text}"`);
  };
  const button = (name) => [...part.querySelectorAll("button")].find((b) => b.textContent === name || b.getAttribute("aria-label")?.startsWith(name));
  type(part.querySelector('[aria-label="Keys: 好, what"]'), "3");
  said("Keys: 好, what is 3. Now 好 looks at 好 0.");
  type(part.querySelector('[aria-label="Values: 友, friend"]'), "-2.5");
  const before = live.log.length;
  type(part.querySelector('[aria-label="Queries: 我, who"]'), "");  // half a number
  if (live.log.length !== before) throw new Error("an empty box is computed with");
  part.querySelector('[aria-label="Queries: 我, who"]').dispatchEvent(new Event("change"));
  if (part.querySelector('[aria-label="Queries: 我, who"]').value !== "0") throw new Error("an empty box stays empty");
  button("hide P and the future").click();
  said("P and the future are hidden");
  button("我 gives 有").click();
  said("有 is shown to 我");
  if (button("我 gives 有").getAttribute("aria-pressed") !== "false") throw new Error("a cell that is shown is pressed");
  for (const scale of [0, 1.25, 3]) type(part.scale.input, scale);
  said("Scale 3.");
  for (const fill of [1, 8]) type(part.fill.input, fill);
  said("Fill 0.");
  button("Backward").click();
  type(part.querySelector('[aria-label="dy: 一, place"]'), "1.5");
  button("compare with differences").click();
  said("Largest relative errors: dq ");
  const first = button("我 gives 我");
  first.focus();
  first.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
  button("Forward").click();
  button("hide nothing").click();
  said("Nothing is hidden");
  button("好, for all queries").click();
  said("好 is hidden from all");
  button("好, for all queries").click();
  said("好 is shown to all");
  button("hide P").click();
  said("P is hidden");
  button("scale 1/√dₖ").click();
  said("Scale 0.5.");
  for (const [sizes, message] of [[[8, 0, 4, 2, 1, 0, ...Array(48).fill(0)], "attention: k "], [[8, 8, 4, 2, 1, 0], "numbers are too few"], [[-1], "-1 is not a size"]])
    try {
      part.layers.call("attention", sizes);
      throw new Error(`${sizes} are taken`);
    } catch (error) {
      if (!error.message.includes(message)) throw new Error(`for ${sizes} it says "${error.message}"`);
    }
  button("start again").click();
  said("As in the chapter. Now 好 looks at 朋 0.39, 友 0.39");
}
