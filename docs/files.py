"""Files of a build: one that would not change keeps its time, so that nothing that depends on it is made again."""

import shutil
from collections.abc import Iterable
from pathlib import Path


def write(path: Path, content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    if path.is_file() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def copy(source: Path, target: Path) -> None:
    """Copy with the time of the source, which is what Sphinx compares."""
    old, new = (target.stat() if target.is_file() else None), source.stat()
    if old and (old.st_size, old.st_mtime_ns) == (new.st_size, new.st_mtime_ns):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def prune(folder: Path, keep: Iterable[Path]) -> None:
    """Remove the files under `folder` that are not in `keep`, and folders left empty."""
    kept = set(keep)
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() and path not in kept:
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()
