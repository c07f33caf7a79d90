"use strict";
// The subwords of chapter 13's models: SentencePiece models of the kind that its training writes. They are of byte pairs,
// with bytes for characters that have no piece; others are refused.
class Subwords {
  static types = { unknown: 2, control: 3, defined: 4, unused: 5, byte: 6 };  // of pieces, besides ordinary ones
  static symbols = { start: [46, "<s>"], end: [47, "</s>"], pad: [48, "<pad>"] };  // field of the name, and its default
  static longest = 4000;  // characters

  /** @param hex  the bytes of a .model file, two digits each, as a checkpoint keeps them */
  static ofHex(hex) {
    if (!/^([0-9a-f]{2})+$/.test(hex)) throw new Error("its subwords are not hexadecimal");
    return new Subwords(Uint8Array.from(hex.match(/../g), (digits) => parseInt(digits, 16)));
  }
  constructor(bytes) {
    this.pieces = [];
    this.types = [];
    this.bytes = [];  // the id of each byte's piece
    this.ordinary = new Map();  // pieces that merging can make: [id, score]
    let trainer = new Map(), normalizer = new Map();
    for (const [field, value] of Subwords.fields(bytes))
      if (field === 1) this.add(new Map(Subwords.fields(value)));
      else if (field === 2) trainer = new Map(Subwords.fields(value));
      else if (field === 3) normalizer = new Map(Subwords.fields(value));
    const { unknown, control, defined, unused } = Subwords.types;
    if (trainer.get(3) !== 2 || this.types.some((type) => type === defined || type === unused) || trainer.get(24) ||
        normalizer.get(2)?.length || normalizer.get(5) === 0)
      throw new Error("its subwords are not those of chapter 13");
    this.prefix = normalizer.get(3) !== 0;  // whether a text begins as if after a space
    this.fallback = trainer.get(35) === 1;
    this.unknown = this.types.indexOf(unknown);
    for (const [name, [field, usual]] of Object.entries(Subwords.symbols)) {
      const piece = trainer.has(field) ? Subwords.text(trainer.get(field)) : usual;
      this[name] = this.pieces.findIndex((other, id) => other === piece && this.types[id] === control);
    }
  }
  /** The fields of a message in the format of Protocol Buffers: [number, value], a value being a number or bytes. */
  static *fields(message) {
    let at = 0;
    const number = () => {
      for (let n = 0, unit = 1; ; unit *= 128) {
        if (at === message.length || unit > 2 ** 63) throw new Error("its subwords are cut short");
        n += (message[at] % 128) * unit;
        if (message[at++] < 128) return n;
      }
    };
    while (at < message.length) {
      const tag = number(), kind = tag % 8, field = (tag - kind) / 8;
      if (kind === 0) yield [field, number()];
      else {
        const size = kind === 2 ? number() : { 1: 8, 5: 4 }[kind];
        if (!(size <= message.length - at)) throw new Error("its subwords are cut short");
        yield [field, message.subarray(at, (at += size))];
      }
    }
  }
  static text(bytes) {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  }
  add(fields) {
    const id = this.pieces.length, piece = Subwords.text(fields.get(1)), type = fields.get(3) ?? 1;
    this.pieces.push(piece);
    this.types.push(type);
    const score = fields.get(2)?.slice() ?? new Uint8Array(4);
    if (type === 1) this.ordinary.set(piece, [id, new DataView(score.buffer).getFloat32(0, true)]);
    if (type === Subwords.types.byte) this.bytes[parseInt(piece.slice(3, 5), 16)] = id;  // <0x41>
  }

  /** The ids of a text's pieces: of all neighbors that make a piece, those with the best score join first. */
  encode(text) {
    if (!text) return [];
    const parts = [...(this.prefix ? "▁" : "") + text.replaceAll(" ", "▁")];
    if (parts.length > Subwords.longest) throw new Error(`the sentence has more than ${Subwords.longest} characters`);
    for (;;) {
      let best = 0, most = -Infinity;
      for (let i = 1; i < parts.length; ++i) {
        const score = this.ordinary.get(parts[i - 1] + parts[i])?.[1];
        if (score > most) [best, most] = [i, score];
      }
      if (!best) break;
      parts.splice(best - 1, 2, parts[best - 1] + parts[best]);
    }
    const ids = [];
    for (const part of parts) {
      const id = this.ordinary.get(part)?.[0];
      if (id !== undefined) ids.push(id);
      else if (this.fallback) ids.push(...[...new TextEncoder().encode(part)].map((byte) => this.bytes[byte]));
      else if (ids.at(-1) !== this.unknown) ids.push(this.unknown);
    }
    return ids;
  }
  /** The text of these pieces, in which bytes that are not UTF-8 become U+FFFD, one each. */
  decode(ids) {
    const { unknown, control, byte } = Subwords.types;
    let text = "", bytes = [];
    const flush = () => {
      while (bytes.length) {
        const size = bytes[0] < 0x80 ? 1 : bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
        const some = Uint8Array.from(bytes.slice(0, size)), one = Subwords.text(some);
        const bad = `${new TextEncoder().encode(one)}` !== `${some}`;
        text += bad ? "\uFFFD" : one;
        bytes = bytes.slice(bad ? 1 : size);
      }
    };
    for (const id of ids) {
      const piece = this.pieces[id], type = this.types[id];
      if (type === byte) {
        bytes.push(parseInt(piece.slice(3, 5), 16));
        continue;
      }
      flush();
      if (type === unknown) text += " \u2047 ";
      else if (type !== control) text += this.prefix && !text && piece.startsWith("▁") ? piece.slice(1) : piece;
    }
    flush();
    return text.replaceAll("▁", " ");
  }
}
