"""How answers are compiled, as CMake has found it out, or a hand-out says."""

from __future__ import annotations

import json
import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from .exercise import IN_HANDOUT, ROOT

PRESET = os.environ.get("ABH_JUDGE_PRESET", "book")
BUILD = ROOT / "build" / PRESET
INCLUDE = ROOT / "include" if IN_HANDOUT else BUILD / "include"  # only headers, so no solution can be included


class Failed(RuntimeError):
    """A failed build, with what the compiler printed."""


@dataclass(frozen=True)
class Setting:
    """How answers are compiled: build/book/build.CXX.json."""

    compiler: str
    flags: list[str]  # without includes
    includes: list[str]  # system folders
    links: list[str]
    serve: str  # the archive that reads requests
    libraries: dict[str, str] | dict[str, list[str]]  # by name; in a hand-out, by exercise
    fmt: str = ""  # the archive of fmt that a hand-out gets


def compiler(path: str) -> str:
    """The compiler itself, because the sandbox has no /etc/alternatives."""
    for _ in range(2):
        if not path.startswith("/etc/") and not (os.path.islink(path) and os.readlink(path).startswith("/etc/")):
            break
        path = os.readlink(path)
    return path


def setting() -> Setting:
    """The setting that CMake has found.

    :raises Failed: if the judge is not built
    """
    if IN_HANDOUT:
        return setting_of_handout()
    try:
        found = json.loads((BUILD / "build.CXX.json").read_text())
    except OSError as error:
        raise Failed(f"{error}; build the judge first with ./book check") from error
    options = [o for o in found["options"].split(";") if o]
    definitions = dict.fromkeys(d for d in found["definitions"].split(";") if d)
    flags = [*options, "-O1", *(f"-D{d}" for d in definitions)]
    includes = dict.fromkeys(i for i in found["includes"].split(";") if i)
    systems = [i for i in includes if Path(i) not in (ROOT, Path("/usr/include"))]
    links = [link for link in found["links"].split(";") if link]
    return Setting(compiler(found["compiler"]), flags, systems, links, found["serve"], found["libraries"], found["fmt"])


def setting_of_handout() -> Setting:
    """The libraries that came with the hand-out, and this machine's compiler.

    :raises Failed: if they are for another kind of processor
    """
    found = json.loads((ROOT / "handout.json").read_text())
    if (here := platform.machine()) != found["machine"]:
        raise Failed(
            f"this pack's libraries are for {found['machine']}, but this machine is {here}: use another machine, or ask "
            f"for a pack that was made on one of this kind"
        )
    if before(platform.libc_ver()[1], found["libc"]):
        raise Failed(
            f"this pack was made on a system with glibc {found['libc']}, but this one has {platform.libc_ver()[1]}: use a newer "
            f"system, or ask for a pack that was made on one as old as yours"
        )
    places = [f"{prefix}/include/eigen3" for prefix in ("/usr", "/usr/local", "/opt/homebrew")]
    libraries = {number: [str(ROOT / file) for file in files] for number, files in found["libraries"].items()}
    return Setting(
        os.environ.get("CXX", "g++"), found["flags"], [p for p in places if Path(p).is_dir()],
        found["links"], str(ROOT / found["serve"]), libraries,
    )  # fmt: skip


def before(version: str, other: str) -> bool:
    """Whether a version is older than another, as 2.36 is than 2.39; false if either is unknown."""
    numbers = [tuple(map(int, re.findall(r"\d+", v))) for v in (version, other)]
    return all(numbers) and numbers[0] < numbers[1]


def include_flags(found: Setting, include: str) -> list[str]:
    """The compiler's options for includes, with the book's headers in the folder `include`."""
    return [f"-I{include}", *(f"-isystem{i}" for i in found.includes)]
