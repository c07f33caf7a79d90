"""Judges a test, and what its writer says about the fault."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..answer.compile import compile_answer, why_not_compiled
from ..answer.exercise import IN_HANDOUT, ROOT, Criterion, Exercise
from ..answer.limits import Limits
from ..answer.session import Ended, Session, Threw
from ..answer.values import Malformed, text
from ..answer.verdict import NOT_WRITTEN, Judged, Verdict, refused
from ..answer.verdict import Fault as Wrong
from ..answer.written import text_of
from .copies import object_of
from .faults import Fault, drawn
from .sheet import entry, place

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
        outcome = compile_answer(exercise, answer, compiled, tight=tight)
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
        return Wrong("wrong", f"your test has to pass with the book's own {fault.stem}.cpp, but there {how}")
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
        return Wrong("wrong", f"the text after '// LINE:' occurs {len(places)} times in {fault.stem}.cpp; quote a part of one line that occurs once")
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
