"""Figures of chapter 12: numbers in 16 and in 8 bits."""

import numpy as np
from matplotlib.patches import Rectangle
from style import Axes, Data, Figure, arrow, blackboard, figure, ink, muted, narrow, paper, say

X = 1.001  # what the example's weight is after its first step
ROW, LARGEST, STEPS = (1, 0.5, 0.25), (100, 1), 127  # a row; the largest number of all, and its own


def bits_of(kind: str) -> tuple[str, float, int]:
    """The bits of X in a format, the number that they mean, and how many bits its exponent has."""
    if kind == "fp16":
        half = np.float16(X)
        return f"{int(half.view(np.uint16)):016b}", float(half), 5
    whole = int(np.float32(X).view(np.uint32))
    if kind == "bf16":
        upper = (whole + 0x7FFF + (whole >> 16 & 1)) >> 16
        return f"{upper:016b}", float(np.uint32(upper << 16).view(np.float32)), 8
    return f"{whole:032b}", float(np.float32(X)), 8


@figure("bits", width=7.6, height=2.35, narrow=(3.7, 3.15))
def bits(data: Data, fig: Figure) -> None:
    """A box for each bit of one number in three formats."""
    axes = blackboard(fig)
    small = narrow()
    width, top = fig.get_size_inches()
    left = 0.08 if small else 0.62
    box = (width - 0.08 - left) / 32 if small else (width - 0.95 - left) / 32
    high, step = (0.3, 0.88) if small else (0.32, 0.58)
    first = top - (1.02 if small else 0.82)
    for n, kind in enumerate(("float", "bf16", "fp16")):
        y = first - n * step
        digits, means, exponent = bits_of(kind)
        says = f"= {means:.5f}".rstrip("0").rstrip(".")
        if small:
            axes.text(left, y + high + 0.06, f"{kind}  {says}", va="bottom", fontsize=9.5, color=ink())
        else:
            axes.text(left - 0.1, y + high / 2, kind, ha="right", va="center", fontsize=10, color=ink())
            axes.text(left + len(digits) * box + 0.1, y + high / 2, says, va="center", fontsize=10, color=ink())
        for i, digit in enumerate(digits):
            color = "C3" if i == 0 else "C1" if i <= exponent else "C0"
            axes.add_patch(Rectangle((left + i * box, y), box, high, facecolor=color, alpha=0.42 if digit == "1" else 0.16,
                                     edgecolor="none"))
            axes.add_patch(Rectangle((left + i * box, y), box, high, facecolor="none", edgecolor=paper(), linewidth=1))
            say(axes, left + (i + 0.5) * box, y + high / 2, digit, fontsize=6.5 if small else 9)
    y = first + high + (0.3 if small else 0.1)
    for begin, end, name, color in ((0, 1, "sign", "C3"), (1, 9, "exponent", "C1"), (9, 32, "fraction", "C0")):
        at = left + (begin + end) / 2 * box
        if small and end < 32:  # words wider than their boxes
            at = left + (0 if name == "sign" else 0.4)
        axes.text(at, y, name, ha="left" if small and end < 32 else "center", va="bottom", fontsize=9.5, color=color)
    if not small:  # below this line bf16 cuts
        cut = left + 16 * box
        axes.plot((cut, cut), (first - step - 0.1, first + high + 0.06), color=ink(), linewidth=1.1, linestyle=(0, (4, 3)))


@figure("scales", width=7.6, height=2.6, narrow=(3.7, 2.9))
def scales(data: Data, fig: Figure) -> None:
    """A row of three numbers, and where they go with two scales."""
    axes = blackboard(fig)
    small = narrow()
    width, top = fig.get_size_inches()
    left, right = 0.25, width - 0.3
    step = 1.3 if small else 1.15
    for n, (largest, name) in enumerate(zip(LARGEST, ("one scale for all rows: 100/127", "a scale for this row: 1/127"), strict=True)):
        y = top - (0.98 if small else 0.92) - n * step
        number_line(axes, y, left, right, largest / STEPS, name)


def number_line(axes: Axes, y: float, left: float, right: float, s: float, name: str) -> None:
    """The multiples of `s` from 0 to a little over 1, and arrows from the row's numbers to theirs."""
    above = 0.36

    def at(x: float) -> float:
        return left + x / 1.05 * (right - left)

    axes.text(left, y + above + 0.26, name, va="bottom", fontsize=9.5, color=ink())
    axes.plot((at(0), at(1.05)), (y, y), color=muted(), linewidth=0.8)
    for q in range(int(1.05 / s) + 1):
        long = 0.09 if s > 0.1 else 0.05
        axes.plot((at(q * s), at(q * s)), (y - long, y + long), color="C0", linewidth=2.4 if s > 0.1 else 0.8)
    shown: set[str] = set()
    for x in ROW:
        to = round(x / s) * s  # Python, too, rounds a half to the even number
        axes.text(at(x), y + above, f"{x:g}", ha="center", va="bottom", fontsize=9.5, color=ink())
        arrow(axes, (at(x), y + above - 0.02), (at(to), y + 0.08), color="C1", width=1.1)
        label = f"{to:.3f}".rstrip("0").rstrip(".")
        if label not in shown:
            axes.text(at(to), y - 0.12, label, ha="center", va="top", fontsize=9, color="C1")
        shown.add(label)
