"""Check that each page of the book can be read in one sitting: what it shows before anything is unfolded is not too long.

    python docs/length.py build/book/html             check every page of the chapters
    python docs/length.py build/book/html --list      and print the words of each page, by kind

Listings are the book's code. Checks are programs' output, common mistakes, tests, and sections that compare with
differences or with PyTorch. All the rest is the idea. A word is anything between blanks that contains a letter or a
digit. Code, tables and console output count, and a formula counts as its symbols, but notes on where numbers come from,
and marks on what this machine measured, do not. Each page that is too long is printed, and the exit status is then 1.
"""

from __future__ import annotations

import argparse
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib/program"))

import cli

LIMIT = 5500
INDEX_LIMIT = 4000  # for a chapter's first page
VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)
WORD = re.compile(r"\w")
LISTING = frozenset({"listing"})
CHECKS = frozenset({"console", "mistake", "checked", "left-out"})
CHECK_SECTION = re.compile(r"check(?!point)|differences|how-we-know|mistakes")
UNSEEN = frozenset(["script", "noscript", "style", "annotation", "svg"])


class Words(HTMLParser):
    """Counts the words of a page's article, with those in folded boxes separate."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.words = dict.fromkeys(("idea", "listing", "checks", "folded"), 0)
        self._open: list[tuple[str, str]] = []  # tag, and the kind of its text
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            return
        found = {name: value or "" for name, value in attrs}
        kind = self._open[-1][1] if self._open else "outside"
        classes = set(found.get("class", "").split())
        if tag == "article":
            kind = "idea"
        elif tag in UNSEEN or {"katex-mathml", "headerlink", "origin", "mark"} & classes:
            kind = "outside"
        elif tag == "details" and "open" not in found and kind in {"idea", "listing", "checks"}:
            kind = "folded"
        elif kind == "idea" and classes & LISTING:
            kind = "listing"
        elif kind == "idea" and (classes & CHECKS or (tag == "section" and CHECK_SECTION.search(found.get("id", "")))):
            kind = "checks"
        self._open.append((tag, kind))

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID or all(tag != name for name, _ in self._open):
            return
        while self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        kind = self._open[-1][1] if self._open else "outside"
        if kind in self.words:
            self.words[kind] += sum(1 for word in data.split() if WORD.search(word))

    @property
    def shown(self) -> int:
        return sum(self.words.values()) - self.words["folded"]


def main() -> int:
    parser = argparse.ArgumentParser(description="check that no page is too long for one sitting")
    parser.add_argument("html", type=Path, help="folder of the rendered book")
    parser.add_argument("--list", action="store_true", help="print the number of words of every page, by kind")
    options = parser.parse_args()
    too_long, pages = 0, sorted((options.html / "chapters").rglob("*.html"))
    if not pages:
        raise cli.Failure(f"there are no pages of chapters in {options.html}; make them with: ./book build")
    for path in pages:
        words = Words(path.read_text(encoding="utf-8"))
        name = path.relative_to(options.html).as_posix()
        if options.list:
            shares = "  ".join(f"{words.words[kind] * 100 // max(words.shown, 1):2} % {kind}" for kind in ("idea", "listing", "checks"))
            print(f"{words.shown:6} shown ({shares}) {words.words['folded']:6} folded  {name}")
        limit = INDEX_LIMIT if name.endswith("/index.html") else LIMIT
        if words.shown > limit:
            too_long += 1
            print(f"length: {name} shows {words.shown} words, but one sitting is at most {limit}", file=sys.stderr)
    return 1 if too_long else 0


if __name__ == "__main__":
    cli.run(main)
