"""./book gate: shows that the judge works. Stubs score nothing and solutions everything, each mutant loses the criteria
that it aims at, and attacks gain nothing and harm nothing. Without options it tries only the first exercise of each kind,
which is quick enough for every day."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from .answer import cases as draws
from .answer import sandbox
from .answer.build import prepare
from .answer.compile import compile_answer, why_unfit
from .answer.exercise import COMPUTED, ROOT, Exercise, Mistaken, load_all
from .answer.isolation import FIRST_USER
from .answer.judging import judge_answer
from .answer.limits import Unfit
from .answer.predict import GATE, given
from .answer.report import to_text
from .answer.setting import Failed
from .answer.verdict import Verdict, judge
from .course.workers import PROCESSORS, at_least_one, workers
from .hunt import faults as planted
from .hunt import hunt, judging, sheet

ATTACKS = Path(__file__).parent / "attacks"
TARGET = "04.2"  # the exercise that the attacks pretend to answer
FEWEST = 3  # wrong answers that each exercise must have
SHARED = ("/", "/etc", "/dev/shm", "/tmp", "/var/tmp")  # folders where nothing may appear
SETTLED = 3  # seconds after which other programs' short-lived files are gone
OWN = ("gate_", "judge_")  # beginnings of names of temporary folders of the gate and of the judge


@dataclass(frozen=True)
class Trial:
    """One answer that the judge must see through."""

    exercise: Exercise
    what: str  # stub, solution, mutant NAME, attack NAME
    answer: str
    seeds: int = 1
    loses: tuple[str, ...] | None = None  # None: all
    says: str = ""
    timed: bool = True  # whether speeds count, too, which needs a machine that does nothing else


def trials(e: Exercise, *, everything: bool) -> list[Trial]:
    """The answers to try: without `everything`, only solution and stub."""
    every = tuple(c.name for c in e.criteria)
    seeds = 10 if everything and e.kind in COMPUTED else 1  # numbers are those of one student
    found = [Trial(e, "solution", e.solution(), seeds=seeds, loses=(), timed=everything), Trial(e, "stub", e.stub(), loses=every, timed=False)]
    for m in e.mutants if everything else ():
        with contextlib.suppress(Mistaken):  # `faults` reports it
            found.append(Trial(e, f"mutant {m.name}", e.mutated(m), loses=m.loses, says=m.says))
    return found


def hunted(found: Exercise) -> list[Trial]:
    """The answers to try in a hunt: for each fault a test that finds it, one that also asks for too much, and one that
    finds nothing, with the wrong line."""
    every = tuple(c.name for c in judging.CRITERIA)
    first = found.faults[0]
    tried = [Trial(hunt.among((first,)), "stub", sheet.stub(first, "gate"), loses=every)]
    for f in found.faults:
        e = hunt.among((f,))
        tried.append(Trial(e, f"solution of {f.name!r}", sheet.answer_of(f, f.finds), loses=()))
        wide = sheet.answer_of(f, sheet.both(f.finds, f.wide))
        tried.append(Trial(e, f"mutant of {f.name!r}, too wide", wide, loses=(judging.NO_WIDER.name,)))
        blind = sheet.answer_of(f, f.misses, line="namespace abh {")
        tried.append(Trial(e, f"mutant of {f.name!r}, blind", blind, loses=every, says="passes with the faulty copy"))
    return tried


def faults(exercise: Exercise) -> list[str]:
    """What is wrong with an exercise even before any answer is judged."""
    found = []
    if len(exercise.mutants) < FEWEST:
        found.append(f"{len(exercise.mutants)} mutants, but at least {FEWEST} are needed to show that it catches wrong answers")
    for mutant in exercise.mutants:
        try:
            exercise.mutated(mutant)
        except Mistaken as mistaken:
            found.append(str(mistaken).removeprefix(f"{exercise.number}: "))
    if exercise.kind not in COMPUTED:
        drawn = given(exercise, GATE)
        if exercise.given != drawn:
            found.append(f'exercise.json says "given": "{exercise.given}", but the numbers drawn for answer.txt are {drawn}')
    return found


def attacks() -> list[Trial]:
    """Submissions that try to get points without an answer, or to do harm."""
    (target,) = hunt.choose([TARGET])
    return [Trial(target, f"attack {path.stem}", path.read_text()) for path in sorted(ATTACKS.glob("*.cpp"))]


def machine() -> set[tuple[str, int]]:
    """What an attack must not change or leave behind: the book's files, shared folders, and processes of the sandbox's users."""
    book = (p for folder in ("judge", "chapters", "lib", "tests") for p in (ROOT / folder).rglob("*") if "__pycache__" not in p.parts)
    shared = (p for folder in SHARED for p in Path(folder).iterdir() if not p.name.startswith(OWN))
    found = set()
    for path in (*book, *shared, *(p for p in Path("/proc").iterdir() if p.name.isdigit())):
        with contextlib.suppress(OSError):  # gone
            about = path.lstat()
            if path.parent.name != "proc" or about.st_uid >= FIRST_USER:
                ours = path.parent.name == "etc" or (path.is_relative_to(ROOT) and path.is_file())
                found.add((str(path), about.st_mtime_ns if ours else 0))
    return found


def harm(before: set[tuple[str, int]]) -> set[tuple[str, int]]:
    """The changes that last, because other programs make and delete temporary files, too."""
    found = machine() - before
    if found:
        time.sleep(SETTLED)
        found &= machine()
    return found


def attempt(trial: Trial, tight: bool) -> tuple[str, str]:
    """What is wrong (empty if the judge does what it should), and how it ended. Runs in a process of its own."""
    e, ended = trial.exercise, ""
    with tempfile.TemporaryDirectory(prefix="gate_") as folder:
        Path(folder).chmod(0o755)
        answer, program = Path(folder) / e.file_name, Path(folder) / "program"
        answer.write_text(trial.answer)
        answer.chmod(0o644)  # for the sandbox's user, whatever the umask is
        try:
            for seed in range(1, trial.seeds + 1):
                several = trial.seeds > 1 and not e.faster  # compiled once
                if several and (program.exists() or compile_answer(e, answer, program, tight=tight).reason == "ok"):
                    verdict = judge(e, program, draws.draw(e, seed), tight=tight)
                else:
                    verdict = judge_answer(e, answer, tight=tight, seed=seed, student=GATE, timed=trial.timed)
                ended = verdict.reason
                if complaint := complain(trial, verdict):
                    return f"seed {seed}: {complaint}\n{to_text(verdict)}", ended
        except (Failed, Unfit, MemoryError) as failed:  # a fault in one exercise does not keep the gate from the others
            return " ".join(str(failed).split()), "failed"
    return "", ended


def complain(trial: Trial, verdict: Verdict) -> str:
    """How the verdict differs from what it should be."""
    lost = {c.name for c in verdict.criteria if c.fault}
    expected = {c.name for c in trial.exercise.criteria} if trial.loses is None else set(trial.loses)
    if lost != expected:
        return f"loses {sorted(lost) or 'nothing'} instead of {sorted(expected) or 'nothing'}"
    compiling = verdict.problem.text if verdict.problem else ""
    if "FOUND" in verdict.printed or "FOUND" in compiling:
        return "found what it must not see"
    if trial.what == "stub" and verdict.problem:
        return "does not compile"
    if trial.what.startswith("mutant") and verdict.problem:
        return "does not compile, so it shows nothing"
    if trial.says and trial.says not in re.sub(r"\s+", " ", to_text(verdict)):
        return f"the judge does not say: {trial.says}"
    return ""


def main(arguments: list[str]) -> int:
    """The verb gate. Exit codes: 0 if everything is as it should be, 1 if not, 2 for wrong usage."""
    parser = argparse.ArgumentParser(
        prog="./book gate",
        description="Shows that the judge catches wrong answers: stubs score 0 and solutions score full points. With --all, on ten "
        "seeds, each mutant also loses the criteria that it aims at, and attacks score 0.",
    )
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE", help="exercise to try, such as 04.2, or 04 for a chapter (default: the first of each kind)")
    parser.add_argument("--all", action="store_true", help="try all exercises, unless some are named, with mutants, ten seeds and attacks, too")
    parser.add_argument("--attacks", action="store_true", help="try only the attacks")
    parser.add_argument("--jobs", type=at_least_one, default=PROCESSORS, help="number of answers to judge at once (default: one for each processor that the command may use)")
    options = parser.parse_intermixed_args(arguments)
    every = load_all()
    if options.exercises:
        chosen = hunt.choose(options.exercises)
    elif options.attacks:
        chosen = []
    elif options.all:
        chosen = [*every, hunt.hunt()]
    else:
        chosen = [*{e.kind: e for e in reversed(every)}.values(), hunt.among(planted.faults()[:1])]
    tried = [t for e in chosen for t in (hunted(e) if e.kind == "hunt" else trials(e, everything=options.all))]
    if attacked := options.attacks or (options.all and not options.exercises):
        tried += attacks()
    reason = sandbox.why_unavailable()
    if reason and attacked:
        print(f"book: no attacks: {reason}", file=sys.stderr)
        tried = [t for t in tried if not t.what.startswith("attack")]
    prepare([*chosen, *(t.exercise for t in tried if t.exercise.kind != "hunt")], tight=not reason)
    if unfit := why_unfit(tight=not reason):
        raise Unfit(unfit)
    wrong = [f"{e.number}: {fault}" for e in chosen if e.kind != "hunt" for fault in faults(e)]
    for fault in wrong:
        print(f"WRONG {fault}", flush=True)
    bad, started, before = len(wrong), time.monotonic(), machine()
    with workers(options.jobs) as pool:
        for trial, (complaint, ended) in zip(tried, pool.map(attempt, tried, [not reason] * len(tried)), strict=True):
            bad += bool(complaint)
            how = f" ({ended})" if trial.what.startswith("attack") else ""
            print(f"{'WRONG' if complaint else 'ok   '} {trial.exercise.number:6} {trial.what}{how}", flush=True)
            if complaint:
                print("      " + complaint.replace("\n", "\n      "))
    if changes := harm(before) if attacked else ():
        bad += 1
        print(f"WRONG the machine has changed: {sorted(changes)[:5]}")
    counts = {k: sum(t.what.startswith(k) for t in tried) for k in ("solution", "stub", "mutant", "attack")}
    print(", ".join(f"{n} {k}s" for k, n in counts.items() if n), f"in {time.monotonic() - started:.0f} s: {bad} wrong")
    return 1 if bad else 0
