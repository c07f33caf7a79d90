"""Where and when a run took place: `docs/record.py` leaves it beside the results, in origin.json.

A line at the end of each page says which runs it shows.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from .results import parsed, shown


@dataclass(frozen=True)
class Origin:
    """A day and a machine; `here` if it is where the book was built."""

    here: bool
    date: str
    processor: str
    compiler: str


def origins(config: Config) -> dict[str, Origin]:
    """Origins by run. Lists that no program printed, such as those of the repository, have none."""
    entries = parsed(Path(config.abh_results) / "origin.json")
    return {run: Origin(**entry) for run, entry in entries.items()}


def said_of_run(config: Config, run: str, varies: bool) -> str:
    """The part of a value's tooltip after its name."""
    found = origins(config).get(run)
    if found is None:
        return ""
    if found.here:
        said = f"{'Measured' if varies else 'Computed'} where this book was built, on {found.date}"
    else:
        said = f"Recorded on {found.date} ({found.processor})"
    return f"{said}: it differs between machines" if varies else said


# The line at the end of a page --------------------------------------------------------------------


def days(found: Iterable[Origin]) -> str:
    dates = sorted({one.date for one in found})
    return dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"


def sentences(config: Config, runs: set[str]) -> list[str]:
    known = origins(config)
    found = {run: known[run] for run in runs if run in known}
    here = [one for one in found.values() if one.here]
    recorded = [one for one in found.values() if not one.here]
    said = []
    if recorded:
        what, one = "Some numbers" if here else "The numbers", recorded[0]
        said.append(f"{what} on this page were recorded on {days(recorded)} ({one.processor}; {one.compiler}).")
    if here:
        what, one = "Other numbers" if recorded else "The numbers on this page", here[0]
        said.append(f"{what} were computed where this book was built, on {days(here)} ({one.processor}; {one.compiler}).")
    if kept := sorted(run.partition("/")[2] for run in runs if run.startswith("bench/")):
        files = ", ".join(f"bench/results/{name}.json" for name in kept)
        said.append(f"{'Longer measurements' if found else 'The measurements on this page'} are kept in {files}.")
    return said


def say(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if lines := sentences(app.config, shown(app.env).get(docname, set())):
        doctree += nodes.paragraph("", " ".join(lines), classes=["origin"])


def setup(app: Sphinx) -> None:
    app.connect("doctree-resolved", say)
