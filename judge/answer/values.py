"""What functions take and return, in the form sent between processes (judge/answer/values.hpp)."""

from __future__ import annotations

import math
import struct
from array import array
from dataclasses import dataclass

KINDS = {"T": "tensor", "I": "ids", "M": "mask", "R": "number", "N": "integer", "S": "text"}
REALS = ("T", "R")


class Malformed(ValueError):
    """Bytes that are not a message."""


@dataclass(frozen=True)
class Value:
    """A number, a text or a tensor with its elements in row-major order."""

    kind: str
    shape: tuple[int, ...] = ()
    elements: array[float] | array[int] | None = None
    text: str = ""

    @property
    def number(self) -> float:
        """The only element."""
        return self.elements[0]

    def index(self, position: int) -> tuple[int, ...]:
        """The index of element `position` along each axis."""
        axes = []
        for size in reversed(self.shape):
            axes.append(position % size)
            position //= size
        return tuple(reversed(axes))

    def describe(self) -> str:
        """`a tensor [2, 5]`"""
        if self.kind in "TIM":
            return f"{KINDS[self.kind]} {list(self.shape)}"
        return KINDS[self.kind]


def text(content: str) -> Value:
    """A text as a value."""
    return Value("S", text=content)


def encode(values: list[Value]) -> bytes:
    """A message that contains these values."""
    parts = [struct.pack("<I", len(values))]
    for v in values:
        raw = v.text.encode() if v.kind == "S" else v.elements.tobytes()
        shape = (len(raw),) if v.kind == "S" else v.shape
        parts.append(struct.pack(f"<cB{len(shape)}q", v.kind.encode(), len(shape), *shape) + raw)
    return b"".join(parts)


def decode(message: bytes) -> list[Value]:
    """The values of a message.

    :raises Malformed: if it is not a message
    """
    try:
        (count,) = struct.unpack_from("<I", message)
        at, values = 4, []
        for _ in range(count):
            kind, rank = struct.unpack_from("<cB", message, at)
            shape = struct.unpack_from(f"<{rank}q", message, at + 2)
            at += 2 + 8 * rank
            name, size = kind.decode(), math.prod(shape)
            if name not in KINDS or min(shape, default=0) < 0:
                raise Malformed(f"no values of kind {name!r} and shape {shape}")
            width = 1 if name == "S" else 8
            if size * width > len(message) - at:
                raise Malformed("a message ends early")
            raw = message[at : at + size * width]
            at += size * width
            if name == "S":
                values.append(Value(name, text=raw.decode(errors="replace")))
            else:
                elements: array = array("d" if name in REALS else "q")
                elements.frombytes(raw)
                values.append(Value(name, shape, elements))
    except (struct.error, UnicodeDecodeError) as error:
        raise Malformed(str(error)) from error
    return values
