"""./book check: judges the reader's own answers, on the reader's own machine."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
import time
from pathlib import Path

from ..answer.build import prepare
from ..answer.compile import why_unfit
from ..answer.exercise import CHECK, COMPUTED, IN_HANDOUT, NAME, ROOT, Exercise, Mistaken, load_all
from ..answer.judging import judge_answer
from ..answer.limits import Unfit
from ..answer.predict import given
from ..answer.report import paint, to_dict, to_text, where, wrap
from ..answer.verdict import Verdict
from ..answer.written import pattern_of, student_of, typed, write
from ..hunt import faults, hunt, sheet

ANSWERS = ROOT / "answers"


def unfilled(exercise: Exercise, answers: Path) -> bool:
    """Whether `start` is about to write a file of numbers, which will contain nothing to judge yet."""
    return exercise.kind not in COMPUTED and not (answers / exercise.file_name).exists()


def start(exercise: Exercise, answers: Path, student: str = "") -> Path:
    """The reader's file, made from the stub if there is none.

    :param student: for whom numbers or a fault are drawn (default: the name in student.txt)
    """
    answers.mkdir(parents=True, exist_ok=True)
    file = answers / exercise.file_name
    if not file.exists():
        if named := [p.name for p in sorted(answers.iterdir()) if pattern_of(file.name).fullmatch(p.name)]:
            raise Mistaken(f"there is {named[0]} in {shown(answers)}, but no {file.name}: rename it")
        stub, what = exercise.stub(), "your answer"
        hunted = exercise.kind == "hunt"
        nobody = not student and not (answers / "student.txt").is_file()
        if (hunted or exercise.kind not in COMPUTED) and IN_HANDOUT and nobody:
            drawn = "a fault is" if hunted else "your numbers are"
            raise Mistaken(f"{drawn} drawn from your name: write your name, as your instructor knows it, into {shown(answers / 'student.txt')}")
        if hunted:
            fault = faults.drawn(exercise, student or student_of(answers))
            stub, what = sheet.stub(fault, student or student_of(answers)), "a test, the line and the cause"
            print(f"In a copy of {fault.file} one place is wrong (level {fault.level} of 3). What its users notice:\n{wrap(fault.symptom, '    ')}", file=sys.stderr)
        elif exercise.kind not in COMPUTED:
            prepare([exercise])
            drawn = given(exercise, student or student_of(answers))
            stub = stub.replace("{given}", drawn)
            lines = len(re.findall(r"^\w+ =\s*$", stub, re.MULTILINE))
            what = f"a number after each '=' ({lines} lines to fill in; your numbers: {drawn})"
        write(file, stub)
        print(f"{exercise.number} {exercise.title}: write {what} into {shown(file)}", file=sys.stderr)
    return file


def shown(path: Path) -> str:
    """The path as the reader would type it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def best_so_far(progress: Path) -> dict:
    """The results that `remember` has kept; none if the file is missing or damaged."""
    try:
        kept = json.loads(progress.read_text())
        return {number: result for number, result in kept.items() if isinstance(result, dict)}
    except (OSError, ValueError, AttributeError):
        return {}


def remember(verdict: Verdict, progress: Path) -> None:
    """Keeps the best result of each exercise."""
    kept = best_so_far(progress)
    best = kept.get(verdict.exercise.number, {}).get("points", -1)
    if verdict.points >= best:  # the last of equal ones, because numbers earn their points after they are handed in
        kept[verdict.exercise.number] = to_dict(verdict)
        write(progress, json.dumps(kept, indent=2) + "\n")


def hint(exercise: Exercise, stage: int) -> str:
    """The hints up to this stage."""
    if not exercise.hints:
        return f"{exercise.number} has no hints; read {where(exercise)}."
    lines = [f"{i + 1}. {text}" for i, text in enumerate(exercise.hints[:stage])]
    left = len(exercise.hints) - stage
    if left > 0:
        lines.append(paint(f"   (next: {CHECK} {exercise.number} --hint {stage + 1})", "faint"))
    return "\n".join(lines)


