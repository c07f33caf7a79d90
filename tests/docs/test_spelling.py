"""Spelling of prose, comments and messages: codespell, a list of words, and one spelling for one word.

The book writes American English: "optimizer", "color", "neighbor". A word that the dictionary of
pyspellchecker does not know must stand in words.txt beside this file.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from spellchecker import SpellChecker

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
FOLDERS = ("bench", "chapters", "cmake", "docs", "figures", "lib", "tests")
SLASHES = {".hpp", ".cpp", ".cuh", ".cu", ".js"}
HASHES = {".py", ".toml", ".cmake", ".txt", ".sh", ""}
OWN = {"test_faults.py", "test_figures.py", "test_refused.py", "test_spelling.py", "words.txt"}  # they hold what is refused

# Names in code, and words that a dictionary takes for others.
NOT_MISSPELT = "arange,assertIn,biased,dur,ist,math,ot,sanitizers,warmup"
# Phrases of other languages or of nobody, and what to write.
PHRASES = {
    r"in that (?:we|it|they|one)": "by ...ing",
    r"on (?:two|three|both|all) ways": "in two ways, by two paths",
    r"a (?:thread|block|warp) an element": "one thread per element",
    r"as often as chance": "no better than chance",
    r"but for the last": "all ... except the last",
    r"the threads meet (?:once|twice)": "one barrier, two barriers",
    r"sends for \w+ that will be read": "prefetches",
    r"(?:allows|permits) to \w+": "allows ...ing, lets ...",
    r"could of": "could have",
    r"(?:general|initial|memor|normal|optim|real|summar|token)is(?:e|ed|er|ers|es|ing|ations?)": "-ize",
    r"informations|softwares": "information, software",
}
QUOTED = "initialised twice"  # words of others stay as they are


def files() -> Iterator[Path]:
    yield from (REPOSITORY / name for name in ("README.md", "book", ".ci/run"))
    for folder in FOLDERS:
        for path in sorted((REPOSITORY / folder).rglob("*")):
            known = path.suffix in {".md", *SLASHES, *HASHES} - {""}
            if known and path.name not in OWN and "fixture" not in path.parts:
                yield path


def blank(pattern: str, text: str, flags: int = 0) -> str:
    """What matches is left out; every other character stays where it is."""
    return re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found.group()), text, flags=re.DOTALL | flags)


def kept(patterns: list[str], text: str) -> str:
    """Only what the group of a pattern holds, where it stands."""
    out = list(re.sub(r"[^\n]", " ", text))
    for pattern in patterns:
        for found in re.finditer(pattern, text, re.DOTALL | re.MULTILINE):
            string = found.group()[0] == '"' and found.group()[:3] != '"""'
            if not string or found.group().count(" ") > 2:  # of strings, those of four words or more
                out[found.start(1) : found.end(1)] = text[found.start(1) : found.end(1)]
    return "".join(out)


def without_code(text: str) -> str:
    """A page without what stands in fences of code and of lists of names; fences of text may contain others."""
    out, fences = [], []
    for line in text.split("\n"):
        found = re.match(r"(`{3,}|~{3,})(\{?)([\w-]*)", line)
        if found and fences and found[1] == fences[-1][0] and line.strip() == found[1]:
            fences.pop()
            line = ""  # its backticks are no quotation marks
        elif found:
            fences.append((found[1], not found[2] or found[3] in {"listing", "console", "source", "checked", "toctree"}))
        out.append(re.sub(".", " ", line) if any(code for _, code in fences) else line)
    return "\n".join(out)


def prose(name: str, text: str) -> str:
    """The text, blank where it is not written for a reader: of a source, comments and messages remain."""
    suffix = Path(name).suffix
    if suffix == ".md":
        text = without_code(text)
        text = blank(r"^:[a-z]+:|^`{3,}\{\w+\}[^\n]*$|\$\$.*?\$\$|(?<![\w$])\$[^$]*\$|\]\([^)]*\)", text, re.MULTILINE)
    else:
        message = r'"((?:[^"\\\n]|\\.)*)"'
        comment = r"//[/!<]*((?<!:///)[^\n]*)" if suffix in SLASHES else r"(?:^|(?<=\s))#(?!include|pragma)([^\n]*)"
        text = kept([comment, message, *([r'^[ ]*r?"""(.*?)"""'] if suffix == ".py" else [])], text)
    return blank(r"`[^`]*`|https?://\S+|<[^<>\n]*>|\{[^{}\n]*\}|\\.|" + QUOTED, text)


@cache
def speller() -> SpellChecker:
    words = (HERE / "words.txt").read_text(encoding="utf-8").split()
    out = SpellChecker()
    out.word_frequency.load_words(words)
    return out


