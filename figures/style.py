"""The look of the book's figures, and the data that they are drawn from.

A chapter has one file `figures/NN_name.py`. It holds functions, one a figure, and nothing else runs on import:

    from style import Data, Figure, figure, heat

    @figure("weights", width=6.4, height=3.6, narrow=(3.7, 6.0))
    def weights(data: Data, fig: Figure) -> None:
        axes = fig.subplots()
        ...

* The name is the one that the page says in its `plot` directive; sizes are inches. The page is 7.6 inches wide, and
  text is 9 points. `narrow` is a second shape, width and height, that a phone shows instead: `panels(fig, 2)` gives
  axes side by side, and one above the other when narrow; `narrow()` says which of the two is being drawn.
* The function is called once in each look and shape, with an empty matplotlib `Figure` (constrained layout: do not
  call `tight_layout`). Do not use pyplot.
* Never name a color of your own. Everything follows the look by itself if you use `"C0"` blue, `"C1"` vermilion,
  `"C2"` green, `"C3"` purple, `"C4"` sky, `"C5"` amber, `"C6"` gray (color-blind-safe), or `ink()` for text and lines
  that matter, `muted()` for lines that help, `paper()` for the page, and `sequential()` and `diverging()` for color maps.
  Where color tells two things apart, let a label, a dash or a marker say it too.
* No title in the figure: the caption on the page says what it is. Do label the axes, with units. Chinese words get their
  glosses: `columns=glossed(words)` for labels such as "我" above "I" (`staggered=True` where columns are narrow), and
  `rows=glossed(words, " ")` for "我 I".

`data` reads what the chapter's program wrote with `--out`, here or for the record:

    data.array("weights")                      main/weights.npy of this chapter, a numpy array
    data.array("loss", run="adam")             adam/loss.npy
    data.value("score_std")                    the value from results.json: number or string
    data.values()                              all of them, {name: value}
    data.json("trace.json", run="trace")       another file that the run wrote
    data.printed("A beam of 2", run="search")  the lines that a run printed under == A beam of 2 ==

What is missing stops the build with one line that names it. Nothing else is a source: no numbers typed into the
figure file.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from glosses import glossed
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

__all__ = [
    "Axes", "Data", "Figure", "FigureError", "arrow", "blackboard", "box", "diverging", "figure", "glossed", "heat", "ink", "look", "muted",
    "narrow", "panels", "paper", "say", "scale", "sequential",
]

CJK_FONTS = (
    "WenQuanYi Micro Hei", "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC",
    "WenQuanYi Zen Hei", "Droid Sans Fallback",
)


class FigureError(Exception):
    """Something that a figure needs is missing or wrong; the message is one line."""


@dataclass(frozen=True)
class Look:
    """Colors of one variant. The page behind it is furo's background."""

    paper: str
    ink: str
    muted: str
    grid: str
    cycle: tuple[str, ...]
    sequential: tuple[str, ...]
    diverging: tuple[str, ...]


# Okabe and Ito's palette, with the colors moved to at least 3:1 against the page.
LOOKS = {
    "light": Look(
        paper="#ffffff", ink="#1f2328", muted="#6b7280", grid="#e3e6ea",
        cycle=("#0072b2", "#d55e00", "#00805d", "#a8508a", "#3a93c9", "#a97300", "#6b7280"),
        sequential=("#f6f9fc", "#c3dcee", "#7db4d8", "#3285bb", "#0b5b92", "#06304f"),
        diverging=("#0b4f82", "#3f8fc4", "#b5d3e8", "#f7f7f7", "#f4c9a6", "#d9752e", "#8f3d00"),
    ),
    "dark": Look(
        paper="#131416", ink="#e4e6ea", muted="#9aa1ab", grid="#2c3036",
        cycle=("#5ab4ea", "#ff8a3d", "#2fc79a", "#e094c4", "#a4dbff", "#e8b32d", "#9aa1ab"),
        sequential=("#191c20", "#17354d", "#1d5a85", "#3287bd", "#7dbce4", "#e2f2fd"),
        diverging=("#8fd0fb", "#3f8fc4", "#1f4a6b", "#1a1c1f", "#6e3a16", "#d9752e", "#ffc08a"),
    ),
}
_current: Look = LOOKS["light"]
_narrow = False


def ink() -> str:
    """Color of text and of important lines."""
    return _current.ink


def muted() -> str:
    """Color of auxiliary lines and labels."""
    return _current.muted


def paper() -> str:
    """Color of the page behind the figure."""
    return _current.paper


def narrow() -> bool:
    """Whether the figure is being drawn in its shape for phones."""
    return _narrow


def panels(fig: Figure, count: int, **options: Any) -> Any:
    """`count` axes side by side, or one above the other in a narrow figure; options as for subplots."""
    return fig.subplots(count, 1, **options) if _narrow else fig.subplots(1, count, **options)


