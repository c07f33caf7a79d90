"""Figures of chapter 11's page on attention."""

import math

from style import Data, Figure, arrow, blackboard, box, figure, ink, muted, narrow, say


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
        say(axes, x + 0.12, y - 0.95, said, ha="left", fontsize=7.5)

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
