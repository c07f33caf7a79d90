"""What a student's folder or zip holds, read as data: nothing of it is followed, unpacked or believed."""

from __future__ import annotations

import errno
import io
import itertools
import lzma
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

MOST_FILES = 10_000  # of a submission that are looked at
DEEPEST = 100  # folders around a file that is looked at
TOO_DEEP = f"what lies in more than {DEEPEST} folders was not looked at"
NOBODYS = ("__MACOSX", "Thumbs.db", "desktop.ini")  # files that systems leave in folders
# Errors that reading a damaged zip may raise.
BROKEN = (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, zlib.error, lzma.LZMAError, struct.error)
COMPRESSED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # of others Python reads more than it is asked for, which may fill the memory
# Errors that say something of the machine; any other says something of the file.
OF_THE_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
Note = Callable[[str], None]  # takes what student and instructor should read


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


def nobodys(name: str) -> bool:
    """Whether a system or a program, not the student, made this file."""
    return name.startswith(".") or name in NOBODYS


def files_in_folder(place: Path, note: Note) -> list[Found]:
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
            note(f"{'/'.join(above)[-120:]} {unreadable(error)}")
            continue
        for entry in entries:
            path = (*above, readable(entry.name))
            if not is_folder(entry):
                files.append(Found(path, partial(read_file, Path(entry.path))))
            elif len(path) <= DEEPEST:
                folders.append((Path(entry.path), path))
            else:
                note(TOO_DEEP)
    return nearest(note, files, len(folders))


def is_folder(entry: os.DirEntry) -> bool:
    """Whether it is a folder, and no link to one."""
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False  # reading it as a file will say why


def nearest(note: Note, files: list[Found], folders: int = 0) -> list[Found]:
    """As many files as are looked at, the least deeply nested first."""
    if max(len(files), folders) > MOST_FILES:
        note(f"it has more than {MOST_FILES} files; the most deeply nested were not looked at")
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


def slashed(member: zipfile.ZipInfo) -> str:
    """Its path, whatever system wrote it."""
    return re.sub(r"^(\./)+", "", member.filename.replace("\\", "/"))


def files_in_zip(note: Note, data: bytes, above: tuple[str, ...]) -> list[Found]:
    """All files in a zip, the least deeply nested first.

    :raises Unreadable: if it is not a zip
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except BROKEN as error:
        raise Unreadable(f"cannot be read as a zip: {error}") from error
    return files_among(note, archive, [(slashed(member), member) for member in archive.infolist()], above)


def files_among(
    note: Note, archive: zipfile.ZipFile, members: Iterable[tuple[str, zipfile.ZipInfo]], above: tuple[str, ...] = ()
) -> list[Found]:
    """The files among members of a zip, each with its path from the student's folder, the least deeply nested first. Of two with the
    same path the last counts, as when it is unpacked."""
    found: dict[tuple[str, ...], zipfile.ZipInfo] = {}
    for name, member in members:
        if name.count("/") > DEEPEST:
            note(TOO_DEEP)
            continue
        parts = tuple(name.split("/"))
        if ".." in parts or (name and parts[0] == "") or re.match("[A-Za-z]:", name):
            note(f"the zip has a path that leaves its folder: {member.filename[:80]!r}")
        elif parts[-1] and not any(map(nobodys, parts)):
            path = tuple(map(readable, parts))
            if path in found and found[path].CRC != member.CRC:
                note(f"the zip has {'/'.join(path)[-120:]} more than once; the last counts")
            found[path] = member
    return nearest(note, [Found((*above, *path), partial(read_member, archive, found[path])) for path in found])


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
