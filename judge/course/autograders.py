"""What GitHub and Gradescope call to judge what students hand in there."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

from ..answer.exercise import ROOT, Exercise, Mistaken

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

SETUP = """#!/usr/bin/env bash
# Gradescope calls this once, when the autograder is built. Its image has to be Ubuntu 24.04 or newer, because 22.04 has
# CMake 3.22, which is too old.
set -euo pipefail
. /etc/os-release
if [ "$ID" = ubuntu ] && [ "${{VERSION_ID%%.*}}" -lt 24 ]; then
    echo "This autograder needs the base image Ubuntu 24.04 or newer, not $PRETTY_NAME: choose it in its settings" >&2
    exit 1
fi
apt-get update
apt-get install --yes --no-install-recommends bubblewrap git python3 g++ cmake ninja-build libeigen3-dev \\
    libfmt-dev libcli11-dev nlohmann-json3-dev libboost-context-dev libsentencepiece-dev libutf8proc-dev zlib1g-dev
mkdir -p /autograder/book
tar -xf /autograder/source/book.tar -C /autograder/book
cd /autograder/book
chmod 700 /autograder/book
mkdir -p /autograder/nobody
python3 -m judge grade {numbers} --submissions /autograder/nobody --out /autograder/built --unsafe-no-sandbox  # compiles the judge
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
python3 -m judge grade {numbers} --submissions /autograder/one --out /autograder/out --jobs 1 --gradescope{roster}
status=$?
if [ $status -eq 4 ]; then  # the container is Gradescope's own sandbox; answers run as a user who owns nothing
    python3 -m judge grade {numbers} --submissions /autograder/one --out /autograder/out --jobs 1 --gradescope{roster} --unsafe-no-sandbox
    status=$?
fi
if [ $status -ne 0 ]; then  # without results Gradescope says that the autograder failed, to you as well
    exit $status
fi
cp /autograder/out/*/results.json /autograder/results/results.json  # there is one student
"""


def book() -> bytes:
    """What is committed of the book, as a tar.

    :raises Mistaken: if the book is not a clone
    """
    try:
        done = subprocess.run(["git", "archive", "--format=tar", "HEAD"], cwd=ROOT, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise Mistaken("--gradescope packs the book from its git clone, but git is not installed") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise Mistaken(f"--gradescope packs the book from its git clone: {said}")
    return done.stdout


def gradescope(exercises: list[Exercise], file: Path, tar: bytes, roster: Path | None) -> None:
    """The autograder: the book itself, the two scripts that Gradescope calls, and the roster, if there is one."""
    numbers, known = " ".join(e.number for e in exercises), " --roster /autograder/source/roster.csv" if roster else ""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (("setup.sh", SETUP), ("run_autograder", RUN)):
            about = zipfile.ZipInfo(name)
            about.external_attr = 0o755 << 16
            archive.writestr(about, content.format(numbers=numbers, roster=known))
        archive.writestr("book.tar", tar)
        if roster:
            archive.write(roster, "roster.csv")
