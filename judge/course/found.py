"""The files in folders, zips and tars. Everything is read as data: nothing is unpacked, and no link is followed."""

from __future__ import annotations

import codecs
import datetime
import io
import lzma
import os
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

DEEPEST = 100  # folders in folders
NOBODYS = ("__MACOSX", "Thumbs.db", "desktop.ini")  # files that systems leave in folders
ARCHIVE = re.compile(r"(\.tar)?\.(zip|tar|tgz|gz|bz2|xz|zst|7z|rar)$", re.IGNORECASE)
GZIPPED = b"\x1f\x8b"  # the beginning of what gzip has compressed
# Errors that reading a damaged zip or tar may raise.
BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
    zlib.error,
)
BROKEN += (lzma.LZMAError, struct.error)
COMPRESSED = (
    zipfile.ZIP_STORED,
    zipfile.ZIP_DEFLATED,
)  # of others Python reads more than it is asked for, which may fill the memory


class Unreadable(ValueError):
    """Why a submission, or a file in it, is not looked at."""


@dataclass(frozen=True)
class Found:
    """A file in a folder or in a zip, which counts as a folder."""

    path: tuple[str, ...]
    content: Callable[[int], bytes] = (
        bytes  # takes the most bytes to read; :raises Unreadable: which says why it is not looked at
    )
    changed: float = 0.0  # when, in seconds since 1970
    unread: str = ""  # why a folder was not looked into

    @property
    def shown(self) -> str:
        """Its path, for people."""
        return "/".join(map(readable, self.path))[-120:]

    @property
    def order(self) -> tuple:
        """Puts the file that counts first among those with its name: one in `answers`, else the least deeply nested."""
        above = ARCHIVE.sub("", self.path[-2].casefold()) if len(self.path) > 1 else ""
        return above != "answers", len(self.path), self.path


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
        if above:
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
                found.append(
                    Found(path, partial(read_file, Path(entry.path)), entry.stat(follow_symlinks=False).st_mtime)
                )
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
    """All files in a zip, and its folders as files without a name. Of two with the same path the last counts, as when
    it is unpacked.

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
        found[path] = Found(path, partial(read_member, archive, member), seconds(member.date_time))
    return list(found.values())


def seconds(moment: tuple) -> float:
    """The time in a zip, in seconds since 1970; 0 if there is none."""
    try:
        return datetime.datetime(*moment).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def gunzipped(data: bytes, most: int) -> bytes:
    """What gzip has compressed.

    :raises Unreadable: if it is damaged, or has more than `most` bytes
    """
    unpacking = zlib.decompressobj(wbits=31)
    try:
        data = unpacking.decompress(data, most + 1)
    except zlib.error as error:
        raise Unreadable(f"is damaged: {error}") from error
    if len(data) > most:
        raise Unreadable(f"has more than {most} bytes, which is the limit")
    if not unpacking.eof:
        raise Unreadable("ends too early, so it is damaged")
    return data


def files_in_tar(data: bytes, above: tuple[str, ...]) -> list[Found]:
    """All files in a tar.

    :raises Unreadable: if it is none
    """
    try:
        archive = tarfile.open(fileobj=io.BytesIO(data), mode="r:")
        found = {}
        for member in (m for m in archive if not m.isdir()):
            path = (*above, *(part for part in member.name.split("/") if part not in ("", ".", "..")))
            found[path] = Found(path, partial(read_tarred, archive, member), float(member.mtime))
        return list(found.values())
    except BROKEN as error:
        raise Unreadable(f"cannot be read as a tar: {error}") from error


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


def read_tarred(archive: tarfile.TarFile, member: tarfile.TarInfo, most: int) -> bytes:
    """Reads a file in a tar.

    :raises Unreadable: which says why it is not looked at
    """
    if not member.isreg():
        raise Unreadable("is a link, which is not followed" if member.issym() or member.islnk() else "is not a file")
    try:
        return all_of(archive.extractfile(member), member.size, most)
    except Unreadable:
        raise
    except BROKEN as error:
        raise Unreadable(f"cannot be read: {error}") from error


def in_utf8(content: bytes) -> bytes:
    """What was saved in UTF-16, in UTF-8; all else as it is."""
    marked = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    halves = {"utf-16-le": content[1::2], "utf-16-be": content[::2]}
    encoding = (
        "utf-16" if marked else next((name for name, half in halves.items() if 2 * half.count(0) > len(half)), "")
    )
    try:
        return content.decode(encoding).encode() if encoding else content
    except UnicodeError:
        return content
