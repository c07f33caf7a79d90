"""What students handed in, read as data: nothing of it is followed, unpacked or believed."""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import lzma
import os
import re
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from .check import known_as, student_in
from .exercise import Mistaken

LARGEST_ANSWER = 256 * 1024
LARGEST_ZIP = 64 << 20
MOST_FILES = 10_000  # of a submission that are looked at
DEEPEST = 100  # folders around a file that is looked at
TOO_DEEP = f"what lies in more than {DEEPEST} folders was not looked at"
MOST_NOTES = 20  # on a submission
MOST_COPIES = 8  # of an answer that are compared
DEEPEST_ZIP = 2  # a zip in a zip
ARCHIVE = re.compile(r"(\.tar)?\.(zip|tar|tgz|gz|bz2|xz|zst|7z|rar)$", re.IGNORECASE)
NOBODYS = ("__MACOSX", "Thumbs.db", "desktop.ini")  # files that systems leave in folders
# In Moodle's export of all submissions each student has folders, or (older, or if chosen) files with their beginning:
# `Anna Li_1234567_assignsubmission_file`, `Anna Li_1234567_assignsubmission_file_answers.zip`.
EXPORTED = re.compile(r"(?P<student>.+_\d+)_assignsubmission_[a-z]+(_(?P<file>.*))?", re.DOTALL)
# Errors that reading a damaged zip may raise.
BROKEN = (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, zlib.error, lzma.LZMAError, struct.error)
COMPRESSED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # of others Python reads more than it is asked for, which may fill the memory
# Errors that say something of the machine; any other says something of the file.
OF_THE_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class Unreadable(ValueError):
    """Why a submission, or a file in it, is not looked at."""


class TooLarge(Unreadable):
    """Why a file is not looked at that may be no submission at all."""


def unreadable(error: OSError) -> Unreadable:
    """Why a file is not looked at.

    :raises OSError: this one, if the machine is to blame, and not the file
    """
    if error.errno in OF_THE_MACHINE:
        raise error
    return Unreadable("is a link, which is not followed" if error.errno == errno.ELOOP else f"cannot be read: {error.strerror}")


def readable(name: str) -> str:
    """A file name as text that can be printed and stored, whatever its bytes are."""
    return re.sub(r"[/\0-\x1f\x7f-\x9f]", "_", name.encode(errors="surrogateescape").decode(errors="replace"))


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


@dataclass(frozen=True)
class Upload:
    """What may be a student's, in a folder of all submissions or in a learning platform's zip: a folder, or a file."""

    name: str
    changed: float | tuple  # when, to be compared with others of the same place
    files: Callable[[Submission], list[Found]] | None = None  # of a folder; :raises Unreadable: which says why there are none
    content: Callable[[int], bytes] | None = None  # of a file; see `Found`

    @property
    def exported(self) -> re.Match | None:
        """What Moodle has made the name of."""
        return EXPORTED.fullmatch(self.name)

    @property
    def student(self) -> str:
        """Whose it is."""
        return known_as(self.exported["student"] if self.exported else ARCHIVE.sub("", self.name))

    def somebodys(self) -> bool:
        """Whether it is a submission: a folder, an archive, or what Moodle exports, or something that cannot be read."""
        if self.files or self.exported or ARCHIVE.search(self.name):
            return True
        try:
            return zipfile.is_zipfile(io.BytesIO(self.content(LARGEST_ZIP)))
        except Unreadable as reason:
            return not isinstance(reason, TooLarge)


@dataclass
class Submission:
    """The files that a student handed in."""

    student: str
    notes: list[str] = field(default_factory=list)
    answers: dict[str, bytes] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)  # by file name
    known: str = ""  # the name that numbers are drawn from

    def note(self, text: str) -> None:
        """Notes something for student and instructor to read, once, and unless there is too much of it."""
        if text not in self.notes and len(self.notes) < MOST_NOTES:
            self.notes.append(text if len(self.notes) < MOST_NOTES - 1 else "and more")


def collect(place: Path, wanted: list[str]) -> list[Submission]:
    """All submissions in a folder, or in a learning platform's zip. Each student has a folder or a zip, whose name without .zip
    is the student's, or what Moodle exports.

    :raises Mistaken: if it is neither
    """
    if place.is_dir():
        return collected(uploads_in_folder(place), wanted)
    try:
        archive = zipfile.ZipFile(place)
    except BROKEN as error:
        raise Mistaken(f"{place} cannot be read as a zip: {error}; download it again") from error
    with archive:
        return collected(uploads_in_zip(archive), wanted)


