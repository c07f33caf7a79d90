"use strict";
// A box that may scroll takes the focus (see abh_book/access.py): only while it does.
const scrolling = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const wide = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
    if (wide) target.setAttribute("tabindex", "0");
    else if (target !== document.activeElement) target.removeAttribute("tabindex");
  }
});
for (const box of document.querySelectorAll("[data-scrolls]")) scrolling.observe(box);

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
