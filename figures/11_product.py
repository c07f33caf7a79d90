"""Figures of chapter 11's page on a product: a drawing for each rung."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from style import Axes, Data, Figure, arrow, blackboard, box, figure, ink, muted, narrow, paper, say


class Product:
    """A product as on paper: `a` to the left of the result `c`, and `b` above it, in cells of one number."""

    def __init__(self, axes: Axes, left: float, low: float, side: int, along: int, inch: float) -> None:
        self.axes, self.cell, gap = axes, inch / side, 0.1
        wide = along * self.cell
        right, top = left + wide + gap, low + inch
        self.corner = {"a": (left, top), "b": (right, top + gap + wide), "c": (right, top)}
        self.shape = {"a": (side, along), "b": (along, side), "c": (side, side)}
        for name, (rows, columns) in self.shape.items():
            self.fill(name, 0, 0, rows, columns, "C6", 0.12)
            x, y = self.corner[name]
            box(axes, x, y - self.cell * rows, self.cell * columns, self.cell * rows, edge=muted(), linewidth=0.7)

    def fill(
        self, name: str, row: float, column: float, rows: float, columns: float, color: str, alpha: float = 1.0
    ) -> None:
        (x, y), cell = self.corner[name], self.cell
        box(self.axes, x + cell * column, y - cell * (row + rows), cell * columns, cell * rows, color, alpha=alpha)

    def mark(self, name: str, rows: Iterable[int], columns: Iterable[int], color: str, more: float = 0.0) -> None:
        """Single numbers, larger by so many cells on each side."""
        (x, y), cell = self.corner[name], self.cell
        for row in rows:
            for column in columns:
                at, size = (x + cell * (column - more), y - cell * (row + 1 + more)), cell * (1 + 2 * more)
                box(self.axes, *at, size, size, color)

    def along_k(self, apart: float = 0.06) -> None:
        """Arrows above `a` and to the right of `b`."""
        for name in "ab":
            (x, y), (rows, columns) = self.corner[name], self.shape[name]
            right, low = x + self.cell * columns, y - self.cell * rows
            if name == "a":
                arrow(self.axes, (x, y + apart), (right, y + apart), muted(), 0.8)
                say(self.axes, (x + right) / 2, y + apart + 0.09, "k", fontsize=8, color=muted())
            else:
                arrow(self.axes, (right + apart, y), (right + apart, low), muted(), 0.8)
                say(self.axes, right + apart + 0.08, (y + low) / 2, "k", fontsize=8, color=muted())

    def name(self, name: str, text: str, **more: Any) -> None:
        """Beside a matrix: `a` below, `b` to its left, `c` below."""
        (x, y), (rows, columns) = self.corner[name], self.shape[name]
        if name == "b":
            say(self.axes, x - 0.07, y - self.cell * rows / 2, text, **{"ha": "right"} | more)
        else:
            say(self.axes, x + self.cell * columns / 2, y - self.cell * rows - 0.12, text, **more)


def beside(fig: Figure, count: int, wide: float) -> list[float]:
    """Left ends of drawings so many inches wide, with equal room around each."""
    each = fig.get_size_inches()[0] / count
    return [each * n + (each - wide) / 2 for n in range(count)]


@figure("rungs_1_2", width=7.6, height=3.15, narrow=(3.7, 2.4))
def rungs_1_2(data: Data, fig: Figure) -> None:
    """What a warp of either kernel reads for one step along k."""
    axes, inch = blackboard(fig), 0.66 if narrow() else 1.15
    p, shown = 3, 16  # of k
    warps = (("Rung 1: naive", 16, 2), ("Rung 2: coalesced", 2, 16))
    for left, (title, down, across) in zip(beside(fig, 2, 2 * inch + 0.1), warps, strict=True):
        product = Product(axes, left, 0.25, 16, shown, inch)
        sectors = [("a", row, p // 8 * 8) for row in range(down)] + [("b", p, column) for column in range(0, across, 8)]
        for name, row, column in sectors:
            product.fill(name, row, column, 1, 8, "C0", 0.3)
        product.fill("c", 0, 0, down, across, "C1", 0.8)
        product.fill("a", 0, p, down, 1, "C0")
        product.fill("b", p, 0, 1, across, "C0")
        for name, row, column in sectors:
            (x, y), cell = product.corner[name], product.cell
            box(axes, x + cell * column, y - cell * (row + 1), 8 * cell, cell, edge=ink(), linewidth=0.4)
        counts = {"a": down, "b": len(sectors) - down}
        say(axes, left, 2 * inch + (0.6 if narrow() else 0.53), title, ha="left", fontsize=9.5)
        say(axes, left, 2 * inch + 0.36, f"{sum(counts.values())} sectors", ha="left", color="C0")
        product.along_k()
        for name, count in counts.items():
            product.name(name, f"{name}: {count}", color="C0")
        product.name("c", f"c: {down * across} results", color="C1")


TILES = {  # of a rung: side of a block's results, where a thread's are, how far its neighbor's are, and a thin grid
    "rung_4": ("Rung 4: eight results", 64, [2 + 8 * i for i in range(8)], [21], 1, (8, 64)),
    "rung_5": ("Rung 5: eight by eight", 128, [*range(5, 128, 16)], [*range(9, 128, 16)], 1, (16, 16)),
    "rung_6": ("Rung 6: groups of four", 128, [64 * h + 20 + i for h in range(2) for i in range(4)],
               [64 * h + 36 + j for h in range(2) for j in range(4)], 4, (64, 64)),
}


def tiles(axes: Axes, rung: str, left: float, inch: float, said: str) -> None:
    """The tiles of a block, and what one of its threads and the thread's neighbor read and compute."""
    title, side, rows, columns, apart, (high, wide) = TILES[rung]
    p, more = [3], {"rung_4": 0.5, "rung_5": 1.0}.get(rung, 0.0)
    product = Product(axes, left, 0.45, side, 8, inch)
    for name in "ab":
        product.fill(name, 0, 0, *product.shape[name], "C2", 0.25)
    (x, y), cell = product.corner["c"], product.cell
    for n in range(1, side // high):
        axes.plot([x, x + inch], [y - cell * high * n] * 2, color=muted(), linewidth=0.4)
    for n in range(1, side // wide):
        axes.plot([x + cell * wide * n] * 2, [y, y - inch], color=muted(), linewidth=0.4)
    for further, of_a, of_b, of_c in ((apart, "C0", "C4", "C4"), (0, "C0", "C0", "C1")):
        if further and more:  # the neighbor is seen in the enlarged part, or would hide this thread's
            continue
        there = [column + further for column in columns]
        product.mark("a", rows, p, of_a, more)
        product.mark("b", p, there, of_b, more)
        product.mark("c", rows, there, of_c, more)
    for name in "ab":
        product.name(name, name)
    product.name("c", f"{side} x {side} results")
    if not narrow() and rung == "rung_5":  # a square of the grid, larger
        u, v, size = x + inch + 0.2, y - 0.06, 0.05
        for n in range(256):
            color, alpha = ("C1", 1.0) if n == 16 * rows[0] + columns[0] else ("C4", 0.35)
            at = u + size * (n % 16), v - size * (n // 16 + 1)
            box(axes, *at, size, size, color, alpha=alpha, edge=paper(), linewidth=0.5)
        for n, end in ((0, v), (1, v - 16 * size)):
            axes.plot([x + inch, u], [y - cell * high * n, end], color=muted(), linewidth=0.6)
        for n, text in enumerate(("each square: a", "result for each of", "256 threads")):
            say(axes, u, v - 16 * size - 0.13 - 0.16 * n, text, ha="left", fontsize=8)
    if not narrow() and rung == "rung_6":
        u, size = x + inch + 0.14, 0.085
        v = y - cell * (rows[0] + 0.5) - size / 2
        for n, color in enumerate("11114444" * 4):
            box(axes, u + size * (n % 8), v + size * (n // 8), size, size, f"C{color}", edge=paper(), linewidth=0.6)
        for n, text in enumerate(("16 results, and", "a neighbor's")):
            say(axes, u, v - 0.13 - 0.16 * n, text, ha="left", fontsize=8)
    say(axes, left - 0.3, product.corner["b"][1] + 0.15, title, ha="left", fontsize=9.5)
    say(axes, product.corner["c"][0] + inch / 2, 0.13, said, color="C0", fontsize=8)


@figure("rung_3", width=7.6, height=3.4, narrow=(3.7, 6.8))
def rung_3(data: Data, fig: Figure) -> None:
    """A block's tiles in the matrices, and what a thread reads of the tiles."""
    axes = blackboard(fig)
    row, column, step, inch = 2, 5, 3, 1.3
    (left, low), (close, bottom) = ((0.5, 3.75), (0.5, 0.35)) if narrow() else ((0.5, 0.45), (4.4, 0.45))

    far = Product(axes, left, low, 8, 8, inch)
    far.fill("a", row, 0, 1, 8, "C2", 0.25)
    far.fill("b", 0, column, 8, 1, "C2", 0.25)
    far.fill("a", row, step, 1, 1, "C2")
    far.fill("b", step, column, 1, 1, "C2")
    far.fill("c", row, column, 1, 1, "C1", 0.8)
    (x, y), (u, v), cell = far.corner["a"], far.corner["b"], far.cell
    for n in range(9):  # the tiles of 16 x 16
        axes.plot([x + cell * n] * 2, [y, y - inch], color=muted(), linewidth=0.3)
        axes.plot([u, u + inch], [v - cell * n] * 2, color=muted(), linewidth=0.3)
        for start in (x, u):
            axes.plot([start, start + inch], [y - cell * n] * 2, color=muted(), linewidth=0.3)
        for end in (v, y):
            axes.plot([u + cell * n] * 2, [end, end - inch], color=muted(), linewidth=0.3)
    at, across, down = step + 1.1, y - cell * (row + 0.5), u + cell * (column + 0.5)
    arrow(axes, (x + cell * at, across), (x + cell * (at + 1.5), across))
    arrow(axes, (down, v - cell * at), (down, v - cell * (at + 1.5)))
    far.along_k()
    far.name("a", "a")
    far.name("b", "b")
    far.name("c", "c")
    words = "Rung 3: tiles in|shared memory||fetch two tiles|barrier|multiply|barrier|… then the next two"
    for n, text in enumerate(words.split("|")):
        say(axes, x - 0.35 if n < 2 else x, v + 0.1 - 0.165 * n, text, ha="left", fontsize=9.5 if n < 2 else 8)

    near = Product(axes, close, bottom, 16, 16, inch)
    mine, other, p = 5, 9, 6
    for name in "ab":
        near.fill(name, 0, 0, 16, 16, "C2", 0.25)
    near.fill("a", mine, 0, 1, 16, "C0", 0.3)
    near.fill("b", 0, other, 16, 1, "C0", 0.3)
    near.mark("a", [mine], [p], "C0")
    near.mark("b", [p], [other], "C0")
    near.mark("c", [mine], [other], "C1")
    if not narrow():
        for name, row, column in (("a", row, step), ("b", step, column)):
            (x, y), (u, v) = far.corner[name], near.corner[name]
            for down in (0, 1):
                axes.plot([x + cell * (column + 1), u], [y - cell * (row + down), v - inch * down], color="C2",
                          linewidth=0.7, alpha=0.6, zorder=0)
    (x, y), (u, v) = near.corner["a"], near.corner["b"]
    say(axes, x - 0.1, v + 0.1, "two tiles, larger", ha="left", fontsize=9.5)
    say(axes, x, v - 0.4, "a thread, for each p:", ha="left", fontsize=8)
    say(axes, x, v - 0.565, "2 numbers read,", ha="left", fontsize=8, color="C0")
    say(axes, x, v - 0.73, "1 multiply-add", ha="left", fontsize=8, color="C1")
    say(axes, x + near.cell * (p + 0.5), y + 0.08, "p", fontsize=8, color="C0")
    say(axes, u + inch + 0.08, v - near.cell * (p + 0.5), "p", fontsize=8, color="C0")
    near.name("a", "tile_a")
    say(axes, u + inch / 2, v + 0.1, "tile_b")
    near.name("c", "16 x 16 results")


@figure("rungs_4_5", width=7.6, height=3.4, narrow=(3.7, 6.8))
def rungs_4_5(data: Data, fig: Figure) -> None:
    axes = blackboard(fig)
    said_of = {"rung_4": "reads 9 numbers for 8 multiply-adds", "rung_5": "reads 16 numbers for 64 multiply-adds"}
    for n, (rung, said) in enumerate(said_of.items()):
        if not narrow():
            tiles(axes, rung, (0.6, 3.9)[n], 2.3, said)
            continue
        half = fig.add_axes((0, (1 - n) / 2, 1, 0.5))
        half.set(xlim=(0, 3.7), ylim=(0, 3.4))
        half.axis("off")
        tiles(half, rung, 0.7, 2.3, said)


@figure("rung_6", width=7.6, height=3.4, narrow=(3.7, 6.6))
def rung_6(data: Data, fig: Figure) -> None:
    """What a thread reads and computes, and how the tile of `a` is turned so that it can."""
    axes, small = blackboard(fig), narrow()
    if small:
        half = fig.add_axes((0, 0, 1, 3.4 / 6.6))
        half.set(xlim=(0, 3.7), ylim=(0, 3.4))
        half.axis("off")
        tiles(half, "rung_6", 0.7, 2.3, "4 loads for 64 multiply-adds")
    else:
        tiles(axes, "rung_6", 4.0, 2.3, "4 loads for 64 multiply-adds")
    cell, step, shown, mine, begin, p = 0.135, 8, 12, 2, 4, 5
    x, y = 0.4, fig.get_size_inches()[1] - 0.62
    u, v = x + cell * step + 0.32, y - 0.5

    def table(left: float, top: float, rows: int, columns: int) -> None:
        for n in range(rows):
            for k in range(columns):
                at = left + cell * k, top - cell * (n + 1)
                box(axes, *at, cell, cell, "C2", alpha=0.25, edge=paper(), linewidth=0.5)

    def number(left: float, top: float, row: int, column: int, color: str) -> None:
        box(axes, left + cell * column, top - cell * (row + 1), cell, cell, color, edge=paper(), linewidth=0.5)

    say(axes, x - 0.3, y + 0.47, "The turn of the tile of a (its first 12 rows)", ha="left", fontsize=9.5)
    table(x, y, shown, step)
    table(u, v, step, shown)
    for j in range(4):
        number(x, y, mine, begin + j, "C1")
        number(u, v, begin + j, mine, "C1")
        number(u, v, p, 4 + j, "C0")
    say(axes, x + cell * step / 2, y + 0.1, "k", fontsize=8, color=muted())
    say(axes, x - 0.08, y - cell * (mine + 0.5), f"{mine}", ha="right", fontsize=8, color=muted())
    say(axes, x + cell * step / 2, y - cell * shown - 0.12, "in device memory")
    start, end = (x + cell * (step + 0.2), y - cell * (mine + 0.5)), (u + cell * (mine + 0.5), v - cell * (begin - 0.2))
    arrow(axes, start, end, "C1")
    say(axes, u - 0.08, v - cell * step / 2, "k", fontsize=8, color=muted())
    say(axes, u + cell * (mine + 0.5), v + 0.1, f"{mine}", fontsize=8, color=muted())
    say(axes, u + cell * shown / 2, v - cell * step - 0.12, "turned_a, in shared memory")
    low = y - cell * shown - 0.38
    said = ("fetching: 1 load, 4 numbers to 4 rows", "multiplying: 4 rows of a at one k are neighbors, 1 load")
    for n, text in enumerate(said):
        say(axes, x - 0.3, low - 0.17 * n, text, ha="left", fontsize=8, color=("C1", "C0")[n])


@figure("rung_7", width=7.6, height=2.0, narrow=(3.7, 2.0))
def rung_7(data: Data, fig: Figure) -> None:
    """Three steps that wait for their copies, and three whose copies run ahead."""
    axes = blackboard(fig)
    copy, multiply, steps = 480, 1024, 3
    left, right = 0.72, fig.get_size_inches()[0] - 0.1
    cycle = (right - left) / (steps * (copy + multiply))

    def bar(begin: int, cycles: int, y: float, color: str, text: str, stage: str = "") -> None:
        box(axes, left + cycle * begin, y, cycle * cycles, 0.24, color, alpha=0.5, edge=paper())
        if stage:
            box(axes, left + cycle * begin, y, cycle * cycles, 0.06, stage)
        at = left + cycle * (begin + cycles / 2), y + (0.14 if stage else 0.11)
        say(axes, *at, text, fontsize=7 if narrow() else 8)

    def barrier(at: int, y: float) -> None:
        axes.plot([left + cycle * at] * 2, [y - 0.04, y + 0.28], color=ink(), linewidth=1.8)

    stages = ("C2", "C4")
    for n in range(steps):
        begin = n * (copy + multiply)
        bar(begin, copy, 1.57, "C6", "load")
        bar(begin + copy, multiply, 1.57, "C1", str(n) if narrow() else f"multiply {n}")
        barrier(begin + copy, 1.57)
        barrier(begin + copy + multiply, 1.57)
        bar(copy + n * multiply, multiply, 0.97, "C1", str(n) if narrow() else f"multiply {n}", stages[n % 2])
        bar(copy + (n - 1) * multiply if n else 0, copy, 0.68, stages[n % 2], str(n) if narrow() else f"copy {n}")
        barrier(copy + n * multiply, 0.97)
    for y, text in ((1.69, "6"), (0.98, "7")):
        say(axes, left - 0.1, y, f"rung {text}", ha="right")
    arrow(axes, (left, 0.52), (right, 0.52), muted())
    say(axes, right, 0.43, "time", ha="right", va="top", fontsize=8, color=muted())
    words = (("stage 0", "C2"), ("stage 1", "C4"), ("multiply-adds", "C1"))
    for n, (text, color) in enumerate(words):
        x = 0.1 + (0.85 if narrow() else 1.4) * n
        box(axes, x, 0.08, 0.13, 0.13, color, alpha=0.5)
        say(axes, x + 0.18, 0.14, text, ha="left", fontsize=8)
    x = 0.1 + (0.85 if narrow() else 1.4) * 3.3
    axes.plot([x, x], [0.05, 0.24], color=ink(), linewidth=1.8)
    say(axes, x + 0.1, 0.14, "barrier", ha="left", fontsize=8)


@figure("rung_8", width=7.6, height=4.35, narrow=(3.7, 7.6))
def rung_8(data: Data, fig: Figure) -> None:
    """The warps of a block, and which lane holds which number of one product."""
    axes = blackboard(fig)
    inch, low = 1.9, 1.2
    left, bottom = (0.9, fig.get_size_inches()[1] - 2.25) if narrow() else (0.35, low)
    unit = inch / 128
    for warp in range(8):
        x, y = left + 32 * unit * (warp % 4), bottom + inch - 64 * unit * (warp // 4 + 1)
        box(axes, x, y, 32 * unit, 64 * unit, "C2", alpha=0.2)
        box(axes, x, y, 32 * unit, 64 * unit, edge=ink())
        if warp:  # the first is cut into products
            say(axes, x + 16 * unit, y + 32 * unit, f"warp {warp}", fontsize=7.5)
    for n in range(16):
        at = left + 8 * unit * (n % 4), bottom + inch - 16 * unit * (n // 4 + 1)
        box(axes, *at, 8 * unit, 16 * unit, edge=muted(), linewidth=0.7)
    box(axes, left, bottom + inch - 16 * unit, 8 * unit, 16 * unit, "C1", alpha=0.8)
    say(axes, left, bottom - 0.14, "128 x 128 results of a block;", ha="left")
    say(axes, left, bottom - 0.31, "warp 0 cut into 16 products of 16 x 8", ha="left")

    cell, mine, gap = (0.17, 6, 0.14) if narrow() else (0.155, 6, 0.14)
    x, top = (0.35, 4.65) if narrow() else (3.9, fig.get_size_inches()[1] - 0.25)
    right, middle = x + 8 * cell + gap, top - 8 * cell - gap

    def fragment(begin: float, end: float, lanes: np.ndarray, color: str) -> None:
        for (u, v), lane in np.ndenumerate(lanes):
            at = begin + cell * v, end - cell * (u + 1)
            box(axes, *at, cell, cell, color, alpha=0.75 if lane == mine else 0.12, edge=paper(), linewidth=0.6)
            say(axes, at[0] + cell / 2, at[1] + cell / 2 - 0.006, str(lane), fontsize=6.8)

    u, v = np.indices((16, 8))
    fragment(x, middle, 4 * (u % 8) + v % 4, "C0")
    fragment(right, top, (4 * v + u % 4)[:8], "C0")
    fragment(right, middle, 4 * (u % 8) + v // 2, "C1")

    def margin(at: tuple[float, float], numbers: list[int], across: bool, name: str, before: bool = False) -> None:
        """The numbers g or q along a row or a column of cells, named at their end."""
        for n, number in enumerate(numbers):
            dx, dy = (cell * (n + 0.5), 0.0) if across else (0.0, -cell * (n + 0.5))
            say(axes, at[0] + dx, at[1] + dy, str(number), fontsize=6, color=muted())
        end = -0.4 if before else len(numbers) + 0.4
        dx, dy = (cell * end, 0.0) if across else (0.0, -cell * end)
        say(axes, at[0] + dx, at[1] + dy, name, fontsize=8, style="italic")

    g, q = list(range(8)), list(range(4))
    margin((x - 0.08, middle), g + g, False, "g")
    margin((x, middle + 0.08), q + q, True, "q", before=True)
    margin((right + 8 * cell + 0.08, top), q + q, False, "q")
    margin((right, top + 0.08), g, True, "g")
    margin((right + 8 * cell + 0.08, middle), g + g, False, "g")
    margin((right, middle - 16 * cell - 0.08), [n // 2 for n in range(8)], True, "q", before=True)
    corner, up = (left, bottom + inch - 8 * unit), (left + 4 * unit, bottom + inch)
    path = [corner, (0.6, corner[1]), (0.6, 4.0)] if narrow() else [up, (up[0], 3.6), (right - 0.5, 3.6)]
    axes.plot(*zip(*path, strict=True), color="C1", linewidth=1)
    arrow(axes, path[-1], (right, middle), "C1")
    words = "Right: one product. In each cell the lane|that holds the number; marked: lane 6,|with g = 1 and q = 2."
    for n, text in enumerate(() if narrow() else words.split("|")):
        say(axes, left, bottom - 0.62 - 0.17 * n, text, ha="left", fontsize=8, color=muted())
    say(axes, x - 0.2, middle - 8 * cell, "a", ha="right")
    say(axes, right - 0.08, top - 4 * cell, "b", ha="right")
    say(axes, right + 8 * cell + 0.16, middle - 8 * cell, "sums", ha="left", rotation=90 * narrow())
