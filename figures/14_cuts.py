"""Figures of chapter 14: what is cut over several ranks."""

import numpy as np
from blackboard import RANKS
from blackboard import box as rounded
from style import Data, Figure, arrow, blackboard, box, figure, ink, muted, narrow, say


@figure("stages", width=7.6, height=2.1, narrow=(3.7, 3.9))
def stages(data: Data, fig: Figure) -> None:
    """What rank 2 of 8 keeps: all, or a slice of Adam's means, of gradients, too, and of weights, too."""
    axes = blackboard(fig)
    small = narrow()
    top = axes.get_ylim()[1]
    for stage, name in enumerate(("all of it", "stage 1", "stage 2", "stage 3")):
        left, high = (1.0 + 1.36 * (stage % 2), top - 1.95 * (stage // 2)) if small else (1.15 + 1.64 * stage, top)
        say(axes, left + 0.64, high - 0.17, name, fontsize=9.5)
        low, total = high - 0.36, 0.0
        for i, (what, color) in enumerate((("weights", "C0"), ("gradient", "C1"), ("$m, v$", "C2"))):
            size = (4, 4, 8)[i]
            low -= 0.075 * size
            if left < 1.2:
                say(axes, left - 0.06, low + 0.0375 * size, f"{what}, {size} $P$", ha="right", color=color)
            sliced = stage >= 3 - i
            total += size / 8 if sliced else size
            for part in range(8):
                kept = part == 2 or not sliced
                box(axes, left + 0.16 * part, low, 0.15, 0.075 * size - 0.03, color if kept else "none", edge=color,
                    linewidth=0.8, alpha=0.6 if kept else 0.35)
        say(axes, left + 0.64, low - 0.17, f"{total:g} $P$ bytes", fontsize=9)


@figure("cut", width=7.6, height=3.1, narrow=(3.7, 6.95))
def cut(data: Data, fig: Figure) -> None:
    """The layer of the page's example on two ranks: forward values above the gradients that come back."""
    axes = blackboard(fig)
    small = narrow()
    top = axes.get_ylim()[1]
    x, dy = np.array([2, 1]), np.array([3, 1])
    w1, b1 = np.array([[1, 0], [1, -1], [-1, 1], [0, 2]]), np.array([0, 1, 0, -1])
    w2, b2 = np.array([[1, 1, 2, 1], [1, -1, 1, 3]]), np.array([0, 1])
    stops = (0.36, 1.28, 2.24, 3.2, 4.12, 5.08, 6.04, 7.24)  # x, its copies, W1, before and after relu, W2, summands, y

    def at(stop: float, lane: int) -> tuple[float, float]:
        if small:
            return 1.85 + 0.8 * lane, top - 0.3 - 0.905 * stop
        return float(np.interp(stop, range(8), stops)), 1.42 - 0.85 * lane

    def values(stop: int, lane: int, forward: np.ndarray, backward: np.ndarray) -> None:
        for value, up, color in ((forward, 0.135, "C0"), (backward, -0.135, "C1")):
            a, b = at(stop, lane)
            rounded(axes, a, b + up, 0.66, 0.25, f"({value[0]}, {value[1]})", color, 9)

    def matrix(stop: int, lane: int, numbers: np.ndarray, bias: np.ndarray, name: str) -> None:
        a, b = at(stop, lane)
        left = a - 0.25 - (0.14 if len(bias) else 0)
        for (i, j), number in np.ndenumerate(numbers):
            box(axes, left + 0.25 * j, b - 0.25 * i, 0.25, 0.25, RANKS[lane > 0], alpha=0.25)
            say(axes, left + 0.25 * (j + 0.5), b + 0.25 * (0.5 - i) - 0.01, f"{number}", fontsize=9)
        for i, number in enumerate(bias):
            box(axes, left + 0.53, b - 0.25 * i, 0.25, 0.25, edge=RANKS[lane > 0], linestyle=":")
            say(axes, left + 0.655, b + 0.25 * (0.5 - i) - 0.01, f"{number}", fontsize=9)
        beside = (a + (0.44 if len(bias) else 0.32) * lane, b) if small else (a, b - 0.39 * lane - 0.02)
        name = name.replace(" ", "\n", 1).replace("of ", "of\n") if small else name
        say(axes, *beside, name, ha="center" if not small else "right" if lane < 0 else "left")

    def link(begin: tuple[int, int], end: tuple[int, int], gaps: tuple[float, float]) -> None:
        """Forward there, backward back, side by side."""
        (a, b), (c, d) = at(*begin), at(*end)
        length = np.hypot(c - a, d - b)
        u, v = (c - a) / length, (d - b) / length
        for color, side, swap in (("C0", 0.045, False), ("C1", -0.045, True)):
            ends = [(a + u * gaps[0] - v * side, b + v * gaps[0] + u * side),
                    (c - u * gaps[1] - v * side, d - v * gaps[1] + u * side)]
            arrow(axes, *(ends[::-1] if swap else ends), color, 1.2)

    across, along = (0.29, 0.28) if small else (0.36, 0.42)  # from the middle of values and of a matrix
    for lane, part in ((-1, slice(0, 2)), (1, slice(2, 4))):
        rank = (lane + 1) // 2
        a = w1[part] @ x + b1[part]
        hidden, dhidden = np.maximum(a, 0), dy @ w2[:, part]
        da = dhidden * (a > 0)
        values(1, lane, x, da @ w1[part])
        matrix(2, lane, w1[part], b1[part], f"{('upper', 'lower')[rank]} half of $W_1, b_1$")
        values(3, lane, a, da)
        values(4, lane, hidden, dhidden)
        matrix(5, lane, w2[:, part], b2[: 2 * (rank == 0)], ("left half of $W_2$; $b_2$", "right half of $W_2$")[rank])
        values(6, lane, w2[:, part] @ hidden + (b2 if rank == 0 else 0), dy)
        for stop, gaps in enumerate(((across, along), (along, across), (across, across), (across, along),
                                     (along, across)), 1):
            link((stop, lane), (stop + 1, lane), gaps)
        link((0, 0), (1, lane), (0.42, 0.42))
        link((6, lane), (7, 0), (0.42, 0.42))
        a_x, a_y = at(3.5, lane)
        axes.text(a_x + (0.12 if small else 0), a_y + (0 if small else 0.15), "relu", ha="left" if small else "center",
                  va="center", fontsize=8)
        a_x, a_y = at(0.3 if small else 3.5, lane)
        axes.text(a_x + (0.15 * lane if small else 0), a_y + (0 if small else 0.4), f"rank {rank}", ha="center",
                  va="center", fontsize=9.5, color=RANKS[rank])
    y = w2 @ np.maximum(w1 @ x + b1, 0) + b2
    dx = (dy @ w2 * (w1 @ x + b1 > 0)) @ w1
    values(0, 0, x, dx)
    values(7, 0, y, dy)
    for stop, name, forward, backward in ((0, "$f$", "copied", "added"), (7, "$g$", "added", "copied")):
        a, b = at(stop, 0)
        move, side = (0, "center") if small else (0.46, "left") if stop == 0 else (-0.46, "right")
        away = (0.55 if stop else -0.53) if small else 0
        for text, up, color in ((name, 0.14, ink()), (forward, 0, "C0"), (backward, -0.14, "C1")):
            axes.text(a + move, b + up + away, text, ha=side, va="center", fontsize=8.5, color=color)


@figure("pipeline", width=7.6, height=1.6, narrow=(3.7, 1.6))
def pipeline(data: Data, fig: Figure) -> None:
    """A batch in eight parts goes through four ranks, each of which has a fourth of the layers."""
    axes = blackboard(fig)
    ranks, parts, left = 4, 8, 0.68
    wide = (fig.get_size_inches()[0] - left - 0.1) / (parts + ranks - 1)
    for rank in range(ranks):
        y = 1.27 - 0.29 * rank
        say(axes, left - 0.08, y + 0.12, f"rank {rank}", ha="right", fontsize=9)
        for time in range(parts + ranks - 1):
            part, at = time - rank, (left + wide * time + 0.01, y, wide - 0.02, 0.25)
            if 0 <= part < parts:
                box(axes, *at, RANKS[rank], alpha=0.2 + 0.05 * part)
                say(axes, left + wide * (time + 0.5), y + 0.12, str(part + 1))
            else:
                box(axes, *at, edge=muted(), linestyle=":")
    arrow(axes, (left, 0.28), (left + wide * (parts + ranks - 1), 0.28), muted())
    for time in (0, parts, parts + ranks - 1):
        side = "right" if time > parts else "center"
        say(axes, left + wide * time, 0.14, str(time), fontsize=8, color=muted(), ha=side)
    say(axes, left - 0.08, 0.28, "time", ha="right", color=muted())
