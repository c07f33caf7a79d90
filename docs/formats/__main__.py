"""Make an EPUB and a PDF of the rendered pages.

    build/venv/bin/python docs/formats --root . --build build/book --epub --pdf

reads BUILD/html, which docs/build.py wrote, and writes BUILD/attention-by-hand.epub and .pdf. A file
that was already made from the same pages is not made again.
"""

import argparse
import datetime
import hashlib
import importlib
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / folder) for folder in ("lib/program", "docs")]

import cli
import conf

NAME = "attention-by-hand"
NOTE = (
    "{kind} edition. It leaves out the API reference and the copies of the source files, "
    "which the pages of the book have; every line of the sources stands in the listings."
)
KINDS = {"epub": "EPUB", "pdf": "PDF"}


def facts(html: Path) -> dict[str, str]:
    """The book's metadata. Its date is that of the newest page."""
    newest = max((page.stat().st_mtime for page in html.rglob("*.html")), default=0)
    modified = datetime.datetime.fromtimestamp(int(newest), datetime.UTC)
    return {
        "title": conf.project,
        "author": conf.author[:1].upper() + conf.author[1:],
        "rights": f"© {conf.project_copyright}",
        "language": conf.language,
        "modified": modified.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def fingerprint(root: Path, build: Path) -> str:
    digest = hashlib.sha256(sys.version.encode())
    inputs = [p for p in HERE.iterdir() if p.suffix in {".py", ".css", ".opf"}]
    inputs += [HERE.parent / "conf.py", HERE.parent / "requirements-formats.txt"]
    inputs += [build / "book.stamp"]
    inputs += sorted((root / "figures").glob("cover.light.svg"))
    for path in sorted(inputs):
        digest.update(path.read_bytes() if path.is_file() else b"none")
    return digest.hexdigest()


def make(kind: str, root: Path, build: Path) -> None:
    out, stamp = build / f"{NAME}.{kind}", build / f"{kind}.stamp"
    now = fingerprint(root, build)
    if out.is_file() and stamp.is_file() and stamp.read_text() == now:
        print(f"book: {out}: nothing has changed")
        return
    stamp.unlink(missing_ok=True)
    html, cover = build / "html", root / "figures" / "cover.light.svg"
    start = time.monotonic()
    said = importlib.import_module(kind).make(
        html, out, facts(html), NOTE.format(kind=KINDS[kind]), cover if cover.is_file() else None
    )
    print(f"book: {out}: {said}, in {time.monotonic() - start:.0f} s")
    stamp.write_text(now)


def main() -> None:
    parser = argparse.ArgumentParser(description="make an EPUB and a PDF of the rendered pages")
    parser.add_argument("--root", type=Path, default=ROOT, help="folder of the repository")
    parser.add_argument("--build", type=Path, default=Path("build/book"), help="build folder (default: build/book)")
    parser.add_argument("--epub", action="store_true", help="make the EPUB")
    parser.add_argument("--pdf", action="store_true", help="make the PDF")
    options = parser.parse_args()
    kinds = [kind for kind in KINDS if getattr(options, kind)]
    if not kinds:
        parser.error("nothing to make: give --epub, --pdf or both")
    for kind in kinds:
        make(kind, options.root.resolve(), options.build.resolve())


if __name__ == "__main__":
    cli.run(main)
