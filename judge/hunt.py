"""./book hunt: a fault, drawn by the student's name, in a compiled copy of one of the book's sources. The student hands in
a test that finds it, the line, and the cause.

The faults of a chapter are in chapters/NN_NAME/exercises/hunt.toml, under the name of the source:

    [softmax]
    harmless = [["what is different", "find", "put"], ...]  # right, although written in another way
    wide = "a test that asks for more than the header promises"

    [[softmax.faults]]
    name, level, find, put, symptom, cause
    finds = "a test that finds it"
    misses = "a test that does not, or the name of another fault of this source, whose test does not"

A test is the body of the function `passes`. A hand-out has compiled copies, and of each only what its user may know.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tempfile
import textwrap
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path

from .compile import BUILD, INCLUDE, Failed, compile_answer, include_flags, last_chapter, setting, why_not_compiled
from .exercise import CHECK, IN_HANDOUT, ROOT, Criterion, Exercise, Mistaken, Shelf, replaced
from .sandbox import Limits
from .session import Ended, Session, Threw
from .values import Malformed, text
from .verdict import NOT_WRITTEN, Judged, Verdict, refused
from .verdict import Fault as Wrong
from .written import compilable, text_of

FOLDER = ROOT / "hunt" if IN_HANDOUT else ROOT / "judge" / "hunted"
SOURCES = FOLDER / "sources"  # in a hand-out
FINDS, NO_WIDER, LINE = CRITERIA = (
    Criterion("finds the fault", 5),
    Criterion("asks no more than the header promises", 3),
    Criterion("the line and the cause", 2),
)
LATER = Wrong("later", "judged when you have handed it in")
LONGEST_LINE = 160  # characters of a quotation
SHORTEST_CAUSE = 5  # words
# What a test may not use: with another way of the operation at hand, it would not have to say what is right.
OTHER_WAYS = re.compile(r"\b(fast|cuda|way_named|current_way|asm)\b|\bWay\s*[>({]|##")
HINTS = (
    "Which lines of the source could cause what the users notice? Sort them: which inputs reach them, and which do not?",
    "Choose the smallest input that reaches such a line, and compute the right result by hand. If your test passes with the copy, too, "
    "its input does not reach the fault, or hides it: take the next line, or call an inner function alone.",
    "Equal numbers and square shapes can hide a fault. Try axes of different sizes, more than one sentence, a second call, and rows that "
    "are masked or padded; for a gradient, `check_gradient` with a random cotangent.",
)


@dataclass(frozen=True)
class Fault:
    """One fault of one source. A hand-out lacks what is empty by default."""

    id: str
    chapter: str  # the folder's name
    source: str  # without .cpp
    level: int
    symptom: str
    headers: tuple[str, ...]
    name: str = ""
    find: str = ""
    put: str = ""
    cause: str = ""
    finds: str = ""  # tests
    misses: str = ""
    wide: str = ""
    harmless: tuple[tuple[str, str, str], ...] = ()

    @property
    def file(self) -> str:
        """The source, from the book's root."""
        return f"chapters/{self.chapter}/{self.source}.cpp"

    def secrets(self) -> str:
        """What no hand-out may contain."""
        return "\n".join((self.name, self.cause, self.put))


@cache
def faults() -> tuple[Fault, ...]:
    """All faults of the book, or of the hand-out.

    :raises Mistaken: which says what is wrong with a list
    """
    if IN_HANDOUT:
        file = FOLDER / "faults.json"
        return tuple(Fault(**{**f, "headers": tuple(f["headers"])}) for f in json.loads(file.read_text())) if file.is_file() else ()
    return tuple(f for file in sorted(ROOT.glob("chapters/*/exercises/hunt.toml")) for f in read(file))


def read(file: Path) -> list[Fault]:
    """The faults in one chapter's list.

    :raises Mistaken: which says what is wrong with it
    """
    import tomllib  # here, because a hand-out does without it, and so with Python 3.10

    chapter, found = file.parent.parent.name, []
    try:
        for source, about in tomllib.loads(file.read_text()).items():
            headers = tuple(about.get("headers", [f"chapters/{chapter}/{source}.hpp"]))
            harmless = tuple((what, find, put) for what, find, put in about["harmless"])
            for fault in about["faults"]:
                code = hashlib.sha256(fault["name"].encode()).hexdigest()[:6]
                tests = {f["name"]: f["finds"] for f in about["faults"]}
                fault["misses"] = tests.get(fault["misses"], fault["misses"])
                found.append(Fault(code, chapter, source, headers=headers, harmless=harmless, wide=about["wide"], **fault))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Mistaken(f"{file.relative_to(ROOT)}: {type(error).__name__}: {error}") from error
    return found


