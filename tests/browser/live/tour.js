const begins = (text) => all("button").find((b) => b.textContent.startsWith(text));
const title = () => one("h3").textContent, titles = [title()];
for (let step = 1; step < 5; ++step) {
  button("next").click();
  titles.push(title());
}
demand(new Set(titles).size === 5 && button("next").disabled, `its steps are ${titles.join(", ")}`);
button("train 60 steps").click();
await until("sixty steps", () => part.said.textContent.startsWith("Step 60: 我 有 一 个 女 朋 友 → "));
button("back").click();
const sentence = one("select");
choose(sentence, sentence.options[1].value);
await until("the other sentence", () => part.source.length === 8);
all(".bar-button")[2].click();
await says("Said ");
while (!begins("E ")) {
  const before = one(".tour-said").textContent;
  one(".bar-button").click();
  await until("the next word", () => one(".tour-said").textContent !== before);
}
begins("E ").click();
await says("The end symbol");
button("from the start").click();
for (const _ of [1, 2]) button("back").click();
choose(one(".tour-panel select"), 0);
demand(part.said.textContent.startsWith("Shown: encoder self-attention, layer 1"), part.said.textContent);
for (const link of all("a"))
  demand(/chapters\/\d\d_\w+\/index\.html$/.test(link.href), `a link leads to ${link.href}`);