def place(name: str, text: str, where: int) -> str:
    return f"{name}:{text.count(chr(10), 0, where) + 1}"


def unknown_words(name: str, text: str) -> list[str]:
    """Of plain words of more than three letters; no names in code, no abbreviations."""
    shown = prose(name, text)
    # no part of a path, a name, an option, a call
    plain = r"(?<![\w./\\:$%@-])[A-Za-z][a-z’']{2,}[a-z](?![\w(\[/_=\\]|[.:-][\w(/_])"
    found = [(match.start(), re.sub(r"['’]s?$", "", match.group()).replace("’", "'")) for match in re.finditer(plain, shown)]
    unknown = speller().unknown({word.lower() for _, word in found})
    return [f"{place(name, text, where)}: {word}" for where, word in found if word.lower() in unknown]


def odd_phrases(name: str, text: str) -> list[str]:
    shown = prose(name, text)
    out = []
    for phrase, better in PHRASES.items():
        spaced = phrase.replace(" ", r"\s+(?://+|\#)?\s*")
        for found in re.finditer(rf"\b(?:{spaced})\b", shown, re.IGNORECASE):
            out.append(f"{place(name, text, found.start())}: {' '.join(found.group().split())}: {better}")
    return out


def codespell(folder: Path, names: list[str], dictionaries: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", "--builtin", dictionaries, "--ignore-regex", QUOTED,
         "--ignore-words-list", NOT_MISSPELT, *names],
        capture_output=True, text=True, encoding="utf-8", check=False, cwd=folder,
    )
    if done.returncode not in (0, 65):
        raise AssertionError(done.stderr)
    return done.stdout.splitlines()


def two_spellings(texts: dict[str, str]) -> list[str]:
    """British spellings; names in code follow their libraries."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(prose(name, text), encoding="utf-8")
        return sorted(set(codespell(Path(folder), list(texts), "en-GB_to_en-US")))


class Spelling(unittest.TestCase):
    def refuse(self, check: object) -> None:
        assert callable(check)
        wrong = []
        for path in files():
            wrong += check(path.relative_to(REPOSITORY).as_posix(), path.read_text(encoding="utf-8"))
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_codespell_finds_nothing(self) -> None:
        names = [path.relative_to(REPOSITORY).as_posix() for path in files()]
        wrong = codespell(REPOSITORY, names, "clear,rare,informal")
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_every_word_is_known(self) -> None:
        self.refuse(unknown_words)

    def test_one_word_has_one_spelling(self) -> None:
        texts = {path.relative_to(REPOSITORY).as_posix(): path.read_text(encoding="utf-8") for path in files()}
        wrong = two_spellings(texts)
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_no_odd_phrase(self) -> None:
        self.refuse(odd_phrases)

    def test_the_list_is_sorted_and_holds_no_word_twice(self) -> None:
        words = (HERE / "words.txt").read_text(encoding="utf-8").split()
        self.assertEqual(words, sorted(set(words)))


class Faults(unittest.TestCase):
    """Each check refuses what it is there for, and names its line."""

    def test_unknown_words(self) -> None:
        text = "The atention of `atenshun` is\nnot the attetnion $\\alhpa$ of chaptter 4.\n"
        self.assertEqual(unknown_words("a.md", text), ["a.md:1: atention", "a.md:2: attetnion", "a.md:2: chaptter"])
        text = 'int atention;  // the shpae of it\nfail("the wieght of x is too large");\n'
        self.assertEqual(unknown_words("a.cpp", text), ["a.cpp:1: shpae", "a.cpp:2: wieght"])
        text = '"""What it retruns."""\nx = atention  # becuase\n'
        self.assertEqual(unknown_words("a.py", text), ["a.py:1: retruns", "a.py:2: becuase"])

    def test_spellings(self) -> None:
        wrong = two_spellings({"a.md": "A `colour`.\n\nIt is normalised.\n", "b.py": 'plot(colour="a")  # grey\n'})
        self.assertEqual(wrong, ["a.md:3: normalised ==> normalized", "b.py:1: grey ==> gray"])

    def test_phrases(self) -> None:
        text = "// We divide\n// in that\n// we multiply\n"
        self.assertEqual(len(odd_phrases("a.hpp", text)), 1)
        self.assertEqual(odd_phrases("a.md", "Two optimisers."), ["a.md:1: optimisers: -ize"])
        self.assertTrue(odd_phrases("a.md", "It is\ncomputed on two\nways.")[0].startswith("a.md:2: on two ways"))

    def test_misspellings(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.md").write_text("One line:\nteh other\n", encoding="utf-8")
            self.assertEqual(codespell(Path(folder), ["a.md"], "clear"), ["a.md:2: teh ==> the"])


if __name__ == "__main__":
    unittest.main()
