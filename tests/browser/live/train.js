// Trains in every way that a reader can. Steps far from the beginning are not logged: there, rounding shows.
async (part) => {
  const find = (text) => [...part.querySelectorAll("button")].find((button) => button.textContent === text);
  const click = (text) => (find(text) ?? fail(`there is no button ${text}`)).click();
  const fail = (text) => { throw new Error(`train: ${text}`); };
  const until = async (what, holds) => {
    for (const begun = Date.now(); !holds(); await new Promise((on) => setTimeout(on, 20)))
      if (Date.now() > begun + 120000) fail(`${what}, is waited for in vain; said: ${part.said.textContent}`);
  };
  const set = (label, value) => {
    const control = [...part.querySelectorAll("label")].find((one) => one.textContent.trim().startsWith(label))
      ?? fail(`nothing is labeled ${label}`);
    const input = control.control;
    input.value = `${value}`;
    for (const kind of ["input", "change"]) input.dispatchEvent(new Event(kind, { bubbles: true }));
  };
  const says = (text) => until(`"${text}"`, () => part.said.textContent.includes(text));
  const stop = async () => {
    if (find("stop")) click("stop");
    await part.work;
  };
  const steps = (n) => until(`${n} steps`, () => part.losses?.length >= n);
  const shows = (selector) => part.querySelector(selector) ?? fail(`shows no ${selector}`);
  const log = live.log;

  await steps(2);
  await stop();
  const done = part.losses.length;
  await new Promise((on) => setTimeout(on, 300));
  if (part.losses.length !== done) fail("goes on after it was stopped");
  if (!shows(".note").textContent.includes(`step ${done} `)) fail("shows another number of steps");

  // the grammar's first steps as chapter 9's program takes them
  set("warm-up", 100);
  click("begin again");
  await until("another beginning", () => part.losses.length < 2);
  await steps(10);
  await stop();
  part.first = part.losses.slice(0, 10);
  set("learning rate", -2.5);
  await says("learning rate 0.0032");
  if (!shows("svg .mark")) fail("no mark");
  click("continue");
  await says("goes on");
  await steps(20);
  await until("a translation", () => part.querySelectorAll(".heard li").length === 2);
  await stop();
  const cells = [...part.querySelectorAll("td.number")];
  if (cells.length !== 7 * 7 || !cells.some((cell) => Number(cell.textContent) > 0)) fail("the map is empty");
  if (!(part.losses.at(-1) < part.losses[0])) fail("the loss does not fall");
  const points = shows("svg .losses").getAttribute("points").split(" ");
  if (points.length !== part.losses.length) fail("the curve has other steps");

  for (const seed of ["", "-3", "1.5"]) {
    set("seed", seed);
    click("begin again");
    await says("a seed is a whole number");
  }
  set("seed", 7);
  set("warm-up", 50);
  set("corpus", "notebook");  // begins again
  await until("the notebook", () => part.about.pairs === 2 && part.losses.length > 5);
  await stop();

  live.log = null;
  click("continue");
  await says("100 steps are done");
  if (!find("continue")) fail("does not stop where the chapter's program does");
  await until("the right translation", () => part.querySelector(".heard strong")?.textContent === "i want a beer . ✓");
  set("warm-up", 0);
  set("learning rate", 1);
  set("optimizer", "sgd");
  await says("is not finite; try a smaller learning rate");
  if (!find("continue").disabled) fail("would continue without numbers");

  live.log = log;
  set("learning rate", -3);
  click("begin again");
  await until("new steps", () => part.losses.length < 20 && part.losses.length > 2);
  await stop();
  Object.defineProperty(document, "hidden", { value: true, configurable: true });
  click("continue");
  const seen = part.losses.length;
  await new Promise((on) => setTimeout(on, 200));
  if (part.losses.length !== seen) fail("computes where nobody looks");
  delete document.hidden;
  document.dispatchEvent(new Event("visibilitychange"));
  await steps(seen + 1);
  await stop();
};