def is_hunt(number: str) -> bool:
    """Whether this names a hunt, not an exercise of a chapter."""
    return number.partition(":")[0] == "hunt"


def hunt(number: str = "hunt") -> Exercise:
    """The exercise `hunt`, or `hunt:04`, `hunt:04-06`, `hunt:04-06:2`: in these chapters, and of this level.

    :raises Mistaken: if there is no such fault
    """
    asked = re.fullmatch(r"hunt(?::(?P<first>\d\d)(?:-(?P<last>\d\d))?)?(?::(?P<level>[123]))?", number)
    if not asked:
        raise Mistaken(f"there is no {number}; a hunt is hunt, hunt:04 or hunt:04-06, with :2 after it for level 2 of 3")
    first = int(asked["first"] or 0)
    last = int(asked["last"] or asked["first"] or 99)
    level = int(asked["level"] or 0)
    pool = tuple(f for f in faults() if first <= int(f.chapter[:2]) <= last and level in (0, f.level))
    if not pool:
        raise Mistaken(f"{number}: there is no fault to hunt" + ("" if IN_HANDOUT else "; ./book hunt --list shows where there are some"))
    return among(pool, "hunt" if IN_HANDOUT else number)


def choose(found: Shelf, numbers: list[str]) -> list[Exercise]:
    """The exercises that the command line names, which may include a hunt.

    :raises Mistaken: for a number that does not exist
    """
    if sum(map(is_hunt, numbers)) > 1:
        raise Mistaken("there can be only one hunt at a time; hunt:04-06 is one in several chapters")
    return [e for number in numbers for e in ([hunt(number)] if is_hunt(number) else found.choose([number]))]


def begun(answer: Path) -> Exercise:
    """The hunt that this file was begun for.

    :raises Mistaken: if there is no such fault
    """
    code = re.match(r"// Hunt (\w+)", text_of(answer))
    pool = tuple(f for f in faults() if code and f.id == code[1])
    if not pool:
        raise Mistaken(f"the first line of {answer.name} names no hunt; move the file away, and begin another one")
    return among(pool)


def among(pool: tuple[Fault, ...], number: str = "hunt") -> Exercise:
    """The exercise to find one of these faults."""
    chapters = sorted({f.chapter[:2] for f in pool})
    return Exercise(
        number=number,
        folder=FOLDER,
        title="A fault hunt",
        kind="hunt",
        difficulty=round(sum(f.level for f in pool) / len(pool)),
        read="",
        section="what users notice, the header, and the source",
        criteria=CRITERIA,
        hints=HINTS,
        links=chapters[-1],
        faults=pool,
    )


def drawn(exercise: Exercise, student: str) -> Fault:
    """The student's fault. It stays the same when others are added, unless one of those is now the student's."""
    return min(exercise.faults, key=lambda f: hashlib.sha256(f"{f.id}\n{student}".encode()).digest())


def only(exercise: Exercise, student: str) -> Exercise:
    """The exercise to find the student's fault, which needs no chapter above the fault's."""
    return among((drawn(exercise, student),))


def stub(fault: Fault, student: str) -> str:
    """The file that the student begins with."""
    extra = ("lib/gradcheck.hpp", *fault.headers)
    return (
        (FOLDER / ("stub.cpp" if IN_HANDOUT else "answer.cpp")).read_text()
        .replace("{id}", fault.id)
        .replace("{student}", student)
        .replace("{source}", fault.file)
        .replace("{symptom}", textwrap.fill(fault.symptom, 95, initial_indent="//     ", subsequent_indent="//     "))
        .replace("{check}", CHECK)
        .replace("{here}", str(place(fault)))
        .replace("{headers_here}", ", ".join(f"include/{h}" if IN_HANDOUT else h for h in fault.headers))
        .replace("{headers}", "\n".join(f'#include "{h}"' for h in sorted(extra)))
    )  # fmt: skip


def place(fault: Fault) -> Path | str:
    """Where the book's source is, in this folder or, if it would give another exercise away, on a page."""
    if not IN_HANDOUT:
        return fault.file
    copied = SOURCES / f"{fault.chapter[:2]}_{fault.source}.cpp"
    return copied.relative_to(ROOT) if copied.is_file() else f"the page of chapter {int(fault.chapter[:2])}"


def answer_of(fault: Fault, test: str, *, line: str | None = None) -> str:
    """An answer with this test, as a student would hand it in."""
    whole = stub(fault, "anyone").replace("// CAUSE:", f"// CAUSE: {fault.cause}")
    whole = whole.replace("// LINE:", f"// LINE: {one_line(fault.find) if line is None else line}")
    return whole.replace('    throw std::logic_error("not written yet");\n', textwrap.indent(test.strip("\n"), "    ") + "\n")


