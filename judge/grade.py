"""./book grade: judges a class. Every submission is read as data, compiled and run in the sandbox."""

from __future__ import annotations

import argparse
import csv
import errno
import hashlib
import itertools
import json
import lzma
import multiprocessing
import os
import secrets
import shutil
import stat
import struct
import sys
import tempfile
import time
import zipfile
import zlib
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from . import sandbox
from .check import judge_answer, student_in
from .compile import Failed, prepare
from .exercise import COMPUTED, Exercise, Mistaken, shelf
from .report import to_dict, to_text
from .verdict import Fault, Verdict, refused

LARGEST_ANSWER = 256 * 1024
LARGEST_ZIP = 64 << 20
MOST_FILES = 10_000
BROKEN = (zlib.error, lzma.LZMAError, struct.error)  # what reading a damaged zip may raise
MOST_FOLDERS = 100  # in a student's, that are looked into
LEAST_ROOM = 32 << 20


FORK = multiprocessing.get_context("fork")  # workers know what this process has found out
NOBODYS = ("__MACOSX", "Thumbs.db", "desktop.ini")  # what systems leave in folders


class Unreadable(ValueError):
    """A submission that is not looked at, and why."""


@dataclass
class Submission:
    """What a student handed in."""

    student: str
    path: Path
    notes: list[str] = field(default_factory=list)
    answers: dict[str, bytes] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)  # by file name

    def digest(self, settings: str) -> str:
        """Changes when the submission does, or how it is graded."""
        content = sorted((name, hashlib.sha256(data).hexdigest()) for name, data in self.answers.items())
        return hashlib.sha256(repr((settings, content, sorted(self.refused.items()), self.notes)).encode()).hexdigest()


def checksum(exercises: list[Exercise]) -> str:
    """Changes when one of the exercises does, or the judge."""
    own = [p for p in Path(__file__).parent.iterdir() if p.suffix in (".py", ".cpp", ".hpp", ".txt")]
    files = [*own, *(p for e in exercises for p in e.folder.rglob("*") if p.is_file())]
    files += [p for e in exercises if e.kind in COMPUTED for p in e.headers()]  # those beside the folders
    content = sorted({(str(p), hashlib.sha256(p.read_bytes()).hexdigest()) for p in files})
    return hashlib.sha256(repr(content).encode()).hexdigest()


def readable(name: str) -> str:
    """A file's name as text that can be printed and stored, whatever its bytes are."""
    return name.encode(errors="surrogateescape").decode(errors="replace").replace("/", "_")


