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
  button("hide the future, too").click();
  said("P and the future are hidden");
  button("我 gives 有").click();
  said("有 is shown to 我");
  if (button("我 gives 有").getAttribute("aria-pressed") !== "false") throw new Error("a cell that is shown is pressed");
  for (const scale of [0, 1.25, 3]) type(part.scale.input, scale);
  said("scale 3.00");
  for (const fill of [1, 4]) type(part.fill.input, fill);
  said("fill 0");
  button("Backward").click();
  type(part.querySelector('[aria-label="dy: 一, place"]'), "1.5");
  button("compare with differences").click();
  said("Largest relative errors: dq ");
  const first = button("我 gives 我");
  first.focus();
  first.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
  button("Forward").click();
  button("hide P").click();
  said("P is hidden");
  button("scale 1/√dₖ").click();
  said("scale 0.50");
  button("start again").click();
  said("as in the chapter. Now 好 looks at 朋 0.39, 友 0.39");
}
