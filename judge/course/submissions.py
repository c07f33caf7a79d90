"""What students handed in: who they are, and which of their files are answers. Everything is read as data: nothing is unpacked,
and no link is followed."""

from __future__ import annotations

import io
import lzma
import os
import re
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..answer.exercise import Mistaken
from ..answer.written import known_as, student_in

LARGEST_ANSWER = 256 * 1024
LARGEST_ZIP = 64 << 20
DEEPEST = 100  # folders in folders
DEEPEST_ZIP = 3  # a zip in a zip in a student's zip
MOST_NOTES = 20  # on a submission
NOBODYS = ("__MACOSX", "Thumbs.db", "desktop.ini")  # files that systems leave in folders
ARCHIVE = re.compile(r"(\.tar)?\.(zip|tar|tgz|gz|bz2|xz|zst|7z|rar)$", re.IGNORECASE)
# In Moodle's export of all submissions each student has folders, or (older, or if chosen) files with their beginning:
# `Anna Li_1234567_assignsubmission_file`, `Anna Li_1234567_assignsubmission_file_answers.zip`.
EXPORTED = re.compile(r"(?P<student>.+_\d+)_assignsubmission_[a-z]+(_(?P<file>.*))?", re.DOTALL)
# Errors that reading a damaged zip may raise.
BROKEN = (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, zlib.error, lzma.LZMAError, struct.error)
COMPRESSED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # of others Python reads more than it is asked for, which may fill the memory


class Unreadable(ValueError):
    """Why a submission, or a file in it, is not looked at."""


@dataclass(frozen=True)
class Found:
    """A file in a folder or in a zip, which counts as a folder."""

    path: tuple[str, ...]
    content: Callable[[int], bytes] = bytes  # takes the most bytes to read; :raises Unreadable: which says why it is not looked at
    changed: float | tuple = 0.0  # when, to be compared with others of the same place
    unread: str = ""  # why a folder was not looked into

    @property
    def shown(self) -> str:
        """Its path, for people."""
        return "/".join(map(readable, self.path))[-120:]

    @property
    def order(self) -> tuple:
        """Puts the file that counts first among those with its name: one in `answers`, else the least deeply nested."""
        above = re.sub(r"\.zip$", "", self.path[-2].casefold()) if len(self.path) > 1 else ""
        return above != "answers", len(self.path), self.path


@dataclass
class Submission:
    """The files that a student handed in."""

    student: str
    notes: list[str] = field(default_factory=list)
    answers: dict[str, bytes] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)  # by file name
    known: str = ""  # the name that numbers are drawn from

    def note(self, text: str) -> None:
        """Notes something for student and instructor to read, unless there is too much of it."""
        if len(self.notes) < MOST_NOTES:
            self.notes.append(text if len(self.notes) < MOST_NOTES - 1 else "and more")


def readable(name: str) -> str:
    """A file name as text that can be printed and stored, whatever its bytes are."""
    return re.sub(r"[/\0-\x1f\x7f-\x9f]", "_", name.encode(errors="surrogateescape").decode(errors="replace"))


def nobodys(path: tuple[str, ...]) -> bool:
    """Whether a system or a program, not the student, made this file."""
    return any(name.startswith(".") or name in NOBODYS for name in path)


def files_in_folder(place: Path) -> list[Found]:
    """All files in a folder and its subfolders, and the folders in it as files without a name.

    :raises OSError: if the folder itself cannot be read
    """
    found, left = [], [()]
    while left:
        above = left.pop()
        folder = place.joinpath(*above)
        if len(above) == 1:
            found.append(Found((*above, ""), bytes, folder.lstat().st_mtime))
        if len(above) > DEEPEST:
            found.append(Found(above, unread=f"is in more than {DEEPEST} folders, so it was not looked into"))
            continue
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            if not above:
                raise
            found.append(Found(above, unread=f"cannot be read: {error.strerror}"))
            continue
        for entry in entries:
            path = (*above, entry.name)
            if entry.is_dir(follow_symlinks=False):
                left.append(path)
            else:
                found.append(Found(path, partial(read_file, Path(entry.path)), entry.stat(follow_symlinks=False).st_mtime))
    return found


def read_file(place: Path, most: int) -> bytes:
    """Reads a file in a folder.

    :raises Unreadable: which says why it is not looked at
    """
    about = place.lstat()
    if not stat.S_ISREG(about.st_mode):
        raise Unreadable("is a link, which is not followed" if stat.S_ISLNK(about.st_mode) else "is not a file")
    try:
        with place.open("rb") as file:
            return all_of(file, about.st_size, most)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from error


def all_of(file: io.BufferedIOBase, size: int, most: int) -> bytes:
    """The contents of a file.

    :raises Unreadable: if there are more than `most` bytes
    """
    data = b"" if size > most else file.read(most + 1)
    if max(size, len(data)) > most:
        raise Unreadable(f"has {max(size, len(data))} bytes, but the limit is {most}")
    return data