def collect(folder: Path, wanted: list[str]) -> list[Submission]:
    """All submissions: a folder or a zip for each student, the file's name without .zip is the student's."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir(), key=lambda p: os.fsencode(p.name)):
        if path.name.startswith(".") or path.name in NOBODYS:
            continue
        student = readable(path.name[:-4] if path.name.lower().endswith(".zip") else path.name)
        found.setdefault(student, []).append(path)
    submissions = []
    for student, paths in found.items():
        paths.sort(key=lambda p: p.lstat().st_mtime)
        submission = Submission(student, paths[-1])
        if len(paths) > 1:
            submission.notes.append(
                f"{len(paths)} submissions; graded is the newest, {readable(paths[-1].name)}"
            )
        try:
            read(submission, wanted)
        except Unreadable as reason:
            submission.notes.append(str(reason))
        except OSError as error:
            submission.notes.append(f"cannot be read: {error.strerror}")
        submissions.append(submission)
    return submissions


def read(submission: Submission, wanted: list[str]) -> None:
    """Takes the wanted files, and nothing else.

    :raises Unreadable: saying why nothing can be taken
    """
    mode = submission.path.lstat().st_mode
    if stat.S_ISDIR(mode):
        with os.scandir(submission.path) as entries:
            below = (entry.name for entry in entries if entry.is_dir(follow_symlinks=False) and entry.name not in NOBODYS)
            inner = sorted(itertools.islice(below, MOST_FOLDERS), key=os.fsencode)
        for name in wanted:
            for place in ("", "answers", *inner, *(os.path.join(i, "answers") for i in inner)):
                read_file(submission, name, submission.path / place / name)
    elif stat.S_ISREG(mode):
        read_zip(submission, wanted)
    else:
        raise Unreadable("neither a folder nor a zip, but a link or a special file")


def read_file(submission: Submission, name: str, place: Path) -> None:
    """One file of a folder; links are not followed."""
    above = (p for p in place.parents if p != submission.path and submission.path in p.parents)
    if name in submission.answers or any(p.is_symlink() for p in above):
        return
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ELOOP:
            submission.refused[name] = "is a link, which is not followed"
        elif error.errno != errno.ENOENT:
            submission.refused[name] = f"cannot be read: {error.strerror}"
        return
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            submission.refused[name] = "is not a file"
        elif about.st_size > LARGEST_ANSWER:
            submission.refused[name] = f"has {about.st_size} bytes; an answer has {LARGEST_ANSWER} at most"
        else:
            submission.answers[name] = file.read(LARGEST_ANSWER + 1)
            submission.refused.pop(name, None)


def read_zip(submission: Submission, wanted: list[str]) -> None:
    """Reads the wanted members into memory; nothing is unpacked.

    :raises Unreadable: if it is no zip, or too large a one
    """
    size = submission.path.stat().st_size
    if size > LARGEST_ZIP:
        raise Unreadable(f"the zip has {size} bytes; {LARGEST_ZIP} are the most")
    try:
        with zipfile.ZipFile(submission.path) as archive:
            members = archive.infolist()
            if len(members) > MOST_FILES:
                raise Unreadable(f"the zip has {len(members)} files; {MOST_FILES} are the most")
            for member in members:
                read_member(submission, wanted, archive, member)
    except Unreadable:
        raise
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, OSError, *BROKEN) as error:
        raise Unreadable(f"not a zip that can be read: {error}") from error


def read_member(
    submission: Submission, wanted: list[str], archive: zipfile.ZipFile, member: zipfile.ZipInfo
) -> None:
    """One file of a zip."""
    parts = member.filename.replace("\\", "/").split("/")
    name = parts[-1]
    if ".." in parts or parts[0] == "" or ":" in parts[0]:
        submission.notes.append(f"the zip has a path that leaves its folder: {member.filename[:80]!r}")
        return
    if name not in wanted or name in submission.answers or parts[0] == "__MACOSX":
        return
    if stat.S_ISLNK(member.external_attr >> 16):
        submission.refused[name] = "is a link, which is not followed"
        return
    if member.file_size > LARGEST_ANSWER:
        submission.refused[name] = f"has {member.file_size} bytes; an answer has {LARGEST_ANSWER} at most"
        return
    with archive.open(member) as file:
        data = file.read(LARGEST_ANSWER + 1)
    if len(data) > LARGEST_ANSWER:
        submission.refused[name] = f"has more than {LARGEST_ANSWER} bytes"
    else:
        submission.answers[name] = data


def judge_submission(
    submission: Submission, exercises: list[Exercise], seed: int, *, tight: bool
) -> list[Verdict]:
    """All exercises of one student."""
    verdicts = []
    student = student_in(submission.answers.get("student.txt", b"")) or submission.student
    if student != submission.student:
        submission.notes.append(f"student.txt says {readable(student)!r}: their numbers were drawn")
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
                verdicts.append(judged(submission, e, answer, seed, student, tight=tight))
                require_room()
    return verdicts


def judged(submission: Submission, exercise: Exercise, answer: Path, seed: int, student: str, *, tight: bool) -> Verdict:
    """One exercise. What the judge cannot cope with costs neither the class its grading nor the student an explanation."""
    try:
        return judge_answer(exercise, answer, tight=tight, seed=seed, student=student)
    except (OSError, Failed):  # of the machine or the book, and so of everybody's
        raise
    except Exception as error:
        said = f"the judge itself failed at this answer ({type(error).__name__}: {error})"
        submission.notes.append(f"{exercise.number}: {said}; judge it by hand")
        return refused(exercise, Fault("judge", f"{said}; your instructor has been told"))


def require_room() -> None:
    """Where answers are compiled. A compiler that cannot write is not the student's mistake.

    :raises OSError: if the disk is full
    """
    place = tempfile.gettempdir()
    if shutil.disk_usage(place).free < LEAST_ROOM:
        raise OSError(errno.ENOSPC, f"less than {LEAST_ROOM >> 20} MiB are left to compile in", place)


def gradescope(submission: Submission, verdicts: list[Verdict]) -> dict:
    """Gradescope's results.json: https://gradescope-autograders.readthedocs.io/en/latest/specs/"""
    tests = [
        {
            "name": f"{v.exercise.number} {v.exercise.title}",
            "number": v.exercise.number,
            "score": v.points,
            "max_score": v.exercise.points,
            "status": "passed" if v.points == v.exercise.points else "failed",
            "output": to_text(v, more=False),
            "output_format": "text",
            "visibility": "visible",
            "tags": [v.exercise.kind, v.reason],
        }
        for v in verdicts
    ]
    return {
        "score": sum(v.points for v in verdicts),
        "output": "\n".join(submission.notes),
        "tests": tests,
    }


