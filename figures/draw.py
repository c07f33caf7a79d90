"""Draw the chapters' figures, each in a light and a dark variant.

    build/venv/bin/python figures/draw.py --results build/book/results --out build/book/figures
    build/venv/bin/python figures/draw.py 04_scaled_dot_product_attention --results ... --out ...

calls every function of figures/NN_name.py that `@figure` names (figures/style.py says how to write one), and writes
OUT/NN_name/NAME.light.svg and NAME.dark.svg, and NAME.narrow.light.svg and NAME.narrow.dark.svg of a figure that has a
shape for phones. Chapters 1 to 10 and 15 get the figure `here` from figures/strip.py as well. Only those figures are
drawn whose code or data have changed since: OUT/NN_name/drawn.json remembers both. A file whose content would not
change is left alone, so that pages are not rendered again; figures that no longer exist are removed.
"""

import argparse
import hashlib
import importlib.util
import io
import itertools
import json
import os
import shutil
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib/program"), str(HERE)]

import cli

HELPERS = ("architecture", "blackboard", "draw", "strip", "style")
GLOSSES = HERE.parent / "lib/program/glosses.py"
DRAWN = "drawn.json"


def write_if_changed(path: Path, content: bytes) -> None:
    """Write a file under another name and rename it, unless it already has this content."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    beside.write_bytes(content)
    beside.replace(path)


def digest(paths: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in paths:
        found.update(path.read_bytes() if path.is_file() else b"none")
    return found.hexdigest()


# One chapter --------------------------------------------------------------------------------------


def load(source: Path) -> None:
    """Fill style.drawings with the chapter's figures."""
    import strip
    import style

    style.drawings.clear()
    spec = importlib.util.spec_from_file_location(f"figures_{source.stem}", source)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    if source.stem in strip.MARKED:
        style.figure("here", **strip.SIZES)(lambda data, fig: strip.draw(fig, source.stem))
    if not style.drawings:
        raise style.FigureError("no function is decorated with @figure")


@contextmanager
def explained(source: Path, name: str = "") -> Iterator[None]:
    """Reduces an error in a chapter's file to one line."""
    import style

    try:
        yield
    except style.FigureError as error:
        raise cli.Failure(f"{source}:{name} {error}") from None
    except Exception as error:  # noqa: BLE001
        lines = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(source)]
        line = f":{lines[-1].lineno}" if lines else ""
        raise cli.Failure(f"{source}{line}:{name} {type(error).__name__}: {error}") from None


def draw(source: Path, name: str, results: Path, folder: Path) -> tuple[list[str], list[str]]:
    """One figure in all its variants. Returns the files written and, below `results`, those read."""
    import style
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    data = style.Data(source.stem, results)
    written = []
    with explained(source, f" figure {name}:"):
        load(source)
        drawing = style.drawings[name]
        shapes = {"": (drawing.width, drawing.height)}
        if drawing.narrow:
            shapes[".narrow"] = drawing.narrow
        for look, (shape, size) in itertools.product(style.LOOKS, shapes.items()):
            with style.look(look, narrow=bool(shape)):
                figure = Figure(figsize=size, layout="constrained")
                canvas = FigureCanvasSVG(figure)
                drawing.draw(data, figure)
                picture = io.BytesIO()
                canvas.print_figure(picture, format="svg", metadata={"Date": None, "Creator": None})
            path = folder / f"{name}{shape}.{look}.svg"
            write_if_changed(path, picture.getvalue())
            written.append(path.name)
    return written, sorted(path.relative_to(results).as_posix() for path in data.read)


def figure_names(source: Path) -> list[str]:
    import style

    with explained(source):
        load(source)
    return list(style.drawings)


# What has changed ---------------------------------------------------------------------------------


class Chapter:
    """The figures of one chapter: what they were drawn from, and which must be drawn."""

    def __init__(self, source: Path, results: Path, out: Path) -> None:
        self.source, self.results, self.folder = source, results, out / source.stem
        version = metadata.version("matplotlib")
        self.code = digest([source, *(HERE / f"{name}.py" for name in HELPERS), GLOSSES]) + version
        path = self.folder / DRAWN
        known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        self.figures: dict[str, Any] = known["figures"] if known.get("code") == self.code else {}
        self.missing = [name for name, entry in self.figures.items() if self.changed(entry)]
        if not self.figures:
            self.missing = figure_names(source)

    def changed(self, entry: dict[str, Any]) -> bool:
        return self.data(entry["read"]) != entry["data"] or not all(
            (self.folder / file).is_file() for file in entry["written"]
        )

    def data(self, read: list[str]) -> str:
        return digest(self.results / name for name in read)

    def remember(self, name: str, written: list[str], read: list[str]) -> None:
        self.figures[name] = {"written": written, "read": read, "data": self.data(read)}

    def finish(self) -> None:
        content = json.dumps({"code": self.code, "figures": self.figures}, indent=1, sort_keys=True)
        write_if_changed(self.folder / DRAWN, content.encode())
        kept = {file for entry in self.figures.values() for file in entry["written"]}
        for path in self.folder.glob("*.svg"):
            if path.name not in kept:
                path.unlink()


def draw_all(sources: list[Path], results: Path, out: Path, jobs: int) -> int:
    """Returns how many figures were drawn."""
    chapters = [Chapter(source, results, out) for source in sources]
    work = [(chapter, name) for chapter in chapters for name in chapter.missing]
    if work:
        import matplotlib.backends.backend_svg  # noqa: F401 - once, before the workers fork

    wrong, said, done = [], time.monotonic(), 0
    with ProcessPoolExecutor(jobs, get_context("fork"), cli.quiet_worker) as pool:
        running = {
            pool.submit(draw, chapter.source, name, results, chapter.folder): (chapter, name)
            for chapter, name in work
        }
        for future in as_completed(running):
            chapter, name = running[future]
            done += 1
            try:
                chapter.remember(name, *future.result())
            except cli.Failure as error:
                wrong.append(str(error))
            if time.monotonic() - said > 5:
                said = time.monotonic()
                print(f"figures: {done} of {len(work)}", flush=True)
    for line in sorted(wrong):
        print(line, file=sys.stderr)
    if wrong:
        raise cli.Failure(f"figures that cannot be drawn: {len(wrong)}")
    for chapter in chapters:
        chapter.finish()
    return len(work)


def main() -> None:
    parser = argparse.ArgumentParser(description="draw the chapters' figures")
    parser.add_argument("chapter", nargs="*", help="folder name of a chapter to draw (default: all)")
    parser.add_argument("--results", type=Path, required=True, help="folder of the programs' output")
    parser.add_argument("--out", type=Path, required=True, help="folder for the SVG files")
    parser.add_argument("--figures", type=Path, default=HERE, help="folder of the figure files")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes (default: 2)")
    options = parser.parse_args()

    # A font list of our own, so that no home folder is needed or written to.
    options.out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("MPLCONFIGDIR", str(options.out.resolve() / ".matplotlib"))
    there = {p.stem: p for p in sorted(options.figures.glob("*.py")) if p.stem not in HELPERS}
    if unknown := [name for name in options.chapter if name not in there]:
        raise cli.Failure(f"there is no file {options.figures / unknown[0]}.py")
    chosen = [there[name] for name in options.chapter or there]
    for old in options.out.glob(f"*/{DRAWN}"):
        if old.parent.name not in there:
            shutil.rmtree(old.parent)
    drawn = draw_all(chosen, options.results, options.out, options.jobs)
    print(f"figures: {drawn} drawn, light and dark")


if __name__ == "__main__":
    cli.run(main)
