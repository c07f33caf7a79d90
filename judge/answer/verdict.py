"""Compares an answer with an exercise's cases."""

from __future__ import annotations

import math
import random
from array import array
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import diagnose
from .cases import Case
from .compile import require_started
from .exercise import Exercise
from .limits import Limits
from .session import Ended, Session, Threw
from .setting import Failed
from .values import Malformed, Value

ROUNDS = 7
NOT_WRITTEN = "not written yet"  # the exception of a stub
ENDS = {
    "timeout": "it computed or waited for {seconds:g} s without an answer: does a loop never end?",
    "memory": "it used more than {memory} MiB of memory",
    "output": "it printed without end",
    "crash": "it crashed ({signal}): an index out of range, a null pointer, or endless recursion",
    "ok": "it ended before it answered",
    "start": "it could not be started",
}
SIGNALS = {132: "illegal instruction", 134: "abort", 136: "arithmetic", 137: "killed", 139: "segmentation fault"}


@dataclass(frozen=True)
class Fault:
    """What is wrong in one case."""

    reason: str  # wrong, missing, timeout, memory, output, crash
    text: str
    causes: tuple[str, ...] = ()  # mistakes that give exactly these numbers
    doubted: bool = False  # further cases speak against all of the causes
    pattern: str = ""  # what can be seen of the numbers, where no such mistake is known
    about: str = ""
    case: Case | None = field(default=None, compare=False)  # where it showed, if it did in one
    got: tuple[Value, ...] = field(default=(), compare=False)  # what came out there, if anything did


@dataclass
class Judged:
    """The result for one criterion: no points unless all of its cases are right."""

    name: str
    most: int
    cases: int
    fault: Fault | None = None
    ratio: float = 0.0  # measured, if the exercise asks for speed

    @property
    def points(self) -> int:
        """The points for it."""
        return 0 if self.fault else self.most


@dataclass
class Verdict:
    """An answer's points, and the reasons."""

    exercise: Exercise
    criteria: list[Judged] = field(default_factory=list)
    printed: str = ""
    problem: Fault | None = None  # with the whole answer: it does not compile, ...
    remark: str = ""  # the student's own words, for the instructor to read

    @property
    def points(self) -> int:
        """The points, out of `exercise.points`."""
        return 0 if self.problem else sum(c.points for c in self.criteria)

    @property
    def reason(self) -> str:
        """One word: that of the first fault, or ok. `later` counts only if there is no other."""
        reasons = [f.reason for f in (self.problem, *(c.fault for c in self.criteria)) if f]
        return next((r for r in reasons if r != "later"), reasons[0] if reasons else "ok")


def refused(exercise: Exercise, fault: Fault) -> Verdict:
    """A verdict of no points at all."""
    return Verdict(exercise, [Judged(c.name, c.points, 0, fault) for c in exercise.criteria], problem=fault)


def judge(
    exercise: Exercise, program: Path, cases: list[Case], *, tight: bool, plain: Path | None = None
) -> Verdict:
    """Calls a compiled answer with these cases, in a process of its own for each criterion, and for each call of a
    reader's test.

    :param plain: the program that a speed is compared with
    """
    verdict = Verdict(exercise)
    by_name: dict[str, list[Case]] = {c.name: [] for c in exercise.criteria}
    for case in cases:
        by_name[case.criterion].append(case)
    printed: list[str] = []
    limits = Limits(exercise.seconds, reserves=exercise.device, alone=bool(exercise.faster))
    for criterion in exercise.criteria:
        judged = Judged(criterion.name, criterion.points, len(by_name[criterion.name]))
        session = Session(program, limits, tight=tight)
        try:
            for number, case in enumerate(by_name[criterion.name]):
                if case.call == "accepts" and number > 0:  # a reader's test must not be able to count its calls
                    printed.append(session.close().printed)
                    session = Session(program, limits, tight=tight)
                if fault := judge_case(session, case, limits):
                    rest = by_name[criterion.name][number + 1 :]
                    judged.fault = confirmed(session, replace(fault, case=case), rest)
                    break
            if not judged.fault and plain and criterion.name in exercise.faster:
                wanted = exercise.faster[criterion.name]
                judged.ratio, judged.fault = race(session, plain, by_name[criterion.name], limits, wanted, tight=tight)
        finally:
            printed.append(session.close().printed)
        verdict.criteria.append(judged)
    verdict.printed = next(filter(None, printed), "")
    decide(verdict)
    return verdict


