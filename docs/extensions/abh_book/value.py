"""Role `value`: a number that a program wrote.

Number of chapter / run / name and optionally a Python format after the last colon:

    {value}`04/main/score_std:.3f`

A bound, or more than one, follows what the prose claims about the number; the build fails when it does
not hold. A number whose measurement was disturbed is marked, and its bounds are not checked:

    {value}`04/main/score_std:.3f >= 0.9 < 1.1`

A speed differs between machines. What the prose says of it holds `usually`; where it does not, the number
is marked, and the build goes on:

    {value}`04/main/softmax_gain:.1f usually >= 1.2`

What takes too long to be measured in every build is kept in `bench/results`. A number of one of its files:

    {value}`bench/2026-11-25_multi30k/test/greedy:.2f`

Of `bench/*_long` the newest file is meant; the paragraph is left out while there is none, or it has no such value.
Of a list, an entry that has a name, or is a `work` of the benchmark, goes by it.

The machine of a run is named where its numbers stand: `processor`, `compiler` and `date` of each run.

    {value}`04/main/processor`
"""

import html
import operator
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole
from sphinx.writers.html5 import HTML5Translator

from .by_page import ByPage
from .origin import origins, said_of_run
from .results import ResultError, key_of, note_shown, parsed, run_file
from .zh import words

logger = logging.getLogger(__name__)
BOUNDED = re.compile(r"(.*?)(\s+usually)?((?:\s+(?:>=|<=|>|<)\s+\S+)*)")
COMPARE = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


class NotRecorded(ResultError):
    """A value that nothing has been recorded for yet."""


class value(nodes.inline):
    """A number from results.json. Attributes: run, origin, varies, disturbed, and unmet (which bounds do not hold here)."""


def formatted(number: Any, spec: str) -> str:
    if spec:
        return format(number, spec)
    return format(number, ".6g") if isinstance(number, float) else str(number)


def kept(path: Path) -> dict[str, dict[str, Any]]:
    """The entries of a file of bench/results; one inside another is `outer/inner`."""
    entries: dict[str, dict[str, Any]] = {}

    def add(prefix: str, fields: dict[str, Any]) -> None:
        for field, inner in fields.items():
            for key in ("name", "work"):
                if isinstance(inner, list) and all(isinstance(each, dict) and key in each for each in inner):
                    inner = {each[key]: each for each in inner}
            if isinstance(inner, dict):
                add(f"{prefix}{field}/", inner)
            else:
                entries[prefix + field] = {"value": inner}

    add("", parsed(path))
    return entries


chosen = ByPage[dict[str, Path | None]]("chosen")  # the newest of each `bench/*_long`


def newest(env: BuildEnvironment, run: str) -> Path | None:
    return max((Path(env.config.abh_root) / "bench" / "results").glob(f"{run}.json"), default=None)


def with_newer(app: Sphinx, env: BuildEnvironment, *changes: set[str]) -> list[str]:
    """The pages for which another file is the newest now."""
    return [page for page, files in chosen(env).items() if any(newest(env, run) != files[run] for run in files)]


@dataclass(frozen=True)
class Found:
    """The answer to a value: how the page shows it, what the program wrote, and where."""

    text: str
    entry: dict[str, Any]
    run: str  # `chapter/run`, or `bench/file`
    name: str


def lookup(env: BuildEnvironment, target: str) -> Found:
    """The answer to `chapter/run/name:format`."""
    pieces = target.split("/", 2)
    if len(pieces) != 3 or not all(pieces):
        raise ResultError("expected chapter/run/name or chapter/run/name:format")
    chapter, run, rest = pieces
    if chapter == "bench":
        path = newest(env, run)
        if "*" in run:
            chosen(env).setdefault(env.docname, {})[run] = path
        if path is None:
            raise (NotRecorded if "*" in run else ResultError)(f"no bench/results/{run}.json")
        key = f"bench/{path.stem}"
        entries = kept(path)
    else:
        path = run_file(env.config, chapter, run, "results.json")
        entries, key = parsed(path), key_of(path)
        if where := origins(env.config).get(key):
            machine = {"processor": where.processor, "compiler": where.compiler, "date": where.date}
            entries = {name: {"value": said, "varies": True} for name, said in machine.items()} | entries
    note_shown(env, path, key)
    name, spec = rest, ""
    if name not in entries:
        name, _, spec = rest.rpartition(":")
    if name not in entries:
        there = ", ".join(sorted(entries)) or "none"
        kind = NotRecorded if "*" in run else ResultError
        raise kind(f"no value {name or rest} in run {chapter}/{run}; values: {there}")
    entry = entries[name]
    if not isinstance(entry, dict) or not isinstance(entry.get("value"), str | int | float):
        raise ResultError(f"value {name} of run {chapter}/{run} is neither a number nor a string: {entry!r}")
    try:
        text = formatted(entry["value"], spec)
    except ValueError as error:
        raise ResultError(f"format {spec!r} for {name} = {entry['value']!r}: {error}") from None
    return Found(text, entry, key, name)


# Bounds -------------------------------------------------------------------------------------------

not_concluded = ByPage[list[str]]("not_concluded")  # the bounds that were not checked, because their measurement was disturbed
unusual = ByPage[list[str]]("unusual")  # the bounds that usually hold, but not on this machine


