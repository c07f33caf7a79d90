"""./book run NN --mine 04.2: a chapter's program with the reader's own function in it.

The program is linked again. The linker puts the reader's function in place of the book's plain and tuned ways of the
operation, so every caller uses it. The program runs in the plain way, because tuned attention does the work of several
operations at once, and would not call the reader's.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from ..answer.exercise import Mistaken, choose
from ..answer.setting import Failed
from .check import ANSWERS, shown, start


def symbols(archives: list[str], answer: Path, operation: str) -> tuple[list[str], str]:
    """The linker's names of the functions to replace, and of the reader's function.

    :raises Mistaken: if the reader's function has other parameters
    """

    def names(files: list[str]) -> dict[str, str]:
        raw, readable = (
            subprocess.run(["nm", "--defined-only", *c, *files], capture_output=True, text=True, check=False).stdout
            for c in ([], ["--demangle"])
        )
        pairs = zip(raw.splitlines(), readable.splitlines(), strict=True)
        return {b.split(" ", 2)[2]: a.split()[2] for a, b in pairs if re.match(r"[0-9a-f]+ [TW] ", a)}

    book, own = names(archives), names([str(answer)])
    mine = {n: s for n, s in own.items() if n.startswith(f"abh::mine::{operation}(")}
    for readable, symbol in mine.items():
        ways = [book.get(readable.replace("mine", way, 1)) for way in ("plain", "fast")]
        if targets := [target for target in ways if target]:
            return targets, symbol
    raise Mistaken(f"mine::{operation} is missing, or its parameters differ from those of the book's function")


def command_for(build: Path, target: str) -> list[str]:
    """The command with which ninja makes this file."""
    done = subprocess.run(["ninja", "-C", build, "-t", "commands", "-s", target], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(done.stdout + done.stderr)
    line = done.stdout.strip().splitlines()[-1]
    line = re.sub(r"^: && ", "", line).removesuffix(" && :")
    return shlex.split(line)


def replace_output(command: list[str], output: Path) -> list[str]:
    """The command with another output, and without the options that are only for ninja."""
    result, skip = [], False
    for word in command:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT"):
            skip = True
        elif word not in ("-MD",):
            result.append(word)
    return [*result, "-o", str(output)]


def run_command(command: list[str], folder: Path) -> None:
    """Runs a command.

    :raises Failed: with what it printed
    """
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(done.stderr)


def link(build: Path, program: Path, numbers: list[str]) -> Path:
    """The program with the reader's answers to these exercises in it."""
    chosen = [exercise for number in numbers for exercise in choose(number)]
    folder = build / "mine"
    folder.mkdir(exist_ok=True)
    relative = program.relative_to(build)
    main = f"{relative.parent}/CMakeFiles/{relative.name}.dir/main.cpp.o"
    compiling, linking = command_for(build, main), command_for(build, str(relative))
    archives = [str(build / word) for word in linking if word.endswith(".a") and not word.startswith("/")]
    objects, options = [], []
    for exercise in chosen:
        if not exercise.mine:
            raise Mistaken(f"{exercise.number} is not an operation of the model, so --mine cannot use it")
        file = start(exercise, ANSWERS)
        source = next(i for i, word in enumerate(compiling) if word.endswith("main.cpp"))
        compiled = folder / f"{exercise.name}.o"
        command = replace_output([*compiling[:source], str(file), *compiling[source + 1 :]], compiled)
        run_command(command, build)
        objects.append(str(compiled))
        for operation in exercise.mine:
            targets, own = symbols(archives, compiled, operation)
            options += [f"-Wl,--defsym={target}={own}" for target in targets]
        print(f"book: {', '.join(exercise.mine)} from {shown(file)}", file=sys.stderr)
    result = folder / program.name
    run_command([*replace_output(linking, result), *objects, *options], build)
    return result


def main(arguments: list[str]) -> int:
    """`mine BUILD PROGRAM NUMBER...`: prints the new program's path."""
    build, program, *numbers = arguments
    print(link(Path(build).resolve(), Path(program).resolve(), numbers))
    return 0
