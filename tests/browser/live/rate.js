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
  /** A pointer over a step, which is at a part of the picture's width. */
  const point = (step, event = "click") => {
    const { left, top, width } = part.plot.getBoundingClientRect();
    const options = { clientX: left + ((44 + (step / 400) * 346) / 400) * width, clientY: top + 20, bubbles: true };
    part.plot.dispatchEvent(new PointerEvent(event, { ...options, pointerType: "mouse", buttons: 1 }));
  };
  equal(part.rates.length, 400);
  equal(part.rates[39], 3e-4);
  type(part.step.input, 20);
  await said("At step 20 it is 1.5e−4.");
  type(part.warmup.input, 200);
  await said("grows to 3.0e−4 over 200 steps");
  type(part.peak.input, 1e-3);
  equal(part.peak.input.getAttribute("aria-valuetext"), "1.0e−3");
  await said("The rate grows to 1.0e−3 over 200 steps, and is 7.1e−4 at step 400. At step 20 it is 1.0e−4.");
  const near = (step) => {  // a step is less than a pixel wide
    if (Math.abs(part.step.input.value - step) > 1) throw new Error(`step ${part.step.input.value}, not ${step}`);
  };
  point(100);
  near(100);
  type(part.step.input, 100);
  await said("At step 100 it is 5.0e−4.");
  point(300, "pointermove");
  near(300);
  point(-30);
  equal(part.step.input.value, 1);
  point(420);
  equal(part.step.input.value, 400);
  for (const warmup of [400, 1, 0]) type(part.warmup.input, warmup);
  await said("The rate is 1.0e−3 at every step. At step 400 it is 1.0e−3.");
  type(part.peak.input, 1e-5);
  equal(part.plot.querySelector("polyline").getAttribute("points").split(" ").length, 400);
  if (!part.querySelector("details.running pre")) throw new Error("there is no listing");
}
