const characters = () => all(".lines .character"), sentence = () => characters().map((cell) => cell.querySelector("ruby").firstChild.textContent).join(" ");
const words = () => all(".lines .below button").map((word) => word.textContent).join(" ");
const said = async (text) => { await part.queue; await says(`It says: ${text}`); equal(words(), text); };
const known = (word) => all(".words .character").find((one) => one.querySelector("ruby").firstChild.textContent === word);

await said("I have a girl friend .");
equal(sentence(), "我 有 一 个 女 朋 友");

// lines of a word
const friend = button("friend");
friend.dispatchEvent(new PointerEvent("pointerenter"));
demand(/^friend looks at 友 .*0\.4\d, 朋 .*0\.3\d, 女 .*0\.1\d$/.test(part.said.textContent), part.said.textContent);
await until("lines", () => all("path.lit").length === 3);
const thick = all("path.lit").map((line) => Number(line.getAttribute("stroke-width")));
demand(thick.every((x) => x > 0.5 && x < 6), `lines are ${thick} thick`);
button("girl").focus();
equal(all("path.lit").length, 1);
one(".below").dispatchEvent(new PointerEvent("pointerleave"));
equal(all("path.lit, .lit").length, 0);

// two words change places, by mouse and by keyboard alike
const choice = one("select");
choose(choice, "我 喜 欢 他");
await said("I like him .");
characters()[0].focus();
characters()[0].click();
await says("我 (I) is picked");
characters()[0].click();  // no longer
equal(all("[aria-pressed=true]").length, 0);
characters()[0].click();
characters()[3].click();
await said("he likes me .");
equal([sentence(), choice.value], ["他 喜 欢 我", ""]);
demand(characters()[3] === document.activeElement, "the focus goes with the word");
await until("lines that have arrived", () => part.lines.now.size === part.lines.weights.filter((weight) => weight >= 0.05).length);

// other words
characters()[3].click();
known("她").click();
await said("he likes her .");
known("吗").click();
await said("does he like her ?");
button("remove").click();
await said("he likes her .");
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
