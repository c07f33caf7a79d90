"""Figures of chapter 11: what threads pass on to each other."""

from blackboard import box as rounded
from style import Data, Figure, arrow, blackboard, box, figure, ink, muted, narrow, say


@figure("transpose", width=7.6, height=2.35, narrow=(3.7, 5.5))
def transpose(data: Data, fig: Figure) -> None:
    """A tile on its way: read by rows, kept by rows, taken out by columns, written by rows."""
    axes, small = blackboard(fig), narrow()
    top, cell, side, row = axes.get_ylim()[1], 0.15, 8, 2
    places = ((0.3, top - 0.35), (2.1, top - 2.15), (0.3, top - 3.35)) if small else (
        (0.35, top - 0.4), (3.15, top - 0.4), (5.6, top - 0.3))

    def strip(left: float, high: float, which: int, across: bool, color: str) -> None:
        at = (left, high - cell * (which + 1)) if across else (left + cell * which, high - cell * side)
        box(axes, *at, cell * (side if across else 1), cell * (1 if across else side), color, alpha=0.75)

    def tile(left: float, high: float) -> None:
        box(axes, left, high - cell * side, cell * side, cell * side, "C2", alpha=0.2)
        for n in range(1, side):
            axes.plot([left, left + cell * side], [high - cell * n] * 2, color=muted(), linewidth=0.2)
            axes.plot([left + cell * n] * 2, [high - cell * side, high], color=muted(), linewidth=0.2)

    (a, b), (c, d), (e, f) = places
    wide, half = cell * side, cell * side / 2
    box(axes, a, b - wide, 2 * wide, wide, edge=muted())  # of the matrix, two tiles
    box(axes, e, f - wide - half, wide, wide + half, edge=muted())
    for left, high in places:
        tile(left, high)
    strip(a, b, row, True, "C0")
    strip(c, d, row, True, "C0")
    strip(c, d, row + 3, False, "C1")
    strip(e, f, row + 3, True, "C1")
    for left, high, text in ((a + wide, b, "device memory: x"), (c + half, d, "shared memory: the tile"),
                             (e + half, f, "device memory: its transpose")):
        say(axes, left, high + 0.13, text, fontsize=8)
    if small:
        arrow(axes, (a + wide + 0.05, b - cell * 2.5), (c + half, d + 0.24), "C0")
        arrow(axes, (c + cell * 5.5, d - wide - 0.03), (e + wide + 0.05, f - cell * 5.5), "C1")
        said = ((a, b - wide - 0.2, "a warp reads a row:\n4 sectors"), (0.3, d - 0.45, "in by rows,\nout by columns"),
                (e + wide + 0.15, f - wide - 0.35, "a warp writes a row:\n4 sectors"))
    else:
        arrow(axes, (a + wide + 0.04, b - cell * 2.5), (c - 0.05, d - cell * 2.5), "C0")
        arrow(axes, (c + cell * 6.1, d - cell * 5.5), (e - 0.05, f - cell * 5.5), "C1")
        said = ((a, b - wide - 0.2, "a warp reads a row: 4 sectors"), (c, d - wide - 0.2, "in by rows, out by columns"),
                (e, f - wide - half - 0.15, "a warp writes a row: 4 sectors"))
    for left, high, text in said:
        say(axes, left, high, text, ha="left", fontsize=8, color=muted(), linespacing=1.25)


@figure("butterfly", width=7.6, height=2.2, narrow=(3.7, 2.6))
def butterfly(data: Data, fig: Figure) -> None:
    """Eight lanes add up what they hold in three exchanges."""
    axes, small = blackboard(fig), narrow()
    top = axes.get_ylim()[1]
    left, step, down = (0.92, 0.37, 0.68) if small else (2.0, 0.74, 0.56)
    held = list(range(1, 9))
    for lane in range(8):
        say(axes, left + step * lane, top - 0.12, f"{lane}" if small else f"lane {lane}", fontsize=8, color=muted())
    for stage, far in enumerate((0, 4, 2, 1)):
        y = top - 0.36 - down * stage
        said = f"{'' if small else 'from '}lane ^ {far}" if far else "start"
        say(axes, 0.1, y + (0.5 * down if far else 0), said, ha="left", color="C1" if far else ink())
        if far:
            for lane in range(8):
                for other, color in ((lane, muted()), (lane ^ far, "C1")):
                    axes.plot([left + step * other, left + step * lane], [y + down - 0.12, y + 0.12], color=color, linewidth=0.9,
                              zorder=1, alpha=0.8)
            held = [held[lane] + held[lane ^ far] for lane in range(8)]
        for lane in range(8):
            rounded(axes, left + step * lane, y, 0.34, 0.24, f"{held[lane]}", "C0", 8.5)


@figure("banks", width=7.6, height=2.85, narrow=(3.7, 5.75))
def banks(data: Data, fig: Figure) -> None:
    """Where the words of a tile's column lie in shared memory, without a spare column and with one."""
    axes = blackboard(fig)
    count, side, column = 32, 32, 5
    cell, high = 3.3 / count, 0.068
    for n, width in enumerate((side, side + 1)):
        left, top = (0.3, fig.get_size_inches()[1] - 0.42 - 2.9 * n) if narrow() else (0.3 + 3.8 * n, 2.43)
        rows = -(-side * width // count)

        def word(number: int, color: str, alpha: float, left: float = left, top: float = top) -> None:
            x, y = left + cell * (number % count), top - high * (number // count + 1)
            box(axes, x, y, cell, high, color, alpha=alpha)

        if width > side:
            for r in range(side):
                word(width * r + side, "C6", 0.35)
        for r in range(side):
            word(width * r + column, "C1", 1)
        for k in range(count + 1):
            axes.plot([left + cell * k] * 2, [top, top - high * rows], color=muted(), linewidth=0.3)
        for r in range(rows):
            axes.plot([left, left + cell * count], [top - high * r] * 2, color=muted(), linewidth=0.2)
            if r in (0, side - 1):
                say(axes, left - 0.05, top - high * (r + 0.5), str(r), ha="right", fontsize=7, color=muted())
        box(axes, left, top - high * rows, cell * count, high * rows, edge=muted())
        turns = max(sum((width * r + column) % count == bank for r in range(side)) for bank in range(count))
        say(axes, left, top + 0.3, f"{width} words wide: {turns} turn{'s' * (turns > 1)}", ha="left", fontsize=9)
        for bank, text in ((0.5, "bank 0"), (column, str(column)), (count - 1, str(count - 1))):
            say(axes, left + cell * (bank + 0.5), top + 0.09, text, fontsize=7.5, color=muted())
        below, color = ("gray: the spare column", muted()) if width > side else (f"column {column} of the tile", "C1")
        say(axes, left, top - high * rows - 0.1, below, ha="left", fontsize=8, color=color)
        right = left + cell * count
        say(axes, right, top - high * rows - 0.1, f"a row: {count} words", ha="right", fontsize=8, color=muted())
