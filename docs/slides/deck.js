"use strict";
// A formula that is wider than its slide is made smaller.
function fit() {
  for (const box of document.querySelectorAll(".math-body")) {
    const formula = box.querySelector(".katex-display");
    formula.style.fontSize = "";
    if (box.clientWidth && formula.scrollWidth > box.clientWidth) {
      formula.style.fontSize = `${Math.floor((100 * box.clientWidth) / formula.scrollWidth)}%`;
    }
  }
}
document.fonts.ready.then(fit);
for (const event of ["ready", "slidechanged", "pdf-ready"]) Reveal.on(event, fit);
