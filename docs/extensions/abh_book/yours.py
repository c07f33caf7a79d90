"""Directive `your-numbers`: the numbers that pages show, from this machine beside the recorded ones.

    ```{your-numbers}
    ```

A table with a line for each chapter, then the values of each chapter, folded. If no program was run, it says so.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import record
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from .boxes import fold
from .by_page import ByPage
from .lists import row, table
from .results import asked
from .value import formatted

pages = ByPage[bool]("your_numbers")


class your_numbers(nodes.General, nodes.Element):
    """Replaced when all pages are read."""


class YourNumbers(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        pages(self.env)[self.env.docname] = True
        return [your_numbers()]


def values_shown(env: BuildEnvironment) -> dict[str, list[str]]:
    """The pages that show a value, by `chapter/run/name`."""
    found: dict[str, set[str]] = {}
    for page, known in asked(env).items():
        for question, answer in known.items():
            if question[0] == "value":
                found.setdefault(f"{answer.run}/{answer.name}", set()).add(page)
    return {name: sorted(those) for name, those in sorted(found.items())}


def folders(app: Sphinx) -> tuple[Path, Path]:
    return Path(app.config.abh_root) / "recorded", Path(app.config.abh_results).parent / "runs"


def text_of(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return "none"
    value, unit = entry["value"], entry.get("unit", "")
    said = formatted(value, ".4g" if entry.get("varies") and not isinstance(value, str) else "")
    return f"{said} {unit}".rstrip().replace("-", "\N{MINUS SIGN}" if not isinstance(value, str) else "-")


def title_of(app: Sphinx, chapter: str) -> str:
    page = f"chapters/{chapter}/index"
    found = app.env.titles.get(page)
    return found.astext() if found else chapter


def summary(app: Sphinx, chapters: dict[str, list[record.Pair]]) -> nodes.container:
    rows = []
    for chapter, found in [*chapters.items(), ("", [pair for those in chapters.values() for pair in those])]:
        verdicts = [pair.verdict for pair in found]
        compared = len(verdicts) - verdicts.count("varies")
        ratio = record.speed(found)
        cells = [title_of(app, chapter) if chapter else "All", str(compared)]
        cells += [str(verdicts.count(one)) for one in ("equal", "within", "different")]
        rows.append(row([nodes.Text(cell) for cell in [*cells, f"{ratio:.2f}" if ratio else ""]]))
    heads = ["chapter", "compared", "equal", "within", "different", "times"]
    return table("yours", heads, [40, 12, 12, 12, 12, 12], rows)


def details(app: Sphinx, chapter: str, found: list[record.Pair], on_pages: dict[str, list[str]]) -> list[nodes.Node]:
    """A fold with the values of a chapter that pages show."""
    rows = []
    for pair in found:
        if f"{pair.run}/{pair.name}" not in on_pages:
            continue
        told = pair.verdict
        if told == "varies":
            told = f"{pair.ratio:.2f} times" if pair.ratio else "varies"
        name = nodes.literal("", f"{pair.run.partition('/')[2]}/{pair.name}")
        rows.append(row([name, *(nodes.Text(text) for text in (text_of(pair.recorded), text_of(pair.here), told))]))
    if not rows:
        return []
    title = f"{title_of(app, chapter)}: {len(rows)} {'value' if len(rows) == 1 else 'values'}"
    box = fold(title=title)
    box += table("yours", ["run/value", "recorded", "here", ""], [40, 22, 22, 16], rows)
    return [box]


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for node in list(doctree.findall(your_numbers)):
        chapters = record.by_chapter(record.pairs(*folders(app)))
        if not chapters:
            text = "Nothing was run here yet, so every number on these pages is a recorded one. "
            told = nodes.paragraph("", "", nodes.Text(text), nodes.literal("", "./book build"))
            told += nodes.Text(" runs every program on your machine, and this page then shows the tables.")
            node.replace_self(told)
            continue
        on_pages = values_shown(app.env)
        folds = [one for chapter, found in chapters.items() for one in details(app, chapter, found, on_pages)]
        node.replace_self([summary(app, chapters), *folds])


def written_again(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """The page follows the runs."""
    state = [sorted((run, path.stat().st_mtime_ns) for run, path in record.complete(one).items()) for one in folders(app)]
    if getattr(env, "abh_runs_compared", None) == state:
        return []
    env.abh_runs_compared = state  # type: ignore[attr-defined]
    return list(pages(env))


def leave_values(app: Sphinx, error: Exception | None) -> None:
    """Save which pages show which values, for the comparison at the end of the build."""
    if error is None and app.builder.format == "html":
        path = Path(app.config.abh_results).parent / "values_shown.json"
        path.write_text(json.dumps(values_shown(app.env), indent=1), encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.add_node(your_numbers)
    app.add_directive("your-numbers", YourNumbers)
    pages.connect(app)
    app.connect("doctree-resolved", fill)
    app.connect("env-updated", written_again)
    app.connect("build-finished", leave_values)
