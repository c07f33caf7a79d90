"""./book grade: judges a class. Every submission is read as data, compiled and run in the sandbox."""

from __future__ import annotations

import argparse
import errno
import hashlib
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
from ..answer.exercise import COMPUTED, ROOT, Exercise, load_all
from ..answer.judging import judge_answer
from ..answer.limits import Unfit
from ..answer.report import feedback, to_dict
from ..answer.setting import Failed
from ..answer.verdict import Fault, Verdict, refused
from ..answer.written import write
from ..hunt import faults, hunt
from . import platforms
from .appeal import cases as in_full
from .copies import fingerprint
from .marks import Marks, folder_of
from .roster import Deadline, deadline, find
from .submissions import Submission, collect
from .tables import number as as_number
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
    return [
        {
            **to_dict(v),
            "key": faults.key(v.exercise, submission.known),
            "fingerprint": fingerprint(v.exercise, submission.answers.get(v.exercise.file_name)),
        }
        for v in verdicts
    ]


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
        drawn = (submission.known, getattr(submission.known, "turn", None)) if personal(e) else ()
        answer = submission.answers.get(e.file_name), submission.refused.get(e.file_name), drawn
        return hashed((answer, exercise[e.number], judge, seed, tight))

    return origin


def personal(exercise: Exercise) -> bool:
    """Whether each student has another exercise."""
    return exercise.kind == "hunt" or exercise.kind not in COMPUTED


def still_counts(verdict: dict, submission: Submission, exercise: Exercise) -> bool:
    """Whether an answer was judged before that is not in this submission, nor is anything in its place."""
    there = exercise.file_name in submission.answers or exercise.file_name in submission.refused
    return not there and (verdict["points"] > 0 or verdict["reason"] != "missing")


def lacking(
    submissions: list[Submission], marks: Marks, asked: list[Exercise], whole: list[Exercise]
) -> list[Exercise]:
    """The exercises of earlier calls that somebody has never been judged for."""
    kept = [marks.kept(s.student) for s in submissions]
    files = {e.file_name for e in asked}  # two hunts have one file
    return [e for e in whole if e.file_name not in files and any(e.number not in k for k in kept)]


def grade(
    submissions: list[Submission],
    marks: Marks,
    asked: list[Exercise],
    more: list[Exercise],
    seed: int,
    *,
    tight: bool,
    jobs: int,
) -> None:
    """Judges what has not been judged before, with the same answer, exercise, judge and seed. What the judge failed on is
    tried again. An answer that was judged and is not in this submission still counts. Prints whose points have changed.

    :param more: exercises of earlier calls, for those who were not in them
    """
    origin = origins([*asked, *more], seed, tight=tight)
    todo = []
    for submission in submissions:
        known = marks.kept(submission.student)
        exercises = [*asked, *(e for e in more if e.number not in known)]
        wanted = {e.number: origin(submission, e) for e in exercises}
        kept = {}
        for e in exercises:
            v = known.get(e.number)
            if v and v["reason"] != "judge" and v["origin"] == wanted[e.number]:
                kept[e.number] = v
            elif v and v["reason"] != "judge" and still_counts(v, submission, e):
                kept[e.number] = v
                submission.note(f"{e.number} is not in this submission; an earlier answer counts")
        new = [e for e in exercises if e.number not in kept]
        if new:
            todo.append((submission, wanted, kept, new))
        else:
            marks.keep(submission, kept)
    if len(todo) < len(submissions):
        done = len(submissions) - len(todo)
        print(f"{done} of {len(submissions)} submissions have already been graded", file=sys.stderr)
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
    if marks.changed:
        print("\n  ".join(["points that have changed:", *sorted(marks.changed)]))


def appeal(
    submissions: list[Submission], marks: Marks, exercises: list[Exercise], student: str, seed: int, *, tight: bool
) -> None:
    """Judges a student's answers as they were judged for the marks, and shows each failing case in full, also in a file
    for the student. Marks stay as they are.

    :raises Mistaken: if there is no such student
    """
    names = [{"student": s.student, "called": s.called, "number": s.number} for s in submissions]
    found = find(names, student)["student"]
    submission = next(s for s in submissions if s.student == found)
    kept, file, said = marks.kept(found), marks.folder / folder_of(found) / "appeal.txt", []
    for e, verdict in zip(exercises, judge_submission(submission, exercises, seed, tight=tight), strict=True):
        said.append(feedback(to_dict(verdict)))
        if whole := in_full(verdict):
            said.append(f"\n{whole}\n")
        if before := kept.get(e.number):
            said.append(f"  In the marks: {before['points']} of {before['of']} points.")
    write(file, "\n".join([*said, ""]))
    print("\n".join([*said, f"book: this is in {file}, too"]))


