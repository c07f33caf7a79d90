"""Folders that a page was made from. The page is read again when a file in them appears or goes.

Sphinx itself compares the times of files, `env.note_dependency`. It takes a folder, or a file that does
not exist, for a missing file, so such a page would be read in every build.
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from .by_page import ByPage

Names = tuple[str, ...]


folders = ByPage[dict[str, Names]]("folders")  # the folders that it looked into, and their contents


def names(folder: Path) -> Names:
    if not folder.is_dir():
        return ()
    return tuple(sorted(path.name for path in folder.iterdir() if path.name != "__pycache__"))


def look_into(env: BuildEnvironment, folder: Path) -> None:
    """Makes the page that is being read depend on which files are in this folder."""
    folders(env).setdefault(env.docname, {})[str(folder)] = names(folder)


def outdated(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    now: dict[str, Names] = {}
    found = []
    for page, seen in folders(env).items():
        for folder, there in seen.items():
            if folder not in now:
                now[folder] = names(Path(folder))
            if now[folder] != there:
                found.append(page)
                break
    return [page for page in found if page in env.found_docs]


def setup(app: Sphinx) -> None:
    app.connect("env-get-outdated", outdated)
    folders.connect(app)
