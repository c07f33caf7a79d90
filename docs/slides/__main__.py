"""Make the slides and the pack of figures, from the rendered pages.

    build/venv/bin/python docs/slides --root . --build build/book

reads the decks ROOT/chapters/*/slides.md and the pages that docs/build.py has rendered into BUILD, and writes
BUILD/slides, with a deck NN/index.html for each chapter, and BUILD/figures.zip. Every warning is an error. Nothing is
made again unless the pages or the decks have changed.
"""

from __future__ import annotations

import argparse
import hashlib
import pickle
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / folder) for folder in ("lib/program", "docs/extensions", "docs")]

import cli
from abh_book.plot import plot
from docutils import nodes

OF_REVEAL = {"LICENSE", "dist/reveal.js", "dist/reveal.css", "plugin/notes/notes.js"}  # what a deck loads
INDEX = """\
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Slides</title>
<style>body {{ font: 18px/1.5 sans-serif; max-width: 44em; margin: 2em auto; padding: 0 1em; color: #1d2430 }}
td, th {{ padding: .3em 1em .3em 0; text-align: left }} a {{ color: #0b5b92 }}</style></head>
<body><h1>Slides of Attention by Hand</h1>
<table><tr><th>deck</th><th>slides</th><th>minutes</th></tr>
{rows}
</table>
<p>Arrow keys or the space bar turn the slides, <b>S</b> opens the window with the notes, the next slide and a clock,
<b>O</b> shows all slides, <b>?</b> lists all keys. To print a deck or save it as PDF, open it with <code>?print-pdf</code>
after <code>index.html</code> and print; <code>?print-pdf&amp;showNotes=separate-page</code> adds the notes.</p>
<p>The text and the figures are under <a href="https://creativecommons.org/licenses/by-sa/4.0/">CC BY-SA 4.0</a>, the code
under the MIT license.</p></body>
</html>
"""
README = """\
# Figures of Attention by Hand

Every figure of the book's pages as SVG, for a light background in `light` and for a dark one in `dark`. A name begins with the number
of the chapter whose program drew the figure. The table below has the captions.

The figures are under the Creative Commons Attribution-ShareAlike 4.0 International license
(https://creativecommons.org/licenses/by-sa/4.0/): you may use and change them, also in what you sell, if you name the source and
share your changes of them under the same license. To name the source, "Attention by Hand, CC BY-SA 4.0" under the figure is enough;
CITATION.cff has what a bibliography needs.

| figure | caption |
|--------|---------|
"""


def fingerprint(root: Path, build: Path) -> str:
    digest = hashlib.sha256(f"{sys.version} {root} {build}".encode())
    inputs = [*HERE.iterdir(), HERE.parent / "requirements-slides.txt", build / "book.stamp", root / "CITATION.cff"]
    for path in sorted([*inputs, *root.glob("chapters/*/slides.md")]):
        digest.update(str(path).encode() + (path.read_bytes() if path.is_file() else b""))
    return digest.hexdigest()


# Decks --------------------------------------------------------------------------------------------


def stage(root: Path, src: Path) -> dict[str, Path]:
    """Each chapter's deck as SRC/NN/index.md, and a list of them; returns their originals by chapter."""
    decks = {path.parent.name[:2]: path for path in sorted(root.glob("chapters/*/slides.md"))}
    for chapter, path in decks.items():
        (src / chapter).mkdir(parents=True)
        shutil.copy2(path, src / chapter / "index.md")
    listed = "".join(f"{chapter}/index\n" for chapter in decks)
    (src / "index.md").write_text(f"# Slides\n\n```{{toctree}}\n{listed}```\n")
    return decks