def collected(uploads: list[Upload], wanted: list[str]) -> list[Submission]:
    """Sorts uploads by student, and reads them."""
    found: dict[str, list[Upload]] = {}
    for upload in uploads:
        if upload.somebodys():
            found.setdefault(upload.student, []).append(upload)
        else:
            print(f"book: {upload.name} is neither a folder nor a zip, so it is nobody's submission", file=sys.stderr)
    return [submission_of(student, found, wanted) for student in found]


def submission_of(student: str, found: dict[str, list[Upload]], wanted: list[str]) -> Submission:
    """What a student handed in. Whatever is wrong with it is noted there, so that it concerns nobody else."""
    uploads = found[student]
    exported = uploads[0].exported
    submission = Submission(student, known=student.rpartition("_")[0] if exported else student)
    if len(uploads) > 1 and not exported:
        newest = max(uploads, key=lambda u: u.changed)
        submission.note(f"{len(uploads)} submissions; the newest, {newest.name}, is graded")
        uploads = [newest]
    if alike := [s for s in found if s != student and s.casefold() == student.casefold()]:
        submission.note(f"{', '.join(alike)} also handed in: is that the same student?")
    read(submission, uploads, wanted)
    if (named := student_in(submission.answers.get("student.txt", b"")) or submission.known) != submission.known:
        submission.note(f"student.txt says {readable(named)!r}, so that student's numbers were drawn")
        submission.known = named
    return submission


def read(submission: Submission, uploads: list[Upload], wanted: list[str]) -> None:
    """Takes only the wanted files. Nothing is unpacked, and no link is followed."""
    files: list[Found] = []
    for upload in uploads:
        try:
            files += files_of(submission, upload)
        except Unreadable as reason:
            submission.note(f"the submission {reason}")
    left = LARGEST_ZIP
    for file in files:  # grows with the contents of zips
        if not ARCHIVE.search(file.path[-1]):
            continue
        depth = sum(part.lower().endswith(".zip") for part in file.path)
        if not file.path[-1].lower().endswith(".zip") or depth > DEEPEST_ZIP:
            submission.note(f"{file.shown} was not opened: hand in a folder or a zip")
            continue
        try:
            data = file.content(left)
            left -= len(data)
            files += files_in_zip(submission, data, file.path)
        except Unreadable as reason:
            submission.note(f"{file.shown}: {reason}")
    for name in wanted:
        take(submission, name, files)
    note_what_is_left(submission, wanted, files)


def files_of(submission: Submission, upload: Upload) -> list[Found]:
    """All files of a folder or a zip; of Moodle's export, also a single file, without the student's name.

    :raises Unreadable: which says why there are none
    """
    if upload.files:
        return upload.files(submission)
    if upload.exported and upload.exported["file"]:
        return [Found((upload.exported["file"],), upload.content)]
    return files_in_zip(submission, upload.content(LARGEST_ZIP), ())


def uploads_in_folder(place: Path) -> list[Upload]:
    """What is in a folder of submissions."""
    found = []
    for path in sorted(place.iterdir(), key=lambda p: os.fsencode(p.name)):
        with contextlib.suppress(FileNotFoundError):  # a program has just taken it away
            about = path.lstat()
            if stat.S_ISDIR(about.st_mode):
                found.append(Upload(readable(path.name), about.st_mtime, files=partial(files_in_folder, path)))
            else:
                found.append(Upload(readable(path.name), about.st_mtime, content=partial(read_file, path)))
    return [u for u in found if not nobodys(u.name)]


def uploads_in_zip(archive: zipfile.ZipFile) -> list[Upload]:
    """What is in a learning platform's zip. It is not unpacked, so no name in it is too long, or both a file's and a folder's."""
    folders: dict[str, list[tuple[str, zipfile.ZipInfo]]] = {}
    found = []
    for member in archive.infolist():
        top, inside, rest = slashed(member).partition("/")
        if inside:
            folders.setdefault(readable(top), []).append((rest, member))
        else:
            found.append(Upload(readable(top), member.date_time, content=partial(read_member, archive, member)))
    for top, members in folders.items():
        newest = max(member.date_time for _, member in members)
        found.append(Upload(top, newest, files=partial(files_among, archive=archive, members=members)))
    return sorted((u for u in found if u.name and not nobodys(u.name)), key=lambda u: u.name)


def slashed(member: zipfile.ZipInfo) -> str:
    """Its path, whatever system wrote it."""
    return re.sub(r"^(\./)+", "", member.filename.replace("\\", "/"))


def nobodys(name: str) -> bool:
    """Whether a system or a program, not the student, made this file."""
    return name.startswith(".") or name in NOBODYS


