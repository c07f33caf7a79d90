"""Figures of chapter 8."""

from glosses import pieces
from matplotlib.patches import Circle, FancyBboxPatch
from style import Axes, Data, Figure, arrow, blackboard, figure, ink, muted, narrow, paper, say

WIDE, HIGH, PITCH = 0.42, 0.3, 0.46  # of a word's card, in inches


def card(axes: Axes, x: float, y: float, word: str, color: str = "none", *, said: bool = False,
         faint: bool = False, wide: float = WIDE, size: float = 8.5) -> None:
    """A word in a box; a word that must be said has a broken edge."""
    for fill, edge, alpha in ((color, "none", 0.25), ("none", muted() if color == "none" else color, 1)):
        axes.add_patch(FancyBboxPatch(
            (x - wide / 2, y - HIGH / 2), wide, HIGH, boxstyle="round,pad=0,rounding_size=0.07", facecolor=fill,
            edgecolor=edge, alpha=alpha, linewidth=1, linestyle=(0, (3, 2)) if said else "-", zorder=3))
    axes.text(x, y - 0.01, word, ha="center", va="center", fontsize=size, color=muted() if faint else ink(), zorder=4)


def look(axes: Axes, start: tuple[float, float], end: tuple[float, float], color: str, width: float = 1.6) -> None:
    arrow(axes, start, end, color, width, zorder=2)


def panel(axes: Axes, left: float, top: float, title: str, reads: list[str], says: list[str], seen: int) -> tuple[float, float]:
    """One row asks which word it must say, and sees the words before `seen`. Returns where it is."""
    row, asked = (left + 2 * PITCH, top - 1.2), says[2]
    axes.text(left - WIDE / 2, top - 0.06, title, ha="left", va="center", fontsize=9.5)
    for y, words, said in ((top - 0.48, says, True), (top - 1.95, reads, False)):
        for j, word in enumerate(words[:4]):
            x, answer = left + j * PITCH, word == asked
            hidden = not said and j >= seen
            color = "none" if hidden or (said and not answer) else "C1" if answer and seen > reads.index(asked) else "C2"
            card(axes, x, y, word, color, said=said, faint=(said and not answer) or hidden)
        axes.text(left + 3 * PITCH + WIDE / 2 + 0.03, y, "…", ha="left", va="center", color=muted())
    cheats = reads.index(asked) < seen
    for j in range(4):
        start, leaks = (left + j * PITCH, top - 1.95 + HIGH / 2), reads[j] == asked
        if j < seen:
            dx = 0.13 * (j - 2) / 2  # lines end on the circle
            look(axes, start, (row[0] + dx, row[1] - 0.15), "C1" if leaks else "C2", 2.6 if leaks else 1.4)
        elif leaks:
            axes.text(start[0], start[1] + 0.13, "×", ha="center", va="center", fontsize=13, color=muted())
    look(axes, (row[0], row[1] + 0.15), (row[0], top - 0.48 - HIGH / 2), "C1" if cheats else "C2", 2.6 if cheats else 1.6)
    axes.add_patch(Circle(row, 0.15, facecolor=paper(), edgecolor="C1" if cheats else "C2", linewidth=1.6, zorder=5))
    axes.text(row[0], row[1] - 0.01, "?", ha="center", va="center", fontsize=10, zorder=6)
    return row


