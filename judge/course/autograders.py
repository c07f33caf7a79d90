"""What GitHub, Classroom 50 and Gradescope call to judge what students hand in there."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import zipfile
from pathlib import Path

from ..answer.exercise import ROOT, Exercise, Mistaken
from .pack import GRADING, PACKAGES, make_judge

WORKFLOW = """name: check
on: [push, workflow_dispatch]
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-24.04
    timeout-minutes: 20
    steps:
      - uses: actions/checkout@v4
      - run: sudo apt-get update && sudo apt-get install --yes --no-install-recommends {packages}
      - run: ./check {numbers}
"""

AUTOGRADER = '''"""Classroom 50 runs this in a clone of a student's repository.

https://github.com/foundation50/classroom50/wiki/Advanced-Autograding
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "pack"))  # the student may have changed the one in the repository

from judge import __main__ as judge
from judge.course import platforms

NUMBERS = {numbers}
RELEASE = {release}  # until then students see only points

with tempfile.TemporaryDirectory() as name:
    handed_in, out = Path(name, "handed_in"), Path(name, "out")
    student = handed_in / os.environ["USERNAME"]
    student.mkdir(parents=True)
    if Path("answers").is_dir():
        shutil.copytree("answers", student / "answers", symlinks=True)
    status = judge.main(["grade", *NUMBERS, "--submissions", str(handed_in), "--out", str(out), "--jobs", "1", "--unsafe-no-sandbox"])
    if status:
        sys.exit(status)
    (results,) = (out / "verdicts").iterdir()
    seen = platforms.until(RELEASE and platforms.moment(RELEASE), json.loads(results.read_text()))
Path("result.json").write_text(json.dumps(platforms.classroom50(seen, os.environ), indent=2))
Path("release-body.md").write_text(platforms.release_body(seen))
'''

SETUP = """#!/usr/bin/env bash
# Gradescope calls this once, when the autograder is built.
set -euo pipefail
apt-get update
apt-get install --yes --no-install-recommends bubblewrap git python3 g++ cmake ninja-build libeigen3-dev \\
    libfmt-dev libcli11-dev nlohmann-json3-dev libboost-context-dev libsentencepiece-dev libutf8proc-dev zlib1g-dev
mkdir -p /autograder/book
tar -xf /autograder/source/book.tar -C /autograder/book
cd /autograder/book
chmod 700 /autograder/book
python3 -m judge prepare {numbers}
"""

RUN = """#!/usr/bin/env bash
# Gradescope calls this for each submission.
set -uo pipefail
cd /autograder/book
mkdir -p /autograder/one
rm -rf /autograder/one/* /autograder/out
# What is drawn for a student is drawn from the folder's name: the email, else the name, as Gradescope knows them.
student=$(python3 - 2>/dev/null <<'END'
import json, re, unicodedata
user = json.load(open("/autograder/submission_metadata.json"))["users"][0]
name = unicodedata.normalize("NFC", user.get("email") or user.get("name") or "")
print(re.sub("[^A-Za-z0-9@._+-]", "_", name).strip("._-")[:80])
END
)
student=${{student:-student}}
cp -r --no-dereference /autograder/submission "/autograder/one/$student"
python3 -m judge grade {numbers} --submissions /autograder/one --out /autograder/out --jobs 1{release}
status=$?
if [ $status -eq 4 ]; then  # the container is Gradescope's own sandbox; answers run as a user who owns nothing
    python3 -m judge grade {numbers} --submissions /autograder/one --out /autograder/out --jobs 1{release} --unsafe-no-sandbox
    status=$?
fi
if [ $status -eq 0 ]; then
    cp /autograder/out/*/results.json /autograder/results/results.json  # there is one student
else
    echo '{{"score": 0, "output": "The grader failed; your instructor has been told."}}' >/autograder/results/results.json
fi
"""


def git(*arguments: str | Path) -> bytes:
    """What git says about the book's clone.

    :raises Mistaken: if the book is not a clone
    """
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise Mistaken("--gradescope packs the book from its git clone, but git is not installed") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise Mistaken(f"--gradescope packs the book from its git clone: {said}")
    return done.stdout


def require_clone(exercises: list[Exercise]) -> None:
    """Warns about uncommitted changes to the exercises, because the autograder contains what is committed.

    :raises Mistaken: if the book is not a clone
    """
    if git("rev-parse", "--show-prefix").strip():
        raise Mistaken(f"--gradescope packs the book from its git clone, but {ROOT} is a folder inside another clone")
    git("rev-parse", "--verify", "HEAD")
    other = [e.number for e in exercises if git("status", "--porcelain", "--", e.folder).strip()]
    if other:
        print(f"book: {', '.join(other)}: uncommitted changes are not in the autograder", file=sys.stderr)


def classroom50(exercises: list[Exercise], out: Path, *, release: str | None) -> None:
    """The bundle of an assignment in Classroom 50: an autograder, and a pack with other cases than the students' for it.
    `runtime.json` says what the machine needs."""
    make_judge(exercises, out / "pack", seed=secrets.randbits(63), grading=GRADING)
    (out / "autograder.py").write_text(AUTOGRADER.format(numbers=[e.number for e in exercises], release=repr(release)))
    (out / "runtime.json").write_text(json.dumps({"runs-on": "ubuntu-24.04", "apt": PACKAGES}, indent=2))


def gradescope(exercises: list[Exercise], file: Path, *, release: str | None) -> None:
    """The autograder: the book itself, and the two scripts that Gradescope calls."""
    numbers = " ".join(e.number for e in exercises)
    until = f" --release {release}" if release else ""
    book = git("archive", "--format=tar", "HEAD")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (("setup.sh", SETUP), ("run_autograder", RUN)):
            about = zipfile.ZipInfo(name)
            about.external_attr = 0o755 << 16
            archive.writestr(about, content.format(numbers=numbers, release=until))
        archive.writestr("book.tar", book)
