"""What students have handed in, for tests: a folder of submissions, and zips."""

import io
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

from judge.answer.exercise import load_all
from judge.course import submissions

NAME = "04_2_softmax_backward.cpp"
TARGET = next(e for e in load_all() if e.file_name == NAME)


def zipped(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def in_a_zip(files):
    """The bytes of one."""
    raw = io.BytesIO()
    zipped(raw, files)
    return raw.getvalue()


def in_a_tar(files):
    """The bytes of one, compressed."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as archive:
        for name, content in files.items():
            about = tarfile.TarInfo(name)
            if content is None:
                about.type, about.linkname = tarfile.SYMTYPE, str(TARGET.source)
            about.size = len(content or b"")
            archive.addfile(about, io.BytesIO(content or b""))
    return raw.getvalue()


class HandedIn(unittest.TestCase):
    """A folder of submissions, empty at first."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "submissions"
        self.folder.mkdir()

    def only(self):
        (submission,) = submissions.collect(self.folder, [NAME])
        return submission
