"""./book grade: judges a class. Every submission is read as data, compiled and run in the sandbox."""

from __future__ import annotations

import argparse
import contextlib
import csv
import errno
import hashlib
import io
import json
import multiprocessing
import os
import re
import secrets
import shutil
import signal
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

from . import hunt, platforms, sandbox
from .appeal import cases as in_full
from .check import judge_answer, known_as
from .compile import Failed, prepare, why_unfit
from .exercise import COMPUTED, IN_HANDOUT, ROOT, Exercise, Mistaken, shelf
from .report import to_dict, to_text
from .submissions import OF_THE_MACHINE, Submission, collect
from .verdict import Fault, Verdict, refused
from .written import write

LEAST_ROOM = 32 << 20
PROCESSORS = len(os.sched_getaffinity(0))  # that this process may use
LONGEST_NAME = 160  # bytes of a student's name in the name of a folder
OWN = re.compile(r"verdicts|.*\.(csv|json|part|xml|zip)", re.IGNORECASE)  # names beside the students' folders
FULL = (errno.ENOSPC, errno.EDQUOT)
FORK = multiprocessing.get_context("fork")  # workers inherit what this process has found out


def hashed(content: object) -> str:
    """A hash of anything that prints alike if it is alike."""
    return hashlib.sha256(repr(content).encode()).hexdigest()


def digest(submission: Submission, exercise: Exercise) -> str:
    """A hash that changes with the answer to this exercise."""
    name = exercise.file_name
    return hashed((submission.answers.get(name), submission.refused.get(name), submission.known))


def checksum(files: Iterable[Path]) -> str:
    """A hash that changes with any of these files."""
    return hashed(sorted({(p.parts[-2:], hashlib.sha256(p.read_bytes()).hexdigest()) for p in files}))


def origins(exercises: list[Exercise], seed: int, *, tight: bool) -> dict[str, dict]:
    """What an exercise's verdicts depend on beside the answer, by number."""
    judge = checksum(p for p in Path(__file__).parent.iterdir() if p.suffix in (".py", ".cpp", ".hpp", ".txt"))
    common = {"judge": judge, "seed": seed, "sandbox": tight}

    def files(e: Exercise) -> list[Path]:
        beside = e.headers() if e.kind in COMPUTED and not IN_HANDOUT else []
        lists = {ROOT / "chapters" / f.chapter / "exercises" / "hunt.toml" for f in e.faults} if not IN_HANDOUT else ()
        return [*beside, *lists, *(p for p in e.folder.rglob("*") if p.is_file())]

    return {e.number: {"exercise": checksum(files(e)), **common} for e in exercises}


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
    except (Failed, sandbox.Unfit):
        raise
    except Exception as error:
        if isinstance(error, OSError):
            require_machine(error, tight=tight)
        said = f"the judge itself failed on this answer ({type(error).__name__}: {error}); your instructor has been told"
        return refused(exercise, Fault("judge", said))


def require_machine(error: OSError, *, tight: bool) -> None:
    """Checks, after an error while one answer was judged, that others can be judged at this moment.

    :raises OSError: the same error, if it says something of the machine
    :raises Unfit: if an empty program cannot be compiled and run
    """
    if error.errno in OF_THE_MACHINE:
        raise error
    require_room()
    if unfit := why_unfit(tight=tight):
        raise sandbox.Unfit(unfit) from error


def require_room() -> None:
    """Checks the disk where answers are compiled, because a compiler that cannot write is not the student's mistake.

    :raises OSError: if the disk is nearly full
    """
    place = tempfile.gettempdir()
    if shutil.disk_usage(place).free < LEAST_ROOM:
        raise OSError(errno.ENOSPC, f"less than {LEAST_ROOM >> 20} MiB are left for compiling", place)


def junit(results: dict[str, dict]) -> str:
    """The results as JUnit XML, with a test suite for each student and a test case for each exercise."""
    suites = ElementTree.Element("testsuites")
    for student, result in sorted(results.items()):
        tests = result["verdicts"]
        failed = sum(t["points"] < t["of"] for t in tests)
        suite = ElementTree.SubElement(
            suites, "testsuite", name=plain(student), tests=str(len(tests)), failures=str(failed)
        )
        for t in tests:
            name = plain(f"{t['number']} {t['title']}")
            case = ElementTree.SubElement(suite, "testcase", classname=plain(student), name=name)
            if t["points"] < t["of"]:
                message = f"{t['points']} of {t['of']} points: {t['reason']}"
                ElementTree.SubElement(case, "failure", message=plain(message)).text = plain(why(t))
    return ElementTree.tostring(suites, encoding="unicode")