@figure("shift", width=7.6, height=3.05, narrow=(3.7, 8.3))
def shift(data: Data, fig: Figure) -> None:
    """The row that must say "a": with its own answer below it, beside it, and with neither in sight."""
    target = data.value("target").split()
    shifted = data.value("input").split()
    axes = blackboard(fig)
    height = axes.get_ylim()[1]
    small = narrow()
    for n, (title, reads, seen, count) in enumerate((
        ("no shift", target, 3, "leaks_not_shifted"),
        ("no mask", shifted, 4, "leaks_not_hidden"),
        ("both", shifted, 3, "leaks_right"),
    )):
        left, top = (0.9, height - 0.15 - 2.75 * n) if small else (0.86 + 2.1 * n, height - 0.12)
        row = panel(axes, left, top, title, reads, target, seen)
        if n < 2:  # the source is drawn at the last panel, its lines at all of them
            side = left + 3 * PITCH + WIDE / 2
            for dy in (0.14, 0, -0.14):
                look(axes, (side, row[1] + dy), (row[0] + 0.16, row[1] + dy / 2), "C2", 0.9)
            axes.text(side, row[1] + 0.27, "source", ha="right", va="center", fontsize=8.5, color="C2", style="italic")
        leaks = data.value(count)
        color = "C1" if leaks else "C2"
        axes.text(left + PITCH, top - 2.42, f"{leaks:.0f}", ha="right", va="center", fontsize=21, color=color)
        axes.text(left + PITCH + 0.08, top - 2.45, f"of {len(target)} rows see\ntheir answer", ha="left", va="center",
                  fontsize=8.5, color=color, linespacing=1.15)
        if small or n == 0:
            for y, text in ((top - 0.48, "must\nsay"), (top - 1.2, "a row"), (top - 1.95, "reads")):
                axes.text(left - WIDE / 2 - 0.1, y, text, ha="right", va="center", fontsize=8.5, color=muted())
    source = [piece for piece in pieces(data.value("source").replace(" ", "")) if piece[0] != "P"]
    x, bottom, box = left + 4.17 * PITCH + (0.2 if small else 0), top - 2.1, 1.95
    axes.add_patch(FancyBboxPatch((x, bottom), 0.5, box, boxstyle="round,pad=0,rounding_size=0.07",
                                  facecolor="C2", alpha=0.14, edgecolor="none"))
    for i, (word, gloss) in enumerate(source):
        y = bottom + box - 0.19 - i * 0.315
        axes.text(x + 0.25, y + 0.02, word, ha="center", va="center", fontsize=10)
        axes.text(x + 0.25, y - 0.12, gloss, ha="center", va="center", fontsize=6.3, color=muted())
    for text, at in (("written", (left - 0.02, row[1] - 0.1)), ("source", (x - 0.34, row[1] + 0.4))):
        axes.text(*at, text, ha="center", va="center", fontsize=8.5, color="C2", style="italic")
    for dy in (0.25, 0, -0.25):
        look(axes, (x - 0.02, row[1] + dy), (row[0] + 0.16, row[1] + dy / 5), "C2", 1.4)


@figure("passes", width=7.6, height=3.15, narrow=(3.7, 6.4))
def passes(data: Data, fig: Figure) -> None:
    """Seven passes of a decoder that writes, and the one pass in which it learns."""
    reads, says = data.value("input").split(), data.value("target").split()
    axes = blackboard(fig)
    height = axes.get_ylim()[1]
    step, pitch, wide, size = 0.34, 0.425, 0.385, 8
    for learns in (False, True):
        left = 0.26 if narrow() or not learns else 4.05
        top = height - 0.15 - (3.25 if narrow() and learns else 0)
        title = "learning: one pass asks all seven" if learns else "writing: seven passes, one question each"
        axes.text(left - wide / 2, top, title, ha="left", va="center", fontsize=9.5)
        first = top - 0.74
        if learns:
            axes.add_patch(FancyBboxPatch(
                (left - wide / 2 - 0.05, first - 6 * step - 0.17), 6 * pitch + wide + 0.1, 6 * step + 0.74, linewidth=1.2,
                boxstyle="round,pad=0,rounding_size=0.07", facecolor="none", edgecolor=ink()))
            for j, word in enumerate(reads):
                card(axes, left + j * pitch, top - 0.39, word, wide=wide, size=size)
        labels = ((7.25 * pitch, "must\nsay", "center"),) if learns else ((-wide / 2, "reads, and then says", "left"),)
        for x, text, side in labels:
            axes.text(left + x, first + 0.35, text, ha=side, va="center", fontsize=8.5, color=muted(), linespacing=1)
        for t, said in enumerate(says):
            y = first - t * step
            for j, word in enumerate(reads[: t + 1]):
                x = left + j * pitch
                if learns:
                    axes.add_patch(Circle((x, y), 0.055, color="C2"))
                else:
                    card(axes, x, y, word, "C2" if j == t > 0 else "none", wide=wide, size=size, faint=j < t)
            x = left + (t + 1) * pitch
            if learns:
                for j in range(t + 1, len(reads)):
                    say(axes, left + j * pitch, y, "×", fontsize=10, color="C1" if j == t + 1 else muted())
                x = left + 7.25 * pitch
            card(axes, x, y, said, "C2", said=True, wide=wide, size=size)
