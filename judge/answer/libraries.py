"""What an answer is linked with: the book's libraries up to a chapter, without what would give the answer away."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from .exercise import IN_HANDOUT, Exercise
from .setting import BUILD, Failed, Setting


def last_chapter(exercise: Exercise) -> str:
    """The last chapter that an answer may use."""
    return exercise.links or f"{int(exercise.chapter) - 1:02d}"


def linked(exercise: Exercise, found: Setting) -> list[str]:
    """The names of the libraries that an answer is linked with, the lowest chapter first."""
    names = list(found.libraries)
    above = (i for i, name in enumerate(names) if re.match(r"abh_\d\d_", name) and name[4:6] > last_chapter(exercise))
    return names[: next(above, len(names))]


def libraries(exercise: Exercise, found: Setting) -> list[str]:
    """The archives that an answer is linked with, the highest chapter first. The last chapter's and those that belong
    to no chapter lack the objects that would give the answer away. A library of no chapter is listed before the first
    chapter that needs it, and linked from there on.

    :raises Failed: if there are no such objects
    """
    if IN_HANDOUT:
        return found.libraries[exercise.number]
    last = last_chapter(exercise)
    archives, absent = [], set()
    for name in linked(exercise, found):
        chapter, file = re.match(r"abh_(\d\d)_", name), found.libraries[name]
        if exercise.without and (not chapter or chapter[1] == last):
            here = {base(m) for m in members(file)} & set(exercise.without)
            file = lighter(Path(file), exercise) if here else file
            absent |= here
        archives.insert(0, file)
    if absent != set(exercise.without):
        raise Failed(f"{exercise.number}: there is no {', '.join(sorted(set(exercise.without) - absent))} to leave out")
    return archives


def base(member: str) -> str:
    """`softmax` of softmax.fast.cpp.o"""
    return member.split(".")[0]


def members(archive: str | Path) -> list[str]:
    """An archive's objects."""
    return subprocess.run(["ar", "t", archive], capture_output=True, text=True, check=True).stdout.split()


def lighter(archive: Path, exercise: Exercise) -> str:
    """A copy of the archive without some of its objects."""
    copy = BUILD / "without" / f"{archive.stem}_without_{'_'.join(exercise.without)}.a"
    if not copy.exists() or copy.stat().st_mtime < archive.stat().st_mtime:
        copy.parent.mkdir(parents=True, exist_ok=True)
        unfinished = copy.with_suffix(f".{os.getpid()}")
        shutil.copyfile(archive, unfinished)
        subprocess.run(["ar", "d", unfinished, *(m for m in members(archive) if base(m) in exercise.without)], check=True)
        unfinished.replace(copy)
    return str(copy)