def check(chosen: list[Exercise], answers: Path, student: str = "") -> list[Verdict]:
    """Judges these exercises, and prints each verdict as it comes."""
    verdicts = []
    fresh = {e.number for e in chosen if unfilled(e, answers)}
    files = {e.number: start(e, answers, student) for e in chosen}
    student = student or student_of(answers)
    prepare(chosen)
    if any(e.kind in COMPUTED for e in chosen) and (reason := why_unfit(tight=False)):
        raise Unfit(reason)
    for e in chosen:
        verdict = judge_answer(e, files[e.number], tight=False, student=student)
        remember(verdict, answers / "progress.json")
        verdicts.append(verdict)
        if e.number not in fresh:
            print(to_text(verdict), flush=True)
    if len(verdicts) > 1:
        print(f"{sum(v.points for v in verdicts)} of {sum(v.exercise.points for v in verdicts)} points in all")
    return verdicts


def watch(chosen: list[Exercise], answers: Path, student: str = "") -> None:
    """Judges an answer whenever its file is saved, until Ctrl-C."""
    fresh = {e.number for e in chosen if unfilled(e, answers)}
    files = {e.number: start(e, answers, student) for e in chosen}
    seen = {files[number]: files[number].stat().st_mtime_ns for number in fresh}
    while True:
        for e in chosen:
            file = files[e.number]
            try:
                changed = file.stat().st_mtime_ns
            except FileNotFoundError:  # an editor is about to replace it
                continue
            if seen.get(file) != changed:
                seen[file] = changed
                print(paint(time.strftime("%H:%M:%S"), "faint"))
                check([e], answers, student)
                print(paint(f"  waiting for {shown(file)} to be saved (stop with Ctrl-C)", "faint"), flush=True)
        time.sleep(0.3)


def with_hunt(exercises: list[Exercise], answers: Path) -> list[Exercise]:
    """These exercises, and a hunt if it has been begun, or if the hand-out has one."""
    begun = (answers / "hunt.cpp").is_file() or (IN_HANDOUT and faults.faults())
    return [*exercises, hunt.hunt()] if begun else exercises


def progress(exercises: list[Exercise], answers: Path) -> None:
    """Lists what has been done, chapter by chapter."""
    kept = best_so_far(answers / "progress.json")
    total = most = later = 0
    done = {e.number for e in exercises if kept.get(e.number, {}).get("points") == e.points}
    for e in exercises:
        points = kept.get(e.number, {}).get("points", 0)
        total, most = total + points, most + e.points
        mark = paint("done ", "green") if e.number in done else paint("begun", "yellow") if e.number in kept else "     "
        if kept.get(e.number, {}).get("reason") == "later":
            mark, later = paint("given", "green"), later + e.points - points
        first = ", ".join(n for n in e.needs if n not in done and e.number not in done)
        after = paint(f"  after {first}", "faint") if first else ""
        print(f"{mark} {e.number:6} {e.title:46} {e.kind:9} {'*' * e.difficulty:4} {points:3} of {e.points:3}{after}")
    print(f"{total} of {most} points" + (f"; {later} more are judged when you have handed in what is given" if later else ""))


