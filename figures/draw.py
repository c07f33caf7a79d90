"""Draw the figures of one chapter, each in a light and a dark variant.

    python figures/draw.py 04_scaled_dot_product_attention \\
        --results build/book/results --out build/book/figures

imports figures/04_scaled_dot_product_attention.py, calls every function that `@figure` names, and
writes OUT/04_scaled_dot_product_attention/NAME.light.svg and NAME.dark.svg, and NAME.narrow.light.svg
and NAME.narrow.dark.svg of a figure that has a shape for phones. Chapters 1 to 10 get the figure
`here` from figures/architecture.py as well. How to write such a file
stands at the top of figures/style.py. A file whose content would not change is left alone, so that
pages are not rendered again; variants of figures that no longer exist are removed.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import itertools
import os
import sys
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent


def write_if_changed(path: Path, content: bytes) -> None:
    """Write beside and rename, unless the file holds just that already."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    beside.write_bytes(content)
    beside.replace(path)


def main() -> int:
    parser = argparse.ArgumentParser(description="draw the figures of one chapter")
    parser.add_argument("chapter", help="the chapter's folder name: 04_scaled_dot_product_attention")
    parser.add_argument("--results", type=Path, required=True, help="folder of the programs' output")
    parser.add_argument("--out", type=Path, required=True, help="folder for the SVG files")
    parser.add_argument("--figures", type=Path, default=HERE, help="folder of the figure files")
    parser.add_argument("--stamp", type=Path, help="file to touch when all is drawn")
    parser.add_argument("--depfile", type=Path, help="write what was read, for Make and Ninja")
    options = parser.parse_args()

    # A font list of our own, so that a home folder is neither needed nor written to.
    options.out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("MPLCONFIGDIR", str(options.out.resolve() / ".matplotlib"))
    sys.path.insert(0, str(HERE))
    import architecture
    import style
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    source = options.figures / f"{options.chapter}.py"
    if not source.is_file():
        print(f"draw.py: no file {source}", file=sys.stderr)
        return 1
    spec = importlib.util.spec_from_file_location(f"figures_{options.chapter}", source)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    data = style.Data(options.chapter, options.results)
    folder = options.out / options.chapter
    written: set[Path] = set()
    name = ""
    try:
        spec.loader.exec_module(module)
        if options.chapter in architecture.MARKED:
            style.figure("here", width=7.4, height=2.75, narrow=(3.7, 5.2))(
                lambda data, fig: architecture.draw(fig, options.chapter)
            )
        if not style.drawings:
            raise style.FigureError("no function is decorated with @figure")
        for name, drawing in style.drawings.items():
            shapes = {"": (drawing.width, drawing.height)}
            if drawing.narrow:
                shapes[".narrow"] = drawing.narrow
            for look, (shape, size) in itertools.product(style.LOOKS, shapes.items()):
                with style.look(look, narrow=bool(shape)):
                    figure = Figure(figsize=size, layout="constrained")
                    canvas = FigureCanvasSVG(figure)
                    drawing.draw(data, figure)
                    picture = io.BytesIO()
                    canvas.print_figure(
                        picture, format="svg", metadata={"Date": None, "Creator": None}
                    )
                path = folder / f"{name}{shape}.{look}.svg"
                write_if_changed(path, picture.getvalue())
                written.add(path)
    except style.FigureError as error:
        where = f" figure {name}:" if name else ""
        print(f"{source}:{where} {error}", file=sys.stderr)
        return 1
    except Exception as error:  # noqa: BLE001 - whatever the chapter's file raises, one line says it
        lines = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(source)]
        line = f":{lines[-1].lineno}" if lines else ""
        where = f" figure {name}:" if name else ""
        print(f"{source}{line}:{where} {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    for old in set(folder.glob("*.svg")) - written:
        old.unlink()
    if options.stamp:
        options.stamp.parent.mkdir(parents=True, exist_ok=True)
        options.stamp.touch()
    if options.depfile:
        target = options.stamp or min(written)
        inputs = sorted({source, *(HERE / f"{name}.py" for name in ("style", "draw", "architecture")), *data.read})
        quoted = [str(p.resolve()).replace(" ", "\\ ") for p in inputs]
        line = f"{target.resolve()}: {' '.join(quoted)}\n"
        write_if_changed(options.depfile, line.encode())
    print(f"{options.chapter}: {len(style.drawings)} figures, light and dark, in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
