"""Figures of chapter 11's page on attention."""

import math

import numpy as np
from style import Data, Figure, arrow, blackboard, box, figure, ink, muted, narrow, paper, say


@figure("fused_tiles", width=7.6, height=2.65, narrow=(3.7, 6.3))
def fused_tiles(data: Data, fig: Figure) -> None:
    """One query and four keys, in two tiles: what each tile does to largest score, sum, and weighted sum."""
    axes, small = blackboard(fig), narrow()
    scores, values = [1.0, 3.0, 2.0, 5.0], [2.0, 4.0, 6.0, 8.0]
    m, total, weighted = -math.inf, 0.0, 0.0

    unit, rows, columns, block = 0.2, 8, 4, 2  # the table of scores, which is never stored
    x, y = (1.35, fig.get_size_inches()[1] - 2.15) if small else (0.45, 0.62)
    wide, high = unit * columns, unit * rows
    for k in range(rows + 1):
        axes.plot([x, x + wide], [y + unit * k] * 2, color=muted(), linewidth=0.3)
    for k in range(columns + 1):
        axes.plot([x + unit * k] * 2, [y, y + high], color=muted(), linewidth=0.3)
        if k < columns:
            say(axes, x + unit * (k + 0.5), y + high + 0.1, str(k + 1), color=muted(), fontsize=8)
    for which, color in ((0, "C0"), (1, "C1")):
        box(axes, x + 2 * unit * which, y + high - unit * 2 * block, 2 * unit, 2 * unit, color, alpha=0.2)
        box(axes, x + 2 * unit * which, y + high - unit * 3, 2 * unit, unit, color, alpha=0.6)
    box(axes, x, y + high - unit * 2 * block, wide, 2 * unit, edge=ink())
    if not small:
        arrow(axes, (x + wide + 0.06, y + high - unit * 2.5), (1.77, y + high - unit * 2.5), ink())
    say(axes, x + wide / 2, y + high + 0.28, "keys")
    say(axes, x - 0.1, y + high / 2, "queries", rotation=90)
    say(axes, x + wide / 2, y - 0.13, "framed: a block's", fontsize=8)
    say(axes, x + wide / 2, y - 0.28, "strong: the query shown", fontsize=8)
    if not small:
        say(axes, 1.8, 0.66, "from device memory: q, once; k and v, tile by tile", ha="left", fontsize=8)
        said = "in registers and shared memory: scores, largest score m, sum l, weighted sum a"
        say(axes, 1.8, 0.48, said, ha="left", fontsize=8)
        say(axes, 1.8, 0.3, "to device memory, at the end: y, m, l", ha="left", fontsize=8)
    else:
        say(axes, 0.15, 0.46, "from device memory: q, once; k and v, by tiles", ha="left", fontsize=8)
        say(axes, 0.15, 0.28, "in registers and shared memory: the rest", ha="left", fontsize=8)
        say(axes, 0.15, 0.1, "to device memory, at the end: y, m, l", ha="left", fontsize=8)

    def state(x: float, y: float, last: bool) -> None:
        for n, row in enumerate((f"m = {m:.0f}", f"l = {total:.4f}", f"a = {weighted:.4f}")):
            say(axes, x, y - 0.19 * n, row, ha="left")
        if last:
            said = f"y = a / l\n   = {weighted / total:.4f}"
            say(axes, x, y - 0.64, said, ha="left", va="top", color="C1", linespacing=1.3)

    def tile(x: float, y: float, which: int, factor: float, before: float) -> None:
        color, wide = f"C{which}", 1.75
        box(axes, x, y - 1.12, wide, 1.3, color, alpha=0.15)
        box(axes, x, y - 1.12, wide, 1.3, edge=color)
        keys = range(2 * which, 2 * which + 2)
        lines = [("s", [f"{scores[j]:.0f}" for j in keys]), ("v", [f"{values[j]:.0f}" for j in keys]),
                 (f"e$^{{s-{m:.0f}}}$", [f"{math.exp(scores[j] - m):.4f}" for j in keys])]
        for n, (name, row) in enumerate([("key", [str(j + 1) for j in keys]), *lines]):
            for place, text in zip((0.12, 0.82, 1.4), (name, *row), strict=True):
                look = {"ha": "left" if place < 0.5 else "center", "color": ink() if n else muted()}
                say(axes, x + place, y - 0.22 * n, text, **look)
        said = f"old sums times e$^{{{before:.0f}-{m:.0f}}}$ = {factor:.4f}" if factor else "no old sums"
        say(axes, x + 0.12, y - 0.95, said, ha="left", fontsize=7)

    across, height = [1.8, 4.65], [3.6, 1.9]
    for which in (0, 1):
        before = m
        keys = range(2 * which, 2 * which + 2)
        m = max(m, *(scores[j] for j in keys))
        factor = math.exp(before - m)
        total = factor * total + sum(math.exp(scores[j] - m) for j in keys)
        weighted = factor * weighted + sum(math.exp(scores[j] - m) * values[j] for j in keys)
        place = (0.15, height[which]) if small else (across[which], 2.05)
        tile(*place, which, factor, before)
        at = (2.35, height[which] - 0.25) if small else (across[which] + 2.0, 1.85)
        arrow(axes, (place[0] + 1.75, at[1] - 0.19), (at[0] - 0.06, at[1] - 0.19), ink())
        state(*at, which == 1)
        if small and which == 0:
            arrow(axes, (2.6, at[1] - 0.55), (1.95, height[1] + 0.1), ink())
    if not small:
        arrow(axes, (across[0] + 2.72, 1.66), (across[1] - 0.03, 1.66), ink())


