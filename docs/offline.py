"""Check that the pages load nothing from other hosts, and that what they load or link to exists.

    python docs/offline.py build/book/html

Links that a reader may click can lead anywhere. What a browser loads by itself, and the target of every link
inside the book, must lie beside the pages and have the anchor that is named. Each wrong address is printed with its
page, and the exit status is then 1.
"""

import argparse
import html
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib/program"))

import cli

TAG = re.compile(r"<(\w+)([^<>]*\s(?:href|src|srcset|poster|data|style)=[^<>]*)>")
ATTRIBUTE = re.compile(r'\s(href|src|srcset|poster|data|style|rel)="([^"]*)"')
ANCHOR = re.compile(r'<[^<>]*?\s(?:id|name)="([^"]*)"')
IN_STYLE = re.compile(r"url\(\s*[\"']?([^)\"']+)|@import\s+[\"']([^\"']+)")
IN_SVG = re.compile(r"<(?:image|use|script)\b[^>]*?href=\"([^\"]+)\"")
IN_SCRIPT = re.compile(
    r"(?:\bfetch|\bimport|importScripts|\.open|\.src\s*=|sendBeacon)\s*\(?\s*[\"'`](?:https?:)?//[^\"'`]*"
)
NOT_LOADED = {"next", "prev", "index", "search", "canonical", "license"}  # what an element `link` may name


def in_page(text: str) -> Iterator[tuple[str, str]]:
    """The addresses of a page, each after `loads`, which a browser does by itself, or `links to`."""
    for tag, inside in TAG.findall(text):
        found = {name: html.unescape(value) for name, value in ATTRIBUTE.findall(inside)}
        if "href" in found and not (tag == "link" and NOT_LOADED & set(found.get("rel", "").split())):
            yield "loads" if tag == "link" else "links to", found["href"]
        yield from (("loads", found[name]) for name in ("src", "poster", "data") if name in found)
        yield from (("loads", entry.split()[0]) for entry in found.get("srcset", "").split(",") if entry)
        yield from (("loads", "".join(each)) for each in IN_STYLE.findall(found.get("style", "")))


def addresses(path: Path) -> Iterator[tuple[str, str]]:
    if path.suffix == ".html":
        yield from in_page(path.read_text(encoding="utf-8"))
    elif path.suffix in {".css", ".svg"}:
        text = path.read_text(encoding="utf-8")
        yield from (("loads", "".join(found)) for found in IN_STYLE.findall(text))
        yield from (("loads", found) for found in IN_SVG.findall(text))
    elif path.suffix == ".js":
        yield from (("loads from another host, by", found) for found in IN_SCRIPT.findall(path.read_text(encoding="utf-8")))


@cache
def anchors(path: str) -> frozenset[str] | None:
    """Those of a page; None if there is no such file."""
    if not os.path.isfile(path):
        return None
    if not path.endswith(".html"):
        return frozenset()
    return frozenset(map(html.unescape, ANCHOR.findall(Path(path).read_text(encoding="utf-8"))))


def complaint(path: Path, how: str, address: str) -> str:
    """What is wrong with an address; empty if nothing."""
    if path.suffix == ".js":
        return f"{how} {address}"
    if re.match(r"(?:[a-z][a-z0-9+.-]*:)?//", address, re.IGNORECASE):
        return f"loads {address}" if how == "loads" else ""
    if re.match(r"[a-z][a-z0-9+.-]*:", address, re.IGNORECASE):  # such as data:
        return ""
    place, _, anchor = (unquote(part) for part in address.partition("#"))
    name = place.partition("?")[0]
    there = anchors(os.path.normpath(path.parent / name) if name else str(path))
    if there is None:
        return f"{how} {address}, which does not exist"
    if how == "links to" and anchor and anchor not in there | {"top"} and "?" not in place:
        return f"links to {address}, an anchor that does not exist"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description="check that the rendered pages need no network")
    parser.add_argument("html", type=Path, help="folder of the rendered book")
    folder = parser.parse_args().html.resolve()
    wrong = count = 0
    for path in sorted(folder.rglob("*.*")):
        for how, address in dict.fromkeys(addresses(path)):
            count += 1
            if said := complaint(path, how, address):
                wrong += 1
                print(f"offline: {path.relative_to(folder).as_posix()} {said}", file=sys.stderr)
    if count == 0:
        raise cli.Failure(f"there are no pages in {folder}; make them with: ./book build")
    print(f"offline: {count} addresses, {wrong or 'none'} on another host or missing")
    return 1 if wrong else 0


if __name__ == "__main__":
    cli.run(main)
