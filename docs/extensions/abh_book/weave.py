"""Source files as the book sees them: cut into named parts by marker lines.

A marker is a line that, stripped, is exactly `// [some name]`: lower case letters, digits, spaces
and `: - _ , . ( )`. A part runs from the line after its marker to the line before the next marker
or to the end of the file. What comes before the first marker is the part `head`: a license, includes,
names declared ahead. The brace that closes the file's namespace is the part `tail`. So every line but
the markers belongs to exactly one part.

The pages show the parts that teach. In the headers and sources of `lib` itself and of chapters 0 to
10, that is every part but head and tail; programs, fast ways, kernels, and what reads and writes files are
shown as far as a page wants them.

Standard library only: `docs/tangle.py` works without Sphinx.
"""

import re
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "lib/program"))

from cli import Failure

MARKER = re.compile(r"[ \t]*// \[([a-z0-9 :\-_,.()]+)\][ \t]*")
FOLDERS = ("lib", "chapters")
SUFFIXES = frozenset({".hpp", ".cpp", ".cuh", ".cu"})
HEAD, TAIL = "head", "tail"
CLOSING = re.compile(r"\n+\}  // namespace abh\n*\Z")
# Files whose every part but the head a page shows or leaves to the source by name.
TEACHES = re.compile(r"lib/\w+\.[hc]pp|chapters/(?:0\d|10)_\w+/(?!main\.|\w+_command\.)\w+\.[hc]pp")


@dataclass(frozen=True)
class Part:
    """Lines `first` to `last` of a file, counted from 1, both included."""

    name: str
    first: int
    last: int

    @property
    def empty(self) -> bool:
        return self.last < self.first


@dataclass(frozen=True)
class Source:
    """One source file: its name from the repository's root, its lines, its parts."""

    name: str
    lines: tuple[str, ...]  # each with its line end; the last one may have none
    parts: tuple[Part, ...]

    @property
    def teaches(self) -> tuple[Part, ...]:
        """The parts that the book owes its reader."""
        return tuple(p for p in self.parts if p.name not in (HEAD, TAIL)) if TEACHES.fullmatch(self.name) else ()

    def part(self, name: str) -> Part | None:
        return next((p for p in self.parts if p.name == name), None)

    def text(self, part: Part) -> str:
        return "".join(self.lines[part.first - 1 : part.last])


def marker(line: str) -> str | None:
    """The name in a marker line; None for every other line."""
    found = MARKER.fullmatch(line.rstrip("\n"))
    return found.group(1) if found else None


def read_source(root: Path, name: str) -> Source:
    """Read and cut `root/name`."""
    try:
        return cut(name, (root / name).read_bytes().decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Failure(f"{name}: not UTF-8 at byte {error.start}") from None
    except OSError as error:
        raise Failure(f"{name}: {error.strerror}") from None


def cut(name: str, text: str) -> Source:
    """The text of a file, cut at its markers."""
    lines = text.split("\n")
    lines = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    for number, line in enumerate(lines, 1):
        if bad := next((c for c in line[:-1] if ord(c) < 32 and c != "\t"), None):
            raise Failure(f"{name}:{number}: control character {bad!r}, which a page cannot show")
    markers = [(n, found) for n, line in enumerate(lines, 1) if (found := marker(line)) is not None]
    starts = [(0, HEAD), *markers, (len(lines) + 1, "")]
    closing = CLOSING.search(text) if markers else None
    tail = text.count("\n", 0, closing.start()) + 2 if closing else len(lines) + 1
    seen: dict[str, int] = {}
    parts: list[Part] = []
    for (line, part), (end, _) in pairwise(starts):
        if part in seen:
            raise Failure(f"{name}:{line}: part [{part}] is already in line {seen[part]}")
        seen[part] = line
        parts.append(Part(part, line + 1, min(end, tail) - 1))
        if parts[-1].empty and line > 0:
            raise Failure(f"{name}:{line}: part [{part}] is empty")
    parts.append(Part(TAIL, tail, len(lines)))
    return Source(name, tuple(lines), tuple(p for p in parts if not p.empty))


def source_names(root: Path) -> list[str]:
    """All files that have a page of their own, as names from the root, sorted."""
    return sorted(
        path.relative_to(root).as_posix()
        for folder in FOLDERS
        for path in (root / folder).rglob("*")
        if path.suffix in SUFFIXES
        and path.is_file()
        and "exercises" not in path.relative_to(root).parts
    )