def confirmed(session: Session, fault: Fault, cases: list[Case]) -> Fault:
    """A fault with those of its causes that the numbers of further cases do not speak against: a small first case may
    agree with many. If they speak against all, the fault is doubted: another mistake may look like a known one there."""
    left = fault.causes
    for case in cases if left else ():
        try:
            got = session.call(case.call, case.arguments, most=most_of(case))
        except (Ended, Threw, Malformed):
            break
        if len(got) == len(case.results):
            left = tuple(c for c in left if not diagnose.contradicted(c, case, got))
            if not left:
                return replace(fault, doubted=True)
    return replace(fault, causes=left)


def decide(verdict: Verdict) -> None:
    """Where several causes explain a fault, keeps those that no other criterion's fault speaks against, if any."""
    faults = [c.fault for c in verdict.criteria if c.fault and c.fault.got]
    for criterion in verdict.criteria:
        if criterion.fault and len(causes := criterion.fault.causes) > 1:
            left = [cause for cause in causes if not any(diagnose.contradicted(cause, f.case, f.got) for f in faults)]
            criterion.fault = replace(criterion.fault, causes=tuple(left or causes))


def judge_case(session: Session, case: Case, limits: Limits) -> Fault | None:
    """Judges one call; None if the result is right."""
    most = 4096 + 2 * sum(64 + 8 * len(r.elements or ()) for r in case.results)
    try:
        results = session.call(case.call, case.arguments, most=most)
    except Threw as threw:
        if NOT_WRITTEN in str(threw):
            return Fault("missing", NOT_WRITTEN)
        if case.call == "accepts":
            said = f"given {case.about}, your test threw instead of returning true or false: {threw}"
            return Fault("wrong", said)
        expected = [r.text for r in case.results if r.kind == "S"]
        said = f"; expected: {expected[0]}" if expected else ""
        if str(threw).startswith("argument "):  # thrown by judge/answer/serve.hpp, not by the answer
            return Fault("wrong", str(threw), about=case.shown)
        return Fault("wrong", f"it threw: {threw}{said}", pattern=diagnose.thrown(str(threw)), about=case.shown)
    except Malformed as malformed:
        return Fault("wrong", f"no result: {malformed}", about=case.shown)
    except Ended:
        outcome = session.close()
        require_started(outcome)
        reason = "crash" if outcome.reason in ("ok", "start") else outcome.reason
        said = ENDS[outcome.reason].format(
            seconds=limits.seconds,
            memory=limits.memory >> 20,
            signal=SIGNALS.get(outcome.status, f"status {outcome.status}"),
        )
        return Fault(reason, said, about=case.shown)
    fault = compare_all(case, results)
    return replace(fault, got=tuple(results)) if fault else None


def race(
    session: Session, plain: Path, cases: list[Case], limits: Limits, wanted: float, *, tight: bool
) -> tuple[float, Fault | None]:
    """Times the answer and the plain function in turn, on fresh numbers each time, and compares the fastest rounds of
    both, because other work on the machine can only slow a round down. If the answer is not fast enough, there are more
    rounds. The time of a message is measured, too, and subtracted. Each result must equal the plain function's."""
    other = Session(plain, limits, tight=tight)
    work, message = [math.inf, math.inf], math.inf  # one for both: a slow message must not shorten the answer's work
    ratio, which = 0.0, 1
    try:
        for case in cases:  # the answer has had these calls, too, so both may have kept as much between calls
            other.call(case.call, case.arguments, most=most_of(case))
        for turn in range(3 * ROUNDS + 1):
            if turn > ROUNDS and ratio >= wanted:
                break
            fresh = [replace(case, arguments=[redrawn(a) for a in case.arguments], mistakes=[]) for case in cases]
            answers: list[list[list[Value]]] = []
            for which, one in enumerate((session, other)):
                called = sent = 0.0
                answers.append([])
                for case in fresh:
                    seconds, results = timed(one, case.call, case.arguments, most_of(case))
                    called += seconds
                    answers[which].append(results)
                    sent += timed(one, "nothing", case.arguments, most_of(case))[0]
                if turn > 0:  # the first one warms up
                    work[which], message = min(work[which], called), min(message, sent)
            for case, got, expected in zip(fresh, *answers, strict=True):
                if fault := compare_all(replace(case, results=expected), got):
                    return 0.0, replace(fault, text=f"{fault.text}, while its time was measured")
            if turn > 0:
                ours, plains = (max(w - message, 1e-9) for w in work)
                ratio = plains / ours
    except (Ended, Threw, Malformed) as error:
        if which == 1:
            raise Failed(f"the plain way failed while its time was measured: {error}") from error
        if isinstance(error, Ended) and 0 < ratio < wanted and session.close().reason == "timeout":
            return ratio, slow(ratio, wanted, turn - 1)
        return 0.0, Fault("wrong", f"it failed while its time was measured: {error}")
    finally:
        other.close()
    return ratio, None if ratio >= wanted else slow(ratio, wanted, 3 * ROUNDS)


