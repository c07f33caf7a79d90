"""What students handed in, read as data: nothing of it is followed, unpacked or believed."""

from __future__ import annotations

import errno
import io
import itertools
import lzma
import os
import re
import stat
import struct
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from .check import known_as, student_in
from .exercise import Mistaken

LARGEST_ANSWER = 256 * 1024
LARGEST_ZIP = 64 << 20
LARGEST_CLASS = 4 << 30  # of all submissions in one zip
MOST_FILES = 10_000  # of a submission that are looked at
BROKEN = (zlib.error, lzma.LZMAError, struct.error)  # errors that reading a damaged zip may raise
MOST_COPIES = 8  # of an answer that are compared
DEEPEST_ZIP = 2  # a zip in a zip
ARCHIVE = re.compile(r"(\.tar)?\.(zip|tar|tgz|gz|bz2|xz|zst|7z|rar)$", re.IGNORECASE)
NOBODYS = ("__MACOSX", "Thumbs.db", "desktop.ini")  # files that systems leave in folders
# In Moodle's export of all submissions each student has folders, or (older, or if chosen) files with their beginning:
# `Anna Li_1234567_assignsubmission_file`, `Anna Li_1234567_assignsubmission_file_answers.zip`.
EXPORTED = re.compile(r"(?P<student>.+_\d+)_assignsubmission_[a-z]+(_(?P<file>.*))?", re.DOTALL)


class Unreadable(ValueError):
    """Why a submission, or a file in it, is not looked at."""


@dataclass
class Submission:
    """The files that a student handed in."""

    student: str
    paths: list[Path]  # a folder or a zip; from Moodle, the folders or files that begin with the student's name
    notes: list[str] = field(default_factory=list)
    answers: dict[str, bytes] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)  # by file name
    known: str = ""  # the name that numbers are drawn from


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


@contextmanager
def as_folder(place: Path) -> Iterator[Path]:
    """The folder of all submissions, unpacked for as long if it is a learning platform's zip.

    :raises Mistaken: if it is too large, or damaged
    """
    if place.is_dir():
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="submissions_") as name, zipfile.ZipFile(place) as archive:
        if sum(member.file_size for member in archive.infolist()) > LARGEST_CLASS:
            raise Mistaken(f"{place} holds more than {LARGEST_CLASS >> 30} GiB: look what that is, and unpack it yourself")
        try:
            archive.extractall(name)  # keeps out paths that leave the folder, and makes no links
        except (zipfile.BadZipFile, RuntimeError, *BROKEN) as error:
            raise Mistaken(f"{place} cannot be unpacked: {error}") from error
        yield Path(name)


def collect(folder: Path, wanted: list[str]) -> list[Submission]:
    """All submissions. Each student has a folder or a zip, whose name without .zip is the student's, or what Moodle exports."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir(), key=lambda p: os.fsencode(p.name)):
        if nobodys(path.name):
            continue
        name = readable(path.name)
        exported = EXPORTED.fullmatch(name)
        if stat.S_ISREG(path.lstat().st_mode) and not (exported or ARCHIVE.search(name) or zipfile.is_zipfile(path)):
            print(f"book: {name} is neither a folder nor a zip, so it is nobody's submission", file=sys.stderr)
            continue
        found.setdefault(known_as(exported["student"] if exported else ARCHIVE.sub("", name)), []).append(path)
    submissions = []
    for student, paths in found.items():
        exported = EXPORTED.fullmatch(readable(paths[0].name))
        submission = Submission(student, paths, known=student.rpartition("_")[0] if exported else student)
        if len(paths) > 1 and not exported:
            submission.paths = [max(paths, key=lambda p: p.lstat().st_mtime)]
            submission.notes.append(
                f"{len(paths)} submissions; the newest, {readable(submission.paths[0].name)}, is graded"
            )
        if alike := [s for s in found if s != student and s.casefold() == student.casefold()]:
            submission.notes.append(f"{', '.join(alike)} also handed in: is that the same student?")
        try:
            read(submission, wanted)
        except Unreadable as reason:
            submission.notes.append(str(reason))
        except OSError as error:
            submission.notes.append(f"cannot be read: {error.strerror}")
        if (named := student_in(submission.answers.get("student.txt", b"")) or submission.known) != submission.known:
            submission.notes.append(f"student.txt says {readable(named)!r}, so that student's numbers were drawn")
            submission.known = named
        submissions.append(submission)
    return submissions


def read(submission: Submission, wanted: list[str]) -> None:
    """Takes only the wanted files. Nothing is unpacked, and no link is followed.

    :raises Unreadable: which says why nothing can be taken
    """
    with ExitStack() as opened:
        files: list[Found] = []
        for path in submission.paths:
            files += files_at(submission, path, opened)
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


def files_at(submission: Submission, path: Path, opened: ExitStack) -> list[Found]:
    """All files of a folder or a zip; of Moodle's export, also a single file, without the student's name.

    :raises Unreadable: which says why there are none
    """
    mode = path.lstat().st_mode
    exported = EXPORTED.fullmatch(readable(path.name))
    if stat.S_ISDIR(mode):
        return files_in_folder(submission, path)
    if not stat.S_ISREG(mode):
        raise Unreadable("neither a folder nor a zip, but a link or a special file")
    if exported and exported["file"]:
        return [Found((exported["file"],), partial(read_file, path))]
    if (size := path.stat().st_size) > LARGEST_ZIP:
        raise Unreadable(f"the zip has {size} bytes, but the limit is {LARGEST_ZIP}")
    return files_in_zip(submission, path, (), opened)


def nobodys(name: str) -> bool:
    """Whether a system or a program, not the student, made this file."""
    return name.startswith(".") or name in NOBODYS


def files_in_folder(submission: Submission, place: Path) -> list[Found]:
    """All files in a folder and its subfolders, the least deeply nested first."""
    files: list[Found] = []
    folders: list[tuple[Path, tuple[str, ...]]] = [(place, ())]
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