def main(arguments: list[str]) -> int:
    """The verb grade. Exit codes: 0 if graded, 2 for wrong usage, 3 if the machine fails, 4 without a sandbox."""
    parser = argparse.ArgumentParser(
        prog="./book grade",
        description="Grades a class, with a folder or a zip for each student, clones of their repositories, or Moodle's export. Writes "
        "OUT/class.csv, a page OUT/summary.txt and, for each student, feedback.txt. The same command continues "
        "after an interruption and judges what has been handed in since; where an exercise or the judge has changed, it judges again and "
        "prints whose points have changed. What earlier calls have written into OUT is kept: a call for one exercise changes no other, and "
        "roster, deadline and worksheet are known to later calls. Points in OUT/manual.csv count in place of the judge's.",
        epilog="exit status: 0 if graded, 2 for wrong usage, 3 if the machine fails (a full disk, say), 4 if there is no sandbox",
    )
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE", help="exercise to grade, such as 04.2, or 04 for a chapter (default: those in OUT; at first, all)")
    parser.add_argument("--submissions", type=Path, required=True, help="folder, or a zip of one, that contains a folder or a zip for each student")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--roster", type=Path, metavar="CSV", help="who is in the class, with columns name, email, login, number, extension, or some of them")
    parser.add_argument("--due", metavar="DATE", help="until when is handed in, such as 2026-11-27 or '2026-11-27 18:00'")
    parser.add_argument("--late", type=percent, metavar="PERCENT", help="what to take of the points for each day late that has begun (default: 0)")
    parser.add_argument("--moodle", type=Path, metavar="CSV", help="Moodle's grading worksheet: fill it in as OUT/moodle.csv, and write OUT/moodle_feedback.zip")
    parser.add_argument("--gradescope", action="store_true", help="also write Gradescope's results.json for each student")
    parser.add_argument("--appeal", metavar="STUDENT", help="only judge the answers of the student with this name, number, email or login again, and show the inputs of failing cases, what is right, and what came out")
    parser.add_argument("--jobs", type=at_least_one, default=PROCESSORS, help="number of submissions to judge at once (default: one for each processor that the command may use)")
    parser.add_argument("--unsafe-no-sandbox", action="store_true", help="run submissions with little protection: as an unprivileged user if you are root, otherwise as yourself")
    options = parser.parse_intermixed_args(arguments)
    if not (options.submissions.is_dir() or zipfile.is_zipfile(options.submissions)):
        parser.error(f"{options.submissions} is neither a folder nor a zip")
    if options.out.exists() and not options.out.is_dir():
        parser.error(f"{options.out} is no folder")
    for file in filter(None, (options.moodle, options.roster)):
        if not file.is_file():
            parser.error(f"there is no file {file}")
    try:
        return grade_class(parser, options)
    except BrokenPipeError:  # the program that reads the output has stopped
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
    roster = marks.roster(options.roster)  # what is wrong with a file is said before anything is judged
    due = deadline(settings.get("due", "") if options.due is None else options.due)
    late = settings.get("late", 0.0) if options.late is None else options.late
    sheet = options.moodle or marks.folder / "worksheet.csv"
    worksheet = platforms.worksheet(sheet) if sheet.is_file() else None
    if not due and any(p.extension for p in roster.people):
        parser.error("the roster has extensions, which need --due")
    if late and not (due or worksheet):
        parser.error("--late needs --due, or Moodle's worksheet, which says how late a submission is")
    tight = not options.unsafe_no_sandbox
    if tight and (reason := sandbox.why_unavailable()):
        print(
            f"book: {reason}\nbook: submissions are not run without a sandbox; on a machine that you can afford to lose, use --unsafe-no-sandbox",
            file=sys.stderr,
        )
        return 4
    isolation.without_rights = not tight
    numbers = options.exercises or settings.get("exercises", [])
    asked = hunt.choose(numbers) if numbers else load_all()
    whole = [*hunt.named([n for n in settings.get("exercises", []) if n not in {e.number for e in asked}]), *asked]
    order = [e.number for e in load_all()]
    whole.sort(key=lambda e: (order.index(e.number) if e.number in order else len(order), e.number))
    emails = platforms.emails(worksheet) if worksheet else {}
    names = ["student.txt", *dict.fromkeys(e.file_name for e in whole)]
    stubs = {e.file_name: e.stub() for e in whole if e.kind != "hunt"}
    submissions = collect(options.submissions, names, roster, emails, stubs)
    more = [] if options.appeal else lacking(submissions, marks, asked, whole)
    prepare([*asked, *more], tight=True)
    if unfit := why_unfit(tight=tight):
        raise Unfit(unfit)
    seed = settings.get("seed", secrets.randbits(63))
    if options.appeal:
        appeal(submissions, marks, asked, options.appeal, seed, tight=tight)
        return 0
    marks.settle(seed, whole, Deadline(due, late))
    marks.take(options.roster, "roster.csv")
    marks.take(options.moodle, "worksheet.csv")
    grade(submissions, marks, asked, more, seed, tight=tight, jobs=options.jobs)
    kept = {r["student"] for r in marks.students()} - {s.student for s in submissions}
    if kept:
        others = ", ".join(sorted(kept))
        print(f"book: kept from earlier calls, and not in {options.submissions}: {others}", file=sys.stderr)
    results = marks.results(whole, roster, worksheet, Deadline(due, late))
    marks.summarize(results, gradescope=options.gradescope)
    if worksheet:
        marks.fill_in(worksheet, results)
    return 0


def percent(text: str) -> float:
    """The argument of --late."""
    found = as_number(text.removesuffix("%"))
    if found is None or not 0 <= found <= 100:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 100, not {text!r}")
    return found