def slow(ratio: float, wanted: float, rounds: int) -> Fault:
    """The fault of a slow answer: the speed that was measured, and the one that is asked for."""
    said = f"{ratio:.2f} times as fast as the plain way; {wanted:g} times is asked for (the fastest of {rounds} rounds each)"
    return Fault("slow", said)


def redrawn(value: Value) -> Value:
    """Other numbers of about the same size, so that an answer cannot keep a result for the next call."""
    if value.kind != "T":
        return value
    draw = random.random
    return Value("T", value.shape, array("d", [4 * draw() - 2 for _ in value.elements]))


def timed(session: Session, function: str, arguments: list[Value], most: int) -> tuple[float, list[Value]]:
    """Seconds of `session.computed` from request to answer, and the answer, of at most so many bytes."""
    message = session.prepare(function, arguments)
    begun = session.computed()
    session.send(message)
    results = session.receive(most)
    return session.computed() - begun, results


def most_of(case: Case) -> int:
    """The most bytes that an answer may have: the right results, and some room."""
    return 4096 + sum(64 + 8 * max(len(r.elements or ()), len(r.text)) for r in case.results)


def compare_all(case: Case, results: list[Value]) -> Fault | None:
    """What is wrong with the results; None if all are right."""
    if len(results) != len(case.results):
        return Fault("wrong", f"{len(results)} results instead of {len(case.results)}", about=case.shown)
    for number, (got, expected) in enumerate(zip(results, case.results, strict=True)):
        if fault := compare(case, number, got, expected):
            return fault
    return None


def compare(case: Case, number: int, got: Value, expected: Value) -> Fault | None:
    """What is wrong with a result; None if its shape is right, and each element to the case's tolerance."""
    name = case.name_of(number)
    if got.kind != expected.kind or got.shape != expected.shape:
        if got.kind != expected.kind:
            return Fault("wrong", f"{name} is a {got.describe()}, expected a {expected.describe()}", about=case.shown)
        return explained(case, number, got, f"{name} has the shape {list(got.shape)}, expected {list(expected.shape)}")
    if expected.kind == "S":
        if got.text == expected.text:
            return None
        return Fault("wrong", f"{name} is {got.text!r}, expected {expected.text!r}", about=case.shown)
    a, b = diagnose.floats(got), diagnose.floats(expected)
    scale = diagnose.size([x for x in b if math.isfinite(x)])
    if scale == 0 and got.kind in "TR":  # zeros, judged by the round-off of what they are computed from
        scale = 1e-3 * max((diagnose.size(diagnose.floats(x)) for x in case.arguments if x.kind == "T"), default=0.0)
    bound = case.tolerance * scale

    def distance(i: int) -> float:
        if a[i] == b[i] or (math.isnan(a[i]) and math.isnan(b[i])):
            return 0.0
        return abs(a[i] - b[i]) if math.isfinite(a[i]) and math.isfinite(b[i]) else math.inf

    worst = max(range(len(a)), key=distance, default=0)
    if not a or distance(worst) <= bound:
        return None
    if case.call == "accepts":
        return Fault("wrong", f"your test {'accepts' if a[0] else 'refuses'} {case.about}")
    place = f"[{', '.join(map(str, got.index(worst)))}]" if got.shape else ""
    is_now, should_be = apart(a[worst], b[worst]) if got.kind in "TR" else (f"{a[worst]:.0f}", f"{b[worst]:.0f}")
    text = f"{name}{place} is {is_now}, expected {should_be}"
    wrong = sum(distance(i) > bound for i in range(len(a)))
    if len(a) > 1:
        which = "the others are right" if wrong == 1 else f"{wrong} of {len(a)} numbers are wrong, this one {'by most' if got.kind in 'TR' else 'first'}"
        text += f" ({which})"
    return explained(case, number, got, text)


def apart(a: float, b: float) -> tuple[str, str]:
    """Both numbers, with six digits or as many as it takes to tell them apart."""
    return next(pair for n in range(6, 18) if len(set(pair := (f"{a:.{n}g}", f"{b:.{n}g}"))) == 2 or n == 17)


def explained(case: Case, number: int, got: Value, text: str) -> Fault:
    """The fault of a wrong result, with what explains it."""
    causes = tuple(dict.fromkeys(diagnose.causes(case, number, got)))
    return Fault("wrong", text, causes, pattern="" if causes else diagnose.pattern(case, number, got), about=case.shown)
