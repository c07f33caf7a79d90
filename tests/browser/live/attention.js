type(labeled("Keys: 好, what"), 3);
await says("Keys: 好, what is 3. Now 好 looks at 好 0.");
type(labeled("Values: 友, friend"), -2.5);
const before = live.log.length, who = labeled("Queries: 我, who");
type(who, "");  // half a number
equal(live.log.length, before);
who.dispatchEvent(new Event("change"));
equal(who.value, 0);
button("hide P and the future").click();
await says("P and the future are hidden");
button("我 gives 有").click();
await says("有 is shown to 我");
equal(button("我 gives 有").getAttribute("aria-pressed"), false);
for (const scale of [0, 1.25, 3]) type(part.scale.input, scale);
await says("Scale 3.");
for (const fill of [1, 8]) type(part.fill.input, fill);
await says("Fill 0.");
button("Backward").click();
type(labeled("dy: 一, place"), 1.5);
button("compare with differences").click();
await says("Largest relative errors: dq ");
button("我 gives 我").focus();
key(button("我 gives 我"), "ArrowDown");
button("Forward").click();
button("hide nothing").click();
await says("Nothing is hidden");
button("好, for all queries").click();
await says("好 is hidden from all");
button("好, for all queries").click();
await says("好 is shown to all");
button("hide P").click();
await says("P is hidden");
button("scale 1/√dₖ").click();
await says("Scale 0.5.");
const none = [8, 0, 4, 2, 1, 0, ...Array(48).fill(0)];
for (const [sizes, message] of [[none, "attention: k "], [none.slice(0, 6), "numbers are too few"], [[-1], "-1 is not a size"]]) {
  let refused = "";
  try {
    part.layers.call("attention", sizes);
  } catch (error) {
    refused = error.message;
  }
  demand(refused.includes(message), `for ${sizes} it says "${refused}"`);
}
button("start again").click();
await says("As in the chapter. Now 好 looks at 朋 0.39, 友 0.39");
