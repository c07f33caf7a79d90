"""Cross-attention, and memory that all decoder layers read."""

import numpy as np

from twins import Array, Draw, Sides, joined, slope, twin
from twins.chapter_07 import Attention, Norm, gradient


class Layer:
    """Self-attention that looks back only is left out: memory enters by cross-attention alone."""

    def __init__(self, draw: Draw, width: int) -> None:
        self.attn, self.norm = Attention(draw, width), Norm(draw, width)

    def forward(self, x: Array, memory: Array) -> Array:
        return self.norm.forward(x + self.attn.forward(x, memory, memory))

    def backward(self, dy: Array, x: Array, memory: Array) -> tuple[Array, Array]:
        """Gradients of x and of memory."""
        dsum = self.norm.backward(dy, x + self.attn.forward(x, memory, memory))
        dq, dk, dv = self.attn.backward(dsum, x, memory, memory)
        return dsum + dq, dk + dv


@twin("08-cross")
def cross(draw: Draw) -> Sides:
    attn, x, memory, dy = Attention(draw, 4), draw(3, 4), draw(5, 4), draw(3, 4)
    dq, dk, dv = attn.backward(dy, x, memory, memory)
    found = joined(
        gradient(lambda x: attn.forward(x, memory, memory), x, dy),
        gradient(lambda memory: attn.forward(x, memory, memory), memory, dy),
    )
    return found, joined(dq, dk + dv)


@twin("08-memory")
def memory_of_all_layers(draw: Draw) -> Sides:
    layers = [Layer(draw, 4) for _ in range(3)]
    x, memory, dy = draw(3, 4), draw(5, 4), draw(3, 4)

    def loss(x: Array, memory: Array) -> float:
        for layer in layers:
            x = layer.forward(x, memory)
        return float(np.sum(x * dy))

    inputs = [x]
    for layer in layers[:-1]:
        inputs.append(layer.forward(inputs[-1], memory))
    d, total = dy, np.zeros_like(memory)
    for layer, read in zip(reversed(layers), reversed(inputs), strict=True):
        d, share = layer.backward(d, read, memory)
        total += share
    found = joined(slope(lambda m: loss(x, m), memory), slope(lambda x: loss(x, memory), x))
    return found, joined(total, d)
