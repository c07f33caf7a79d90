"use strict";
// What a slide shows is made smaller until it fits.
function fit(slides) {
  for (const body of slides.map((slide) => slide.querySelector(".body"))) {
    for (let size = 100; size >= 30; size -= 2) {
      body.style.fontSize = `${size}%`;
      if (body.scrollHeight <= body.clientHeight && body.scrollWidth <= body.clientWidth) break;
    }
  }
}
const fitThis = () => fit([Reveal.getCurrentSlide()]);
for (const event of ["ready", "slidechanged"]) Reveal.on(event, fitThis);
Reveal.on("pdf-ready", () => fit(Reveal.getSlides()));
Reveal.initialize({
  width: 1280, height: 720, margin: 0.02, center: false, controls: false, hash: true, slideNumber: "c/t", transition: "none",
  pdfMaxPagesPerSlide: 1, plugins: [RevealNotes],
}).then(() => document.fonts.addEventListener("loadingdone", fitThis));
