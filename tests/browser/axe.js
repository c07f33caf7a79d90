// What axe-core finds wrong with the page that is open: [[rule, element, message]].
//
// Of the pieces of text that have the same colors and size on the same ground, one is judged; the others are invisible
// meanwhile, which keeps their places. (To exclude them takes axe-core far longer.) What names a link or a button stays.
(rules) => {
  const judged = new Set(), others = [], grounds = new Map([[null, ""]]);
  const ground = (box) => {
    if (!grounds.has(box)) {
      const color = getComputedStyle(box).backgroundColor, below = ground(box.parentElement);
      grounds.set(box, color === "rgba(0, 0, 0, 0)" ? below : `${color} ${below}`);
    }
    return grounds.get(box);
  };
  for (const piece of document.querySelectorAll("p, li, dd, td, em, code, span")) {
    if (piece.childElementCount || piece.closest("a, button, summary, label, h1, h2, h3, h4, h5, h6")) continue;
    if (!piece.checkVisibility({visibilityProperty: true})) continue;
    const {color, fontSize, fontWeight, opacity} = getComputedStyle(piece);
    const key = [color, fontSize, fontWeight, opacity, piece.closest("pre, .katex")?.localName, ground(piece)].join();
    if (judged.has(key)) others.push(piece);
    else if (piece.textContent.trim().length > 1) judged.add(key);  // axe-core judges no single character
  }
  for (const piece of others) piece.style.visibility = "hidden";
  return axe.run(document, {
    ...rules, preload: false, elementRef: false, resultTypes: ["violations"],
  }).finally(() => {
    for (const piece of others) piece.style.visibility = "";
  }).then(({violations}) => violations.flatMap(({id, nodes}) => nodes.map(
    (node) => [id, node.target.join(" "), (node.any[0] ?? node.all[0] ?? node.none[0])?.message ?? ""])));
}
