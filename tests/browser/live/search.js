// Searches in every way that a reader can.
async (part) => {
  const fail = (text) => { throw new Error(`search: ${text}`); };
  const until = async (what, holds) => {
    for (const begun = Date.now(); !holds(); await new Promise((on) => setTimeout(on, 20)))
      if (Date.now() > begun + 60000) fail(`${what}, is waited for in vain; said: ${part.said.textContent}`);
  };
  const done = async () => {
    for (let work; work !== part.work; await work) work = part.work;
  };
  const set = async (control, value) => {
    control.value = `${value}`;
    for (const kind of ["input", "change"]) control.dispatchEvent(new Event(kind, { bubbles: true }));
    await done();
  };
  const [select, words] = [part.querySelector("select"), part.querySelector("input[type=text]")];
  const [beam, penalty] = part.querySelectorAll("input[type=range]");
  const found = () => [...part.querySelectorAll(".found button")];
  const ends = () => part.querySelectorAll("rect[rx='17']").length;
  /** Whether what is shown agrees with itself. */
  const look = () => {
    const list = found(), k = Number(beam.value);
    if (list.length < 1 || list.length > k) fail(`a beam of ${k} has ${list.length} hypotheses`);
    if (ends() !== list.length) fail(`${list.length} hypotheses, but ${ends()} ends in the tree`);
    const lines = part.querySelectorAll(".tree line").length, rows = part.querySelectorAll(".rounds tbody tr").length;
    if (lines !== rows) fail(`${lines} lines in the tree, ${rows} rows in the table`);
    if (list.filter((button) => button.getAttribute("aria-pressed") === "true").length !== 1) fail("not one is chosen");
  };

  look();
  for (const { value } of [...select.options].filter(({ value }) => value)) {
    await set(select, value);
    if (words.value !== value) fail(`the sentence is not ${value}`);
    look();
  }
  for (let k = 1; k <= 8; ++k) {
    await set(beam, k);
    look();
    const greedy = part.querySelector("p em").textContent;
    if (k === 1 && found()[0].textContent !== greedy) fail(`a beam of 1 finds no ${greedy}`);
  }
  for (const alpha of [0, 0.5, 2]) {
    await set(penalty, alpha);
    look();
  }
  await set(penalty, 1);
  await set(beam, 4);
  const way = () => [...part.querySelectorAll("g.way .word")].map((word) => word.textContent).join(" ");
  found().forEach((button, i) => {
    button.click();
    if (found()[i].getAttribute("aria-pressed") !== "true") fail(`hypothesis ${i + 1} cannot be chosen`);
    if (way() !== `S ${button.textContent} E, ${i + 1}`) fail(`the way to ${button.textContent} is ${way()}`);
  });

  await set(words, "她喜欢三个老师");
  if (words.value !== "她 喜 欢 三 个 老 师" || select.value) fail(`is ${words.value}, example ${select.value}`);
  look();
  const before = found().map((button) => button.textContent).join();
  for (const [wrong, said] of [["我 有 狗", "unknown word 狗"], ["", "no word"]]) {
    await set(words, wrong);
    if (!part.said.textContent.includes(said)) fail(`says of ${wrong}: ${part.said.textContent}`);
    if (found().map((button) => button.textContent).join() !== before) fail("an error changes the result");
  }
  await set(words, "我 有 两 个");
  look();

  const drop = async (name, bytes) => {
    const given = new DataTransfer();
    given.items.add(new File([bytes], name));
    part.dispatchEvent(new DragEvent("drop", { dataTransfer: given, cancelable: true }));
    await done();
  };
  await drop("broken.safetensors", new Uint8Array(40));
  if (!part.said.textContent.includes("is open again")) fail(`says of a broken file: ${part.said.textContent}`);
  await set(beam, 3);
  look();
  await drop("own.safetensors", await live.inflated(live.weights));
  await until("the other model", () => part.textContent.includes("Now own.safetensors"));
  await done();
  look();
};