@figure("owners", width=6.4, height=1.75, narrow=(3.7, 3.6))
def owners(data: Data, fig: Figure) -> None:
    """Which part of the table of scores a block goes over, for gradients of keys and values, and of queries."""
    axes, small = blackboard(fig), narrow()
    cell, side, own, top = 0.16, 6, 2, fig.get_size_inches()[1] - 0.42
    said = {"C1": "a block owns two keys:|it adds up their dk and dv|over all queries",
            "C0": "a block owns two queries:|it adds up their dq|over all keys"}
    for n, (color, texts) in enumerate(said.items()):
        x, y = (0.5, top - 1.85 * n) if small else (0.45 + 3.2 * n, top)
        whole = cell * side
        box(axes, x, y - whole, whole, whole, edge=muted())
        for k in range(1, side):
            axes.plot([x + cell * k] * 2, [y, y - whole], color=muted(), linewidth=0.3)
            axes.plot([x, x + whole], [y - cell * k] * 2, color=muted(), linewidth=0.3)
        strip = (x + cell * own, y - whole, cell * own, whole) if n == 0 else (x, y - cell * 2 * own, whole, cell * own)
        box(axes, *strip, color, alpha=0.3)
        middle, level = x + cell * (own + 1), y - cell * (own + 1)
        down, across = ((middle, y - 0.06), (middle, y - whole + 0.04)), ((x + 0.06, level), (x + whole - 0.04, level))
        arrow(axes, *(across if n else down), color, 1.4)
        say(axes, x + whole / 2, y + 0.12, "keys")
        say(axes, x - 0.12, y - whole / 2, "queries", rotation=90)
        for line, text in enumerate(texts.split("|")):
            say(axes, x + whole + 0.15, y - 0.25 - 0.2 * line, text, ha="left", color=ink() if line else color)


@figure("sums_as_factor", width=7.6, height=3.35, narrow=(3.7, 6.35))
def sums_as_factor(data: Data, fig: Figure) -> None:
    """Which lane holds which number of two products' sums, and of the factor of 16 columns that they become."""
    axes, small, mine, cell = blackboard(fig), narrow(), 6, 0.15
    top = fig.get_size_inches()[1] - 0.45

    def table(x: float, y: float, columns: int, color: str, first: int) -> None:
        """16 rows of numbers: the lane that holds each, and frames around those of one."""
        for u, v in np.ndindex(16, columns):
            lane = 4 * (u % 8) + v % 8 // 2
            at = x + cell * v, y - cell * (u + 1)
            box(axes, *at, cell, cell, color, alpha=0.75 if lane == mine else 0.12, edge=paper(), linewidth=0.6)
            say(axes, at[0] + cell / 2, at[1] + cell / 2 - 0.006, str(lane), fontsize=6.5)
        for u, v in np.ndindex(2, columns // 8):  # of two neighbors of lane 6
            box(axes, x + cell * (8 * v + 4), y - cell * (8 * u + 2), 2 * cell, cell, edge=ink(), linewidth=1)
        for v in (0, columns - 1):
            say(axes, x + cell * (v + 0.5), y + 0.09, str(first + v), fontsize=6.5, color=muted())

    left, right = (0.5, 0.5) if small else (0.5, 4.4)
    lower = top - 2.95 if small else top
    table(left, top, 8, "C1", 0)
    table(left + 8 * cell + 0.12, top, 8, "C1", 8)
    table(right, lower, 16, "C0", 0)
    for x, y in ((left, top), (right, lower)):
        for u in (0, 15):
            say(axes, x - 0.1, y - cell * (u + 0.5), str(u), fontsize=6.5, color=muted())
        say(axes, x - 0.25, y - 8 * cell, "queries", rotation=90)
    say(axes, left + 8 * cell + 0.06, top + 0.26, "sums of two products: scores with 8 keys each")
    say(axes, right + 8 * cell, lower + 0.26, "a factor of the next: weights of 16 keys")
    for n, text in enumerate(("0 and 2", "1 and 3")):
        for line, word in enumerate(("registers", text)):
            at = right + 16 * cell + 0.1, lower - cell * (8 * n + 3.2) - 0.17 * line
            say(axes, *at, word, ha="left", fontsize=7.5)
    if small:
        arrow(axes, (left + 8 * cell, top - 16 * cell - 0.03), (left + 8 * cell, lower + 0.36), ink())
        say(axes, left + 8 * cell + 0.1, top - 16 * cell - 0.13, "exponentials, rounded", ha="left", fontsize=8)
    else:
        start, end = left + 16 * cell + 0.2, right - 0.4
        arrow(axes, (start, top - 8 * cell), (end, top - 8 * cell), ink())
        for n, text in enumerate(("exponentials,", "rounded to bf16")):
            say(axes, (start + end) / 2, top - 8 * cell + 0.32 - 0.18 * n, text, fontsize=8)
    said = "In each cell the lane; marked: lane 6. Framed: two neighbors, in bf16 one register."
    for n, text in enumerate(said.split(" Framed") if small else [said]):
        say(axes, 0.3, 0.28 - 0.17 * n, ("Framed" if n else "") + text, ha="left", fontsize=8, color=muted())
