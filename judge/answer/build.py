"""Builds what the judge needs: libraries, programs that draw cases, and callers."""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .exercise import COMPUTED, IN_HANDOUT, ROOT, Exercise
from .libraries import libraries, linked
from .setting import BUILD, INCLUDE, PRESET, Failed, Setting, include_flags, setting

UNBUILT = "the judge could not be built"


@contextmanager
def building_alone() -> Iterator[None]:
    """Waits until no other `./book` is building, and makes others wait for this one."""
    lock = ROOT / "build" / "lock"
    lock.parent.mkdir(exist_ok=True)
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cmake(*arguments: str | Path) -> None:
    """Runs CMake.

    :raises Failed: with what it printed
    """
    try:
        done = subprocess.run(["cmake", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise Failed("cmake is not installed (apt-get install cmake ninja-build)") from error
    if done.returncode != 0:
        raise Failed(f"{UNBUILT}:\n{done.stdout}{done.stderr}")


def build(*targets: str) -> None:
    """Builds these targets, and shows progress: in one line on a terminal, elsewhere every ten seconds.

    :raises Failed: with what was printed
    """
    command = ["cmake", "--build", str(BUILD), "--target", *targets]
    environment = {**os.environ, "NINJA_STATUS": "[%f of %t] "}
    printed, last, terminal = [], time.monotonic(), sys.stderr.isatty()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            step = re.match(r"\[(\d+ of \d+)\]", line)
            if not step:
                printed.append(line)
            elif terminal:
                print(f"\r\033[Kbook: {step[1]}", end="", file=sys.stderr, flush=True)
            elif time.monotonic() >= last + 10:
                last = time.monotonic()
                print(f"book: {step[1]}", file=sys.stderr, flush=True)
    if terminal:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    if process.returncode != 0:
        raise Failed(f"{UNBUILT}:\n{''.join(printed)}")


def prepare(exercises: list[Exercise], *, tight: bool = False) -> None:
    """Builds what the judge needs for these exercises: libraries, cases and drivers.

    :param tight: whether an unprivileged user will compile answers
    :raises Failed: with what was printed
    """
    if not IN_HANDOUT:
        if not (BUILD / "build.ninja").is_file():
            print("book: the first call compiles the judge, which takes about a minute", file=sys.stderr)
        with building_alone():
            cmake("--preset", PRESET)
            found = setting()
            computed = [e for e in exercises if e.kind in COMPUTED]
            cases = [f"cases_{e.number.replace('.', '_')}" for e in exercises if e.kind != "hunt"]
            build("abh_serve", *{n for e in computed for n in linked(e, found)}, *cases)
            copy_headers()
    found = setting()
    for e in exercises:
        if e.kind in COMPUTED:
            call_object(e, found)
            libraries(e, found)
    if tight:
        stage(exercises, found)


def copy_headers() -> None:
    """Updates the headers that an answer may include."""
    wanted = set()
    for folder in ("lib", "chapters", "judge"):
        for header in (ROOT / folder).rglob("*"):
            inside = header.relative_to(ROOT)
            if header.suffix in (".hpp", ".cuh") and "exercises" not in inside.parts:
                copy = INCLUDE / inside
                wanted.add(copy)
                if not copy.exists() or copy.stat().st_mtime < header.stat().st_mtime:
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(header, copy)
    for copy in INCLUDE.rglob("*.*"):
        if copy.is_file() and copy not in wanted:
            copy.unlink()


def compile_object(source: Path, target: Path, flags: list[str]) -> None:
    """Compiles a source of the judge's own.

    :raises Failed: with what the compiler printed
    """
    found = setting()
    target.parent.mkdir(parents=True, exist_ok=True)
    command = [found.compiler, *flags, *include_flags(found, str(INCLUDE)), "-c", source.name, "-o", target.absolute()]  # the object does not say where
    done = subprocess.run(command, cwd=source.parent, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{UNBUILT}:\n{done.stderr}")


def outdated(result: Path) -> bool:
    """Whether what was compiled is older than a header, or not there."""
    newest = max(h.stat().st_mtime for h in INCLUDE.rglob("*.?*") if h.is_file())
    return not result.exists() or result.stat().st_mtime < newest


def call_object(exercise: Exercise, found: Setting) -> Path:
    """The object of call.cpp, compiled once for all answers; a hand-out has only the object."""
    if IN_HANDOUT:
        return exercise.folder / "call.o"
    source = exercise.folder / "call.cpp"
    content = b"".join(f.read_bytes() for f in [source, *exercise.headers()])
    digest = hashlib.sha256(content + repr(found).encode()).hexdigest()[:16]
    result = BUILD / "call" / f"{exercise.name}_{digest}.o"
    if outdated(result):
        compile_object(source, result, found.flags)
    return result


_staged: dict[str, Path] = {}


def reachable(path: Path) -> bool:
    """Whether every user may read this path and everything in it."""
    inside = [path, *path.rglob("*")] if path.is_dir() else [path]
    return all(allows(p) for p in (*inside, *path.parents))


def allows(path: Path) -> bool:
    """Whether every user may read this file, or enter this folder."""
    needed = 0o005 if path.is_dir() else 0o004
    return path.stat().st_mode & needed == needed


def stage(exercises: list[Exercise], found: Setting) -> None:
    """Makes readable copies of files in private folders, because an unprivileged user compiles in the sandbox. The copies
    last until this process ends."""
    computed = [e for e in exercises if e.kind in COMPUTED]
    files = [found.serve, *(a for e in computed for a in libraries(e, found)), *(str(call_object(e, found)) for e in computed)]
    files += [str(e.folder / "plain.cpp") for e in computed if e.faster]
    if os.geteuid() != 0 or all(reachable(Path(p)) for p in (INCLUDE, *files)):
        return
    folder = Path(tempfile.mkdtemp(prefix="judge_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for number, file in enumerate(dict.fromkeys(files)):
        _staged[file] = folder / f"{number}{Path(file).suffix}"
        shutil.copyfile(file, _staged[file])
    _staged[str(INCLUDE)] = shutil.copytree(INCLUDE, folder / "include")
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def reach(path: Path | str) -> Path:
    """The file, or its copy that every user may read."""
    return _staged.get(str(path), Path(path))