def plain(text: str) -> str:
    """The text without characters that XML does not allow."""
    return "".join(c if c in "\t\n" or " " <= c < "\ud800" or "\ue000" <= c < "\ufffe" else "?" for c in text)


def why(test: dict) -> str:
    """What was wrong, in one line."""
    texts = [test["problem"]] if test["problem"] else [f"{c['name']}: {c['text']}" for c in test["criteria"] if c["text"]]
    return " ".join("; ".join(dict.fromkeys(texts)).split())


def table(rows: Iterable[list]) -> bytes:
    """The rows of a CSV."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([safe(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return text.getvalue().encode(errors="replace")


def class_rows(results: dict[str, dict]) -> Iterable[list]:
    """A row for each student and exercise."""
    for student, result in sorted(results.items()):
        for t in result["verdicts"]:
            cause = [f"the cause, says the student, {t['remark']}; says the book: {t['key']}"] if t["remark"] else []
            note = "; ".join([*result["notes"], *cause])
            yield [student, t["number"], t["title"], t["points"], t["of"], t["reason"], why(t)[:300], note]


def safe(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return "'" + cell if cell.startswith(("=", "+", "-", "@", "\t")) else cell


@contextlib.contextmanager
def workers(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that inherit what this one has found out. After an error, or Ctrl-C, they begin nothing more."""
    with ProcessPoolExecutor(jobs, FORK, initializer=begin_work) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def begin_work() -> None:
    """Prepares a worker. Ctrl-C ends it, and only the process that gives out the tasks says so."""
    sandbox.adopt_orphans()
    signal.signal(signal.SIGINT, lambda *_: sys.exit(128 + signal.SIGINT))


def grade_one(submission: Submission, exercises: list[Exercise], seed: int, *, tight: bool) -> list[dict]:
    """Judges these exercises of one student. Runs in a process of its own."""
    verdicts = judge_submission(submission, exercises, seed, tight=tight)
    return [{**to_dict(v), "key": hunt.key(v.exercise, submission.known)} for v in verdicts]


def folder_of(student: str) -> str:
    """A folder name for any student: short enough for a file system, which counts bytes, and none that the results use themselves."""
    name = "".join(c if c.isalnum() or c in "-_. " else "_" for c in student).encode()[:LONGEST_NAME].decode(errors="ignore").strip(". ")
    changed = "" if name == student and not OWN.fullmatch(name) else "_" + hashlib.sha256(student.encode(errors="replace")).hexdigest()[:8]
    return (name or "student") + changed


CAUSES = {
    "answer": "the student handed in another answer",
    "exercise": "the exercise changed",
    "judge": "the judge changed",
    "seed": "another seed",
    "sandbox": "with or without the sandbox",
}


def caused(before: dict, now: dict) -> str:
    """Why a verdict may differ from an earlier one; empty if it may not."""
    return "; ".join(said for part, said in CAUSES.items() if before[part] != now[part])


def changes(student: str, before: dict[str, dict], after: dict[str, dict]) -> list[list]:
    """A row for each exercise with other points than before."""
    return [
        [student, n, caused(was["origin"], now["origin"]), was["points"], was["of"], now["points"], now["of"], why(was)[:300], why(now)[:300]]
        for n, now in after.items()
        if (was := before.get(n)) and (was["points"], was["of"]) != (now["points"], now["of"])
    ]


COLUMNS = ["student", "exercise", "title", "points", "of", "reason", "why", "note"]
CHANGES = ["when", "student", "exercise", "cause", "points before", "of before", "points", "of", "why before", "why"]
MOST_LINES = 20  # of changes that are printed


def stored(file: Path) -> dict:
    """What an earlier call has written; empty if it wrote nothing.

    :raises Mistaken: if it has been damaged since
    """
    try:
        return json.loads(file.read_text()) if file.is_file() else {}
    except ValueError as error:
        raise Mistaken(f"{file} has been damaged ({error}): restore it, or delete it to begin anew") from error