def render(root: Path, build: Path) -> None:
    work, out = build / "decks", build / "decks" / "html"
    shutil.rmtree(work, ignore_errors=True)
    decks = stage(root, work / "src")
    settings = {"root": root, "results": build / "results", "figures": build / "figures", "doctrees": build / "doctrees"}
    command = [sys.executable, "-m", "sphinx", "-b", "revealjs", "-c", str(HERE), "-d", str(work / "doctrees")]
    command += ["-W", "-n", "--keep-going", "--no-color", "-q"]
    for name, setting in settings.items():
        command += ["-D", f"abh_{name}={setting}"]
    done = subprocess.run([*command, str(work / "src"), str(out)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr
        for chapter, path in decks.items():
            said = said.replace(f"{work}/src/{chapter}/index.md", str(path.relative_to(root)))
        raise cli.Failure(f"Sphinx:\n{said.strip()}")
    for path in sorted((out / "_static" / "revealjs").rglob("*"), reverse=True):
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif path.relative_to(out / "_static" / "revealjs").as_posix() not in OF_REVEAL:
            path.unlink()
    rows = []
    for chapter in decks:
        text = (out / chapter / "index.html").read_text(encoding="utf-8")
        title = re.search(r"<title>(.*?)</title>", text)
        times = [int(seconds) for seconds in re.findall(r'data-timing="(\d+)"', text)]
        link = f'<a href="{chapter}/index.html">{title.group(1) if title else chapter}</a>'
        rows.append(f"<tr><td>{link}</td><td>{len(times)}</td><td>{sum(times) // 60}</td></tr>")
    (out / "index.html").write_text(INDEX.format(rows="\n".join(rows)), encoding="utf-8")
    shutil.rmtree(build / "slides", ignore_errors=True)
    out.rename(build / "slides")


# Figures ------------------------------------------------------------------------------------------


def caption(figure: nodes.Element) -> str:
    """The caption, or else the description, as text with TeX."""
    for math in list(figure.findall(nodes.math)):
        math.replace_self(nodes.Text(f"${math.astext()}$"))
    said = " ".join(one.astext() for one in figure.findall(nodes.paragraph)) or figure["alt"]
    return " ".join(said.split()).replace("|", r"\|")


def shown(build: Path) -> dict[tuple[str, str], str]:
    """The figures of all pages, by folder and name, with their captions."""
    found: dict[tuple[str, str], str] = {}
    for path in sorted(build.glob("doctrees/**/*.doctree")):
        if "api" not in path.relative_to(build / "doctrees").parts:
            for figure in pickle.loads(path.read_bytes()).findall(plot):
                found.setdefault((figure["chapter"], figure["figure"]), caption(figure))
    return found


def pack(root: Path, build: Path) -> None:
    figures = shown(build)
    rows = "".join(f"| `{chapter}-{name}.svg` | {said} |\n" for (chapter, name), said in sorted(figures.items()))
    files = {"README.md": (README + rows).encode(), "CITATION.cff": (root / "CITATION.cff").read_bytes()}
    for look in ("light", "dark"):
        for chapter, name in sorted(figures):
            files[f"{look}/{chapter}-{name}.svg"] = (build / "figures" / chapter / f"{name}.{look}.svg").read_bytes()
    with zipfile.ZipFile(build / "figures.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(f"attention-by-hand-figures/{name}")
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)


def main() -> None:
    parser = argparse.ArgumentParser(description="make the slides and the pack of figures")
    parser.add_argument("--root", type=Path, default=ROOT, help="folder of the repository")
    parser.add_argument("--build", type=Path, default=Path("build/book"), help="build folder (default: build/book)")
    options = parser.parse_args()
    root, build = options.root.resolve(), options.build.resolve()
    if not (build / "doctrees").is_dir():
        raise cli.Failure("there are no pages yet; make them with: ./book build")
    stamp, now = build / "slides.stamp", fingerprint(root, build)
    if stamp.is_file() and stamp.read_text() == now and (build / "figures.zip").is_file():
        print("book: the slides have not changed")
        return
    stamp.unlink(missing_ok=True)
    render(root, build)
    pack(root, build)
    stamp.write_text(now)
    print(f"book: {build / 'slides' / 'index.html'}, {build / 'figures.zip'}")


if __name__ == "__main__":
    cli.run(main)
