"""The native programs of the live parts' modules, and how much a page's numbers may differ from theirs."""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BOUND = {"layers": 1e-10, "sampling": 1e-10, "transformer": 1e-5}  # double and single precision
TRUSTED = 10  # steps of training: later on, round-off has grown so much that only the losses are compared, with
LATER = 1e-2  # this bound; the native plain and fast ways differ as much from each other
CHECKS = {"live_attention_check": 0, "live_layer_norm": -4}  # from here on come comparisons with differences


class Wrong(Exception):
    """A live part does not do what it should; the message says what."""


class Native:
    """The native program of a module, which is asked the same."""

    def __init__(self, program: Path, files: dict[str, Path]) -> None:
        self.files = files
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, name: str, given: list[Any]) -> Any:
        if name.startswith("live_open"):
            given = [str(self.files[given[0]]), *given[1:]]
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps({"name": name, "given": given}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "the native program has ended"}')
        if "error" in answer:
            raise Wrong(f"{name}, natively: {answer['error']}")
        return answer["out"]

    def close(self) -> None:
        self.process.communicate()


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """All values in a JSON, with the names on the way to them; places in lists are left out, so that a list is a group."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, path)
    else:
        yield path, value


def difference(name: str, page: Any, native: Any) -> float:
    """The largest difference, relative to the largest number of its group."""
    if isinstance(page, str):
        page, native = json.loads(page), json.loads(native)
    if name in CHECKS:  # which element is the worst is a matter of round-off
        at = CHECKS[name]
        for here, there in zip(page[at::4], native[at::4], strict=True):  # a flat row is off by more, here and there
            if here > max(1e-6, 2 * there):
                raise Wrong(f"{name}: a gradient is off by {here:.1e} from differences, natively by {there:.1e}")
        page, native = (x[:at] if at else [] for x in (page, native))
    ours, theirs = list(leaves(page)), list(leaves(native))
    if [path for path, _ in ours] != [path for path, _ in theirs]:
        raise Wrong(f"{name}: the page has {len(ours)} values, the native program {len(theirs)}")
    largest: dict[str, float] = {}
    for path, x in theirs:
        if isinstance(x, float):  # ids, which may stand beside them, are whole
            largest[path] = max(largest.get(path, 0), abs(x))
    worst = 0.0
    for (path, x), (_, y) in zip(ours, theirs, strict=True):
        if isinstance(x, float) or isinstance(y, float):
            worst = max(worst, abs(x - y) / (largest.get(path) or 1))
        elif x != y:
            raise Wrong(f"{name}{path}: {x} in the page, {y} natively")
    return worst


def compare(log: list[dict[str, Any]], native: Path, files: dict[str, Path]) -> str:
    programs: dict[str, Native] = {}
    worst = 0.0
    steps: Counter[str] = Counter()
    try:
        for call in log:
            module = call["module"]
            steps[module] = 0 if call["name"] == "live_train" else steps[module] + (call["name"] == "live_step")
            if module not in programs:
                programs[module] = Native(native / f"live_{module.split()[0]}", files)
            later = steps[module] > TRUSTED
            native_out = programs[module].ask(call["name"], call["given"])
            if later and call["name"] != "live_step":
                continue
            found = difference(call["name"], call["out"], native_out)
            bound = LATER if later else BOUND[module.split()[0]]
            if not found <= bound:
                raise Wrong(f"{call['name']}: differs by {found:.1e} from the native program, at most {bound:.0e}")
            if not later:
                worst = max(worst, found)
    finally:
        for program in programs.values():
            program.close()
    return f"{len(log)} calls, largest difference {worst:.1e}"
