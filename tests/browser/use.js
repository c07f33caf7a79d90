// What the scripts of live/ use, each for its `part`.
const fail = (text) => { throw new Error(text); };
const demand = (holds, what) => holds || fail(what);
const equal = (found, wanted) => demand(`${found}` === `${wanted}`, `"${found}", not "${wanted}"`);
const rest = (ms) => new Promise((on) => setTimeout(on, ms));
const until = async (what, holds) => {
  for (const begun = Date.now(); !holds(); await rest(10))
    demand(Date.now() < begun + 120000, `${what}, is waited for in vain; it says: ${part.said.textContent}`);
};
/** What it says to those who listen. */
const says = (text) => until(`"${text}"`, () => part.said.textContent.includes(text));
const type = (control, value, event = "input") => {
  control.value = `${value}`;
  control.dispatchEvent(new Event(event, { bubbles: true }));
};
const choose = (select, value) => type(select, value, "change");
const key = (element, name) => element.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
const one = (selector) => part.querySelector(selector) ?? fail(`there is no ${selector}`);
const labeled = (label) => one(`[aria-label="${label}"]`);
const all = (selector) => [...part.querySelectorAll(selector)];
const button = (name) => all("button").find((b) => b.textContent === name || b.getAttribute("aria-label")?.startsWith(name));
const row = (cells) => cells.map((cell) => cell.textContent || cell.value).join(" ");
/** A pointer at a place of the picture, in parts of its width and height. */
const point = (picture, x, y, event = "click") => {
  const { left, top, width, height } = picture.getBoundingClientRect();
  const options = { clientX: left + x * width, clientY: top + y * height, bubbles: true };
  picture.dispatchEvent(new PointerEvent(event, { ...options, pointerType: "mouse", buttons: 1 }));
};
const drop = (file, name) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([file], name));
  part.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
};
