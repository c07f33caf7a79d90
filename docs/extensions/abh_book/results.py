"""The programs' output: numbers, console output, figures.

Role `value`, number of chapter / run / name and optionally a Python format after the last colon:

    {value}`04/main/score_std:.3f`

A bound, or more than one, follows what the prose claims about the number; the build fails when it does
not hold. A number whose measurement was disturbed is marked, and its bounds are not checked:

    {value}`04/main/score_std:.3f >= 0.9 < 1.1`

A speed differs between machines. What the prose says of it holds `usually`; where it does not, the number
is marked, and the build goes on:

    {value}`04/main/softmax_gain:.1f usually >= 1.2`

What takes too long to be measured in every build is kept in `bench/results`. A number of one of its files:

    {value}`bench/2026-11-25_multi30k/test/greedy:.2f`

Of a list, an entry that has a name, or is a `work` of the benchmark, goes by it.

The machine of a run is named where its numbers stand: `processor`, `compiler` and `date` of each run.

    {value}`04/main/processor`

Directive `console`, captured output of one of this chapter's runs (or `04/main` of another's):

    ```{console} main
    :section: Score table
    :head: 5
    :tail: 2
    ```

Directive `plot`, a figure of this chapter (or `04/weights` of another):

    ```{plot} weights
    :alt: What there is to see
    The caption.
    ```

A screen as narrow as a phone's shows the figure's narrow shape, where it has one.
"""

from __future__ import annotations

import contextlib
import html
import json
import operator
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.writers.html5 import HTML5Translator

from .access import scrolls
from .by_page import ByPage
from .origin import origins, said_of_run

logger = logging.getLogger(__name__)
FIGURES = "_figures"
BOUNDED = re.compile(r"(.*?)(\s+usually)?((?:\s+(?:>=|<=|>|<)\s+\S+)*)")
COMPARE = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
SECTION = re.compile(r"== (.+) ==")


class ResultError(Exception):
    """A result that is missing; the message is one line."""


def chapter_of(docname: str) -> str | None:
    """Folder name of the chapter that a page belongs to."""
    found = re.fullmatch(r"chapters/([^/]+)/.+", docname)
    return found.group(1) if found else None


def chapter_folder(base: Path, wanted: str, what: str) -> Path:
    """`base/04_some_name` for `04` or for the whole name."""
    if (base / wanted).is_dir():
        return base / wanted
    found = [path for path in sorted(base.glob(f"{wanted}_*")) if path.is_dir()]
    if len(found) != 1:
        raise ResultError(f"no {what} of chapter {wanted}")
    return found[0]


def run_file(config: Config, chapter: str, run: str, file: str) -> Path:
    """A file that a run wrote."""
    folder = chapter_folder(Path(config.abh_results), chapter, "results")
    path = folder / run / file
    if not path.is_file():
        runs = ", ".join(sorted(p.name for p in folder.iterdir() if p.is_dir())) or "none"
        raise ResultError(f"no {file} of run {folder.name}/{run}; runs of this chapter: {runs}")
    return path


def key_of(path: Path) -> str:
    """The run `chapter/name` that wrote a file."""
    return f"{path.parent.parent.name}/{path.parent.name}"


@lru_cache(maxsize=512)
def _parsed(path: Path, time: int) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ResultError(f"{path}: {error}") from None


def parsed(path: Path) -> Any:
    return _parsed(path, path.stat().st_mtime_ns)


# What pages ask -----------------------------------------------------------------------------------

# A page is read again when an answer that it got is another one now, whatever else has changed in the same file.
Question = tuple[str, ...]
asked = ByPage[dict[Question, Any]]("asked")  # the answers
ANSWERS: dict[str, Callable[..., Any]] = {}  # by the first word of the question


