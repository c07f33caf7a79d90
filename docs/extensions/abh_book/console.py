"""Directive `console`: what one of this chapter's runs (or `04/main` of another's) printed.

    ```{console} main
    :section: Score table
    :head: 5
    :tail: 2
    ```
"""

import html
import re
import unicodedata
from itertools import pairwise
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from .access import scrolls
from .results import ResultError, chapter_and_name, key_of, note_shown, run_file

logger = logging.getLogger(__name__)
SECTION = re.compile(r"== (.+) ==")


class console(nodes.General, nodes.Element):
    """Attributes: lines (list of str; None for the gap), command, section, left_out."""


def section_of(lines: list[str], wanted: str) -> list[str]:
    """The lines of one section, without its heading."""
    heads = [(at, found.group(1)) for at, line in enumerate(lines) if (found := SECTION.fullmatch(line.strip()))]
    for (start, title), (end, _) in pairwise([*heads, (len(lines), "")]):
        if title == wanted:
            return lines[start + 1 : end]
    there = ", ".join(title for _, title in heads) or "none"
    raise ResultError(f"the output has no section {wanted!r}; it has: {there}")


def printed(env: BuildEnvironment, chapter: str, run: str, section: str) -> tuple[list[str], str]:
    """The lines that a run printed, and its command."""
    path = run_file(env.config, chapter, run, "stdout.txt")
    note_shown(env, path, key_of(path))
    lines = path.read_text(encoding="utf-8").split("\n")
    if section:
        lines = section_of(lines, section)
    filled = [at for at, line in enumerate(lines) if line.strip()]
    if not filled:
        raise ResultError("there is no output to show")
    command = path.with_name("command.txt").read_text(encoding="utf-8").strip()
    return lines[filled[0] : filled[-1] + 1], command


class Console(SphinxDirective):
    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {
        "section": directives.unchanged_required,
        "head": directives.positive_int,
        "tail": directives.positive_int,
    }

    def run(self) -> list[nodes.Node]:
        section = self.options.get("section", "")
        try:
            lines, command = printed(self.env, *chapter_and_name(self, "run"), section)
        except ResultError as error:
            logger.warning("console %s: %s", self.arguments[0], error, location=self.get_location())
            return []
        left_out = 0
        if "head" in self.options or "tail" in self.options:
            before, after = self.options.get("head", 0), self.options.get("tail", 0)
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


def setup(app: Sphinx) -> None:
    app.add_node(console, html=(visit_console, None))
    app.add_directive("console", Console)
