"""Figures of chapter 2."""

import numpy as np
from matplotlib.patches import Circle, Wedge
from style import Axes, Data, Figure, arrow, figure, glossed, heat, ink, muted, narrow, panels, say

STYLES = (("C0", "-"), ("C1", "--"), ("C2", "-."), ("C3", ":"))
WORDS = ("我", "有", "一", "个", "好", "朋", "友", "P")


def face(axes: Axes, row: np.ndarray, label: str) -> None:
    """A clock. Its hands end at (sine, cosine), so they turn clockwise from twelve."""
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set(xlim=(-1.12, 1.12), ylim=(-1.12, 1.12))
    axes.add_patch(Circle((0, 0), 1.05, facecolor="none", edgecolor=muted(), linewidth=0.8))
    axes.plot([0, 0], [0.93, 1.05], color=muted(), linewidth=1)  # twelve
    for (sine, cosine), reach, color, line, thick in (
        (row[2:4], 0.55, "C1", "-", 3.0),
        (row[0:2], 0.9, "C0", "-", 1.6),
    ):
        axes.plot([0, reach * sine], [0, reach * cosine], color=color, linestyle=line,
                  linewidth=thick, solid_capstyle="round")
    axes.plot(0, 0, "o", color=ink(), markersize=2.5)
    axes.set_title(label, fontsize=8.5, pad=2)


def hand(axes: Axes, at: tuple[float, float], angle: float, reach: float, color: str, thick: float) -> None:
    """A hand that has turned clockwise from twelve."""
    tip = (at[0] + reach * np.sin(angle), at[1] + reach * np.cos(angle))
    axes.plot([at[0], tip[0]], [at[1], tip[1]], color=color, linewidth=thick, solid_capstyle="round")


def dial(axes: Axes, at: tuple[float, float], radius: float, angles: tuple[float, ...], color: str) -> None:
    """A clock at one angle; at two, the first is where the hand came from, and what it has swept is shaded."""
    axes.add_patch(Circle(at, radius, facecolor="none", edgecolor=muted(), linewidth=1))
    axes.plot([at[0]] * 2, [at[1] + 0.88 * radius, at[1] + radius], color=muted(), linewidth=1)  # twelve
    thick = 1.2 + 2 * radius
    if len(angles) > 1:
        first, last = (90 - np.degrees(angle) for angle in angles)
        axes.add_patch(Wedge(at, 0.8 * radius, last, first, facecolor=color, alpha=0.28, linewidth=0))
        hand(axes, at, angles[1], 0.8 * radius, color, thick + 0.6)
    hand(axes, at, angles[0], 0.8 * radius, muted(), thick)
    axes.plot(*at, "o", color=ink(), markersize=1.5 + 3 * radius)


@figure("distance", width=6.8, height=3.7, narrow=(3.7, 4.3))
def distance(data: Data, fig: Figure) -> None:
    """Two pairs of positions, equally far apart: both hands turn by the same angles."""
    code, pairs = data.array("clock"), ((1, 3), (4, 6))  # [309, 4]
    width, height = (3.7, 4.3) if narrow() else (6.8, 3.7)
    big, small, gap = (0.52, 0.2, 0.08) if narrow() else (0.66, 0.25, 0.2)
    left, right = (0.66, 2.44) if narrow() else (0.92, 3.72)
    heights = (3.4, 1.65) if narrow() else (2.72, 0.98)
    fig.set_layout_engine("none")
    axes = fig.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    for (start, end), y in zip(pairs, heights, strict=True):
        fast, slow = (tuple(float(np.arctan2(*code[t, c : c + 2])) % (2 * np.pi) for t in (start, end)) for c in (0, 2))
        for x, t, count in ((left, start, 1), (right, end, 2)):
            beside = (x + big + small + gap, y - big + small)
            dial(axes, (x, y), big, fast[:count], "C0")
            dial(axes, beside, small, slow[:count], "C1")
            axes.text(x, y + big + 0.09, f"position {t}", ha="center", va="bottom", fontsize=10)
        middle, turns = sum(fast) / 2, [f"{hand[1] - hand[0]:.2g}" for hand in (fast, slow)]
        say(axes, right + 0.5 * big * np.sin(middle), y + 0.5 * big * np.cos(middle), turns[0], fontsize=13)
        axes.text(beside[0], beside[1] + small + 0.05, turns[1], ha="center", va="bottom", fontsize=10)
        near, far = left + big + gap, right - big - gap
        arrow(axes, (near, y + 0.12), (far, y + 0.12), muted(), 1.2)
        say(axes, (near + far) / 2, y + 0.18, f"{end - start} words on", va="bottom", fontsize=8 if narrow() else 9.5)
    for x, said in ((left, "fast hand"), (left + big + small + gap, "slow hand")):
        axes.text(x, heights[1] - big - 0.07, said, ha="center", va="top", fontsize=8.5, color=muted())
    edge, middle = beside[0] + small + 0.12, sum(heights) / 2
    if narrow():
        axes.plot([0.2, 0.2, 3.5, 3.5], [0.75, 0.65, 0.65, 0.75], color=muted(), linewidth=1)
        axes.plot([width / 2] * 2, [0.65, 0.55], color=muted(), linewidth=1)
        axes.text(width / 2, 0.34, "the same distance, the same turn", ha="center", va="center")
    else:
        low, high = heights[1] - big, heights[0] + big
        axes.plot([edge, edge + 0.1, edge + 0.1, edge], [high, high, low, low], color=muted(), linewidth=1)
        axes.plot([edge + 0.1, edge + 0.22], [middle] * 2, color=muted(), linewidth=1)
        axes.text(edge + 0.34, middle, "the same\ndistance,\nthe same\nturn", ha="left", va="center", fontsize=11)


