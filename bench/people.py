"""Scores people against people: English translations of one Chinese sentence, by the length of that sentence.

    ./book run 13 --help                # builds the program
    python3 bench/people.py             # writes build/bench/people.json

Of the pairs that come with the book, each Chinese sentence counts once that has two English translations or more, in
different words. Two of them are drawn; one is scored as if a program had written it, the other is its reference.
"""

import gzip
import json
import random
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "lib/program"))

import cli

PROGRAM = ROOT / "build/book/chapters/13_real_translation/real_translation"
PAIRS = ROOT / "chapters/13_real_translation/data/tatoeba_cmn_eng.tsv.gz"
OUT = ROOT / "build/bench/people.json"


def drawn() -> list[tuple[str, str, str]]:
    """The Chinese sentences, the shortest first, each with two translations that differ in a letter."""
    found: dict[str, dict[str, str]] = {}
    for line in gzip.decompress(PAIRS.read_bytes()).decode().splitlines():
        english, chinese, _ = line.split("\t")
        found.setdefault(chinese, {}).setdefault(re.sub(r"[\W_]", "", english.lower()), english)
    dice = random.Random(1)
    pairs = [(c, *dice.sample(list(english.values()), 2)) for c, english in found.items() if len(english) > 1]
    return sorted(pairs, key=lambda pair: len(pair[0]))


def score(pairs: list[tuple[str, str, str]], folder: Path) -> dict[str, float]:
    for name, column in (("said", 1), ("reference", 2)):
        (folder / name).write_text("".join(pair[column] + "\n" for pair in pairs), encoding="utf-8")
    files = ["--reference", folder / "reference", "--hypothesis", folder / "said"]
    subprocess.run([PROGRAM, "score", *files, "--out", folder / "out"], check=True, stdout=subprocess.DEVNULL)
    results = json.loads((folder / "out/results.json").read_text())
    return {"sentences": len(pairs), "shortest": len(pairs[0][0]), "longest": len(pairs[-1][0]),
            "bleu": results["BLEU"]["value"], "half_width": results["BLEU_half_width"]["value"]}


def main() -> None:
    if not PROGRAM.is_file():
        raise cli.Failure(f"there is no {PROGRAM}; ./book run 13 --help builds it")
    pairs, parts, first = drawn(), [], 0
    with tempfile.TemporaryDirectory() as folder:
        for quarter in range(1, 5):
            longest = len(pairs[quarter * len(pairs) // 4 - 1][0])
            part = [pair for pair in pairs if first < len(pair[0]) <= longest]
            parts.append(score(part, Path(folder)))
            first = longest
        found = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "parts": dict(enumerate(parts, 1)),
                 "all": score(pairs, Path(folder))}
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(found, indent=1) + "\n")
    print(OUT.read_text(), end="")


if __name__ == "__main__":
    cli.run(main)
