"""The book's rendered pages in a pack: those of its chapters, without solutions and without links that lead nowhere."""

from __future__ import annotations

import html
import os
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

from ..answer.exercise import PAGES, Exercise
from ..answer.report import page_of

FOLDER = "pages"  # of the pack
TENSOR = "chapters/00_workbench/tensor.html"  # what an answer's arguments are
ASIDE = re.compile(r'<aside class="sidebar-drawer">.*?</aside>|<link rel="(?:index|search|next|prev)"[^>]*>', re.DOTALL)
TURN = re.compile(r'<a class="(?:next|prev)-page" href="([^"]*)">.*?</a>', re.DOTALL)
LINK = re.compile(r'(<a\b[^>]*?) href="([^"]*)"')
SOLUTION = re.compile(r"<details[^>]*>\s*<summary[^>]*>\s*Solution\s*</summary>")
FOLD = re.compile(r"<(/?)details\b[^>]*>")
LISTING = re.compile(r"(<pre[^>]*>)(.*?)(</pre>)", re.DOTALL)
FIGURE = re.compile(r'[\s"]((?:\.\./)*_figures/[^"\s?#]+)')
INDEX = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Pages of this pack</title></head>
<body style="max-width: 40em; margin: 2em auto; font-family: sans-serif; line-height: 1.5"><h1>Pages of this pack</h1>
<ul>
{entries}
</ul></body></html>
"""


def text_of(page: str) -> str:
    """A page, or a part of one, without its tags."""
    return html.unescape(re.sub(r"<[^>]*>", "", page))


def chosen(exercises: list[Exercise]) -> list[str]:
    """The pages that go with these exercises, as far as the book is rendered."""
    folders = {e.folder.parent.parent.name for e in exercises if e.kind != "hunt"}
    folders |= {fault.chapter for e in exercises for fault in e.faults}
    read = [page_of(e) for e in exercises if e.kind != "hunt"]
    names = {f"chapters/{p.parent.name}/{p.stem}.html" for p in read} | {TENSOR}
    pages = (p for folder in folders for p in (PAGES / "chapters" / folder).glob("*.html"))
    names |= {p.relative_to(PAGES).as_posix() for p in pages}
    return sorted(name for name in names if (PAGES / name).is_file())


def copy(exercises: list[Exercise], out: Path, leaks: Callable[[str], Iterable[str]]) -> list[str]:
    """Writes the pages, with what they show, and returns their names.

    :param leaks: the lines of a text that would give an exercise away
    """
    names = chosen(exercises)
    if not names:
        return []
    shutil.copytree(PAGES / "_static", out / "_static")
    entries = []
    for name in names:
        page = without_dead_links(without_solutions((PAGES / name).read_text(), leaks), name, {*names, "index.html"})
        for figure in set(FIGURE.findall(page)):
            source = beside(name, figure)
            if not (out / source).exists():
                (out / source).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(PAGES / source, out / source)
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(page)
        title = re.search(r"<title>(.*?) - [^<]*</title>", page)
        entries.append(f'<li><a href="{name}">{title[1] if title else name}</a></li>')
    (out / "index.html").write_text(INDEX.format(entries="\n".join(entries)))
    return names


def without_solutions(page: str, leaks: Callable[[str], Iterable[str]]) -> str:
    """The page without folded solutions, and without listings that hold lines of one."""
    while begin := SOLUTION.search(page):
        depth = 0
        for tag in FOLD.finditer(page, begin.start()):
            depth += -1 if tag[1] else 1
            if depth == 0:
                page = page[: begin.start()] + page[tag.end() :]
                break
        else:
            raise ValueError("a solution has no end")
    if not leaks(text_of(page)):
        return page
    left_out = r"\g<1>// This listing is left out, because it would give an exercise of this pack away.\g<3>"
    return LISTING.sub(lambda m: m.expand(left_out) if leaks(text_of(m[2])) else m[0], page)


def without_dead_links(page: str, name: str, there: set[str]) -> str:
    """The page with links to these pages and to other sites alone; other links become text."""

    def leads(address: str) -> bool:
        file = address.partition("#")[0]
        return "://" in file or not file or beside(name, file) in there

    page = TURN.sub(lambda m: m[0] if leads(m[1]) else "", ASIDE.sub("", page))
    return LINK.sub(lambda m: m[0] if leads(m[2]) else f'{m[1]} style="color: inherit; text-decoration: none"', page)


def beside(name: str, address: str) -> str:
    """The place, from the top, of what a page calls by this address."""
    return os.path.normpath(PurePosixPath(name).parent / address)
