"""What students handed in: who they are, and which of their files are answers."""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..answer.exercise import Mistaken
from ..answer.student import known_as, student_in
from .reading import (
    BROKEN,
    Found,
    Note,
    TooLarge,
    Unreadable,
    files_among,
    files_in_folder,
    files_in_zip,
    nobodys,
    read_file,
    read_member,
    readable,
    slashed,
)

LARGEST_ANSWER = 256 * 1024
LARGEST_ZIP = 64 << 20
MOST_NOTES = 20  # on a submission
MOST_COPIES = 8  # of an answer that are compared
DEEPEST_ZIP = 2  # a zip in a zip
ARCHIVE = re.compile(r"(\.tar)?\.(zip|tar|tgz|gz|bz2|xz|zst|7z|rar)$", re.IGNORECASE)
# In Moodle's export of all submissions each student has folders, or (older, or if chosen) files with their beginning:
# `Anna Li_1234567_assignsubmission_file`, `Anna Li_1234567_assignsubmission_file_answers.zip`.
EXPORTED = re.compile(r"(?P<student>.+_\d+)_assignsubmission_[a-z]+(_(?P<file>.*))?", re.DOTALL)


@dataclass(frozen=True)
class Upload:
    """What may be a student's, in a folder of all submissions or in a learning platform's zip: a folder, or a file."""

    name: str
    changed: float | tuple  # when, to be compared with others of the same place
    files: Callable[[Note], list[Found]] | None = None  # of a folder; :raises Unreadable: which says why there are none
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
            files += files_in_zip(submission.note, data, file.path)
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
        return upload.files(submission.note)
    if upload.exported and upload.exported["file"]:
        return [Found((upload.exported["file"],), upload.content)]
    return files_in_zip(submission.note, upload.content(LARGEST_ZIP), ())


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