def files_in_zip(file: Path | io.BytesIO, above: tuple[str, ...] = ()) -> list[Found]:
    """All files in a zip, and its folders as files without a name. Of two with the same path the last counts, as when it is unpacked.

    :raises Unreadable: if it is not a zip
    """
    try:
        archive = zipfile.ZipFile(file)
    except BROKEN as error:
        raise Unreadable(f"cannot be read as a zip: {error}") from error
    found = {}
    for member in archive.infolist():
        *folders, name = member.filename.replace("\\", "/").split("/")
        path = (*above, *(part for part in folders if part not in ("", ".", "..")), name)
        found[path] = Found(path, partial(read_member, archive, member), member.date_time)
    return list(found.values())


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes:
    """Reads a file in a zip.

    :raises Unreadable: which says why it is not looked at
    """
    if stat.S_ISLNK(member.external_attr >> 16):
        raise Unreadable("is a link, which is not followed")
    if member.compress_type not in COMPRESSED:
        raise Unreadable("cannot be read: its compression is not the usual one of zips, which is called deflate")
    try:
        with archive.open(member) as file:
            return all_of(file, member.file_size, most)
    except Unreadable:
        raise
    except BROKEN as error:
        raise Unreadable(f"cannot be read: {error}") from error


def collect(place: Path, wanted: list[str]) -> list[Submission]:
    """All submissions in a folder, or in a learning platform's zip. Each student has a folder or a zip, whose name without .zip
    is the student's, or what Moodle exports.

    :raises Mistaken: if it is neither
    """
    try:
        files = files_in_folder(place) if place.is_dir() else files_in_zip(place)
    except Unreadable as reason:
        raise Mistaken(f"{place} {reason}; download it again") from reason
    uploads: dict[str, list[Found]] = {}  # by the name of a folder, or of a file beside the folders
    for file in files:
        if file.path != ("",) and not nobodys(file.path):
            uploads.setdefault(file.path[0], []).append(file)
    students: dict[str, list[str]] = {}
    for name, files in sorted(uploads.items()):
        exported = EXPORTED.fullmatch(name)
        if exported or len(files[0].path) > 1 or ARCHIVE.search(name):
            student = exported["student"] if exported else ARCHIVE.sub("", name)
            students.setdefault(known_as(readable(student)), []).append(name)
        else:
            print(f"book: {readable(name)} is neither a folder nor a zip, so it is nobody's submission", file=sys.stderr)
    return [submission_of(student, {name: uploads[name] for name in names}, wanted) for student, names in students.items()]


def submission_of(student: str, uploads: dict[str, list[Found]], wanted: list[str]) -> Submission:
    """What a student handed in. Whatever is wrong with it is noted there, so that it concerns nobody else."""
    exported = EXPORTED.fullmatch(next(iter(uploads)))
    submission = Submission(student, known=student.rpartition("_")[0] if exported else student)
    if len(uploads) > 1 and not exported:
        newest = max(uploads, key=lambda name: max(f.changed for f in uploads[name]))
        submission.note(f"{len(uploads)} submissions; the newest, {readable(newest)}, is graded")
        uploads = {newest: uploads[newest]}
    files: list[Found] = []
    for name, there in uploads.items():
        for file in there:
            if file.unread:
                submission.note(f"{file.shown} {file.unread}")
                continue
            upload = EXPORTED.fullmatch(name)
            inside = file.path[1:] or ((upload["file"] or "",) if upload else file.path)
            files.append(Found(inside, file.content))
    open_zips(submission, files)
    for name in wanted:
        take(submission, name, files)
    note_what_is_left(submission, wanted, files)
    if (named := student_in(submission.answers.get("student.txt", b"")) or submission.known) != submission.known:
        submission.note(f"student.txt says {readable(named)!r}, so that student's numbers were drawn")
        submission.known = named
    return submission


def open_zips(submission: Submission, files: list[Found]) -> None:
    """Adds the files in zips, up to a size."""
    left = LARGEST_ZIP
    for file in files:  # grows meanwhile
        if not ARCHIVE.search(file.path[-1]):
            continue
        depth = sum(part.lower().endswith(".zip") for part in file.path)
        if not file.path[-1].lower().endswith(".zip") or depth > DEEPEST_ZIP:
            submission.note(f"{file.shown} was not opened: hand in a folder or a zip")
            continue
        try:
            data = file.content(left)
            left -= len(data)
            files += [f for f in files_in_zip(io.BytesIO(data), file.path) if not nobodys(f.path)]
        except Unreadable as reason:
            submission.note(f"{file.shown} {reason}")


def take(submission: Submission, name: str, files: list[Found]) -> None:
    """Takes the first readable file with this name."""
    named = [f for f in files if f.path[-1].casefold() == name.casefold()]
    for file in sorted(named, key=lambda f: f.order):
        try:
            submission.answers[name] = file.content(LARGEST_ANSWER)
        except Unreadable as reason:
            submission.refused.setdefault(name, str(reason))
            continue
        submission.refused.pop(name, None)
        if len(named) > 1 or file.path[-1] != name:
            more = f", one of {len(named)} files with this name" if len(named) > 1 else ""
            submission.note(f"{name} was taken from {file.shown}{more}")
        return


def note_what_is_left(submission: Submission, wanted: list[str], files: list[Found]) -> None:
    """Notes which files were not looked at, although they may have been meant as answers."""
    names = {name.casefold() for name in wanted}
    stems = tuple(Path(name).stem for name in names - {"student.txt"})
    left = [f.shown for f in files if f.path[-1] and f.path[-1].casefold() not in names and not ARCHIVE.search(f.path[-1])]
    meant = [name for name in left if name.rpartition("/")[2].casefold().startswith(stems)]
    if not meant and not submission.answers.keys() - {"student.txt"} and not submission.refused:
        meant = left
    if meant:
        submission.note(f"not looked at, because of the name: {', '.join(meant[:3])}{', ...' if len(meant) > 3 else ''}")