@figure("clock", width=7.4, height=2.9, narrow=(3.7, 5.2))
def clock(data: Data, fig: Figure) -> None:
    """Hands at the positions of the sentence, and at positions where the fast hand is back at twelve."""
    code = data.array("clock")  # [309, 4]
    columns = 4 if narrow() else 8
    faces = fig.subplots(16 // columns, columns).ravel()
    for t, (word, axes) in enumerate(zip(glossed(WORDS, " "), faces[:8], strict=True)):
        face(axes, code[t], f"{t}\n{word}")
    for step, axes in enumerate(faces[8:]):
        face(axes, code[44 * step], str(44 * step))


@figure("heat-map", width=6.4, height=4.0, narrow=(3.7, 4.2))
def heat_map(data: Data, fig: Figure) -> None:
    """The code of 100 positions and 16 columns."""
    axes = fig.subplots()
    heat(axes, data.array("code_of_16"), signed=True, low=-1, high=1, bar="entry")
    axes.set_xlabel("column")
    axes.set_ylabel("position $t$")


@figure("columns", width=6.4, height=2.8, narrow=(3.7, 2.9))
def columns(data: Data, fig: Figure) -> None:
    """Columns 4 to 7 of a code of width 20."""
    code = data.array("columns_of_20")  # [100, 20]
    axes = fig.subplots()
    for column, (color, line) in zip(range(4, 8), STYLES, strict=True):
        axes.plot(code[:, column], color=color, linestyle=line, label=f"column {column}")
    axes.set_xlabel("position $t$")
    axes.set_ylabel("entry of the code")
    axes.set_xlim(0, len(code) - 1)
    axes.grid()
    axes.legend(ncols=2 if narrow() else 4, loc="lower center", bbox_to_anchor=(0.5, 1.0))


@figure("rows", width=6.4, height=3.4, narrow=(3.7, 3.4))
def rows(data: Data, fig: Figure) -> None:
    """The first entries of one word's row before and after the factor."""
    count = 24 if narrow() else 48
    before, after = data.array("narrow")[0, :count], data.array("wide")[0, :count]
    axes = fig.subplots()
    axes.axhspan(-1, 1, color=muted(), alpha=0.16, linewidth=0)
    if not narrow():
        say(axes, count + 0.3, 0, "position codes\nlie between\n−1 and 1", ha="left")
    places = range(len(before))
    axes.vlines(places, 0, after, color="C0", linewidth=1.2)
    axes.plot(places, after, "o", color="C0", label="after: times $\\sqrt{d_{model}}$")
    axes.plot(places, before, "s-", color="C1", label="before", markersize=3.2, linewidth=1)
    axes.set_xlabel("column")
    axes.set_ylabel("entry of a word's row")
    axes.set_xlim(-1, count)
    axes.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    axes.grid(axis="y")


@figure("two-formulas", width=6.8, height=3.8, narrow=(3.7, 6.6))
def two_formulas(data: Data, fig: Figure) -> None:
    """The paper's table beside the toy's, with the same range of colors."""
    left, right = panels(fig, 2, sharey=True)
    heat(left, data.array("code_of_16"), signed=True, low=-1, high=1,
         bar="entry" if narrow() else None)
    heat(right, data.array("toy_of_16"), signed=True, low=-1, high=1, bar="entry")
    left.set_title("pairs share a frequency: $2\\lfloor c/2 \\rfloor / d_{model}$")
    right.set_title("every column its own: $2c / d_{model}$")
    left.set_ylabel("position $t$")
    for axes in (left, right):
        axes.set_xlabel("column $c$")


@figure("wavelengths", width=6.4, height=3.3, narrow=(3.7, 3.2))
def wavelengths(data: Data, fig: Figure) -> None:
    """How many positions a wave has, by column, for both formulas."""
    paper, toy = data.array("wavelengths")  # [2, d_model]
    axes = fig.subplots()
    axes.semilogy(paper, color="C0", label="pairs share a frequency")
    axes.semilogy(toy, color="C1", linestyle="--", label="every column its own")
    axes.axhline(100, color=muted(), linewidth=0.9)
    axes.annotate("100 positions", (len(paper) - 1, 85), ha="right", va="top", fontsize=8.5)
    axes.set_xlabel("column")
    axes.set_ylabel("wavelength in positions")
    axes.set_xlim(0, len(paper) - 1)
    axes.grid()
    axes.legend(loc="upper left")


@figure("dots", width=6.4, height=3.4, narrow=(3.7, 3.4))
def dots(data: Data, fig: Figure) -> None:
    """Dot products of two codes against their distance, lowest and highest over the positions."""
    axes = fig.subplots()
    for edge in data.array("dots"):  # [2, 100], by distance
        distance = np.arange(len(edge))
        axes.plot(np.concatenate([-distance[::-1], distance]), np.concatenate([edge[::-1], edge]),
                  color="C0", linewidth=1.2)
    axes.set_xlabel("distance $t' - t$")
    axes.set_ylabel("$\\langle PE_t, PE_{t'} \\rangle$")
    axes.set_ylim(0, None)
    axes.grid()
