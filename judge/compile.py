"""Builds the judge's libraries and drivers, and compiles readers' answers."""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from .exercise import COMPUTED, IN_HANDOUT, ROOT, Exercise
from .sandbox import MEBIBYTE, Limits, Outcome, Unfit, run, writable_folder

PRESET = os.environ.get("ABH_JUDGE_PRESET", "book")
BUILD = ROOT / "build" / PRESET
INCLUDE = ROOT / "include" if IN_HANDOUT else BUILD / "include"  # only headers, so no solution can be included
LIMITS = Limits(seconds=60, memory=2048 * MEBIBYTE, processes=64, file_size=64 * MEBIBYTE)


UNBUILT = "the judge could not be built"
KILLED = re.compile(r"^\S*(\+\+|clang)\S*: .*\bKilled\b", re.MULTILINE)


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


def include_flags(found: Setting, include: str) -> list[str]:
    """The compiler's options for includes, with the book's headers in the folder `include`."""
    return [f"-I{include}", *(f"-isystem{i}" for i in found.includes)]


def call_object(exercise: Exercise, found: Setting) -> Path:
    """The object of call.cpp, compiled once for all answers; a hand-out has only the object.

    :raises Failed: with what the compiler printed
    """
    if IN_HANDOUT:
        return exercise.folder / "call.o"
    source = exercise.folder / "call.cpp"
    content = b"".join(f.read_bytes() for f in [source, *exercise.headers()])
    digest = hashlib.sha256(content + repr(found).encode()).hexdigest()[:16]
    result = BUILD / "call" / f"{exercise.name}_{digest}.o"
    newest = max(h.stat().st_mtime for h in INCLUDE.rglob("*.?*") if h.is_file())
    if not result.exists() or result.stat().st_mtime < newest:
        result.parent.mkdir(parents=True, exist_ok=True)
        command = [found.compiler, *found.flags, *include_flags(found, str(INCLUDE))]
        done = subprocess.run(
            [*command, "-c", str(source), "-o", str(result)], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise Failed(f"{UNBUILT}:\n{done.stderr}")
    return result


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


def lighter(archive: Path, exercise: Exercise, copy: Path | None = None) -> str:
    """A copy of the archive without some of its objects."""
    copy = copy or BUILD / "without" / f"{archive.stem}_without_{'_'.join(exercise.without)}.a"
    if not copy.exists() or copy.stat().st_mtime < archive.stat().st_mtime:
        copy.parent.mkdir(parents=True, exist_ok=True)
        unfinished = copy.with_suffix(f".{os.getpid()}")
        shutil.copyfile(archive, unfinished)
        subprocess.run(["ar", "d", unfinished, *(m for m in members(archive) if base(m) in exercise.without)], check=True)
        unfinished.replace(copy)
    return str(copy)


def allowed(exercise: Exercise, found: Setting) -> Setting:
    """The setting with what the answer may include. Defining Eigen's include guard keeps out an Eigen that the compiler
    would find by itself."""
    if exercise.eigen:
        return found
    includes = [i for i in found.includes if "eigen" not in i.lower()]
    return replace(found, flags=[*found.flags, "-DEIGEN_CORE_H"], includes=includes)


def hidden(exercise: Exercise) -> list[Path]:
    """The folders that the sandbox hides."""
    return [] if exercise.eigen else [p for prefix in ("/usr", "/usr/local") if (p := Path(prefix, "include/eigen3")).is_dir()]


def compile_answer(
    exercise: Exercise, answer: Path, program: Path, *, tight: bool, first: Sequence[Path] = ()
) -> Outcome:
    """Compiles an answer and links it with its callers. The outcome is `ok` only if `program` was made.

    :param answer: a source, or an object compiled from one
    :param program: what to make; if it ends with .o, the answer is only compiled
    :param first: objects whose functions are linked in place of those of the libraries
    """
    found = setting()
    call = call_object(exercise, found)
    archives = libraries(exercise, found)
    source = f"/answer/{Path(exercise.file_name).stem}{answer.suffix}" if tight else str(answer)
    if tight:
        inside = {str(call): "/judge/call.o", found.serve: "/judge/serve.a"} | {a: f"/judge/{i}.a" for i, a in enumerate(archives)}
        inside |= {str(o): f"/judge/{i}.o" for i, o in enumerate(first)}
        mounts = {"/book": reach(INCLUDE), source: reach(answer)}
        mounts |= {name: reach(file) for file, name in inside.items()}
        mounts |= {i: Path(i) for i in [*found.includes, *found.links] if not i.startswith("/usr/")}
    else:
        inside, mounts = {file: str(reach(file)) for file in (str(call), found.serve, *archives, *map(str, first))}, {}
    may = allowed(exercise, found)
    language = "none" if answer.suffix == ".o" else "c++"
    command = [
        found.compiler, *may.flags, *(["-O3"] if exercise.faster else []), "-fdiagnostics-color=never", "-fmax-errors=3", "-ftemplate-depth=256",
        *include_flags(may, "/book" if tight else str(reach(INCLUDE))), "-x", language, source,
    ]  # fmt: skip
    linking = [
        "-x", "none", inside.get(str(call), str(call)), *(inside.get(str(o), str(o)) for o in first),
        "-Wl,--whole-archive", inside.get(found.serve, found.serve), "-Wl,--no-whole-archive",
        "-Wl,--start-group", *(inside.get(a, a) for a in archives), "-Wl,--end-group",
        *found.links, "-lpthread",
    ]  # fmt: skip
    command += ["-c"] if program.suffix == ".o" else linking
    outcome = run_compiler(command, program, mounts, tight=tight, hidden=hidden(exercise))
    if outcome.reason in ("crash", "start"):
        require_fit(outcome, tight=tight)
        if "CPU time limit exceeded" in outcome.printed:  # said of the compiler proper, which the command starts
            return Outcome("timeout", outcome.status, outcome.printed)
        if KILLED.search(outcome.printed):
            raise MemoryError("the compiler was killed, although it kept within its limits: this machine may have too little memory")
    return outcome


def run_compiler(
    command: list[str], program: Path, mounts: dict[str, Path], *, tight: bool, hidden: Sequence[Path] = ()
) -> Outcome:
    """Runs a compiler command. The outcome is `ok` only if `program` was made."""
    with writable_folder(tight) as (folder, user):
        output = ["-o", "/out/answer" if tight else f"{folder}/answer"]
        outcome = run([*command, *output], mounts, LIMITS, tight=tight, writable={"/out": folder}, hidden=hidden, user=user)
        made = folder / "answer"
        if outcome.reason == "ok" and made.is_file() and not made.is_symlink():
            program.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(made, program)
            os.chmod(program, 0o755)
            return outcome
    return replace(outcome, reason="crash") if outcome.reason == "ok" else outcome


def why_unfit(*, tight: bool) -> str:
    """Why this machine cannot judge answers, found by compiling and running an empty program in the same way; "" if it can."""
    found = setting()
    place = Path(tempfile.gettempdir())
    with tempfile.TemporaryDirectory(prefix="judge_") as name:
        source, program = Path(name) / "empty.cpp", Path(name) / "empty"
        source.write_text("int main() {}\n")
        for path in (source.parent, source):
            path.chmod(0o755)
        mounts = {"/answer/empty.cpp": source} | {i: Path(i) for i in found.links if not i.startswith("/usr/")}
        command = [found.compiler, "-x", "c++", "/answer/empty.cpp" if tight else str(source), "-x", "none"]
        outcome = run_compiler([*command, "-Wl,--no-as-needed", *found.links, "-lpthread"], program, mounts, tight=tight)
        if outcome.reason != "ok":
            return f"the compiler, {found.compiler}, cannot compile an empty program ({outcome.reason}): {outcome.printed.strip()[:1000]}"
        outcome = run(["/sub/answer"] if tight else [str(program)], {"/sub/answer": program}, Limits(10), tight=tight)
    if outcome.reason == "ok":
        return ""
    if os.statvfs(place).f_flag & os.ST_NOEXEC:
        return f"{place}, where answers are compiled, is mounted noexec, so no program runs there; put TMPDIR=FOLDER before the command to compile them in FOLDER"
    return f"not even an empty program runs here ({outcome.reason}): {outcome.printed.strip()[:1000]}"


def require_fit(outcome: Outcome, *, tight: bool) -> None:
    """Checks, after an answer ended before it did anything, that others can be compiled and run at this moment.

    :raises Unfit: if they cannot
    """
    if why := why_unfit(tight=tight):
        raise Unfit(why)
    if outcome.reason == "start" and "execvp" not in outcome.printed:  # the sandbox itself failed, which no answer can cause
        raise Unfit(outcome.printed.strip()[:1000] or "the sandbox failed")


def why_not_compiled(reason: str, printed: str, *, eigen: bool = True) -> str:
    """The helpful part of what the compiler said."""
    if reason == "timeout":
        return "the compiler did not finish in time: are there endless templates?"
    if reason in ("memory", "output"):
        return "the compiler took too much memory, or printed without end"
    lines = [line for line in printed.splitlines() if "In file included from" not in line][:25]
    text = "\n".join("    " + line for line in lines)
    if "undefined reference to `abh::mine::" in printed:
        return f"  a function that the exercise asks for is missing, or has other parameters:\n{text}"
    missing = r"fatal error: (Eigen/|.*eigen3/).*No such file"
    if re.search(missing if eigen else f"{missing}|error: .*['‘]Eigen['’]", printed):
        return f"  Eigen is not available in this exercise:\n{text}"
    absent = dict.fromkeys(re.findall(r"undefined reference to `(?:\w+ )*abh::((?:\w+::)*\w+)", printed))
    if absent:
        return f"  not available in this exercise: {', '.join(absent)}\n{text}"
    return f"  it does not compile:\n{text}"
