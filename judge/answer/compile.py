"""Compiles readers' answers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from .build import call_object, reach
from .exercise import Exercise
from .isolation import writable_folder
from .libraries import libraries
from .limits import MEBIBYTE, Limits, Outcome, Unfit
from .sandbox import run
from .setting import INCLUDE, Setting, include_flags, setting

LIMITS = Limits(seconds=60, memory=2048 * MEBIBYTE, processes=64, file_size=64 * MEBIBYTE)
# Headers, and the packages that have them.
NEEDED = {
    "fmt/core.h": "libfmt-dev",
    "Eigen/Core": "libeigen3-dev",
    "boost/context/detail/fcontext.hpp": "libboost-context-dev",
}
KILLED = re.compile(r"^\S*(\+\+|clang)\S*: .*\bKilled\b", re.MULTILINE)


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
    require_started(outcome)
    if outcome.reason == "crash":
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


def absent(found: Setting) -> list[str]:
    """The packages that answers need and that are not installed here."""
    asks = "".join(f"#if !__has_include(<{header}>)\n{package}\n#endif\n" for header, package in NEEDED.items())
    command = [found.compiler, "-E", "-P", "-x", "c++", *(f"-isystem{i}" for i in found.includes), "-"]
    try:
        return subprocess.run(command, input=asks, capture_output=True, text=True, check=False).stdout.split()
    except FileNotFoundError:
        return ["g++"]


def why_unfit(*, tight: bool) -> str:
    """Why this machine cannot judge answers, found by compiling and running an empty program in the same way; "" if it can."""
    found = setting()
    if packages := absent(found):
        return f"not installed: {', '.join(packages)}; on Debian or Ubuntu: sudo apt-get install {' '.join(packages)}"
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


def require_started(outcome: Outcome) -> None:
    """Checks that the sandbox itself has not failed, which no answer can cause.

    :raises Unfit: if it has
    """
    if outcome.reason == "start" and "execvp" not in outcome.printed:
        raise Unfit(outcome.printed.strip()[:1000] or "the sandbox failed")


def why_not_compiled(reason: str, printed: str, *, eigen: bool = True) -> str:
    """The helpful part of what the compiler said."""
    if reason == "timeout":
        return "the compiler did not finish in time: are there endless templates?"
    if reason in ("memory", "output"):
        return "the compiler took too much memory, or printed without end"
    lines = [line for line in printed.splitlines() if "In file included from" not in line][:25]
    text = "\n".join("    " + line for line in lines)
    if re.search(r"(no match for|type) .(operator\[\].*abh::|abh::.*subscript)", printed):  # g++'s words, and clang's
        instead = "an element of a tensor is t(i, j), in parentheses; the tensors of a parameter are p.value and p.grad()"
        return f"  {instead}:\n{text}"
    if "undefined reference to `abh::mine::" in printed:
        return f"  a function that the exercise asks for is missing, or has other parameters:\n{text}"
    missing = r"fatal error: (Eigen/|.*eigen3/).*No such file"
    if re.search(missing if eigen else f"{missing}|error: .*['‘]Eigen['’]", printed):
        return f"  Eigen is not available in this exercise:\n{text}"
    absent = dict.fromkeys(re.findall(r"undefined reference to `(?:\w+ )*abh::((?:\w+::)*\w+)", printed))
    if absent:
        return f"  not available in this exercise: {', '.join(absent)}\n{text}"
    return f"  it does not compile:\n{text}"
