"""./book grade: judges a class. Every submission is read as data, compiled and run in the sandbox."""

from __future__ import annotations

import argparse
import errno
import hashlib
import json
import secrets
import shutil
import signal
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from ..answer import isolation, sandbox
from ..answer.build import prepare
from ..answer.compile import why_unfit
from ..answer.exercise import COMPUTED, ROOT, Exercise, Mistaken, load_all
from ..answer.judging import judge_answer
from ..answer.limits import Unfit
from ..answer.report import to_dict, to_text
from ..answer.setting import Failed
from ..answer.verdict import Fault, Verdict, refused
from ..answer.written import known_as, write
from ..hunt import faults, hunt
from . import platforms
from .appeal import cases as in_full
from .marks import Marks
from .submissions import Submission, collect
from .workers import PROCESSORS, at_least_one, workers

JUDGE = ROOT / "judge"
LEAST_ROOM = 32 << 20


def judge_submission(
    submission: Submission, exercises: list[Exercise], seed: int, *, tight: bool
) -> list[Verdict]:
    """Judges all exercises of one student."""
    verdicts = []
    with tempfile.TemporaryDirectory(prefix="judge_") as name:
        Path(name).chmod(0o755)
        for e in exercises:
            if e.file_name in submission.refused:
                verdicts.append(refused(e, Fault("missing", f"{e.file_name} {submission.refused[e.file_name]}")))
            elif e.file_name not in submission.answers:
                verdicts.append(refused(e, Fault("missing", f"there is no {e.file_name}")))
            else:
                answer = Path(name) / e.file_name
                answer.write_bytes(submission.answers[e.file_name])
                answer.chmod(0o644)
                require_room()
                verdicts.append(judged(e, answer, seed, submission.known, tight=tight))
                require_room()
    return verdicts


def judged(exercise: Exercise, answer: Path, seed: int, student: str, *, tight: bool) -> Verdict:
    """Judges one exercise. If the judge itself fails, the rest of the class is still graded, and the student is told why.

    :raises Failed: if the book is at fault, which concerns everyone
    :raises Unfit: if the machine is
    """
    try:
        return judge_answer(exercise, answer, tight=tight, seed=seed, student=student)
    except (Failed, Unfit):
        raise
    except Exception as error:
        require_room()
        if unfit := why_unfit(tight=tight):
            raise Unfit(unfit) from error
        said = f"the judge itself failed on this answer ({type(error).__name__}: {error}); your instructor has been told"
        return refused(exercise, Fault("judge", said))


def require_room() -> None:
    """Checks the disk where answers are compiled, because a compiler that cannot write is not the student's mistake.

    :raises OSError: if the disk is nearly full
    """
    place = tempfile.gettempdir()
    if shutil.disk_usage(place).free < LEAST_ROOM:
        raise OSError(errno.ENOSPC, f"less than {LEAST_ROOM >> 20} MiB are left for compiling", place)


def grade_one(submission: Submission, exercises: list[Exercise], seed: int, *, tight: bool) -> list[dict]:
    """Judges these exercises of one student. Runs in a process of its own."""
    verdicts = judge_submission(submission, exercises, seed, tight=tight)
    return [{**to_dict(v), "key": faults.key(v.exercise, submission.known)} for v in verdicts]


def checksum(files: Iterable[Path]) -> str:
    """A hash that changes with any of these files."""
    return hashed(sorted({(p.parts[-2:], hashlib.sha256(p.read_bytes()).hexdigest()) for p in files}))


def hashed(content: object) -> str:
    """A hash of anything that prints alike if it is alike."""
    return hashlib.sha256(repr(content).encode()).hexdigest()


def origins(exercises: list[Exercise], seed: int, *, tight: bool) -> Callable[[Submission, Exercise], str]:
    """A hash that changes with whatever a verdict depends on: the answer, the exercise, the judge, the seed and the sandbox."""
    judge = checksum(p for p in JUDGE.rglob("*") if p.suffix in (".py", ".cpp", ".hpp"))

    def files(e: Exercise) -> list[Path]:
        lists = [faults.PLANTED, *(ROOT / "chapters" / f.chapter / "exercises" / "hunt.toml" for f in e.faults)] if e.faults else []
        return [*(e.headers() if e.kind in COMPUTED else []), *lists, *(p for p in e.folder.rglob("*") if p.is_file())]

    exercise = {e.number: checksum(files(e)) for e in exercises}

    def origin(submission: Submission, e: Exercise) -> str:
        answer = submission.answers.get(e.file_name), submission.refused.get(e.file_name), submission.known
        return hashed((answer, exercise[e.number], judge, seed, tight))

    return origin


def grade(place: Path, marks: Marks, exercises: list[Exercise], seed: int, *, tight: bool, jobs: int) -> None:
    """Judges what has not been judged before, with the same answer, exercise, judge and seed. What the judge failed on is tried again."""
    submissions = collect(place, ["student.txt", *(e.file_name for e in exercises)])
    origin = origins(exercises, seed, tight=tight)
    todo = []
    for submission in submissions:
        wanted = {e.number: origin(submission, e) for e in exercises}
        kept = {n: v for n, v in marks.kept(submission.student).items() if v["reason"] != "judge" and v["origin"] == wanted.get(n)}
        new = [e for e in exercises if e.number not in kept]
        if new:
            todo.append((submission, wanted, kept, new))
        else:
            marks.keep(submission, {e.number: kept[e.number] for e in exercises})
    if marks.results:
        print(f"{len(marks.results)} of {len(submissions)} submissions have already been graded", file=sys.stderr)
    started = time.monotonic()
    with workers(max(1, min(jobs, len(todo)))) as pool:
        tasks = {pool.submit(grade_one, one[0], one[-1], seed, tight=tight): one for one in todo}
        for done, task in enumerate(as_completed(tasks), 1):
            submission, wanted, kept, _ = tasks[task]
            judged = {v["number"]: {**v, "origin": wanted[v["number"]]} for v in task.result()}
            result = marks.keep(submission, {n: judged.get(n) or kept[n] for n in wanted})
            points, most = platforms.total(result)
            seconds = time.monotonic() - started
            notes = "".join(f"; {note}" for note in result["notes"])
            print(f"[{done}/{len(todo)}, {seconds:.0f} s] {submission.student}: {points} of {most}{notes}", file=sys.stderr)


