const cells = () => all(".lines .cell"), cell = (word) => cells().find((one) => one.getAttribute("aria-label").startsWith(`${word}, `));
const sentence = () => all(".lines .character").map((character) => character.textContent).join(" ");
const words = () => all(".lines .below button").map((word) => word.textContent).join(" ");
const said = async (text) => { await part.queue; await says(`It says: ${text}`); equal(words(), text); };
const put = (word) => all(".words button").find((one) => one.textContent === word).click();

await said("I have a girl friend .");
equal([sentence(), cells().length], ["我 有 一 个 女 朋 友", 6]);  // 朋 and 友 are one word

// lines of a word
const friend = button("friend");
friend.dispatchEvent(new PointerEvent("pointerenter"));
demand(/^friend looks at 朋友 0\.[5-9]\d, 女 0\.\d\d$/.test(part.said.textContent), part.said.textContent);
await until("lines", () => all("path.lit").length === 3);
const thick = all("path.lit").map((line) => Number(line.getAttribute("stroke-width")));
demand(thick.every((x) => x > 0.5 && x < 6), `lines are ${thick} thick`);
button("girl").focus();
equal(all("path.lit").length, 1);
one(".below").dispatchEvent(new PointerEvent("pointerleave"));
equal(all("path.lit, .lit").length, 0);

// two words change places
const choice = one("select");
choose(choice, "我 喜 欢 他");
await said("I like him .");
cell("我").focus();
cell("我").click();
await says("我 is picked");
cell("我").click();  // no longer
equal(all("[aria-pressed=true]").length, 0);
cell("我").click();
cell("他").click();
await said("he likes me .");
equal([sentence(), choice.value], ["他 喜 欢 我", ""]);
demand(cell("我") === document.activeElement, "the focus goes with the word");
await until("lines that have arrived", () => part.lines.now.size === part.lines.weights.filter((weight) => weight >= 0.05).length);

// other words
cell("我").click();
put("她");
await said("he likes her .");
put("吗");
await said("does he like her ?");
button("remove").click();
await said("he likes her .");
cell("喜欢").click();
put("认识");
await said("he knows her .");
const text = one("input[type=text]");
text.value = "我有两个老朋友";  // words of one character may stand together
key(text, "Enter");
await said("I have two old friends .");
for (const [wrong, answer] of [["猫", "unknown word 猫"], ["", "there is no word to translate"]]) {
  text.value = wrong;
  button("translate").click();
  await part.queue;
  demand(part.said.textContent.startsWith(answer), part.said.textContent);
}
equal(sentence(), "我 有 两 个 老 朋 友");  // what was there stays