def answers(kind: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        ANSWERS[kind] = function
        return function

    return register


def ask(env: BuildEnvironment, *question: str) -> Any:
    answer = ANSWERS[question[0]](env.config, *question[1:])
    asked(env).setdefault(env.docname, {})[question] = answer
    return answer


def answered_otherwise(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    def differs(question: Question, answer: Any) -> bool:
        try:
            return ANSWERS[question[0]](app.config, *question[1:]) != answer
        except ResultError:
            return True

    return [
        page
        for page, known in asked(env).items()
        if page in env.found_docs and any(differs(question, answer) for question, answer in known.items())
    ]


# Values -------------------------------------------------------------------------------------------


class value(nodes.inline):
    """A number from results.json. Attributes: run, origin, varies, disturbed, and unmet (which bounds do not hold here)."""


def formatted(number: Any, spec: str) -> str:
    if spec:
        return format(number, spec)
    if isinstance(number, bool):
        return str(number).lower()
    if isinstance(number, float):
        return format(number, ".6g")
    return str(number)


def kept(config: Config, name: str) -> dict[str, dict[str, Any]]:
    """The entries of bench/results/NAME.json; one inside another is `outer/inner`."""
    path = Path(config.abh_root) / "bench" / "results" / f"{name}.json"
    if not path.is_file():
        raise ResultError(f"no bench/results/{name}.json")
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


@dataclass(frozen=True)
class Found:
    """The answer to a value: how the page shows it, what the program wrote, and where."""

    text: str
    entry: dict[str, Any]
    run: str  # `chapter/run`, or `bench/file`
    name: str


@answers("value")
def lookup(config: Config, target: str) -> Found:
    """The answer to `chapter/run/name:format`."""
    pieces = target.split("/", 2)
    if len(pieces) != 3 or not all(pieces):
        raise ResultError("expected chapter/run/name or chapter/run/name:format")
    chapter, run, rest = pieces
    if chapter == "bench":
        entries, key = kept(config, run), f"bench/{run}"
    else:
        path = run_file(config, chapter, run, "results.json")
        entries, key = parsed(path), key_of(path)
        if where := origins(config).get(key):
            machine = {"processor": where.processor, "compiler": where.compiler, "date": where.date}
            entries = {name: {"value": said, "varies": True} for name, said in machine.items()} | entries
    name, spec = rest, ""
    if name not in entries:
        name, _, spec = rest.rpartition(":")
    if name not in entries:
        there = ", ".join(sorted(entries)) or "none"
        raise ResultError(f"no value {name or rest} in run {chapter}/{run}; values: {there}")
    entry = entries[name]
    if not isinstance(entry, dict) or not isinstance(entry.get("value"), str | int | float):
        raise ResultError(f"value {name} of run {chapter}/{run} is neither a number nor a string: {entry!r}")
    try:
        text = formatted(entry["value"], spec)
    except ValueError as error:
        raise ResultError(f"format {spec!r} for {name} = {entry['value']!r}: {error}") from None
    if entry.get("tolerance"):
        text += f" ± {formatted(entry['tolerance'], '')}"
    return Found(text, entry, key, name)


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


class Value(SphinxRole):
    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        found = BOUNDED.fullmatch(self.text.strip())
        assert found is not None  # any text fits
        target, usually, bounds = found.groups()
        try:
            answer: Found = ask(self.env, "value", target)
            text, entry = answer.text, answer.entry
            unmet = check_bounds(self.env, bool(usually), bounds, entry, target.partition(":")[0])
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
        found = re.fullmatch(r"(.*\d)e([+-])0*(\d+)(.*)", text)
        if found and not isinstance(entry["value"], str):
            mantissa, sign, digits, tail = found.groups()
            exponent = ("−" if sign == "-" else "") + digits
            node += nodes.Text(f"{mantissa.replace('-', '−')}\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}10")
            node += nodes.superscript("", exponent)
            node += nodes.Text(tail)
        elif isinstance(entry["value"], str):
            node += nodes.Text(text)
        else:
            node += nodes.Text(text.replace("-", "−"))
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


# Console output -----------------------------------------------------------------------------------


class console(nodes.General, nodes.Element):
    """Attributes: lines (list of str; None for the gap), command, section, left_out."""


def section_of(lines: list[str], wanted: str) -> list[str]:
    """The lines of one section, without its heading."""
    titles: list[str] = []
    start = end = None
    for number, line in enumerate(lines):
        found = SECTION.fullmatch(line.strip())
        if not found:
            continue
        titles.append(found.group(1))
        if start is not None and end is None:
            end = number
        if found.group(1) == wanted and start is None:
            start = number + 1
    if start is None:
        there = ", ".join(titles) or "none"
        raise ResultError(f"the output has no section {wanted!r}; it has: {there}")
    return lines[start:end]


def trimmed(lines: list[str]) -> list[str]:
    while lines and not lines[0].strip():
        lines = lines[1:]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


@answers("console")
def printed(config: Config, chapter: str, run: str, section: str) -> tuple[list[str], str, str]:
    """The lines that a run printed, its command, and its key."""
    path = run_file(config, chapter, run, "stdout.txt")
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ResultError(f"{path}: {error}") from None
    lines = trimmed(section_of(lines, section) if section else lines)
    if not lines:
        raise ResultError("there is no output to show")
    command = path.with_name("command.txt")
    if command.is_file():
        return lines, command.read_text(encoding="utf-8").strip(), key_of(path)
    return lines, f"./book run {path.parent.parent.name[:2]}{'' if run == 'main' else f' (run {run})'}", key_of(path)


class Console(SphinxDirective):
    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {
        "section": directives.unchanged_required,
        "head": directives.positive_int,
        "tail": directives.positive_int,
    }

    def run(self) -> list[nodes.Node]:
        chapter, _, run = self.arguments[0].strip().rpartition("/")
        chapter = chapter or chapter_of(self.env.docname) or ""
        section = self.options.get("section", "")
        try:
            if not chapter:
                raise ResultError("outside a chapter, write chapter/run")
            lines, command, _ = ask(self.env, "console", chapter, run, section)
        except ResultError as error:
            logger.warning(
                "console %s: %s", self.arguments[0], error, location=self.get_location()
            )
            return []
        head, tail = self.options.get("head"), self.options.get("tail")
        left_out = 0
        if head is not None or tail is not None:
            before, after = head or 0, tail or 0
            left_out = max(0, len(lines) - before - after)
            if left_out:
                lines = [*lines[:before], None, *lines[len(lines) - after :]]
        node = console(lines=lines, command=command, section=section, left_out=left_out)
        self.set_source_info(node)
        return [node]


def wide(line: str) -> str:
    """HTML of a line in which a Chinese character takes two columns, as in a terminal."""
    return "".join(
        f'<span class="wide">{c}</span>'
        if unicodedata.east_asian_width(c) in "WF"
        else html.escape(c, quote=False)
        for c in line
    )


def visit_console(self: HTML5Translator, node: console) -> None:
    count = node["left_out"]
    gap = f'<span class="gap">⋮ {count} {"line" if count == 1 else "lines"}</span>'
    text = "\n".join(gap if line is None else wide(line) for line in node["lines"])
    section = f' <span class="console-section">{html.escape(node["section"])}</span>'
    self.body.append(
        f'<figure class="console"><figcaption><code>{html.escape(node["command"])}</code>'
        f"{section if node['section'] else ''}</figcaption>"
        f'<div class="highlight"><pre {scrolls("Output of " + node["command"])}><span></span>{text}\n</pre></div></figure>\n'
    )
    raise nodes.SkipNode


# Figures ------------------------------------------------------------------------------------------


class plot(nodes.General, nodes.Element):
    """Attributes: chapter, figure, alt, width, height, narrow; the children are the caption."""


figures = ByPage[set[tuple[str, str]]]("figures_shown")  # chapter and name of each figure shown


def svg_size(path: Path) -> tuple[int, int]:
    """Width and height of an SVG file in CSS pixels."""
    found = re.search(r"<svg[^>]*>", path.read_text(encoding="utf-8"))
    sizes = dict(re.findall(r'\b(width|height)="([\d.]+)pt"', found.group() if found else ""))
    if len(sizes) != 2:
        raise ResultError(f"{path} is not an SVG with width and height in pt")
    return round(float(sizes["width"]) * 4 / 3), round(float(sizes["height"]) * 4 / 3)


@answers("figure")
def drawn(config: Config, chapter: str, name: str) -> tuple[str, int, int, bool]:
    """Folder, width, height, and whether there is a narrow shape. A page does not depend on the figure's content."""
    folder = chapter_folder(Path(config.abh_figures), chapter, "figures")
    for look in ("light", "dark"):
        path = folder / f"{name}.{look}.svg"
        if not path.is_file():
            there = sorted({p.name.split(".")[0] for p in folder.glob("*.light.svg")})
            raise ResultError(f"no figure {folder.name}/{path.name}; figures: {', '.join(there) or 'none'}")
    return (folder.name, *svg_size(folder / f"{name}.light.svg"), (folder / f"{name}.narrow.light.svg").is_file())


class Plot(SphinxDirective):
    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "alt": directives.unchanged_required,
        "name": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        chapter, _, name = self.arguments[0].strip().rpartition("/")
        chapter = chapter or chapter_of(self.env.docname) or ""
        try:
            if not self.options.get("alt", "").strip():
                raise ResultError("the option :alt: (what there is to see) is missing")
            if not chapter:
                raise ResultError("outside a chapter, write chapter/figure")
            folder, width, height, narrow = ask(self.env, "figure", chapter, name)
        except ResultError as error:
            logger.warning("plot %s: %s", self.arguments[0], error, location=self.get_location())
            return []
        figures(self.env).setdefault(self.env.docname, set()).add((folder, name))
        node = plot(
            chapter=folder, figure=name, width=width, height=height, narrow=narrow,
            alt=" ".join(self.options["alt"].split()),
        )
        node["ids"].append(nodes.make_id(f"figure-{name}"))
        self.set_source_info(node)
        self.add_name(node)
        node += self.parse_content_to_nodes()
        return [node]


def visit_plot(self: HTML5Translator, node: plot) -> None:
    depth = self.builder.current_docname.count("/")
    base = f"{'../' * depth}{FIGURES}/{node['chapter']}/{node['figure']}"
    alt = html.escape(node["alt"])
    self.body.append(self.starttag(node, "figure", CLASS="plot"))
    for look in ("light", "dark"):
        image = (
            f'<img class="only-{look}" src="{html.escape(base)}.{look}.svg" alt="{alt}" '
            f'width="{node["width"]}" height="{node["height"]}">'
        )
        if node["narrow"]:
            source = f'<source media="(max-width: 35em)" srcset="{html.escape(base)}.narrow.{look}.svg">'
            image = f"<picture>{source}{image}</picture>"
        self.body.append(f"{image}\n")
    if node.children:
        self.body.append("<figcaption>")


def depart_plot(self: HTML5Translator, node: plot) -> None:
    if node.children:
        self.body.append("</figcaption>")
    self.body.append("</figure>\n")


def copy_figures(app: Sphinx, error: Exception | None) -> None:
    """Bring the figures that pages show into the output, and remove others."""
    if error is not None or app.builder.format != "html":
        return
    source, out = Path(app.config.abh_figures), Path(app.outdir) / FIGURES
    wanted = {
        f"{chapter}/{name}.{look}.svg"
        for page in figures(app.env).values()
        for chapter, name in page
        for look in ("light", "dark", "narrow.light", "narrow.dark")
        if (source / chapter / f"{name}.{look}.svg").is_file()
    }
    for name in sorted(wanted):
        content = (source / name).read_bytes()
        target = out / name
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    for path in out.rglob("*.svg"):
        if path.relative_to(out).as_posix() not in wanted:
            path.unlink()
    for folder in out.glob("*/"):
        with contextlib.suppress(OSError):
            folder.rmdir()


def setup(app: Sphinx) -> None:
    app.add_node(value, html=(visit_value, depart_value))
    app.add_node(console, html=(visit_console, None))
    app.add_node(plot, html=(visit_plot, depart_plot))
    app.add_role("value", Value())
    app.add_directive("console", Console)
    app.add_directive("plot", Plot)
    not_concluded.connect(app)
    unusual.connect(app)
    figures.connect(app)
    asked.connect(app)
    app.connect("env-get-outdated", answered_otherwise)
    app.connect("build-finished", copy_figures)
    app.connect("build-finished", say_bounds)