def both(test: str, other: str) -> str:
    """A test that asks for what both ask for."""
    return f"const auto one = [] {{\n{test}\n}};\nconst auto other = [] {{\n{other}\n}};\nreturn one() && other();"


def one_line(code: str) -> str:
    """The code in one line."""
    return " ".join(code.split())


def object_of(fault: Fault, find: str, put: str) -> Path:
    """A compiled copy of the fault's source with another text in one place; a hand-out has the one with the fault.

    :raises Failed: with what the compiler printed
    """
    if IN_HANDOUT:
        return FOLDER / f"{fault.id}.o"
    found = setting()
    content = replaced((ROOT / fault.file).read_text(), find, put, f"hunt: {fault.name}")
    digest = hashlib.sha256((content + repr(found)).encode()).hexdigest()[:16]
    result = BUILD / "hunt" / f"{digest}.o"
    newest = max(h.stat().st_mtime for h in INCLUDE.rglob("*.?*") if h.is_file())
    if result.exists() and result.stat().st_mtime >= newest:
        return result
    result.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=result.parent) as folder:
        copy = Path(folder) / "copy.cpp"  # a name that says nothing
        copy.write_text(content)
        command = [found.compiler, *found.flags, "-w", *include_flags(found, str(INCLUDE)), "-c", copy.name, "-o", "copy.o"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"{fault.file}: {find} replaced by {put}:\n{done.stderr}")
        copy.with_suffix(".o").replace(result)
    return result


def entry(answer: str, name: str) -> str:
    """What follows `// LINE:` or `// CAUSE:`, and for a cause also the comment's next lines."""
    found = re.search(rf"^// {name}:(.*(?:\n// (?!LINE:|CAUSE:).*)*)", answer, re.MULTILINE)
    whole = found[1] if found else ""
    return one_line(whole.partition("\n")[0] if name == "LINE" else whole.replace("\n//", " "))


def judge(exercise: Exercise, answer: Path, *, tight: bool, student: str) -> Verdict:
    """Judges a test, and what is said about the fault."""
    fault = drawn(exercise, student)
    written = text_of(answer)
    own = re.match(r"// Hunt (\w+)", written)
    if own and own[1] != fault.id:
        said = f"this is hunt {own[1]}, but {fault.id} is drawn for {student}; move {answer.name} away to begin that one"
        return refused(exercise, Wrong("wrong", said))
    code = re.sub(r"//[^\n]*|/\*.*?(?:\*/|\Z)", " ", written, flags=re.DOTALL)
    if used := OTHER_WAYS.search(code):
        return refused(exercise, Wrong("wrong", f"your test uses {used[0]!r}: it has to say itself what is right, not ask another way of the operation"))
    with tempfile.TemporaryDirectory(prefix="judge_") as name:
        folder = Path(name)
        folder.chmod(0o755)
        compiled = folder / "test.o"
        outcome = compile_answer(exercise, compilable(answer, folder), compiled, tight=tight)
        if outcome.reason != "ok":
            return refused(exercise, Wrong("compile", why_not_compiled(outcome.reason, outcome.printed)))
        tried = Tried(exercise, compiled, folder, tight)
        verdict = Verdict(exercise, remark=f"in {entry(written, 'LINE') or 'no line'!r}: {entry(written, 'CAUSE') or 'no cause'}")
        try:
            found = finds(tried, fault)
            wider = LATER if IN_HANDOUT else Wrong("wrong", "first it has to find the fault") if found else too_wide(tried, fault)
        except Unlinked as said:
            return refused(exercise, Wrong("compile", str(said)))
        if found and NOT_WRITTEN in found.text:
            return Verdict(exercise, [Judged(c.name, c.points, 0, Wrong("missing", NOT_WRITTEN)) for c in CRITERIA])
        line = misquoted(fault, written)
        for criterion, wrong in zip(CRITERIA, (found, wider, line), strict=True):
            verdict.criteria.append(Judged(criterion.name, criterion.points, 1, wrong))
        verdict.printed = tried.printed
        return verdict


class Unlinked(RuntimeError):
    """A test that compiles but cannot be linked, with the helpful part of what the linker said."""


@dataclass
class Tried:
    """A compiled test, to be linked with copies of the source."""

    exercise: Exercise
    test: Path
    folder: Path
    tight: bool
    printed: str = ""

    def fails(self, copy: Path | None = None, *, way: str = "plain") -> str:
        """How the test fails with this copy, or with the book's own source; empty if it passes.

        :raises Unlinked: if a function is missing, say, or is defined a second time
        """
        program = self.folder / "program"
        first = [copy] if copy else []
        outcome = compile_answer(self.exercise, self.test, program, tight=self.tight, first=first)
        if outcome.reason != "ok":
            raise Unlinked(why_not_compiled(outcome.reason, outcome.printed))
        session = Session(program, Limits(self.exercise.seconds), tight=self.tight)
        try:
            (result,) = session.call("passes", [text(way)], most=4096)
            return "" if result.number else "it returns false"
        except Threw as threw:
            return f"it throws: {threw}"
        except (Ended, Malformed, ValueError):
            return f"it does not return ({session.close().reason})"
        finally:
            outcome = session.close()  # whatever was printed before: a program that runs cannot be written over
            self.printed = self.printed or outcome.printed


