"""Read the sources from the rendered pages alone, and check the listings against them.

    python docs/tangle.py build/book/html                   check the pages against each other
    python docs/tangle.py build/book/html --out DIR         and write the files
    python docs/tangle.py build/book/html --sources .       and compare them with the repository, byte for byte

Each source file has a page of its own, where it is the text of a `<pre>` that has `data-source`. Each listing, a `<pre>`
that has `data-file` and `data-lines`, has exactly these lines of its file. The first difference is printed, and the exit
status is then 1. (That every part that teaches is shown, and none twice, is checked when the pages are read.)
"""

import argparse
import html
import re
import sys
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "lib/program"), str(ROOT / "docs/extensions")]

import cli
from abh_book import weave

CODE = re.compile(r'<pre data-(?:source="([^"]*)"|file="([^"]*)" data-lines="(\d+)-(\d+)")[^>]*>(.*?)</pre>', re.DOTALL)


def read_pages(folder: Path) -> tuple[dict[str, str], list[tuple[str, str, int, int, str]]]:
    """The text of each file that has a page; and of the listings page, file, first and last line, and text."""
    pages = sorted(folder.rglob("*.html"))
    if not pages:
        raise cli.Failure(f"there are no pages in {folder}; make them with: ./book build")
    files: dict[str, str] = {}
    listings = []
    for path in pages:
        for source, file, first, last, code in CODE.findall(path.read_text(encoding="utf-8")):
            text = html.unescape(re.sub(r"<[^>]*>", "", code))
            if source:
                files[html.unescape(source)] = text
            else:
                listings.append((path.relative_to(folder).as_posix(), html.unescape(file), int(first), int(last), text))
    return files, listings


def check_same(place: str, book: str, file: str, first: int = 1) -> None:
    lines = enumerate(zip_longest(book.split("\n"), file.split("\n")), first)
    if wrong := next((line for line in lines if line[1][0] != line[1][1]), None):
        number, (ours, theirs) = wrong
        raise cli.Failure(f"{place}:{number}: the book has {ours!r}, the file {theirs!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description="read the sources from the rendered pages, and check the listings")
    parser.add_argument("html", type=Path, help="folder of the rendered book")
    parser.add_argument("--sources", type=Path, metavar="ROOT", help="repository to compare the files with")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder to write the files to")
    options = parser.parse_args()
    files, listings = read_pages(options.html)
    for page, name, first, last, text in listings:
        if name not in files:
            raise cli.Failure(f"{page}: {name} has no page")
        lines = files[name].splitlines(keepends=True)[first - 1 : last]
        check_same(f"{page}: {name}", text.removesuffix("\n"), "".join(lines).removesuffix("\n"), first)
    for name, text in files.items() if options.out else ():
        path = options.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    if options.sources:
        names = weave.source_names(options.sources)
        if wrong := sorted({*names} ^ {*files}):
            raise cli.Failure(f"{wrong[0]}: has {'no page' if wrong[0] in names else 'a page, but no file'}")
        for name, text in files.items():
            check_same(name, text, (options.sources / name).read_bytes().decode())
    whole, count = (sum(text.count("\n") for text in texts) for texts in (files.values(), (one[-1] for one in listings)))
    print(f"tangle: {count} of {whole} lines of {len(files)} files in {len(listings)} listings")


if __name__ == "__main__":
    cli.run(main)
