// The translation follows the two words, but not where codes are missing.
const said = async (text) => { await part.queue; await says(text); };
await said("this teacher likes this student .");
button("exchange who and whom").click();
await said("this student likes this teacher .");
equal(one("caption").textContent, "这 个 学 生 喜 欢 这 个 老 师");
button("load this model, too (1 MB more)").click();
await said("Without: this ");
const without = all("td")[1].textContent;
demand(/^this (teacher likes this student|student likes this teacher) \.$/.test(without), without);
button("exchange who and whom").click();
await said("With codes: this teacher likes this student .");
equal(all("td")[1].textContent, without);  // the same words, so the same rows
choose(part.verb.select, "认 识");
choose(part.who.select, "我");
await said("With codes: I know this student .");
choose(part.whom.select, "我");
await said("Choose two different ones");
choose(part.whom.select, "他 们");
await said("With codes: I know them .");
