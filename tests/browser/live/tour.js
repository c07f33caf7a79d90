async (part) => {
  const until = async (what, condition) => {
    for (let i = 0; i < 1200; ++i) {
      if (condition()) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`waited for ${what} in vain`);
  };
  const button = (text) => [...part.querySelectorAll("button")].find((b) => b.textContent.startsWith(text));
  const title = () => part.querySelector("h3").textContent;
  const titles = [title()];
  for (let step = 1; step < 5; ++step) {
    button("next").click();
    titles.push(title());
  }
  if (new Set(titles).size !== 5 || !button("next").disabled) throw new Error(`its steps are ${titles.join(", ")}`);
  button("train 60 steps").click();
  await until("sixty steps", () => part.said.textContent.startsWith("Step 60: 我 有 一 个 女 朋 友 → "));
  button("back").click();
  const sentence = part.querySelector("select");
  sentence.value = sentence.options[1].value;
  sentence.dispatchEvent(new Event("change"));
  await until("the other sentence", () => part.source.length === 8);
  part.querySelectorAll(".bar-button")[2].click();
  await until("the word", () => part.said.textContent.startsWith("Said "));
  while (!button("E ")) {
    const before = part.querySelector(".tour-said").textContent;
    part.querySelector(".bar-button").click();
    await until("the next word", () => part.querySelector(".tour-said").textContent !== before);
  }
  button("E ").click();
  await until("the end", () => part.said.textContent.startsWith("The end symbol"));
  button("from the start").click();
  for (const _ of [1, 2]) button("back").click();
  const layer = part.querySelector(".tour-panel select");
  layer.value = "0";
  layer.dispatchEvent(new Event("change"));
  if (!part.said.textContent.startsWith("Shown: encoder self-attention, layer 1")) throw new Error(part.said.textContent);
  for (const link of part.querySelectorAll("a"))
    if (!/chapters\/\d\d_\w+\/index\.html$/.test(link.href)) throw new Error(`a link leads to ${link.href}`);
}
