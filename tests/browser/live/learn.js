// Steps far from the beginning are not logged: there, rounding shows.
const steps = (n) => until(`${n} steps`, () => part.losses?.length >= n);
const answers = () => all(".answer-now").map((answer) => answer.textContent);
const { log } = live;

await steps(10);
button("stop").click();
await part.work;
const done = part.losses.length;
await rest(200);
equal(part.losses.length, done);
demand(done < 20 && part.right === 0, `${part.right} of ${done} are right`);
demand(all("path").length > 20, "at first a word looks everywhere");
equal(one(".losses").getAttribute("points").split(" ").length, done);

// half-way it says English, about something else
live.log = null;
await part.go(40);
equal([part.losses.length, part.right], [40, 0]);
demand(part.losses.at(-1) < 0.6 * part.losses[0], "the loss falls");
equal(answers()[0], answers()[1]);  // whoever likes whom
demand(/^this .* \.$/.test(answers()[0]), answers()[0]);

// and then all is right
button("go on").click();
Object.defineProperty(document, "hidden", { value: true, configurable: true });
await rest(300);
const seen = part.losses.length;
await rest(200);
equal(part.losses.length, seen);  // where nobody looks, nothing is computed
delete document.hidden;
document.dispatchEvent(new Event("visibilitychange"));
await until("the end", () => part.losses.length === 120 && !part.wish);
equal(part.right, 4);
equal(answers()[0], "this teacher likes this student . ✓");
demand(one(".lines").classList.contains("right") && button("go on").disabled, "it is done");
button("girl").dispatchEvent(new PointerEvent("pointerenter"));
demand(part.said.textContent.startsWith("girl looks at 女"), part.said.textContent);

live.log = log;
button("begin again, with other random numbers").click();
await steps(2);
equal(part.seed, 2);
button("stop").click();
await part.work;
