// Formulas in (JSON on stdin: [{tex, display}]), HTML out (JSON on stdout: [{html} or {error}]).
"use strict";
const katex = require("katex");
let input = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => (input += chunk));
process.stdin.on("end", () => {
  const out = JSON.parse(input).map(({ tex, display }) => {
    try {
      return { html: katex.renderToString(tex, { displayMode: display, strict: "error", trust: false }) };
    } catch (error) {
      return { error: String(error.message) };
    }
  });
  process.stdout.write(JSON.stringify(out));
});
