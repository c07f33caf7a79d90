async (part) => {
  const type = (element, value, event = "input") => {
    element.value = value;
    element.dispatchEvent(new Event(event, { bubbles: true }));
  };
  const equal = (found, wanted) => {
    if (`${found}` !== `${wanted}`) throw new Error(`"${found}", not "${wanted}"`);
  };
  const said = async (text) => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    if (!part.said.textContent.includes(text)) throw new Error(`it says "${part.said.textContent}", not "${text}"`);
  };
  const button = (name) => [...part.querySelectorAll("button")].find((b) => b.textContent === name);
  const row = (cells) => cells.map((cell) => cell.textContent || cell.value).join(" ");
  equal(row(part.inputs), "0 0 0 3 3 6 6");
  button("divide by √dₖ = 2").click();
  equal(part.heat.input.getAttribute("aria-valuetext"), "2.00");
  equal(part.weights[5].textContent, "0.385");  // as in the chapter
  await said("Divided by √dₖ. The largest weight is 0.385");
  const score = part.querySelector('[aria-label="score of 友"]');
  type(score, "-2.5");
  await said("The score of 友 is −2.50");
  const before = live.log.length;
  type(score, "");  // half a number
  type(score, "1000");
  await said("A score is a number from −99 to 99.");
  equal(live.log.length, before);
  type(score, "99");
  equal(part.weights[6].textContent, "1.000");
  equal(row(part.dz), "0.000 0.000 0.000 0.000 0.000 0.000 0.000");
  await said("the largest dz 7e−22");
  type(part.row.select, "0", "change");
  await said("The scores of 我. The largest weight");
  equal(row(part.inputs), "0 4 0 0 0 0 0");
  type(part.of.select, "1", "change");
  await said("The loss is the weight of 有");
  equal(part.weights.findIndex((cell) => cell.classList.contains("picked")), 1);
  equal(part.dz[0].textContent[0], "−");
  equal(part.dz[0].classList.contains("minus"), true);
  for (const power of [-1, 1]) type(part.heat.input, power);
  await said("Temperature 10.00. The largest weight is 0.");
  button("start again").click();
  await said("As in the chapter. The largest weight is 0.475");
  equal(row(part.inputs), "0 0 0 3 3 6 6");
  equal(part.heat.input.getAttribute("aria-valuetext"), "1.00");
  if (!part.querySelector("details.running pre")) throw new Error("there is no listing");
}