def files_in_folder(place: Path, submission: Submission) -> list[Found]:
    """All files in a folder and its subfolders, the least deeply nested first.

    :raises Unreadable: if the folder itself cannot be read
    """
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
                raise unreadable(error) from error
            submission.note(f"{'/'.join(above)[-120:]} {unreadable(error)}")
            continue
        for entry in entries:
            path = (*above, readable(entry.name))
            if not is_folder(entry):
                files.append(Found(path, partial(read_file, Path(entry.path))))
            elif len(path) <= DEEPEST:
                folders.append((Path(entry.path), path))
            else:
                submission.note(TOO_DEEP)
    return nearest(submission, files, len(folders))


def is_folder(entry: os.DirEntry) -> bool:
    """Whether it is a folder, and no link to one."""
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False  # reading it as a file will say why


def nearest(submission: Submission, files: list[Found], folders: int = 0) -> list[Found]:
    """As many files as are looked at, the least deeply nested first."""
    if max(len(files), folders) > MOST_FILES:
        submission.note(f"it has more than {MOST_FILES} files; the most deeply nested were not looked at")
    return sorted(files, key=lambda f: (len(f.path), f.path))[:MOST_FILES]


def read_file(place: Path, most: int) -> bytes:
    """Reads a file in a folder.

    :raises Unreadable: which says why it is not looked at
    """
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise unreadable(error) from error
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise Unreadable("is not a file")
        try:
            return all_of(file, about.st_size, most)
        except OSError as error:
            raise unreadable(error) from error


def all_of(file: io.BufferedIOBase, size: int, most: int) -> bytes:
    """The contents of a file.

    :raises TooLarge: if there are more than `most` bytes
    """
    data = b"" if size > most else file.read(most + 1)
    if max(size, len(data)) > most:
        raise TooLarge(f"has {max(size, len(data))} bytes, but the limit is {most}")
    return data


def files_in_zip(submission: Submission, data: bytes, above: tuple[str, ...]) -> list[Found]:
    """All files in a zip, the least deeply nested first.

    :raises Unreadable: if it is not a zip
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except BROKEN as error:
        raise Unreadable(f"cannot be read as a zip: {error}") from error
    return files_among(submission, archive, [(slashed(member), member) for member in archive.infolist()], above)


def files_among(
    submission: Submission, archive: zipfile.ZipFile, members: Iterable[tuple[str, zipfile.ZipInfo]], above: tuple[str, ...] = ()
) -> list[Found]:
    """The files among members of a zip, each with its path from the student's folder, the least deeply nested first. Of two with the
    same path the last counts, as when it is unpacked."""
    found: dict[tuple[str, ...], zipfile.ZipInfo] = {}
    for name, member in members:
        if name.count("/") > DEEPEST:
            submission.note(TOO_DEEP)
            continue
        parts = tuple(name.split("/"))
        if ".." in parts or (name and parts[0] == "") or re.match("[A-Za-z]:", name):
            submission.note(f"the zip has a path that leaves its folder: {member.filename[:80]!r}")
        elif parts[-1] and not any(map(nobodys, parts)):
            path = tuple(map(readable, parts))
            if path in found and found[path].CRC != member.CRC:
                submission.note(f"the zip has {'/'.join(path)[-120:]} more than once; the last counts")
            found[path] = member
    return nearest(submission, [Found((*above, *path), partial(read_member, archive, found[path])) for path in found])


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
    except OSError as error:
        raise unreadable(error) from error
    except BROKEN as error:
        raise Unreadable(f"cannot be read: {error}") from error


def take(submission: Submission, name: str, files: list[Found]) -> None:
    """Takes the first readable file with this name."""
    taken, refused, others = None, "", []
    named = [f for f in files if f.path[-1].casefold() == name.casefold()]
    copies = sorted(named, key=lambda f: (*f.order[:-1], f.path[-1] != name, f.order))
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
        submission.note("; ".join([f"{name} was taken from {taken.shown}", *others]))


def note_what_is_left(submission: Submission, wanted: list[str], files: list[Found]) -> None:
    """Notes which files were not looked at, although they may have been meant as answers."""
    names = {name.casefold() for name in wanted}
    stems = tuple(Path(name).stem for name in names - {"student.txt"})
    left = [f.shown for f in files if f.path[-1].casefold() not in names]
    meant = [name for name in left if name.rpartition("/")[2].casefold().startswith(stems)]
    if not meant and not submission.answers.keys() - {"student.txt"} and not submission.refused:
        meant = left
    if meant:
        submission.note(f"not looked at, because of the name: {', '.join(meant[:3])}{', ...' if len(meant) > 3 else ''}")