@dataclass
class Marks:
    """The results of a class, in a folder."""

    folder: Path
    release: datetime | None = None  # of all but points, to students
    results: dict[str, dict] = field(default_factory=dict)  # of this call, by student
    changed: list[list] = field(default_factory=list)

    def settings(self) -> dict:
        """What earlier calls have settled; empty if there were none."""
        return stored(self.folder / "settings.json")

    def kept(self, student: str) -> dict[str, dict]:
        """A student's verdicts of earlier calls, by exercise."""
        file = self.folder / "verdicts" / f"{folder_of(student)}.json"
        return {v["number"]: v for v in stored(file).get("verdicts", [])}

    def keep(self, submission: Submission, verdicts: dict[str, dict]) -> dict:
        """Writes a student's results, for the instructor and for the student, and notes whose points have changed."""
        notes = [*submission.notes, *(f"{n}: judge it by hand" for n, v in verdicts.items() if v["reason"] == "judge")]
        result = {"student": submission.student, "notes": notes, "verdicts": list(verdicts.values())}
        kept, folder = self.kept(submission.student), folder_of(submission.student)
        if rows := changes(submission.student, kept, verdicts):
            self.changed += rows
            log = self.folder / "changes.csv"
            now = datetime.now().isoformat(" ", "minutes")
            earlier = log.read_bytes() if log.is_file() else table([CHANGES])
            write(log, earlier + table([now, *row] for row in rows))
        all_verdicts = list({**kept, **verdicts}.values())
        write(self.folder / "verdicts" / f"{folder}.json", json.dumps({**result, "verdicts": all_verdicts}, indent=2))
        seen = platforms.until(self.release, result)
        write(self.folder / folder / "results.json", json.dumps(platforms.gradescope(seen), indent=2))
        write(self.folder / folder / "feedback.txt", platforms.text(seen))
        self.results[submission.student] = result
        return result

    def summarize(self) -> None:
        """Writes the tables of the class, and prints whose points have changed, and why."""
        write(self.folder / "junit.xml", junit(self.results))
        write(self.folder / "class.csv", table([COLUMNS, *class_rows(self.results)]))
        print(f"{len(self.results)} student{'s' * (len(self.results) != 1)}: {self.folder / 'class.csv'}")
        if self.changed:
            print(f"{len(self.changed)} change{'s' * (len(self.changed) != 1)} of points: {self.folder / 'changes.csv'}")
        for student, number, cause, was, was_of, now, now_of, *_ in sorted(self.changed)[:MOST_LINES]:
            print(f"  {student} {number}: {was} of {was_of} before, {now} of {now_of} now: {cause}")
        if len(self.changed) > MOST_LINES:
            print(f"  ... and {len(self.changed) - MOST_LINES} more")

    def fill_in(self, worksheet: platforms.Worksheet) -> None:
        """Writes what Moodle takes: its grading worksheet with grades and comments, and a zip of feedback files."""
        seen = [platforms.until(self.release, result) for _, result in sorted(self.results.items())]
        filled, files, notes = platforms.moodle(worksheet, seen)
        write(self.folder / "moodle.csv", filled)
        write(self.folder / "moodle_feedback.zip", platforms.zipped(files))
        for note in notes:
            print(f"book: {note}", file=sys.stderr)
        print(f"{len(files)} rows of the worksheet: {self.folder / 'moodle.csv'}, {self.folder / 'moodle_feedback.zip'}")


def settled(verdict: dict | None, origin: dict) -> bool:
    """Whether a verdict of an earlier call stands. One that the judge could not give is tried again."""
    return verdict is not None and verdict.get("origin") == origin and verdict["reason"] != "judge"


def grade(place: Path, marks: Marks, exercises: list[Exercise], seed: int, *, tight: bool, jobs: int) -> None:
    """Judges what has not been judged before, with the same answer, exercise, judge and seed."""
    submissions = collect(place, ["student.txt", *(e.file_name for e in exercises)])
    origin = origins(exercises, seed, tight=tight)
    todo = []
    for submission in submissions:
        wanted = {e.number: {"answer": digest(submission, e), **origin[e.number]} for e in exercises}
        kept = marks.kept(submission.student)
        new = [e for e in exercises if not settled(kept.get(e.number), wanted[e.number])]
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
    kept, origin = marks.kept(submission.student), origins(exercises, seed, tight=tight)
    for e, verdict in zip(exercises, judge_submission(submission, exercises, seed, tight=tight), strict=True):
        print(to_text(verdict, more=False))
        if whole := in_full(verdict):
            print(f"\n{whole}\n")
        if before := kept.get(e.number):
            since = caused(before["origin"], {"answer": digest(submission, e), **origin[e.number]})
            print(f"  In the marks: {before['points']} of {before['of']} points{f'; since then: {since}' if since else ''}.")


