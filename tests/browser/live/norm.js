async (part) => {
  const type = (element, value) => {
    element.value = value;
    element.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const equal = (found, wanted) => {
    if (`${found}` !== `${wanted}`) throw new Error(`"${found}", not "${wanted}"`);
  };
  const said = async (text) => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    if (!part.said.textContent.includes(text)) throw new Error(`it says "${part.said.textContent}", not "${text}"`);
  };
  const button = (name) => [...part.querySelectorAll("button")].find((b) => b.textContent === name);
  const row = (name) => part.cells[name].map((cell) => cell.textContent || cell.value).join(" ");
  const errors = (text) => {
    const found = part.checked.textContent;
    if (!found.includes(text)) throw new Error(`it says "${found}", not "${text}"`);
  };
  equal(row("y"), "−0.5773 −0.5773 −0.5773 1.7320");
  type(part.querySelector('[aria-label="x, 1"]'), "-2.5");
  await said("x, 1 is −2.5. y is");
  const before = live.log.length, x = part.querySelector('[aria-label="x, 2"]');
  type(x, "");  // half a number
  type(x, "-100");
  await said("x takes numbers from −99 to 99.");
  equal(live.log.length, before);
  button("a nearly constant row").click();
  equal(row("y"), "−0.2774 −0.2774 −0.2774 0.8321");  // the chapter's, with epsilon inside the root
  equal(part.plot.querySelectorAll("polyline").length, 4);
  const drawn = part.plot.getAttribute("aria-label").split(": ")[1];
  equal(drawn, "−0.58, −0.58, −0.58, 1.73 at 1e−12, 0.00, 0.00, 0.00, 0.00 at 10.");
  type(part.eps.input, 1);
  equal(row("y"), "−0.0003 −0.0003 −0.0003 0.0009");
  await said("ε 10, γ 1.0, β 0.0. y is −0.0003");
  button("equal numbers").click();
  equal(row("y"), "0.0000 0.0000 0.0000 0.0000");
  button("start again").click();
  await said("As in the chapter. y is −0.5773");
  button("Backward").click();
  equal(row("dx"), "0.3849 −0.1924 −0.1924 0.0000");  // by hand in the chapter, without epsilon
  errors("largest relative error ");
  type(part.querySelector('[aria-label="dy, 3"]'), "1.5");
  await said("dy, 3 is 1.5");
  type(part.gamma.input, -1.3);
  type(part.beta.input, 0.7);
  await said("γ −1.3, β 0.7");
  equal(row("dβ"), "1.0000 0.0000 0.0000 1.5000");
  for (const power of [-12, -7.5, -0.5]) type(part.eps.input, power);
  button("start again").click();
  type(part.eps.input, -9);
  button("a nearly constant row").click();
  errors("their step, 1e−5, is too large");
  button("start again").click();
  errors("e−");
  if (part.checked.textContent.includes("too large")) throw new Error("an ordinary row is called flat");
  if (!part.querySelector("details.running pre")) throw new Error("there is no listing");
}
