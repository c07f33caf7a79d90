"""Read the sources from the rendered pages alone, and check that the book shows all that it should.

    python docs/tangle.py build/book/html                   check the pages against each other
    python docs/tangle.py build/book/html --out DIR         and write the files
    python docs/tangle.py build/book/html --sources .       and compare them with the repository, byte for byte

The pages are read as a browser reads them. Each source file has a page of its own, where it is the text of an
element that has `data-source`. Each listing, an element with `data-file` and `data-lines`, has exactly these
lines of its file; no line is shown by two listings; and every part that teaches (see `weave`) is shown, unless
a page says that it leaves it to the source. The first difference is printed, and the exit status is then 1.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "lib/program"), str(ROOT / "docs/extensions")]

import cli
from abh_book import weave

VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)


@dataclass(frozen=True)
class Piece:
    """The text of one listing, or of a whole file if `lines` is empty."""

    file: str
    lines: str
    text: str
    page: str


class Page(HTMLParser):
    """Collects the pieces of one page, and the parts that it leaves to the source."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.page = page
        self.pieces: list[Piece] = []
        self.left: set[tuple[str, str]] = set()
        self._open: dict[str, str] = {}
        self._depth = 0
        self._text: list[str] = []
        self._after_pre = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        code = "data-source" in found or ("data-file" in found and "data-lines" in found)
        if "data-left" in found:
            self.left.add((found["data-left"], found["data-part"]))
        if self._depth:
            if code:
                raise cli.Failure(f"{self.page}: one listing is inside another")
            self._depth += tag not in VOID
        elif code:
            self._open, self._depth, self._text = found, 1, []
        self._after_pre = tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        self._after_pre = False
        if not self._depth or tag in VOID:
            return
        self._depth -= 1
        if self._depth == 0:
            file = self._open.get("data-source") or self._open["data-file"]
            lines = "" if "data-source" in self._open else self._open["data-lines"]
            self.pieces.append(Piece(file, lines, "".join(self._text), self.page))

    def handle_data(self, data: str) -> None:
        if self._after_pre and data.startswith("\n"):
            data = data[1:]  # a browser drops the line end right after <pre>
        self._after_pre = False
        if self._depth:
            self._text.append(data)


def read_pages(folder: Path) -> tuple[dict[str, weave.Source], list[Piece], set[tuple[str, str]]]:
    """The files that have a page, the listings, and what is left to the source."""
    pages = sorted(folder.rglob("*.html"))
    if not pages:
        raise cli.Failure(f"there are no pages in {folder}; make them with: ./book build")
    files: dict[str, weave.Source] = {}
    listings: list[Piece] = []
    left: set[tuple[str, str]] = set()
    for path in pages:
        text = path.read_text(encoding="utf-8")
        if not any(name in text for name in ("data-lines", "data-source", "data-left")):
            continue
        page = Page(path.relative_to(folder).as_posix())
        page.feed(text)
        page.close()
        left |= page.left
        for piece in page.pieces:
            if piece.lines:
                listings.append(piece)
            elif piece.file.startswith("/") or ".." in piece.file.split("/"):
                raise cli.Failure(f"{piece.page}: {piece.file} is not a path inside the repository")
            elif piece.file in files:
                raise cli.Failure(f"{piece.page}: {piece.file} has two pages")
            else:
                files[piece.file] = weave.cut(piece.file, piece.text)
    return files, listings, left


def check(files: dict[str, weave.Source], listings: list[Piece], left: set[tuple[str, str]]) -> None:
    """Check that each listing has its file's lines, and that the parts that teach are shown once."""
    shown: dict[tuple[str, int], str] = {}
    for piece in listings:
        place = f"{piece.file}:{piece.lines} ({piece.page})"
        first, _, last = piece.lines.partition("-")
        if not (first.isdigit() and last.isdigit()):
            raise cli.Failure(f"{place}: expected two numbers for data-lines")
        if piece.file not in files:
            raise cli.Failure(f"{place}: the file has no page")
        file = files[piece.file]
        begin, end = int(first), int(last)
        if not 1 <= begin <= end <= len(file.lines):
            raise cli.Failure(f"{place}: the file has {len(file.lines)} lines")
        book = piece.text.split("\n")
        if len(book) - (book[-1] == "") != end - begin + 1:
            raise cli.Failure(f"{place}: the listing has {len(book) - (book[-1] == '')} lines")
        for number, (here, there) in enumerate(zip(book, file.lines[begin - 1 : end], strict=False), begin):
            if here != there.rstrip("\n"):
                raise cli.Failure(f"{piece.file}:{number} ({piece.page}): the listing has {here!r}, the file {there!r}")
            if (piece.file, number) in shown:
                raise cli.Failure(f"{place}: line {number} is shown twice, also on {shown[piece.file, number]}")
            shown[piece.file, number] = piece.page
    for name, file in sorted(files.items()):
        for part in file.teaches:
            if (name, part.first) not in shown and (name, part.name) not in left:
                raise cli.Failure(f"{name}:{part.first}: no page shows part [{part.name}] or leaves it to the source")


def compare(files: dict[str, weave.Source], root: Path) -> None:
    """Compare the files with those in the repository."""
    names = weave.source_names(root)
    if missing := sorted(set(names) - set(files)):
        raise cli.Failure(f"{missing[0]}: this file has no page")
    for name, file in files.items():
        if name not in names:
            raise cli.Failure(f"{name}: has a page, but is not one of the sources under {root}")
        book, there = "".join(file.lines).encode(), (root / name).read_bytes()
        if book != there:
            lines = enumerate(zip_longest(book.split(b"\n"), there.split(b"\n")), 1)
            number, (a, b) = next(line for line in lines if line[1][0] != line[1][1])
            raise cli.Failure(f"{name}:{number}: the book has {a!r}, the file {b!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description="read the sources from the rendered pages, and check the listings")
    parser.add_argument("html", type=Path, help="folder of the rendered book")
    parser.add_argument("--sources", type=Path, metavar="ROOT", help="repository to compare the files with")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder to write the files to")
    options = parser.parse_args()
    files, listings, left = read_pages(options.html)
    check(files, listings, left)
    if options.out:
        for name, file in files.items():
            path = options.out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes("".join(file.lines).encode())
    if options.sources:
        compare(files, options.sources)
    whole = sum(len(file.lines) for file in files.values())
    count = sum(piece.text.count("\n") for piece in listings)
    print(f"tangle: {count} of {whole} lines of {len(files)} files in {len(listings)} listings")


if __name__ == "__main__":
    cli.run(main)