def at_least_one(text: str) -> int:
    """The argument of --jobs."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of at least 1, not {text!r}")
    return int(text)


def main_prepare(arguments: list[str]) -> int:
    """The verb prepare. Exit codes: 0 if built, 2 for wrong usage or a failed build."""
    parser = argparse.ArgumentParser(
        prog="python3 -m judge prepare",
        description="Builds what grading needs, so that ./book grade can begin at once.",
        epilog="exit status: 0 if built, 2 for wrong usage or a failed build",
    )
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE", help="exercise to grade, such as 04.2, or 04 for a chapter (default: all)")
    options = parser.parse_args(arguments)
    found = shelf()
    found.warn()
    exercises = hunt.choose(found, options.exercises) if options.exercises else found.exercises
    print(f"building the judge for {', '.join(e.number for e in exercises)}", flush=True)
    prepare(exercises)
    print(f"{len(exercises)} exercises can be graded")
    return 0


def main(arguments: list[str]) -> int:
    """The verb grade. Exit codes: 0 if graded, 2 for wrong usage, 3 if the machine fails, 4 without a sandbox."""
    parser = argparse.ArgumentParser(
        prog="./book grade",
        description="Grades a class, with a folder or a zip for each student, clones of their repositories, or Moodle's export. Writes "
        "OUT/class.csv and OUT/junit.xml and, for each student, feedback.txt and Gradescope's results.json. The same command continues "
        "after an interruption and judges what has been handed in since; where an exercise or the judge has changed, it judges again and "
        "lists changed points in OUT/changes.csv.",
        epilog="exit status: 0 if graded, 2 for wrong usage, 3 if the machine fails (a full disk, say), 4 if there is no sandbox",
    )
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE", help="exercise to grade, such as 04.2, or 04 for a chapter (default: all)")
    parser.add_argument("--submissions", type=Path, required=True, help="folder, or a zip of one, that contains a folder or a zip for each student")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--release", type=platforms.date, metavar="DATE", help="until then students see only points: 2027-02-01 or 2027-02-01T18:00 (kept for later calls)")
    parser.add_argument("--moodle", type=Path, metavar="CSV", help="Moodle's grading worksheet: fill it in as OUT/moodle.csv, and write OUT/moodle_feedback.zip")
    parser.add_argument("--appeal", metavar="STUDENT", help="only judge this student's answers again, and show the inputs of failing cases, what is right, and what came out")
    parser.add_argument("--seed", type=int, help="seed of the cases, to draw the same ones again (OUT/settings.json records it)")
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
    except (OSError, sandbox.Unfit, BrokenProcessPool) as error:
        what = "the disk is full" if getattr(error, "errno", 0) in FULL else "this machine cannot continue, and no student is to blame"
        print(f"book: {what}; finished grades are kept, and the same command continues: {error}", file=sys.stderr)
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
    sandbox.without_rights = not tight
    found = shelf()
    found.warn()
    numbers = options.exercises or (settings["exercises"] if options.appeal else [])
    exercises = hunt.choose(found, numbers) if numbers else found.exercises
    prepare(exercises, tight=True)
    if unfit := why_unfit(tight=tight):
        raise sandbox.Unfit(unfit)
    seed = settings.get("seed", secrets.randbits(63)) if options.seed is None else options.seed
    if options.appeal:
        appeal(options.submissions, marks, exercises, options.appeal, seed, tight=tight)
        return 0
    release = options.release or settings.get("release")
    marks.release = release and platforms.moment(release)
    settings = {"seed": seed, "exercises": [e.number for e in exercises], "sandbox": tight, "release": release}
    write(options.out / "settings.json", json.dumps(settings, indent=2))
    grade(options.submissions, marks, exercises, seed, tight=tight, jobs=options.jobs)
    marks.summarize()
    if worksheet:
        marks.fill_in(worksheet)
    return 0
