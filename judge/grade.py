"""./book grade: judges a class. Every submission is read as data, compiled and run in the sandbox."""

from __future__ import annotations

import argparse
import csv
import errno
import hashlib
import io
import itertools
import json
import lzma
import multiprocessing
import os
import re
import secrets
import shutil
import stat
import struct
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

from . import hunt, sandbox
from .check import judge_answer, known_as, student_in
from .compile import Failed, prepare, why_unfit
from .exercise import COMPUTED, Exercise, Mistaken, shelf
from .report import to_dict, to_text
from .verdict import Fault, Verdict, refused

LARGEST_ANSWER = 256 * 1024
LARGEST_ZIP = 64 << 20
MOST_FILES = 10_000  # of a submission that are looked at
BROKEN = (zlib.error, lzma.LZMAError, struct.error)  # errors that reading a damaged zip may raise
MOST_COPIES = 8  # of an answer that are compared
DEEPEST_ZIP = 2  # a zip in a zip
LEAST_ROOM = 32 << 20
FULL = (errno.ENOSPC, errno.EDQUOT)
ARCHIVE = re.compile(r"(\.tar)?\.(zip|tar|tgz|gz|bz2|xz|zst|7z|rar)$", re.IGNORECASE)

FORK = multiprocessing.get_context("fork")  # workers inherit what this process has found out
NOBODYS = ("__MACOSX", "Thumbs.db", "desktop.ini")  # files that systems leave in folders


class Unreadable(ValueError):
    """Why a submission, or a file in it, is not looked at."""


@dataclass
class Submission:
    """The files that a student handed in."""

    student: str
    path: Path
    notes: list[str] = field(default_factory=list)
    answers: dict[str, bytes] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)  # by file name

    def digest(self, settings: str) -> str:
        """A hash that changes with the submission, and with the way it is graded."""
        content = sorted((name, hashlib.sha256(data).hexdigest()) for name, data in self.answers.items())
        return hashlib.sha256(repr((settings, content, sorted(self.refused.items()), self.notes)).encode()).hexdigest()


def checksum(exercises: list[Exercise]) -> str:
    """A hash that changes with any of the exercises, and with the judge."""
    own = [p for p in Path(__file__).parent.iterdir() if p.suffix in (".py", ".cpp", ".hpp", ".txt")]
    files = [*own, *(p for e in exercises for p in e.folder.rglob("*") if p.is_file())]
    files += [p for e in exercises if e.kind in COMPUTED for p in e.headers()]  # those beside the folders
    content = sorted({(str(p), hashlib.sha256(p.read_bytes()).hexdigest()) for p in files})
    return hashlib.sha256(repr(content).encode()).hexdigest()


def readable(name: str) -> str:
    """A file name as text that can be printed and stored, whatever its bytes are."""
    return name.encode(errors="surrogateescape").decode(errors="replace").replace("/", "_")


@dataclass(frozen=True)
class Found:
    """A file of a submission, in a folder or in a zip, which counts as a folder."""

    path: tuple[str, ...]
    content: Callable[[int], bytes]  # takes the most bytes to read; :raises Unreadable: which says why it is not looked at

    @property
    def shown(self) -> str:
        """Its path, for people."""
        return "/".join(self.path)[-120:]

    @property
    def order(self) -> tuple:
        """Puts the file that counts first among those with its name: one in `answers`, else the least deeply nested."""
        above = re.sub(r"\.zip$", "", self.path[-2].casefold()) if len(self.path) > 1 else ""
        return above != "answers", len(self.path), self.path