def finds(tried: Tried, fault: Fault) -> Wrong | None:
    """Why the test does not find the fault; None if it does."""
    if how := tried.fails():
        return Wrong("wrong", f"your test has to pass with the book's own {fault.source}.cpp, but there {how}")
    if not tried.fails(object_of(fault, fault.find, fault.put)):
        return Wrong("wrong", "your test passes with the faulty copy, too, so it does not find the fault")
    return None


def too_wide(tried: Tried, fault: Fault) -> Wrong | None:
    """Why the test asks for too much; None if it does not."""
    others = [("that the book computes in its fast way", None, "fast")]
    others += [(what, object_of(fault, find, put), "plain") for what, find, put in fault.harmless]
    for what, copy, way in others:
        if how := tried.fails(copy, way=way):
            return Wrong("wrong", f"your test refuses a source that does what the header promises, one {what}: {how}")
    return None


def misquoted(fault: Fault, written: str) -> Wrong | None:
    """What is wrong with the quoted line, or with the cause."""
    line, cause = entry(written, "LINE"), entry(written, "CAUSE")
    if not line:
        return Wrong("missing", "there is nothing after '// LINE:'")
    if len(cause.split()) < SHORTEST_CAUSE:
        return Wrong("missing", "say the cause in a sentence after '// CAUSE:'")
    source = ROOT / place(fault)
    if not source.is_file():
        return LATER
    content = source.read_text()
    places = quoted(content, line)
    if len(places) != 1:
        return Wrong("wrong", f"the text after '// LINE:' occurs {len(places)} times in {fault.source}.cpp; quote a part of one line that occurs once")
    if IN_HANDOUT:
        return LATER
    (begin, end), (first, last) = places[0], quoted(content, fault.find)[0]
    if begin <= last and end >= first:
        return None
    return Wrong("wrong", "another line is the one that is different or missing")


def quoted(content: str, code: str) -> list[tuple[int, int]]:
    """The first and last lines of the places where the code occurs, whatever its spaces and line breaks are."""
    wanted = re.sub(r"\s", "", code)
    if len(wanted) > LONGEST_LINE:
        return []
    letters = [(i, c) for i, c in enumerate(content) if not c.isspace()]
    squeezed = "".join(c for _, c in letters)
    starts = [m.start() for m in re.finditer(f"(?={re.escape(wanted)})", squeezed)]
    return [tuple(content.count("\n", 0, letters[at][0]) for at in (s, s + len(wanted) - 1)) for s in starts]


def key(exercise: Exercise, student: str) -> str:
    """What the instructor compares a student's cause with; empty for other exercises, and in a hand-out."""
    return drawn(exercise, student).cause if exercise.faults else ""


def pack(exercise: Exercise, others: list[Exercise], out: Path) -> None:
    """Writes the copies into a hand-out, with what a student may know of each, and the book's sources, except those that
    would solve one of the other exercises."""
    (out / SOURCES.name).mkdir(parents=True)
    known = [f.name for f in fields(Fault)][:6]
    (out / "faults.json").write_text(json.dumps([{k: v for k, v in asdict(f).items() if k in known} for f in exercise.faults], indent=1))
    (out / "stub.cpp").write_text(exercise.stub())
    for fault in exercise.faults:
        (out / f"{fault.id}.o").write_bytes(object_of(fault, fault.find, fault.put).read_bytes())
        asked = [o for o in others if o.chapter == fault.chapter[:2]]
        if not any(last_chapter(o) < o.chapter or fault.source in o.without for o in asked):
            (out / SOURCES.name / f"{fault.chapter[:2]}_{fault.source}.cpp").write_text((ROOT / fault.file).read_text())


def listing() -> str:
    """How many faults each source has, by level."""
    rows = {}
    for f in faults():
        rows.setdefault(f.file, []).append(f.level)
    lines = [f"{file:70} {' '.join(f'{levels.count(n):2}' for n in (1, 2, 3))}" for file, levels in rows.items()]
    totals = [sum(levels.count(n) for levels in rows.values()) for n in (1, 2, 3)]
    return "\n".join([f"{'faults of level':70}  1  2  3", *lines, f"{f'{sum(totals)} faults':70} {' '.join(f'{n:2}' for n in totals)}"])
