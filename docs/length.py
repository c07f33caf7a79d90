"""Check that each page of the book can be read in one sitting: what it shows before anything is unfolded is not too long.

    python docs/length.py build/book/html

A word is anything between blanks that contains a letter or a digit. Code, tables and console output count, and a formula
counts as its symbols, but notes on where numbers come from, and marks on what this machine measured, do not. Each page that
is too long is printed, and the exit status is then 1.
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
VOID = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"])
UNSEEN = frozenset(["script", "noscript", "style", "annotation", "svg"])
NOTES = frozenset(["katex-mathml", "headerlink", "origin", "mark"])


class Words(HTMLParser):
    """Counts the words that a page's article shows."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.shown = 0
        self._open = [("", False)]  # tags, and whether their text is shown
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        hidden = tag in UNSEEN or (tag == "details" and "open" not in found) or NOTES & set((found.get("class") or "").split())
        if tag not in VOID:
            self._open.append((tag, tag == "article" or (self._open[-1][1] and not hidden)))

    def handle_endtag(self, tag: str) -> None:
        while any(tag == name for name, _ in self._open) and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open[-1][1]:
            self.shown += sum(1 for word in data.split() if re.search(r"\w", word))


def main() -> int:
    parser = argparse.ArgumentParser(description="check that no page is too long for one sitting")
    parser.add_argument("html", type=Path, help="folder of the rendered book")
    folder = parser.parse_args().html
    too_long, pages = 0, sorted((folder / "chapters").rglob("*.html"))
    if not pages:
        raise cli.Failure(f"there are no pages of chapters in {folder}; make them with: ./book build")
    for path in pages:
        shown, limit = Words(path.read_text(encoding="utf-8")).shown, INDEX_LIMIT if path.name == "index.html" else LIMIT
        if shown > limit:
            too_long += 1
            print(f"length: {path.relative_to(folder)} shows {shown} words, but one sitting is at most {limit}", file=sys.stderr)
    return 1 if too_long else 0


if __name__ == "__main__":
    cli.run(main)
