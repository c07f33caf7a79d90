"""What students handed in: who they are, and which of their files are answers."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..answer.exercise import Mistaken
from ..answer.written import Dealt, known_as, letters, pattern_of, student_in
from .found import ARCHIVE, GZIPPED, Found, Unreadable, files_in_folder, files_in_tar, files_in_zip
from .found import gunzipped, in_utf8, nobodys, readable
from .roster import NOBODY, Person, Roster, committed

LARGEST_ANSWER = 256 * 1024
LARGEST_ZIP = 64 << 20
DEEPEST_ZIP = 3  # a zip in a zip in a student's zip
MOST_NOTES = 20  # on a submission
MEANT = re.compile(r".*\.(?:c|cc|cpp|cxx|cu|h|hpp|txt|rtf|docx?|odt|pdf)", re.IGNORECASE)  # perhaps as an answer
PACK = {"judge", "chapters", "hunt", "include", "libraries"}  # a pack's own folders
TARRED = re.compile(r"\.(tar|tar\.gz|tgz)$", re.IGNORECASE)  # those that are opened
# In Moodle's export of all submissions each student has folders, or (older, or if chosen) files with their beginning:
# `Anna Li_1234567_assignsubmission_file`, `Anna Li_1234567_assignsubmission_file_answers.zip`.
EXPORTED = re.compile(r"(?P<student>.+_\d+)_assignsubmission_[a-z]+(_(?P<file>.*))?", re.DOTALL)
METADATA = "submission_metadata.yml"  # in Gradescope's export: whose the folders are


@dataclass
class Submission:
    """The files that a student handed in."""

    student: str
    notes: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)  # for the instructor alone
    answers: dict[str, bytes] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)  # by file name
    known: str = ""  # the name that numbers are drawn from, or to whom they are dealt
    names: list[str] = field(default_factory=list)  # others that a platform gives
    number: str = ""  # Moodle's
    person: Person | None = None
    handed_in: float = 0.0  # when, in seconds since 1970; 0 if that is unknown

    @property
    def called(self) -> set[str]:
        """All that the student may be found by."""
        names = set(map(letters, (self.student, self.known, *self.names)))
        return (names | (self.person.called if self.person else set())) - {""}

    def note(self, text: str) -> None:
        """Notes something for student and instructor to read, unless there is too much of it."""
        if len(self.notes) < MOST_NOTES:
            self.notes.append(text if len(self.notes) < MOST_NOTES - 1 else "and more")


def collect(
    place: Path, wanted: list[str], roster: Roster = NOBODY, emails: dict[str, str] | None = None,
    stubs: dict[str, str] | None = None,
) -> list[Submission]:  # fmt: skip
    """All submissions in a folder, or in a learning platform's zip. Each student has a folder or a zip, whose name
    without .zip is the student's, or what Moodle or Gradescope exports.

    :param emails: of participants, by the numbers that Moodle gives them
    :param stubs: by name, what an answer is as long as nothing has been written: any other file of the name comes first
    :raises Mistaken: if it is neither
    """
    try:
        files = files_in_folder(place) if place.is_dir() else files_in_zip(place)
        files = [file for file in files if file.path != ("",) and not nobodys(file.path)]
        while outer := around_all(files, wanted, roster):
            if place.is_dir():  # of one student, for all that is known
                said = f"if {readable(outer)} is no student but holds the class, grade {place / outer}"
                print(f"book: {said}", file=sys.stderr)
                break
            files = [replace(file, path=file.path[1:]) for file in files if file.path[1:] not in ((), ("",))]
        owners = {}
        for file in files:
            if file.path == (METADATA,):
                owners = owners_in(file.content(LARGEST_ZIP).decode(errors="replace"))
    except Unreadable as reason:
        raise Mistaken(f"{place} {reason}; download it again") from reason
    uploads: dict[str, list[Found]] = {}  # by the name of a folder, or of a file beside the folders
    for file in files:
        uploads.setdefault(file.path[0], []).append(file)
    students: dict[str, list[str]] = {}
    names: dict[str, list[str]] = {}
    for name, files in sorted(uploads.items()):
        exported = EXPORTED.fullmatch(name)
        if exported or len(files[0].path) > 1 or ARCHIVE.search(name):
            student = exported["student"] if exported else ARCHIVE.sub("", name)
            email = (emails or {}).get(student.rpartition("_")[2], "") if exported else ""
            for one in owners.get(name, [[readable(student), email]]):
                students.setdefault(known_as(one[0]), []).append(name)
                names[known_as(one[0])] = one
        elif name != METADATA:
            said = f"{readable(name)} is neither a folder nor a zip, so it is nobody's submission"
            print(f"book: {said}", file=sys.stderr)
    found = []
    for student, given in students.items():
        theirs = {name: uploads[name] for name in given}
        submission = submission_of(student, names[student], theirs, wanted, roster, stubs or {})
        if place.is_dir():
            submission.handed_in = max(map(committed, (place / name for name in given))) or submission.handed_in
        found.append(submission)
    return found


def around_all(files: list[Found], wanted: list[str], roster: Roster) -> str:
    """The folder that all students are in, as in a platform's export, or as a system packs a folder; empty if there is
    none. The folder of a single student with several copies of an answer looks the same."""
    tops = {file.path[0] for file in files}
    outer = next(iter(tops), "")
    if len(tops) != 1 or any(len(file.path) < 2 for file in files) or EXPORTED.fullmatch(outer):
        return ""
    if roster.person([letters(outer)]):
        return ""
    if any(EXPORTED.fullmatch(file.path[1]) or file.path[1] == METADATA for file in files):
        return outer
    answer = any_of(wanted)
    of_students = [f for f in files if answer.fullmatch(f.path[-1]) or (len(f.path) == 2 and ARCHIVE.search(f.path[1]))]
    inner = {ARCHIVE.sub("", f.path[1]).casefold() for f in of_students}
    alone = "answers" in inner or any(len(f.path) == 2 and answer.fullmatch(f.path[1]) for f in of_students)
    return outer if len(inner) > 1 and not alone else ""


def any_of(names: list[str]) -> re.Pattern[str]:
    """The names that one of these files may have got on its way."""
    return re.compile("|".join(pattern_of(name).pattern for name in names), re.IGNORECASE)


def owners_in(metadata: str) -> dict[str, list[list[str]]]:
    """Whose each folder of Gradescope's export is: all that each student of a group is called, the email first if it is
    there."""
    found: dict[str, list[list[str]]] = {}
    for block in re.split(r"^(?=\S+:\s*$)", metadata, flags=re.MULTILINE):
        head = re.split(r"^  :(?!submitters:)", block, maxsplit=1, flags=re.MULTILINE)[0]
        people = re.findall(r"^  - (:.*\n(?:    :.*\n)*)", head, re.MULTILINE)
        for person in people:
            values = dict(re.findall(r":(name|email|sid): *['\"]?(.*?)['\"]? *$", person, re.MULTILINE))
            if names := [values[key] for key in ("email", "name", "sid") if values.get(key)]:
                found.setdefault(block.partition(":")[0], []).append(names)
    return found


def submission_of(
    student: str, names: list[str], uploads: dict[str, list[Found]], wanted: list[str], roster: Roster,
    stubs: dict[str, str],
) -> Submission:  # fmt: skip
    """What a student handed in. Whatever is wrong with it is noted there, so that it concerns nobody else."""
    exported = EXPORTED.fullmatch(next(iter(uploads)))
    known, _, number = student.rpartition("_") if exported else (student, "", "")
    submission = Submission(student, known=known, names=names, number=number)
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
            files.append(replace(file, path=inside))
    open_archives(submission, files)
    for name in wanted:
        take(submission, name, files, stubs.get(name, "").split())
    note_what_is_left(submission, wanted, files)
    draw(submission, roster)
    return submission


def draw(submission: Submission, roster: Roster) -> None:
    """Says for whom is drawn what is personal. In a class with a roster, no file that is handed in decides it."""
    named = student_in(submission.answers.get("student.txt", b"")) or submission.known
    if roster.people:
        submission.person = roster.person(submission.called)
        if not submission.person:
            submission.flags.append("not in the roster, or not one person there")
        else:
            if letters(named) not in submission.called:
                submission.flags.append(f"student.txt says {readable(named)!r}")
            submission.known = Dealt.to(submission.person.student, submission.person.turn)
    elif named != submission.known:
        submission.note(f"student.txt says {readable(named)!r}, so that student's numbers were drawn")
        submission.known = named


def open_archives(submission: Submission, files: list[Found]) -> None:
    """Adds the files in zips and tars, up to a size. Each counts as old as the archive: its own time is the student's
    clock's."""
    left = LARGEST_ZIP
    for file in files:  # grows meanwhile
        if not ARCHIVE.search(file.path[-1]):
            continue
        depth = sum(bool(ARCHIVE.search(part)) for part in file.path)
        tarred = TARRED.search(file.path[-1])
        if depth > DEEPEST_ZIP or not (tarred or file.path[-1].lower().endswith(".zip")):
            submission.note(f"{file.shown} was not opened: hand in a folder or a zip")
            continue
        try:
            data = file.content(left)
            left -= len(data)
            if tarred and data.startswith(GZIPPED):
                data = gunzipped(data, left)
                left -= len(data)
            there = files_in_tar(data, file.path) if tarred else files_in_zip(io.BytesIO(data), file.path)
            files += [replace(f, changed=file.changed) for f in there if not nobodys(f.path)]
            if not any(f.path[-1] for f in there):
                submission.note(f"{file.shown} is empty")
        except Unreadable as reason:
            submission.note(f"{file.shown} {reason}")


