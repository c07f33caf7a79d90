"""What build/book compiles, links and tests, to do so again with one file changed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "lib/program"))

from cli import Failure

BUILD = ROOT / "build" / "book"
TEST_SECONDS = 120  # a fault may make a loop endless
WAYS = ("plain", "fast", "cuda")

running: set[subprocess.Popen] = set()
stopped = threading.Event()


def run(*command: object, folder: Path | str = ".", limit: float | None = None) -> tuple[int, str]:
    """Exit status and output; the status is -SIGKILL if `limit` seconds were not enough."""
    process = subprocess.Popen(
        [str(part) for part in command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    running.add(process)
    try:
        output = process.communicate(timeout=limit)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with everything that it started
        output = process.communicate()[0]
    except BaseException:
        # lets a build end its compilers and delete what they wrote
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate()
        raise
    finally:
        running.discard(process)
    if stopped.is_set():
        raise Failure("stopped")
    return process.returncode, output


def stop() -> None:
    """Ends what is running, and lets nothing else begin."""
    stopped.set()
    for process in list(running):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)


def must(*command: object, folder: Path | str = ".", why: str) -> str:
    status, output = run(*command, folder=folder)
    if status != 0:
        raise Failure(f"{output.strip()}\n{why}")
    return output


class Objects:
    """How BUILD compiles and links. Paths are relative to it."""

    def __init__(self) -> None:
        listed = must("ninja", "-C", BUILD, "-t", "compdb", why="ninja lists no commands")
        entries = json.loads(listed[listed.index("[") :])
        self._commands: dict[str, str] = {e["output"]: e["command"] for e in entries}
        self._sources: dict[str, set[str]] = {}
        listed, output = must("ninja", "-C", BUILD, "-t", "deps", why="ninja lists no files"), ""
        for line in listed.splitlines():
            if line.startswith(" "):
                file = os.path.relpath(os.path.normpath(BUILD / line.strip()), ROOT)
                self._sources[output].add(file)
            elif line:
                output = line.split(":")[0]
                self._sources[output] = set()
        self.closure = cache(self._closure)

    def _closure(self, program: str) -> tuple[str, ...]:
        """The objects that the program is linked from, or may be: its own and its libraries',
        except those of sources that it compiles itself."""
        parts = self._commands[program].split()
        own = [p for p in parts if p.endswith(".o")]
        libraries = [p for p in parts if p.endswith(".a") and p in self._commands and p != program]
        compiled = {self._source(o) for o in own}
        others = (o for library in libraries for o in self.closure(library))
        return tuple(own) + tuple(o for o in others if self._source(o) not in compiled)

    def _source(self, obj: str) -> str:
        """The source that an object is compiled from."""
        _, _, source = self._commands.get(obj, obj).rpartition(" -c ")
        return source

    def changed(self, program: str, file: str) -> list[str]:
        """The objects of `program` that depend on `file`."""
        return [o for o in self.closure(program) if file in self._sources.get(o, ())]

    def compile(self, obj: str, file: str, place: Path) -> tuple[int, str]:
        """Compiles the object into `place`, with `file` from there and no warnings."""
        command = re.sub(r" -MD -MT \S+ -MF \S+ -o \S+", "", self._commands[obj])
        command = command.replace(f" -I{ROOT} ", f" -I{place} -I{ROOT} ", 1)
        command = command.replace(f" -c {ROOT / file}", f" -c {place / file}")
        (place / obj).parent.mkdir(parents=True, exist_ok=True)
        return run("sh", "-c", f"{command} -w -o {place / obj}", folder=BUILD)

    def link(self, program: str, objects: list[str], place: Path) -> tuple[int, str]:
        """Links the program into `place`, with these objects from there. They come first, so that
        objects of the same names in libraries are not used."""
        front, _, libraries = self._commands[program].partition(f" -o {program} ")
        front = " ".join(p for p in front.split() if p not in objects)
        own = " ".join(str(place / o) for o in objects)
        (place / program).parent.mkdir(parents=True, exist_ok=True)
        command = f"{front} {own} -o {place / program} {libraries}"
        return run("sh", "-c", command, folder=BUILD)


@dataclass(frozen=True)
class Program:
    """A test program in one way, under ctest's name for it: 04_plain, 04_double_cuda."""

    name: str
    path: str  # in the build; the ways share it
    arguments: tuple[str, ...]
    environment: tuple[str, ...]
    folder: str

    @property
    def way(self) -> str:
        return self.name.rpartition("_")[2]

    @property
    def chapter(self) -> str:
        """Its number; for other programs a word, which sorts after all numbers."""
        return self.name.partition("_")[0]

    @property
    def limit(self) -> float:
        """Seconds; an emulated device is slow."""
        return TEST_SECONDS * (4 if self.way == "cuda" else 1)


def find_programs() -> list[Program]:
    listed = must("ctest", "--test-dir", BUILD, "--show-only=json-v1", why="ctest lists no tests")
    return list(programs_in(json.loads(listed)))


def programs_in(listed: dict) -> Iterator[Program]:
    """The tests in ctest's list that run in one way: named after it, and labeled with it."""
    for test in listed["tests"]:
        properties = {p["name"]: p["value"] for p in test["properties"]}
        way = test["name"].rpartition("_")[2]
        if way in WAYS and way in properties.get("LABELS", []):
            path, *arguments = test["command"]
            yield Program(
                test["name"],
                os.path.relpath(path, BUILD),
                tuple(arguments),
                tuple(properties.get("ENVIRONMENT", ())),  # ABH_TEST_WAY
                properties["WORKING_DIRECTORY"],
            )


def prepare(jobs: int) -> list[Program]:
    """Builds all test programs without a fault, and returns them."""
    print("Building all tests ...", flush=True)
    must("cmake", "--preset", "book", folder=ROOT, why="CMake could not set up the build")
    build = ("cmake", "--build", BUILD, "--target", "tests", "--parallel", jobs)
    must(*build, why="the sources do not compile, so no fault was planted")
    return find_programs()
