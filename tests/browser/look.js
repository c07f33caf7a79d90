// What is wrong with the page that is open, as its reader sees it in this window.
// Returns {complaints: [text], boxes: number}.
() => {
  const complaints = [];
  const name = (element) => {
    const id = element.id ? `#${element.id}` : "";
    const classes = [...element.classList].slice(0, 2).map((one) => `.${one}`).join("");
    const said = element.textContent.trim().replace(/\s+/g, " ").slice(0, 40);
    return `<${element.localName}${id}${classes}> "${said}"`;
  };
  const visible = (element) => element.checkVisibility({ visibilityProperty: true });
  const scrolls = (element) => {
    const style = getComputedStyle(element);
    return {
      x: /auto|scroll/.test(style.overflowX) && element.scrollWidth > element.clientWidth + 1,
      y: /auto|scroll/.test(style.overflowY) && element.scrollHeight > element.clientHeight + 1,
    };
  };
  const root = document.scrollingElement;
  const width = root.clientWidth;

  // The page does not scroll sideways, and nothing is cut off instead.
  window.scrollTo({ left: 100000, top: 0, behavior: "instant" });
  if (window.scrollX > 0) complaints.push(`the page scrolls sideways by ${window.scrollX} px`);
  window.scrollTo({ left: 0, top: 0, behavior: "instant" });
  const contained = (element) => {
    for (let up = element.parentElement; up && up !== document.body; up = up.parentElement) {
      const style = getComputedStyle(up);
      if (style.overflowX !== "visible" || style.position === "fixed") return true;
    }
    return false;
  };
  const main = document.querySelector("article, main, [role=main]") ?? document.body;
  const outside = [...main.querySelectorAll("*")].filter(
    (element) =>
      !element.closest(".katex-mathml") &&
      element.getBoundingClientRect().right > width + 1 &&
      visible(element) &&
      !contained(element),
  );
  if (outside.length) complaints.push(`${outside.length} elements reach beyond the window, first ${name(outside[0])}`);

  // A box that scrolls takes the focus, and says what it is.
  let boxes = 0;
  for (const element of document.body.querySelectorAll("*")) {
    const { x, y } = scrolls(element);
    if ((!x && !y) || !visible(element)) continue;
    boxes += 1;
    const within = [...element.querySelectorAll("a[href], button, input, summary, [tabindex='0']")];
    if (element.getAttribute("tabindex") === "0") {
      element.focus({ preventScroll: true });
      if (document.activeElement !== element) complaints.push(`a box that scrolls does not take the focus: ${name(element)}`);
      element.blur();
      if (!element.getAttribute("aria-label") && !element.getAttribute("aria-labelledby"))
        complaints.push(`a box that scrolls has no label: ${name(element)}`);
    } else if (x || !within.some(visible)) {
      complaints.push(`a box that scrolls cannot be reached by keyboard: ${name(element)}`);
    }
  }

  // No TeX that was left as it is.
  const raw = /\$\$|\\\(|\\\[|\$[^$\s][^$\n]*\$|\\[a-zA-Z]{2,}|[\^_]\{/;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest("script, style, noscript, template, .katex-mathml")) continue;
    if (!visible(element)) continue;
    const found = raw.exec(node.data);
    if (found && !element.closest("code, pre, .katex, .sig, input")) {
      const around = node.data.slice(Math.max(0, found.index - 10), found.index + 30);
      complaints.push(`raw TeX: "${around.trim()}" in ${name(element)}`);
    }
  }
  for (const error of document.querySelectorAll(".katex-error, .problematic, .system-message"))
    complaints.push(`an error is shown: ${name(error)}`);
  for (const image of document.images)
    if (visible(image) && image.loading !== "lazy" && image.complete && image.naturalWidth === 0)
      complaints.push(`a picture is missing: ${image.getAttribute("src")}`);
  return { complaints, boxes };
}
