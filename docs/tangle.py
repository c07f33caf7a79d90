"""Put the source files together again from the rendered pages alone.

    python docs/tangle.py build/book/html                   check that every listing fits
    python docs/tangle.py build/book/html --out DIR         and write the files
    python docs/tangle.py build/book/html --sources .       and compare them with the repository

The pages are read as a browser reads them: the text of each element that has `data-file` and
`data-lines`. Each line must stand in the book exactly once; between two parts stands one line, the
marker, which the book does not show and whose name the listing carries. The comparison is byte for
byte but for these marker lines. Exit status 1 names the first difference.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "extensions"))

from abh_book import weave

VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)


class TangleError(Exception):
    """The pages do not hold the sources; the message is one line."""


@dataclass(frozen=True)
class Piece:
    """The text of one listing."""

    file: str
    first: int
    last: int
    part: str
    text: str
    page: str


class Listings(HTMLParser):
    """Collects the pieces of one page."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.page = page
        self.pieces: list[Piece] = []
        self._open: dict[str, str] = {}
        self._depth = 0
        self._text: list[str] = []
        self._after_pre = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        listing = "data-file" in found and "data-lines" in found
        if self._depth:
            if listing:
                raise TangleError(f"{self.page}: a listing of {found['data-file']} inside another")
            self._depth += tag not in VOID
        elif listing:
            self._open, self._depth, self._text = found, 1, []
        self._after_pre = tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        self._after_pre = False
        if not self._depth or tag in VOID:
            return
        self._depth -= 1
        if self._depth == 0:
            lines = self._open["data-lines"]
            first, _, last = lines.partition("-")
            if not (first.isdigit() and last.isdigit()):
                raise TangleError(f"{self.page}: {self._open['data-file']}: data-lines={lines!r}")
            self.pieces.append(
                Piece(
                    self._open["data-file"], int(first), int(last),
                    self._open.get("data-part", ""), "".join(self._text), self.page,
                )
            )

    def handle_data(self, data: str) -> None:
        if self._after_pre and data.startswith("\n"):
            data = data[1:]  # a browser drops the line end right after <pre>
        self._after_pre = False
        if self._depth:
            self._text.append(data)


def read_pages(folder: Path) -> list[Piece]:
    pages = sorted(folder.rglob("*.html"))
    if not pages:
        raise TangleError(f"no pages under {folder}")
    pieces: list[Piece] = []
    for path in pages:
        page = path.relative_to(folder).as_posix()
        text = path.read_text(encoding="utf-8")
        if "data-lines" not in text:
            continue
        parser = Listings(page)
        parser.feed(text)
        parser.close()
        pieces += parser.pieces
    return pieces


def put_together(pieces: list[Piece]) -> dict[str, list[str]]:
    """Lines of every file, in order; markers are made again from the parts' names."""
    files: dict[str, list[Piece]] = {}
    for piece in pieces:
        files.setdefault(piece.file, []).append(piece)
    out: dict[str, list[str]] = {}
    for name, parts in sorted(files.items()):
        if name.startswith("/") or ".." in name.split("/"):
            raise TangleError(f"{parts[0].page}: {name} is no path inside the repository")
        lines: list[str] = []
        parts.sort(key=lambda p: (p.first, p.last))
        for number, piece in enumerate(parts):
            place = f"{name}:{piece.first}-{piece.last} ({piece.page})"
            text = piece.text.split("\n")
            text = [line + "\n" for line in text[:-1]] + ([text[-1]] if text[-1] else [])
            if len(text) != piece.last - piece.first + 1:
                raise TangleError(f"{place}: the listing has {len(text)} lines")
            if piece.first <= len(lines):
                raise TangleError(f"{place}: line {piece.first} is shown twice")
            if piece.first == len(lines) + 2:
                lines.append(f"// [{piece.part}]\n")
            elif piece.first == len(lines) + 1 and number > 0:
                raise TangleError(f"{place}: no marker line before this part")
            elif piece.first > len(lines) + 2:
                raise TangleError(f"{place}: lines {len(lines) + 1}-{piece.first - 1} are not shown")
            if lines and not lines[-1].endswith("\n"):
                raise TangleError(f"{place}: the part before does not end its last line")
            lines += text
        out[name] = lines
    return out


def compare(files: dict[str, list[str]], root: Path) -> int:
    """Compare with the repository; the number of marker lines left out."""
    names = weave.source_names(root)
    for name in names:
        if name not in files:
            raise TangleError(f"{name}: no page shows this file")
    markers = 0
    for name, lines in files.items():
        if name not in names:
            raise TangleError(f"{name}: shown, but not one of the sources under {root}")
        source = (root / name).read_bytes().split(b"\n")
        source = [line + b"\n" for line in source[:-1]] + ([source[-1]] if source[-1] else [])
        for number, (book, file) in enumerate(zip(lines, source, strict=False), 1):
            if weave.marker(file.decode("utf-8")) is not None:
                markers += 1
                if weave.marker(book) is None:
                    raise TangleError(f"{name}:{number}: the book shows a marker line")
            elif book.encode() != file:
                raise TangleError(f"{name}:{number}: the book has {book!r}, the file {file!r}")
        if len(lines) != len(source):
            raise TangleError(f"{name}: {len(lines)} lines in the book, {len(source)} in the file")
    return markers


def main() -> int:
    parser = argparse.ArgumentParser(description="put the sources together from the pages")
    parser.add_argument("html", type=Path, help="folder of the rendered book")
    parser.add_argument("--sources", type=Path, metavar="ROOT", help="repository to compare with")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder to write the files to")
    options = parser.parse_args()
    try:
        pieces = read_pages(options.html)
        files = put_together(pieces)
        if options.out:
            for name, lines in files.items():
                path = options.out / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes("".join(lines).encode())
        ending = ""
        if options.sources:
            markers = compare(files, options.sources)
            ending = f"; equal to the sources but for {markers} marker lines"
    except (TangleError, OSError) as error:
        print(f"tangle: {error}", file=sys.stderr)
        return 1
    count = sum(p.last - p.first + 1 for p in pieces)
    print(f"tangle: {count} lines of {len(files)} files in {len(pieces)} listings{ending}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