def appeal(place: Path, marks: Marks, exercises: list[Exercise], student: str, seed: int, *, tight: bool) -> None:
    """Judges a student's answers again, and prints each failing case in full.

    :raises Mistaken: if there is no such student
    """
    submissions = collect(place, ["student.txt", *(e.file_name for e in exercises)])
    found = [s for s in submissions if known_as(student) in (s.student, s.known)]
    if len(found) != 1:
        there = ", ".join(s.student for s in found or submissions)
        raise Mistaken(f"{'more than one' if found else 'no'} submission is {student}'s; there are {there}")
    (submission,) = found
    kept = marks.kept(submission.student)
    for e, verdict in zip(exercises, judge_submission(submission, exercises, seed, tight=tight), strict=True):
        print(to_text(verdict, more=False))
        if whole := in_full(verdict):
            print(f"\n{whole}\n")
        if before := kept.get(e.number):
            print(f"  In the marks: {before['points']} of {before['of']} points.")


def main(arguments: list[str]) -> int:
    """The verb grade. Exit codes: 0 if graded, 2 for wrong usage, 3 if the machine fails, 4 without a sandbox."""
    parser = argparse.ArgumentParser(
        prog="./book grade",
        description="Grades a class, with a folder or a zip for each student, clones of their repositories, or Moodle's export. Writes "
        "OUT/class.csv and, for each student, feedback.txt and Gradescope's results.json. The same command continues "
        "after an interruption and judges what has been handed in since; where an exercise or the judge has changed, it judges again and "
        "prints whose points have changed.",
        epilog="exit status: 0 if graded, 2 for wrong usage, 3 if the machine fails (a full disk, say), 4 if there is no sandbox",
    )
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE", help="exercise to grade, such as 04.2, or 04 for a chapter (default: all)")
    parser.add_argument("--submissions", type=Path, required=True, help="folder, or a zip of one, that contains a folder or a zip for each student")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--moodle", type=Path, metavar="CSV", help="Moodle's grading worksheet: fill it in as OUT/moodle.csv, and write OUT/moodle_feedback.zip")
    parser.add_argument("--appeal", metavar="STUDENT", help="only judge this student's answers again, and show the inputs of failing cases, what is right, and what came out")
    parser.add_argument("--jobs", type=at_least_one, default=PROCESSORS, help="number of submissions to judge at once (default: one for each processor that the command may use)")
    parser.add_argument("--unsafe-no-sandbox", action="store_true", help="run submissions with little protection: as an unprivileged user if you are root, otherwise as yourself")
    options = parser.parse_intermixed_args(arguments)
    if not (options.submissions.is_dir() or zipfile.is_zipfile(options.submissions)):
        parser.error(f"{options.submissions} is neither a folder nor a zip")
    if options.out.exists() and not options.out.is_dir():
        parser.error(f"{options.out} is no folder")
    if options.moodle and not options.moodle.is_file():
        parser.error(f"there is no file {options.moodle}")
    try:
        return grade_class(parser, options)
    except BrokenPipeError:  # whoever reads the output has stopped
        raise
    except (OSError, Unfit, BrokenProcessPool) as error:
        print(f"book: this machine cannot continue, and no student is to blame; finished grades are kept, and the same command continues: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("book: interrupted; the same command continues", file=sys.stderr)
        return 128 + signal.SIGINT


def grade_class(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Does what the options say; see `main`."""
    marks = Marks(options.out)
    settings = marks.settings()
    if options.appeal and "seed" not in settings:
        parser.error(f"there are no results in {options.out} to appeal against")
    worksheet = platforms.worksheet(options.moodle) if options.moodle else None
    tight = not options.unsafe_no_sandbox
    if tight and (reason := sandbox.why_unavailable()):
        print(
            f"book: {reason}\nbook: submissions are not run without a sandbox; on a machine that you can afford to lose, use --unsafe-no-sandbox",
            file=sys.stderr,
        )
        return 4
    isolation.without_rights = not tight
    numbers = options.exercises or (settings["exercises"] if options.appeal else [])
    exercises = hunt.choose(numbers) if numbers else load_all()
    prepare(exercises, tight=True)
    if unfit := why_unfit(tight=tight):
        raise Unfit(unfit)
    seed = settings.get("seed", secrets.randbits(63))
    if options.appeal:
        appeal(options.submissions, marks, exercises, options.appeal, seed, tight=tight)
        return 0
    write(options.out / "settings.json", json.dumps({"seed": seed, "exercises": [e.number for e in exercises]}, indent=2))
    grade(options.submissions, marks, exercises, seed, tight=tight, jobs=options.jobs)
    marks.summarize()
    if worksheet:
        marks.fill_in(worksheet)
    return 0
