// Trains in every way that a reader can. Steps far from the beginning are not logged: there, rounding shows.
const click = (text) => (button(text) ?? fail(`there is no button ${text}`)).click();
const set = (label, value) => {
  const { control } = all("label").find((one) => one.textContent.trim().startsWith(label)) ?? fail(`nothing is labeled ${label}`);
  for (const kind of ["input", "change"]) type(control, value, kind);
};
const stop = async () => {
  button("stop")?.click();
  await part.work;
};
const steps = (n) => until(`${n} steps`, () => part.losses?.length >= n);
const { log } = live;

await steps(2);
await stop();
const done = part.losses.length;
await rest(300);
equal(part.losses.length, done);
demand(one(".note").textContent.includes(`step ${done} `), "shows another number of steps");

// the grammar's first steps as chapter 9's program takes them
set("warm-up", 100);
click("begin again");
await until("another beginning", () => part.losses.length < 2);
await steps(10);
await stop();
set("learning rate", -2.5);
await says("learning rate 0.0032");
one("svg .mark");
click("continue");
await says("goes on");
await steps(20);
await until("a translation", () => all(".heard li").length === 2);
await until("both orders", () => one(".learned p:last-child").textContent.startsWith("Who likes whom, both ways round:"));
await stop();
const cells = all("td.number");
demand(cells.length === 7 * 7 && cells.some((cell) => Number(cell.textContent) > 0), "the map is empty");
demand(part.losses.at(-1) < part.losses[0], "the loss does not fall");
equal(one("svg .losses").getAttribute("points").split(" ").length, part.losses.length);

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
demand(button("continue"), "does not stop where the chapter's program does");
await until("the right translation", () => part.querySelector(".heard strong")?.textContent === "i want a beer . ✓");
set("warm-up", 0);
set("learning rate", 1);
set("optimizer", "sgd");
await says("is not finite; try a smaller learning rate");
demand(button("continue").disabled, "would continue without numbers");

live.log = log;
set("learning rate", -3);
click("begin again");
await until("new steps", () => part.losses.length < 20 && part.losses.length > 2);
await stop();
Object.defineProperty(document, "hidden", { value: true, configurable: true });
click("continue");
const seen = part.losses.length;
await rest(200);
equal(part.losses.length, seen);  // where nobody looks, nothing is computed
delete document.hidden;
document.dispatchEvent(new Event("visibilitychange"));
await steps(seen + 1);
await stop();