def sequential() -> Colormap:
    """Color map for magnitudes: the page's own color for 0, the strongest blue for the largest."""
    return LinearSegmentedColormap.from_list("abh_sequential", _current.sequential)


def diverging() -> Colormap:
    """Color map for signed values: blue below 0, the page's own color at 0, orange above."""
    return LinearSegmentedColormap.from_list("abh_diverging", _current.diverging)


def _cjk_font() -> str:
    """Name of an installed font with Chinese glyphs, even one that is newer than matplotlib's list."""
    fonts = font_manager.fontManager
    for paths in ([], font_manager.findSystemFonts):
        for path in paths and paths():
            with suppress(RuntimeError):  # not a font that matplotlib reads
                fonts.addfont(path)
        known = {entry.name for entry in fonts.ttflist}
        for name in CJK_FONTS:
            if name in known:
                return name
    raise FigureError(
        f"no font with Chinese characters; install the package fonts-wqy-microhei "
        f"(looked for {', '.join(CJK_FONTS)})"
    )


@contextmanager
def look(name: str, *, narrow: bool = False) -> Iterator[Look]:
    """Gives everything drawn and saved inside the look `light` or `dark`, in the shape for phones or not."""
    global _current, _narrow
    before, _current = (_current, _narrow), LOOKS[name]
    _narrow = narrow
    ours = {
        "svg.fonttype": "path",
        "svg.hashsalt": "attention-by-hand",
        "font.family": ["DejaVu Sans", _cjk_font()],
        "font.size": 9.0,
        "axes.titlesize": 9.0,
        "legend.fontsize": 8.5,
        "xtick.labelsize": 8.5,
        "ytick.labelsize": 8.5,
        "axes.prop_cycle": matplotlib.cycler(color=_current.cycle),
        "axes.edgecolor": _current.muted,
        "axes.labelcolor": _current.ink,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.facecolor": "none",
        "axes.axisbelow": True,
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
        "savefig.edgecolor": "none",
        "text.color": _current.ink,
        "xtick.color": _current.muted,
        "ytick.color": _current.muted,
        "xtick.labelcolor": _current.ink,
        "ytick.labelcolor": _current.ink,
        "grid.color": _current.grid,
        "lines.linewidth": 1.6,
        "lines.markersize": 4.5,
        "patch.edgecolor": _current.paper,
        "hatch.color": _current.ink,
        "legend.frameon": False,
        "legend.labelcolor": _current.ink,
        "image.interpolation": "none",
    }
    try:
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(ours)
            yield _current
    finally:
        _current, _narrow = before


Draw = Callable[["Data", Figure], None]


@dataclass(frozen=True)
class Drawing:
    """One figure of a chapter: its name, sizes in inches, and the function that draws it."""

    name: str
    width: float
    height: float
    draw: Draw
    narrow: tuple[float, float] | None = None


#: What `@figure` has seen since the list was last cleared, by name, in order.
drawings: dict[str, Drawing] = {}


def figure(
    name: str, *, width: float, height: float, narrow: tuple[float, float] | None = None
) -> Callable[[Draw], Draw]:
    """Make the decorated function `draw(data, fig)` the figure `name` of its chapter."""

    def register(draw: Draw) -> Draw:
        if name in drawings:
            raise FigureError(f"figure {name} is defined twice")
        drawings[name] = Drawing(name, width, height, draw, narrow)
        return draw

    return register


@dataclass
class Data:
    """The programs' output. See the top of this file."""

    chapter: str
    results: Path
    #: Every file that was read. The figure is drawn again when one of them changes.
    read: set[Path] = field(default_factory=set)

    def _file(self, name: str, run: str) -> Path:
        path = self.results / self.chapter / run / name
        if not path.parent.is_dir():
            raise FigureError(f"no run {run} under {path.parent.parent}")
        if not path.is_file():
            there = ", ".join(sorted(p.stem for p in path.parent.glob("*.npy"))) or "none"
            raise FigureError(f"no file {path}; arrays of this run: {there}")
        self.read.add(path)
        return path

    def json(self, file: str, *, run: str = "main") -> Any:
        """The content of a file that a run wrote."""
        return json.loads(self._file(file, run).read_text(encoding="utf-8"))

    def array(self, name: str, *, run: str = "main") -> np.ndarray:
        """The array `name.npy` of a run."""
        return np.load(self._file(f"{name}.npy", run), allow_pickle=False)

    def printed(self, section: str, *, run: str = "main") -> list[str]:
        """The lines that a run printed in a section of its output."""
        found = self._file("stdout.txt", run).read_text(encoding="utf-8").partition(f"== {section} ==\n")[2]
        if not found:
            raise FigureError(f"run {run} has printed no section {section}")
        return found.split("\n== ")[0].rstrip().split("\n")

    def value(self, name: str, *, run: str = "main") -> Any:
        """The value `name` in a run's results.json."""
        values = self.values(run=run)
        if name not in values:
            raise FigureError(f"no value {name} in run {run}, which has {', '.join(sorted(values))}")
        return values[name]

    def values(self, *, run: str = "main") -> dict[str, Any]:
        """All values of a run."""
        return {name: entry["value"] for name, entry in self.json("results.json", run=run).items()}


