"""Check that the pages load nothing from other hosts, and that what they load or link to exists.

    python docs/offline.py build/book/html [--known FILE]

Links that a reader may click can lead anywhere. What a browser loads by itself, and the target of every link
inside the book, must lie beside the pages and have the anchor that is named. Each wrong address is printed with its
page, and the exit status is then 1. With --known, only pages that have changed are parsed again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib/program"))

import cli

ELSEWHERE = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
IN_STYLE = re.compile(r"url\(\s*[\"']?([^)\"']+)|@import\s+[\"']([^\"']+)")
IN_SCRIPT = re.compile(
    r"(?:\bfetch|\bimport|importScripts|\.open|\.src\s*=|sendBeacon)\s*\(?\s*[\"'`](?:https?:)?//[^\"'`]*"
)
PARSER = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()  # because another version may find other addresses
NOT_LOADED = {"next", "prev", "index", "search", "canonical", "license"}


class Page(HTMLParser):
    """The addresses that a browser loads by itself, and the links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag in {"a", "area"}:
            self.links += [found["href"]] if "href" in found else []
        elif tag == "link" and not NOT_LOADED & set(found.get("rel", "").split()):
            self.loads.append(found.get("href", ""))
        if tag != "a":
            self.loads += [found[name] for name in ("src", "poster", "data") if name in found]
        self.loads += [entry.split()[0] for entry in found.get("srcset", "").split(",") if entry]
        self.loads += re.findall(r"url\([\"']?([^)\"']+)", found.get("style", ""))


def read_pages(folder: Path, known: Path | None) -> dict[Path, Page]:
    """All pages. Those whose text is known are not parsed again."""
    try:
        before = json.loads(known.read_text(encoding="utf-8")) if known else {}
    except (OSError, ValueError):
        before = {}
    if before.get("by") != PARSER:
        before = {}
    now: dict[str, list[list[str]]] = {}
    pages: dict[Path, Page] = {}
    for path in sorted(folder.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        digest = hashlib.sha256(text.encode()).hexdigest()
        found = before.get(digest)
        page = Page("" if found else text)
        if found:
            page.loads, page.links, page.anchors = found[0], found[1], set(found[2])
        now[digest] = [page.loads, page.links, sorted(page.anchors)]
        pages[path] = page
    if known:
        known.write_text(json.dumps({"by": PARSER, **now}), encoding="utf-8")
    return pages


@cache
def there(folder: Path, name: str) -> bool:
    """Whether a file exists; cached, because the pages of a folder ask for the same few hundred."""
    return (folder / name).exists()


@cache
def target_of(folder: Path, name: str) -> str:
    return os.path.normpath(folder / name)


def complaints(folder: Path, known: Path | None = None) -> tuple[list[str], int]:
    """What is wrong, and how many addresses were checked."""
    wrong: list[str] = []
    count = 0

    def look(path: Path, address: str, how: str) -> None:
        nonlocal count
        count += 1
        where = path.relative_to(folder).as_posix()
        if how == "loads" and ELSEWHERE.match(address):
            wrong.append(f"{where} loads {address}")
        elif not re.match(r"#|$|[a-z][a-z0-9+.-]*:|//", address, re.IGNORECASE):
            name = unquote(re.split(r"[?#]", address)[0])
            if name and not there(path.parent, name):
                wrong.append(f"{where} {how} {address}, which does not exist")

    pages = read_pages(folder, known)
    anchors = {str(path): page.anchors for path, page in pages.items()}

    def look_for_anchor(path: Path, address: str) -> None:
        name, _, anchor = (unquote(part) for part in address.partition("#"))
        target = target_of(path.parent, name.split("?")[0]) if name else str(path)
        if anchor and anchor != "top" and anchor not in anchors.get(target, {anchor}):
            wrong.append(f"{path.relative_to(folder).as_posix()} links to {address}, an anchor that does not exist")

    for path in sorted(folder.rglob("*")):
        if path in pages:
            page = pages[path]
            for address in page.loads:
                look(path, address, "loads")
            for address in page.links:
                look(path, address, "links to")
                if not re.match(r"[a-z][a-z0-9+.-]*:|//", address, re.IGNORECASE):
                    look_for_anchor(path, address)
        elif path.suffix in {".css", ".svg"}:
            text = path.read_text(encoding="utf-8")
            for found in IN_STYLE.findall(text):
                look(path, "".join(found), "loads")
            if path.suffix == ".svg":
                for address in re.findall(r"<(?:image|use|script)\b[^>]*?href=\"([^\"]+)\"", text):
                    look(path, address, "loads")
        elif path.suffix == ".js":
            for found in IN_SCRIPT.findall(path.read_text(encoding="utf-8")):
                count += 1
                wrong.append(f"{path.relative_to(folder).as_posix()} loads from another host, by {found}")
    return wrong, count


def main() -> int:
    parser = argparse.ArgumentParser(description="check that the rendered pages need no network")
    parser.add_argument("html", type=Path, help="folder of the rendered book")
    parser.add_argument("--known", type=Path, metavar="FILE", help="file that keeps the addresses of pages between calls")
    options = parser.parse_args()
    wrong, count = complaints(options.html.resolve(), options.known)
    for line in wrong:
        print(f"offline: {line}", file=sys.stderr)
    if count == 0:
        raise cli.Failure(f"there are no pages in {options.html}; make them with: ./book build")
    if wrong:
        return 1
    print(f"offline: {count} addresses, none on another host")
    return 0


if __name__ == "__main__":
    cli.run(main)
