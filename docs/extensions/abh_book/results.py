"""The programs' output: files that a run wrote, and which runs each page shows.

A page names a run, or what was drawn from one, as `04/main`; a page of chapter 4 may leave out the chapter.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from .by_page import ByPage


class ResultError(Exception):
    """A result that is missing; the message is one line."""


def chapter_of(docname: str) -> str | None:
    """Folder name of the chapter that a page belongs to."""
    found = re.fullmatch(r"chapters/([^/]+)/.+", docname)
    return found.group(1) if found else None


def chapter_and_name(directive: SphinxDirective, what: str) -> tuple[str, str]:
    """The two parts of a directive's argument."""
    chapter, _, name = directive.arguments[0].strip().rpartition("/")
    chapter = chapter or chapter_of(directive.env.docname)
    if not chapter:
        raise ResultError(f"outside a chapter, write chapter/{what}")
    return chapter, name


def chapter_folder(base: Path, wanted: str, what: str) -> Path:
    """`base/04_some_name` for `04` or for the whole name."""
    if (base / wanted).is_dir():
        return base / wanted
    found = [path for path in sorted(base.glob(f"{wanted}_*")) if path.is_dir()]
    if len(found) != 1:
        raise ResultError(f"no {what} of chapter {wanted}")
    return found[0]


def run_file(config: Config, chapter: str, run: str, file: str) -> Path:
    """A file that a run wrote."""
    folder = chapter_folder(Path(config.abh_results), chapter, "results")
    path = folder / run / file
    if not path.is_file():
        runs = ", ".join(sorted(p.name for p in folder.iterdir() if p.is_dir())) or "none"
        raise ResultError(f"no {file} of run {folder.name}/{run}; runs of this chapter: {runs}")
    return path


def key_of(path: Path) -> str:
    """The run `chapter/name` that wrote a file."""
    return f"{path.parent.parent.name}/{path.parent.name}"


@cache
def parsed(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ResultError(f"{path}: {error}") from None


# A page is read again when a file that it shows something of has changed, or where and when the runs took place.
shown = ByPage[set[str]]("runs_shown")  # the runs `chapter/name`, and the files `bench/name`, that it shows something of


def note_shown(env: BuildEnvironment, path: Path, run: str) -> None:
    """The page that is being read shows what a run wrote into this file."""
    env.note_dependency(str(path))
    env.note_dependency(str(Path(env.config.abh_results) / "origin.json"))
    shown(env).setdefault(env.docname, set()).add(run)


def setup(app: Sphinx) -> None:
    shown.connect(app)
