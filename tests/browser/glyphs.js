// Of {font: characters}, those for which neither the font nor any that the system falls back to has a
// glyph. A character without one is drawn as the font's picture for "no glyph", the same picture
// that a code point gets to which Unicode has given no character.
(fonts) => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 48;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const picture = (font, character) => {
    context.clearRect(0, 0, 48, 48);
    context.font = font;
    context.fillText(character, 8, 34);
    return context.getImageData(0, 0, 48, 48).data.join("");
  };
  const missing = [];
  for (const [font, characters] of Object.entries(fonts)) {
    const none = ["\u0378", "\u2fe0"].map((nobody) => picture(font, nobody));
    for (const character of characters)
      if (!/[\p{Z}\p{Cc}\p{Cf}]/u.test(character) && none.includes(picture(font, character)))
        missing.push(character);
  }
  return missing;
}