def check_bounds(env: BuildEnvironment, usually: bool, bounds: str, entry: dict[str, Any], name: str) -> list[str]:
    """Check bounds such as `>= 1.2 < 10`. Returns those that need not hold everywhere and do not hold here."""
    number, words = entry["value"], bounds.split()
    if usually and not words:
        raise ResultError(f"what does {name} usually do? Expected a bound, such as usually > 1")
    if usually and not entry.get("varies"):
        raise ResultError(f"{name} is the same on every machine, so its bounds always hold: leave out usually")
    unmet: list[str] = []
    for sign, text in zip(words[::2], words[1::2], strict=True):
        try:
            limit = float(text)
        except ValueError:
            raise ResultError(f"bound {text!r} is not a number") from None
        if isinstance(number, str):
            raise ResultError(f"{name} is the text {number!r}, which cannot be {sign} {text}")
        if entry.get("disturbed"):
            not_concluded(env).setdefault(env.docname, []).append(f"{name} {sign} {text}")
        elif not COMPARE[sign](number, limit):
            if not usually:
                raise ResultError(f"{name} is {number!r}, but the page says {sign} {text}")
            unusual(env).setdefault(env.docname, []).append(f"{name} {sign} {text}")
            unmet.append(f"{sign} {text}")
    return unmet


def say_bounds(app: Sphinx, error: Exception | None) -> None:
    """Print such bounds. They are no warnings, because a build on another or a quieter machine will conclude."""
    for bounds, meaning in (
        (not_concluded, "Not concluded, because measurements were disturbed"),
        (unusual, "Not so on this machine, and marked on the pages"),
    ):
        pages = bounds(app.env)
        if error is None and pages:
            said = "; ".join(f"{page}: {', '.join(names)}" for page, names in sorted(pages.items()))
            print(f"book: {meaning}: {sum(map(len, pages.values()))} ({said})")


# On the page --------------------------------------------------------------------------------------


def typeset(number: str) -> list[nodes.Node]:
    """A number with a minus sign, and with a power of ten in place of an exponent."""
    found = re.fullmatch(r"(.*\d)e([+-])0*(\d+)(.*)", number)
    if not found:
        return [nodes.Text(number.replace("-", "−"))]
    mantissa, sign, digits, tail = found.groups()
    times = f"{mantissa.replace('-', '−')}\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}10"
    return [nodes.Text(times), nodes.superscript("", ("−" if sign == "-" else "") + digits), nodes.Text(tail)]


class Value(SphinxRole):
    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        found = BOUNDED.fullmatch(self.text.strip())
        assert found is not None  # any text fits
        target, usually, bounds = found.groups()
        try:
            answer = lookup(self.env, target)
            text, entry = answer.text, answer.entry
            unmet = check_bounds(self.env, bool(usually), bounds, entry, target.partition(":")[0])
        except NotRecorded:
            return [nodes.inline(classes=["not-recorded"])], []
        except ResultError as error:
            logger.warning("value `%s`: %s", self.text, error, location=self.get_location())
            return [], []
        kind, _, run = answer.run.partition("/")
        origin = f"bench/results/{run}.json" if kind == "bench" else f"the program’s run {answer.run}"
        origin += f": {answer.name}"
        if entry.get("unit"):
            origin += f" ({entry['unit']})"
        node = value(classes=["value"], origin=origin, run=answer.run)
        node["varies"] = bool(entry.get("varies"))
        node["disturbed"] = bool(entry.get("disturbed"))
        node["unmet"] = " ".join(unmet)
        node += words(text) if isinstance(entry["value"], str) else typeset(text)
        return [node], []


def visit_value(self: HTML5Translator, node: value) -> None:
    title = f"From {node['origin']}"
    classes = "value"
    if said := said_of_run(self.config, node["run"], node["varies"]):
        title += f". {said}"
    if node["varies"]:
        classes += " varies"
    if node["disturbed"]:
        title += ". The measurement was disturbed by other programs, or contradicts its floor: nothing can be concluded from it"
        classes += " disturbed"
    if node["unmet"]:
        title += f". On the machines that the text describes it is {node['unmet']}"
        classes += " unusual"
    self.body.append(f'<span class="{classes}" title="{html.escape(title)}">')


def depart_value(self: HTML5Translator, node: value) -> None:
    said = "disturbed" if node["disturbed"] else f"elsewhere {node['unmet']}" if node["unmet"] else ""
    mark = f'<span class="mark"> ({html.escape(said)})</span>' if said else ""
    self.body.append(f"{mark}</span>")


def leave_out(app: Sphinx, doctree: nodes.document) -> None:
    """Remove the paragraphs whose values are not recorded yet."""
    for paragraph in list(doctree.findall(nodes.paragraph)):
        if any("not-recorded" in node["classes"] for node in paragraph.findall(nodes.inline)):
            paragraph.parent.remove(paragraph)


def setup(app: Sphinx) -> None:
    app.add_node(value, html=(visit_value, depart_value))
    app.add_role("value", Value())
    app.connect("doctree-read", leave_out)
    app.connect("env-get-outdated", with_newer)
    chosen.connect(app)
    not_concluded.connect(app)
    unusual.connect(app)
    app.connect("build-finished", say_bounds)