def collect(folder: Path, wanted: list[str]) -> list[Submission]:
    """All submissions. Each student has a folder or a zip, whose name without .zip is the student's."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir(), key=lambda p: os.fsencode(p.name)):
        if path.name.startswith(".") or path.name in NOBODYS:
            continue
        found.setdefault(known_as(readable(ARCHIVE.sub("", path.name))), []).append(path)
    submissions = []
    for student, paths in found.items():
        paths.sort(key=lambda p: p.lstat().st_mtime)
        submission = Submission(student, paths[-1])
        if len(paths) > 1:
            submission.notes.append(
                f"{len(paths)} submissions; the newest, {readable(paths[-1].name)}, is graded"
            )
        if alike := [s for s in found if s != student and s.casefold() == student.casefold()]:
            submission.notes.append(f"{', '.join(alike)} also handed in: is that the same student?")
        try:
            read(submission, wanted)
        except Unreadable as reason:
            submission.notes.append(str(reason))
        except OSError as error:
            submission.notes.append(f"cannot be read: {error.strerror}")
        submissions.append(submission)
    return submissions


def read(submission: Submission, wanted: list[str]) -> None:
    """Takes only the wanted files. Nothing is unpacked, and no link is followed.

    :raises Unreadable: which says why nothing can be taken
    """
    mode = submission.path.lstat().st_mode
    with ExitStack() as opened:
        if stat.S_ISDIR(mode):
            files = files_in_folder(submission)
        elif not stat.S_ISREG(mode):
            raise Unreadable("neither a folder nor a zip, but a link or a special file")
        elif (size := submission.path.stat().st_size) > LARGEST_ZIP:
            raise Unreadable(f"the zip has {size} bytes, but the limit is {LARGEST_ZIP}")
        else:
            files = files_in_zip(submission, submission.path, (), opened)
        left = LARGEST_ZIP
        for file in files:  # grows with the contents of zips
            if not ARCHIVE.search(file.path[-1]):
                continue
            depth = sum(part.lower().endswith(".zip") for part in file.path)
            if not file.path[-1].lower().endswith(".zip") or depth > DEEPEST_ZIP:
                submission.notes.append(f"{file.shown} was not opened: hand in a folder or a zip")
                continue
            try:
                data = file.content(left)
                left -= len(data)
                files += files_in_zip(submission, io.BytesIO(data), file.path, opened)
            except Unreadable as reason:
                submission.notes.append(f"{file.shown}: {reason}")
        for name in wanted:
            take(submission, name, files)
        note_what_is_left(submission, wanted, files)


def nobodys(name: str) -> bool:
    """Whether a system or a program, not the student, made this file."""
    return name.startswith(".") or name in NOBODYS


def files_in_folder(submission: Submission) -> list[Found]:
    """All files in a folder and its subfolders, the least deeply nested first."""
    files: list[Found] = []
    folders: list[tuple[Path, tuple[str, ...]]] = [(submission.path, ())]
    for number, (folder, above) in enumerate(folders):  # grows meanwhile
        if len(files) > MOST_FILES or number >= MOST_FILES:
            break
        try:
            with os.scandir(folder) as found:
                some = itertools.islice((e for e in found if not nobodys(e.name)), MOST_FILES + 1)
                entries = sorted(some, key=lambda e: os.fsencode(e.name))
        except OSError as error:
            if not above:
                raise
            submission.notes.append(f"{'/'.join(above)[-120:]} cannot be read: {error.strerror}")
            continue
        for entry in entries:
            path = (*above, readable(entry.name))
            if entry.is_dir(follow_symlinks=False):
                folders.append((Path(entry.path), path))
            else:
                files.append(Found(path, partial(read_file, Path(entry.path))))
    return nearest(submission, files, len(folders))


def nearest(submission: Submission, files: list[Found], folders: int = 0) -> list[Found]:
    """As many files as are looked at, the least deeply nested first."""
    if max(len(files), folders) > MOST_FILES:
        submission.notes.append(f"it has more than {MOST_FILES} files; the most deeply nested were not looked at")
    return sorted(files, key=lambda f: (len(f.path), f.path))[:MOST_FILES]


def read_file(place: Path, most: int) -> bytes:
    """Reads a file in a folder.

    :raises Unreadable: which says why it is not looked at
    """
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Unreadable("is a link, which is not followed" if error.errno == errno.ELOOP else f"cannot be read: {error.strerror}") from error
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise Unreadable("is not a file")
        return all_of(file, about.st_size, most)


def all_of(file: io.BufferedIOBase, size: int, most: int) -> bytes:
    """The contents of a file.

    :raises Unreadable: if there are more than `most` bytes
    """
    data = b"" if size > most else file.read(most + 1)
    if max(size, len(data)) > most:
        raise Unreadable(f"has {max(size, len(data))} bytes, but the limit is {most}")
    return data


def files_in_zip(submission: Submission, source: Path | io.BytesIO, above: tuple[str, ...], opened: ExitStack) -> list[Found]:
    """All files in a zip, the least deeply nested first. Of two with the same path the last counts, as when it is unpacked.

    :raises Unreadable: if it is not a zip
    """
    try:
        archive = opened.enter_context(zipfile.ZipFile(source))
        members = archive.infolist()
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, OSError, *BROKEN) as error:
        raise Unreadable(f"cannot be read as a zip: {error}") from error
    found: dict[tuple[str, ...], zipfile.ZipInfo] = {}
    for member in members:
        parts = tuple(member.filename.replace("\\", "/").split("/"))
        if ".." in parts or parts[0] == "" or ":" in parts[0]:
            submission.notes.append(f"the zip has a path that leaves its folder: {member.filename[:80]!r}")
        elif parts[-1] and not any(map(nobodys, parts)):
            path = tuple(map(readable, parts))
            if path in found and found[path].CRC != member.CRC:
                submission.notes.append(f"the zip has {'/'.join(path)[-120:]} more than once; the last counts")
            found[path] = member
    return nearest(submission, [Found((*above, *path), partial(read_member, archive, found[path])) for path in found])


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes:
    """Reads a file in a zip.

    :raises Unreadable: which says why it is not looked at
    """
    if stat.S_ISLNK(member.external_attr >> 16):
        raise Unreadable("is a link, which is not followed")
    try:
        with archive.open(member) as file:
            return all_of(file, member.file_size, most)
    except Unreadable:
        raise
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, OSError, *BROKEN) as error:
        raise Unreadable(f"cannot be read: {error}") from error


def take(submission: Submission, name: str, files: list[Found]) -> None:
    """Takes the first readable file with this name."""
    taken, refused, others = None, "", []
    copies = sorted((f for f in files if f.path[-1].casefold() == name.casefold()), key=lambda f: f.order)
    for copy in copies[:MOST_COPIES]:
        try:
            content = copy.content(LARGEST_ANSWER)
        except Unreadable as reason:
            refused = refused or str(reason)
            others.append(f"{copy.shown} {reason}")
            continue
        if taken is None:
            taken, submission.answers[name] = copy, content
        elif content != submission.answers[name]:
            others.append(f"{copy.shown} differs")
    if taken is None and refused:
        submission.refused[name] = refused
    elif taken and (others or taken.path[-1] != name):
        submission.notes.append("; ".join([f"{name} was taken from {taken.shown}", *others]))


def note_what_is_left(submission: Submission, wanted: list[str], files: list[Found]) -> None:
    """Notes which files were not looked at, although they may have been meant as answers."""
    names = {name.casefold() for name in wanted}
    stems = tuple(Path(name).stem for name in names - {"student.txt"})
    left = [f.shown for f in files if f.path[-1].casefold() not in names]
    meant = [name for name in left if name.rpartition("/")[2].casefold().startswith(stems)]
    if not meant and not submission.answers.keys() - {"student.txt"} and not submission.refused:
        meant = left
    if meant:
        submission.notes.append(f"not looked at, because of the name: {', '.join(meant[:3])}{', ...' if len(meant) > 3 else ''}")


def judge_submission(
    submission: Submission, exercises: list[Exercise], seed: int, *, tight: bool
) -> list[Verdict]:
    """Judges all exercises of one student."""
    verdicts = []
    student = student_in(submission.answers.get("student.txt", b"")) or submission.student
    if student != submission.student:
        submission.notes.append(f"student.txt says {readable(student)!r}, so that student's numbers were drawn")
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
    """Judges one exercise. If the judge itself fails, the rest of the class is still graded, and the student is told why."""
    try:
        return judge_answer(exercise, answer, tight=tight, seed=seed, student=student)
    except (OSError, Failed, sandbox.Unfit):  # faults of the machine or the book, which concern everyone
        raise
    except Exception as error:
        said = f"the judge itself failed on this answer ({type(error).__name__}: {error})"
        submission.notes.append(f"{exercise.number}: {said}; judge it by hand")
        return refused(exercise, Fault("judge", f"{said}; your instructor has been told"))


def require_room() -> None:
    """Checks the disk where answers are compiled, because a compiler that cannot write is not the student's mistake.

    :raises OSError: if the disk is nearly full
    """
    place = tempfile.gettempdir()
    if shutil.disk_usage(place).free < LEAST_ROOM:
        raise OSError(errno.ENOSPC, f"less than {LEAST_ROOM >> 20} MiB are left for compiling", place)


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
    """Writes the whole file or nothing, so a full disk leaves the previous file as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    try:
        unfinished.write_text(content, encoding="utf-8", errors="replace")
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


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


