const hand = (i) => part.hands.children[i].getAttribute("aria-label");
equal(part.hands.children.length, 8);
const shades = part.map.querySelectorAll(".cells").length;
demand(shades >= 100, `the heat map has ${shades} shades`);
type(part.at.input, 44);
equal(hand(0), "hand 0, 1.0 radian per position: sine 0.02, cosine 1.00");  // as in the chapter
equal(part.map.getAttribute("aria-label"), "Heat map of the code: 100 positions, 16 columns; position 44 is marked.");
type(part.width.input, 4);
equal(part.hands.children.length, 2);
equal(hand(1), "hand 1, 0.010 radian per position: sine 0.43, cosine 0.90");
type(part.count.input, 8);
equal(part.at.input.value, 7);
await says("8 positions, 4 columns. Position 7: its dot product is 2.00 with itself, 1.54 with 6.");
for (const [picture, x, y, event, position] of [[part.map, 0.5, 0.2, "click", 1], [part.map, 0.5, 0.5, "pointermove", 4],
  [part.curve, 0.99, 0.5, "click", 7], [part.curve, 0.02, 0.5, "click", 0]]) {
  point(picture, x, y, event);
  equal(part.at.input.value, position);
}
await says("Position 0: its dot product is 2.00 with itself, 1.54 with 1.");
type(part.width.input, 64);
type(part.count.input, 2);
equal(part.hands.children.length, 32);
type(part.count.input, 100);
type(part.at.input, 99);
equal(part.curve.querySelector("polyline").getAttribute("points").split(" ").length, 100);
await says("Position 99: its dot product is 32.00 with itself");
one("details.running pre");
