"use strict";
// A box that may scroll takes the focus (see abh_book/access.py): only while it does.
const takeFocus = (box) => {
  const wide = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
  if (wide) box.setAttribute("tabindex", "0");
  else if (box !== document.activeElement) box.removeAttribute("tabindex");
};
const boxes = document.querySelectorAll("[data-scrolls]");
const scrolling = new ResizeObserver((entries) => entries.forEach(({ target }) => takeFocus(target)));
boxes.forEach((box) => scrolling.observe(box));
document.fonts.addEventListener("loadingdone", () => boxes.forEach(takeFocus)); // a font may widen what a box holds

// Pages that lie on the disk may not read one another: the search lists them without an excerpt.
if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS === "object")
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// An excerpt shows a formula once, as it looks, and not its TeX.
if (typeof Search === "object") {
  const textOf = Search.htmlToText;
  Search.htmlToText = (page, anchor) => {
    const parsed = new DOMParser().parseFromString(page, "text/html");
    for (const formula of parsed.querySelectorAll(".katex-mathml")) formula.remove();
    return textOf(parsed.documentElement.outerHTML, anchor);
  };
}

// A link to an equation of this page shows it while the pointer or the focus rests there; a click goes to it.
const preview = document.createElement("div");
preview.className = "preview";
preview.setAttribute("aria-hidden", "true");
preview.hidden = true;
document.body.append(preview);
const showPreview = ({ currentTarget: link }) => {
  const formula = document.getElementById(decodeURIComponent(link.hash.slice(1)))?.querySelector(".katex-html");
  if (!formula) return;
  preview.replaceChildren(formula.cloneNode(true));
  preview.hidden = false;
  const { left, top, bottom } = link.getBoundingClientRect();
  const room = document.documentElement.clientWidth - preview.offsetWidth - 8;
  const above = top - preview.offsetHeight - 6;
  preview.style.left = `${Math.max(8, Math.min(left, room))}px`;
  preview.style.top = `${above >= 8 ? above : bottom + 6}px`;
};
const hidePreview = () => (preview.hidden = true);
for (const link of document.querySelectorAll('article a[href^="#equation-"]')) {
  for (const event of ["pointerenter", "focus"]) link.addEventListener(event, showPreview);
  for (const event of ["pointerleave", "blur", "click"]) link.addEventListener(event, hidePreview);
}
// A link that takes the focus scrolls into view, and its preview comes with it.
const followScroll = () => {
  const link = document.activeElement;
  if (!preview.hidden && link?.matches('article a[href^="#equation-"]')) showPreview({ currentTarget: link });
  else hidePreview();
};
addEventListener("scroll", followScroll, { passive: true });
addEventListener("keydown", (event) => event.key === "Escape" && hidePreview());