def table(results: dict[str, dict], path: Path) -> None:
    """Writes the class's CSV, with a row for each student and exercise."""
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
    """Judges one student and writes the results. Runs in a process of its own."""
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
    """A folder name for any student."""
    name = "".join(c if c.isalnum() or c in "-_. " else "_" for c in student)[:80].strip(". ")
    changed = "" if name == student else "_" + hashlib.sha256(student.encode(errors="replace")).hexdigest()[:8]
    return (name or "student") + changed


def grade(folder: Path, out: Path, exercises: list[Exercise], *, tight: bool, seed: int | None, jobs: int) -> dict:
    """Judges all submissions, and returns each student's results."""
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
        print(f"{len(results)} of {len(submissions)} submissions have already been graded", file=sys.stderr)
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
    try:
        found = shelf()
        found.warn()
        exercises = hunt.choose(found, options.exercises) if options.exercises else found.exercises
        print(f"building the judge for {', '.join(e.number for e in exercises)}", flush=True)
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
    """The verb grade. Exit codes: 0 if graded, 2 for wrong usage, 3 if the machine fails, 4 without a sandbox."""
    parser = argparse.ArgumentParser(
        prog="./book grade",
        description="Grades a class, with a folder or a zip for each student. Writes OUT/class.csv, OUT/junit.xml and, for each "
        "student, Gradescope's results.json. After an interruption, the same command continues where it stopped.",
        epilog="exit status: 0 if graded, 2 for wrong usage, 3 if the machine fails (a full disk, say), 4 if there is no sandbox",
    )
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE", help="exercise to grade, such as 04.2, or 04 for a chapter (default: all)")
    parser.add_argument("--submissions", type=Path, required=True, help="folder that contains a folder or a zip for each student")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--seed", type=int, help="seed of the cases, to draw the same ones again (OUT/settings.json records it)")
    parser.add_argument("--jobs", type=at_least_one, default=os.cpu_count() or 1, help="number of submissions to judge at once (default: one per core)")
    parser.add_argument("--unsafe-no-sandbox", action="store_true", help="run submissions with little protection: as an unprivileged user if you are root, otherwise as yourself")
    options = parser.parse_intermixed_args(arguments)
    if not options.submissions.is_dir():
        parser.error(f"there is no folder {options.submissions}")
    tight = not options.unsafe_no_sandbox
    if tight and (reason := sandbox.why_unavailable()):
        print(
            f"book: {reason}\nbook: submissions are not run without a sandbox; on a machine that you can afford to lose, use --unsafe-no-sandbox",
            file=sys.stderr,
        )
        return 4
    sandbox.without_rights = not tight
    try:
        found = shelf()
        found.warn()
        exercises = hunt.choose(found, options.exercises) if options.exercises else found.exercises
        prepare(exercises, tight=True)
        if unfit := why_unfit(tight=tight):
            raise sandbox.Unfit(unfit)
        results = grade(
            options.submissions, options.out, exercises, tight=tight, seed=options.seed, jobs=options.jobs
        )
    except Mistaken as mistaken:
        print(f"book: {mistaken}", file=sys.stderr)
        return 2
    except Failed as failed:
        print(f"book: the judge could not be built:\n{failed}", file=sys.stderr)
        return 2
    except (OSError, sandbox.Unfit, BrokenProcessPool) as error:
        what = "the disk is full" if getattr(error, "errno", 0) in FULL else "this machine cannot continue, and no student is to blame"
        print(f"book: {what}; finished grades are kept, and the same command continues: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("book: interrupted; the same command continues", file=sys.stderr)
        return 130
    print(f"{len(results)} students: {options.out / 'class.csv'}")
    return 0