def take(submission: Submission, name: str, files: list[Found], stub: list[str]) -> None:
    """Takes the first readable file with this name, or with what has become of it, that has other words than the stub."""
    named = [f for f in files if pattern_of(name).fullmatch(f.path[-1])]
    found: list[tuple[Found, bytes]] = []
    for file in sorted(named, key=lambda f: (f.path[-1].casefold() != name.casefold(), f.order)):
        try:
            found.append((file, in_utf8(file.content(LARGEST_ANSWER))))
        except Unreadable as reason:
            submission.refused.setdefault(name, str(reason))
    if not found:
        return
    written = [one for one in found if one[1].decode(errors="replace").split() != stub]
    file, submission.answers[name] = (written or found)[0]
    submission.refused.pop(name, None)
    submission.handed_in = max(submission.handed_in, file.changed)
    if len(named) > 1 or file.path[-1] != name:
        more = f", one of {len(named)} files with this name" if len(named) > 1 else ""
        submission.note(f"{name} was taken from {file.shown}{more}")
    if len({answer for _, answer in written}) > 1:
        submission.flags.append(f"{name} is one of several that differ")


def note_what_is_left(submission: Submission, wanted: list[str], files: list[Found]) -> None:
    """Notes which files were not looked at, although they may have been meant as answers."""
    taken = any_of(wanted)
    stems = tuple(Path(name).stem.casefold() for name in wanted if name != "student.txt")
    own = [f for f in files if f.path[-1] and not ARCHIVE.search(f.path[-1]) and not PACK.intersection(f.path[:-1])]
    left = [f.shown for f in own if not taken.fullmatch(f.path[-1])]
    complete = all(name in submission.answers for name in wanted if name != "student.txt")
    names = {name: name.rpartition("/")[2].casefold() for name in left}
    meant = [name for name in left if names[name].startswith(stems) or (not complete and MEANT.fullmatch(names[name]))]
    if not meant and not submission.answers.keys() - {"student.txt"} and not submission.refused:
        meant = left
    if meant:
        more = ", ..." if len(meant) > 3 else ""
        submission.note(f"not looked at, because of the name: {', '.join(meant[:3])}{more}")
