async (part) => {
  const type = (element, value) => {
    element.value = value;
    element.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const equal = (found, wanted) => {
    if (`${found}` !== `${wanted}`) throw new Error(`"${found}", not "${wanted}"`);
  };
  const said = async (text) => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    if (!part.said.textContent.includes(text)) throw new Error(`it says "${part.said.textContent}", not "${text}"`);
  };
  const hand = (i) => part.hands.children[i].getAttribute("aria-label");
  /** A pointer at a place of the picture, in parts of its width and height. */
  const point = (picture, x, y, event = "click") => {
    const { left, top, width, height } = picture.getBoundingClientRect();
    const options = { clientX: left + x * width, clientY: top + y * height, bubbles: true };
    picture.dispatchEvent(new PointerEvent(event, { ...options, pointerType: "mouse", buttons: 1 }));
  };
  equal(part.hands.children.length, 8);
  const shades = part.map.querySelectorAll(".cells").length;
  if (shades < 100) throw new Error(`the heat map has ${shades} shades`);
  type(part.at.input, 44);
  equal(hand(0), "hand 0, 1.0 radian per position: sine 0.02, cosine 1.00");  // as in the chapter
  equal(part.map.getAttribute("aria-label"), "Heat map of the code: 100 positions, 16 columns; position 44 is marked.");
  type(part.width.input, 4);
  equal(part.hands.children.length, 2);
  equal(hand(1), "hand 1, 0.010 radian per position: sine 0.43, cosine 0.90");
  type(part.count.input, 8);
  equal(part.at.input.value, 7);
  await said("8 positions, 4 columns. Position 7: its dot product is 2.00 with itself, 1.54 with 6.");
  point(part.map, 0.5, 0.2);
  equal(part.at.input.value, 1);
  point(part.map, 0.5, 0.5, "pointermove");
  equal(part.at.input.value, 4);
  point(part.curve, 0.99, 0.5);
  equal(part.at.input.value, 7);
  point(part.curve, 0.02, 0.5);
  equal(part.at.input.value, 0);
  await said("Position 0: its dot product is 2.00 with itself, 1.54 with 1.");
  type(part.width.input, 64);
  type(part.count.input, 2);
  equal(part.hands.children.length, 32);
  type(part.count.input, 100);
  type(part.at.input, 99);
  equal(part.curve.querySelector("polyline").getAttribute("points").split(" ").length, 100);
  await said("Position 99: its dot product is 32.00 with itself");
  if (!part.querySelector("details.running pre")) throw new Error("there is no listing");
}