def write(path: Path, content: str) -> None:
    """All of it or nothing: a full disk leaves the file of before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    try:
        unfinished.write_text(content, encoding="utf-8", errors="replace")
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def junit(results: dict[str, dict]) -> str:
    """A test suite for each student, a test case for each exercise."""
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
    """Without the characters that XML cannot hold."""
    return "".join(c if c in "\t\n" or " " <= c < "\ud800" or "\ue000" <= c < "\ufffe" else "?" for c in text)


def why(test: dict) -> str:
    """In one line."""
    texts = [test["problem"]] if test["problem"] else [f"{c['name']}: {c['text']}" for c in test["criteria"] if c["text"]]
    return " ".join("; ".join(dict.fromkeys(texts)).split())


def table(results: dict[str, dict], path: Path) -> None:
    """The class's CSV: a row for each student and exercise."""
    unfinished = path.with_name(path.name + ".part")
    try:
        with unfinished.open("w", newline="", encoding="utf-8", errors="replace") as file:
            rows = csv.writer(file)
            rows.writerow(["student", "exercise", "title", "points", "of", "reason", "why", "note"])
            for student, result in sorted(results.items()):
                for t in result["verdicts"]:
                    rows.writerow([
                        safe(student), t["number"], t["title"], t["points"], t["of"], t["reason"],
                        safe(why(t)[:300]), safe("; ".join(result["notes"])),
                    ])  # fmt: skip
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def safe(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return "'" + cell if cell.startswith(("=", "+", "-", "@", "\t")) else cell


def grade_one(
    submission: Submission, exercises: list[Exercise], seed: int, out: Path, digest: str, *, tight: bool
) -> str:
    """Judges a student and writes the results; runs in a process of its own."""
    sandbox.adopt_orphans()
    verdicts = judge_submission(submission, exercises, seed, tight=tight)
    folder = out / folder_of(submission.student)
    write(folder / "results.json", json.dumps(gradescope(submission, verdicts), indent=2))
    kept = {
        "student": submission.student,
        "digest": digest,
        "notes": submission.notes,
        "verdicts": [to_dict(v) for v in verdicts],
    }
    write(folder / "verdicts.json", json.dumps(kept, indent=2))
    return submission.student


def folder_of(student: str) -> str:
    """A folder's name for any student."""
    name = "".join(c if c.isalnum() or c in "-_. " else "_" for c in student)[:80].strip(". ")
    changed = "" if name == student else "_" + hashlib.sha256(student.encode(errors="replace")).hexdigest()[:8]
    return (name or "student") + changed


def grade(folder: Path, out: Path, exercises: list[Exercise], *, tight: bool, seed: int | None, jobs: int) -> dict:
    """Judges all submissions, and returns what is known of each student."""
    out.mkdir(parents=True, exist_ok=True)
    settings_file = out / "settings.json"
    settings = json.loads(settings_file.read_text()) if settings_file.is_file() else {}
    if seed is None:
        seed = settings.get("seed", secrets.randbits(63))
    numbers = [e.number for e in exercises]
    settings = {"seed": seed, "exercises": numbers, "sandbox": tight, "checksum": checksum(exercises)}
    write(settings_file, json.dumps(settings, indent=2))
    submissions = collect(folder, ["student.txt", *(e.file_name for e in exercises)])
    results: dict[str, dict] = {}
    started, todo = time.monotonic(), []
    for submission in submissions:
        digest = submission.digest(json.dumps(settings))
        kept = out / folder_of(submission.student) / "verdicts.json"
        known = json.loads(kept.read_text()) if kept.is_file() else {}
        if known.get("digest") == digest:
            results[submission.student] = known
        else:
            todo.append((submission, digest))
    if results:
        print(f"{len(results)} of {len(submissions)} submissions have been graded before", file=sys.stderr)
    with ProcessPoolExecutor(jobs, FORK) as pool:
        tasks = [
            pool.submit(grade_one, submission, exercises, seed, out, digest, tight=tight)
            for submission, digest in todo
        ]
        for done, task in enumerate(as_completed(tasks), 1):
            try:
                student = task.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            result = json.loads((out / folder_of(student) / "verdicts.json").read_text())
            results[student] = result
            points, most = (sum(t[k] for t in result["verdicts"]) for k in ("points", "of"))
            seconds = time.monotonic() - started
            notes = "".join(f"; {note}" for note in result["notes"])
            print(f"[{done}/{len(todo)}, {seconds:.0f} s] {student}: {points} of {most}{notes}", file=sys.stderr)
    write(out / "junit.xml", junit(results))
    table(results, out / "class.csv")
    return results


def at_least_one(text: str) -> int:
    """How many at a time."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number from 1 on, not {text!r}")
    return int(text)


def main_prepare(arguments: list[str]) -> int:
    """The verb prepare. Exit codes: 0 built, 2 wrong usage, or it could not be built."""
    parser = argparse.ArgumentParser(
        prog="python3 -m judge prepare",
        description="Builds what grading needs, so that ./book grade begins at once.",
        epilog="exit status: 0 built, 2 wrong usage, or it could not be built",
    )
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE", help="04.2, or 04 for a chapter; none: all")
    options = parser.parse_args(arguments)
    try:
        found = shelf()
        found.warn()
        exercises = found.choose(options.exercises) if options.exercises else found.exercises
        print(f"building what judges {', '.join(e.number for e in exercises)}", flush=True)
        prepare(exercises)
    except Mistaken as mistaken:
        print(f"book: {mistaken}", file=sys.stderr)
        return 2
    except Failed as failed:
        print(f"book: the judge could not be built:\n{failed}", file=sys.stderr)
        return 2
    print(f"{len(exercises)} exercises can be graded")
    return 0


def main(arguments: list[str]) -> int:
    """The verb grade. Exit codes: 0 graded, 2 wrong usage, 3 the disk is full, 4 no sandbox."""
    parser = argparse.ArgumentParser(
        prog="./book grade",
        description="Grades a class: a folder or a zip for each student. Writes OUT/class.csv, OUT/junit.xml and, for each "
        "student, Gradescope's results.json. An interrupted run goes on where it stopped.",
        epilog="exit status: 0 graded, 2 wrong usage, 3 the disk is full, 4 there is no sandbox here",
    )
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE", help="04.2, or 04 for a chapter; none: all")
    parser.add_argument("--submissions", type=Path, required=True, help="the folder with a folder or a zip for each student")
    parser.add_argument("--out", type=Path, required=True, help="where results go")
    parser.add_argument("--seed", type=int, help="draw the same cases again (settings.json in OUT has the seed)")
    parser.add_argument("--jobs", type=at_least_one, default=os.cpu_count() or 1, help="submissions at a time (as many as processors)")
    parser.add_argument("--unsafe-no-sandbox", action="store_true", help="run submissions with little protection: as root, by a user without rights; else as you")
    options = parser.parse_intermixed_args(arguments)
    if not options.submissions.is_dir():
        parser.error(f"there is no folder {options.submissions}")
    tight = not options.unsafe_no_sandbox
    if tight and (reason := sandbox.why_unavailable()):
        print(
            f"book: {reason}\nbook: submissions are not run without a sandbox; on a machine that may be lost: --unsafe-no-sandbox",
            file=sys.stderr,
        )
        return 4
    sandbox.without_rights = not tight
    try:
        found = shelf()
        found.warn()
        exercises = found.choose(options.exercises) if options.exercises else found.exercises
        prepare(exercises, tight=True)
        results = grade(
            options.submissions, options.out, exercises, tight=tight, seed=options.seed, jobs=options.jobs
        )
    except Mistaken as mistaken:
        print(f"book: {mistaken}", file=sys.stderr)
        return 2
    except Failed as failed:
        print(f"book: the judge could not be built:\n{failed}", file=sys.stderr)
        return 2
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        print(f"book: the disk is full; what is graded is kept, and the same command goes on: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("book: interrupted; the same command goes on", file=sys.stderr)
        return 130
    print(f"{len(results)} students: {options.out / 'class.csv'}")
    return 0