def blackboard(fig: Figure) -> Axes:
    """Axes over the whole figure whose unit is an inch, with no frame."""
    fig.set_layout_engine("none")
    axes = fig.add_axes((0, 0, 1, 1))
    width, height = fig.get_size_inches()
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    return axes


def arrow(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], color: str | None = None,
    width: float = 1.0, *, head: str = "-|>", **more: Any,
) -> None:
    """Draw a line with an arrowhead at its end."""
    look = {"arrowstyle": head, "color": color or ink(), "linewidth": width, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, start, arrowprops=look, **more)


def box(axes: Axes, x: float, y: float, wide: float, high: float, color: str = "none", **more: Any) -> None:
    """A rectangle from its lower left corner, filled with `color`; `edge` is that of its line."""
    look = {"facecolor": color, "edgecolor": more.pop("edge", "none"), "linewidth": 1.0}
    axes.add_patch(Rectangle((x, y), wide, high, **look | more))


def say(axes: Axes, x: float, y: float, text: str, **more: Any) -> None:
    """A text, centered unless `ha` and `va` say otherwise."""
    axes.text(x, y, text, **{"ha": "center", "va": "center", "fontsize": 8.5, "color": ink()} | more)


def scale(fig: Figure, drawn: Any, axes: Any, label: str, **options: Any) -> None:
    """Draw the scale of a heat map's colors; options are those of matplotlib."""
    fig.colorbar(drawn, ax=axes, label=label, **options).outline.set_visible(False)


#: Up to this many cells are drawn as shapes; more, as one image with one pixel per cell.
SHAPES = 400


def heat(
    axes: Axes,
    matrix: np.ndarray,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    numbers: str | None = None,
    signed: bool = False,
    low: float | None = None,
    high: float | None = None,
    bar: str | None = None,
    top: bool = False,
) -> Any:
    """Draw `matrix` as a heat map, row 0 on top, and return what a color bar needs.

    :param rows, columns: labels of the cells (default: indices, sparse)
    :param numbers: format of the value in each cell
    :param signed: takes the diverging map, symmetric about 0
    :param low, high: the range; the same for two maps that must compare
    :param bar: label of a color bar
    :param top: puts the labels of the columns above
    """
    matrix = np.asarray(matrix, dtype=float)
    if matrix.ndim != 2 or matrix.size == 0:
        raise FigureError(f"heat: shape {matrix.shape}, expected a matrix")
    height, width = matrix.shape
    for what, labels, count in (("rows", rows, height), ("columns", columns, width)):
        if labels is not None and len(labels) != count:
            raise FigureError(f"heat: {len(labels)} labels for {count} {what}")
    if signed:
        extent = float(np.nanmax(np.abs(matrix))) or 1.0
        low, high = (-extent if low is None else low), (extent if high is None else high)
    low = float(np.nanmin(matrix)) if low is None else low
    high = float(np.nanmax(matrix)) if high is None else high
    if high <= low:
        high = low + 1.0
    colors = diverging() if signed else sequential()
    if matrix.size <= SHAPES:
        drawn = axes.pcolormesh(
            np.arange(width + 1) - 0.5, np.arange(height + 1) - 0.5, matrix,
            cmap=colors, vmin=low, vmax=high, edgecolors=paper(), linewidth=0.6,
        )
        axes.set_ylim(height - 0.5, -0.5)
        if rows is not None or columns is not None:
            axes.set_aspect("equal")
    else:
        drawn = axes.imshow(
            matrix, cmap=colors, vmin=low, vmax=high, aspect="auto", interpolation="none"
        )
    for axis, labels in ((axes.xaxis, columns), (axes.yaxis, rows)):
        if labels is None:
            axis.set_major_locator(MaxNLocator(integer=True, nbins=8))
        else:
            axis.set_ticks(range(len(labels)), labels)
    axes.tick_params(length=0)
    if top:
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
    for spine in axes.spines.values():
        spine.set_visible(False)
    if numbers is not None:
        for (r, c), value in np.ndenumerate(matrix):
            red, green, blue = to_rgb(colors((value - low) / (high - low)))
            bright = 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.45
            axes.text(
                c, r, numbers.format(value), ha="center", va="center", fontsize=8,
                color="#111417" if bright else "#f8f9fa",
            )
    if bar is not None:
        scale(axes.figure, drawn, axes, bar, fraction=0.05, pad=0.02)
    return drawn