def number_of_hints(text: str) -> int:
    """The argument of --hint."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is no number of hints; the exercise comes first: {CHECK} {text} --hint")
    return int(text)


def main(arguments: list[str]) -> int:
    """The verb check."""
    parser = argparse.ArgumentParser(
        prog="./check" if IN_HANDOUT else "./book check",
        description="Compiles and judges your answers. The first call for an exercise writes the file to fill in, answers/NAME, unless it exists.",
        epilog="exit status: 0 if nothing is missing or wrong (always with --hint and --progress), 1 if something is, 2 for wrong usage or where "
        "answers cannot be judged",
    )
    parser.add_argument("--answers", type=Path, default=ANSWERS, help="folder of your answers (default: answers)")
    parser.add_argument("number", nargs="*", help="exercise to check, such as 04.2, or 04 for a whole chapter (default: those that you have begun)")
    parser.add_argument("--student", type=typed, default="", metavar="NAME", help="whose numbers or fault to draw (default: the name in answers/student.txt)")
    parser.add_argument("--watch", action="store_true", help="judge again whenever the file is saved")
    parser.add_argument("--hint", nargs="?", type=number_of_hints, const=1, metavar="N", help="show the first N hints instead of judging (default: 1)")
    parser.add_argument("--progress", action="store_true", help="list what you have done instead of judging")
    options = parser.parse_intermixed_args(arguments)
    if options.progress:
        progress(with_hunt(load_all(), options.answers), options.answers)
        return 0
    hunted = options.answers / "hunt.cpp"
    chosen = hunt.choose(options.number)
    if not chosen:
        every = with_hunt(load_all(), options.answers)
        chosen = [e for e in every if (options.answers / e.file_name).is_file()]
        begin = [e.number for e in every if e not in chosen]
        if IN_HANDOUT and begin:
            print(f"not begun: {', '.join(begin)}; {CHECK} {begin[0]} begins one", file=sys.stderr)
    if not chosen:
        print(f"No exercise has been begun. Begin one with {CHECK} 04.2; {CHECK} --progress lists all of them.", file=sys.stderr)
        return 2
    if not IN_HANDOUT:  # what is below the fault's chapter is all that has to be compiled
        begun = hunted.is_file() and not options.student
        name = options.student or student_of(options.answers)
        chosen = [e if e.kind != "hunt" else hunt.begun(hunted) if begun else hunt.only(e, name) for e in chosen]
    if options.hint is not None:
        print("\n".join(hint(e, options.hint) for e in chosen))
        return 0
    if options.watch:
        with contextlib.suppress(KeyboardInterrupt):
            watch(chosen, options.answers, options.student)
        return 0
    verdicts = check(chosen, options.answers, options.student)
    well = all(v.points == v.exercise.points or v.reason == "later" for v in verdicts)
    return 0 if well else 1


def main_progress(arguments: list[str]) -> int:
    """The verb progress."""
    return main([*arguments, "--progress"])


def main_hunt(arguments: list[str]) -> int:
    """The verb hunt. Exit codes: as those of check."""
    parser = argparse.ArgumentParser(
        prog="./book hunt",
        description="A copy of one of the book's sources has one fault, drawn by your name. The first call says what its users notice, and "
        "writes answers/hunt.cpp; further calls judge the test that you have written there. For another hunt take another name.",
        epilog="exit status: 0 if nothing is missing or wrong, 1 if something is, 2 for wrong usage",
    )
    parser.add_argument("chapters", nargs="?", default="", metavar="CHAPTERS", help="hunt in these chapters, such as 04 or 04-06 (default: all)")
    parser.add_argument("--student", type=typed, metavar="NAME", help="your name, as your instructor knows it (default: that in answers/student.txt)")
    parser.add_argument("--level", choices=("1", "2", "3"), help="how hard it is to find: 1 on most inputs, 2 on some, 3 only in special circumstances")
    parser.add_argument("--list", action="store_true", help="list how many faults each source has")
    parser.add_argument("--answers", type=Path, help="folder of your answers (default: answers)")
    options = parser.parse_args(arguments)
    if options.list:
        print(faults.listing())
        return 0
    chapters = "-".join(part.zfill(2) for part in options.chapters.split("-")) if options.chapters else ""
    number = ":".join(part for part in ("hunt", chapters, options.level) if part)
    given = {"--student": options.student, "--answers": options.answers}
    return main([number, *(str(word) for name, value in given.items() if value for word in (name, value))])
