"""Directive `exercises`: all exercises of a page's chapter that the judge has.

    ```{exercises}
    ```

Each folder chapters/NN_NAME/exercises/M_TITLE becomes a box with its statement, its points, the command that judges an
answer, and, folded, its hints and its solution. With `abh_solutions = False` there are no solutions.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from .boxes import exercise_box
from .folders import look_into
from .results import chapter_of

logger = logging.getLogger(__name__)
KINDS = {
    "forward": "write a forward",
    "backward": "derive and write a backward",
    "bug": "find the bug, and write the test that catches it",
    "predict": "predict numbers",
    "speed": "reach a speed",
    "kernel": "write a kernel",
    "ablation": "measure what a part is worth",
}


class Exercises(SphinxDirective):
    has_content = False

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.config.abh_root)
        if str(root) not in sys.path:
            sys.path.insert(0, str(root))
        from judge.exercise import shelf

        own = (chapter_of(self.env.docname) or "")[:2]
        every = shelf(root)
        for folder, why in every.broken.items():
            if folder.parent.parent.name[:2] == own:
                logger.warning("%s", why, location=self.get_location())
        found = [e for e in every.exercises if e.chapter == own]
        result: list[nodes.Node] = []
        for e in found:
            look_into(self.env, e.folder.parent)
            look_into(self.env, e.folder)
            for path in e.folder.iterdir():
                if path.suffix in {".json", ".md"} or path == e.source:
                    self.env.note_dependency(str(path))
            node = exercise_box(self, e.number, e.title, e.difficulty, e.points, KINDS[e.kind])
            node["facts"] |= {"short": e.kind, "trains": e.trains, "needs": e.needs}
            node += self.parse_text_to_nodes(self.text(e))
            self.set_source_info(node)
            result.append(node)
        return result

    def text(self, e: Any) -> str:
        """Statement, commands, hints and solution, in the pages' language."""
        parts = [(e.folder / "statement.md").read_text()]
        worth = ", ".join(f"{c.name} {c.points}" for c in e.criteria)
        parts.append(f"Points: {worth}. To begin, and to be judged: `./book check {e.number}`.")
        if e.run:
            parts[-1] += f" {'To train' if ' run 09 ' in e.run else 'To run a program'} with it: `{e.run}`."
        for i, hint in enumerate(e.hints, 1):
            parts.append(f"`````{{fold}} Hint {i}\n{hint}\n`````")
        if self.env.config.abh_solutions:
            derivation = e.folder / "solution.md"
            said = derivation.read_text() + "\n" if derivation.is_file() else ""
            language = "cpp" if e.source.suffix == ".cpp" else "text"
            parts.append(f"`````{{fold}} Solution\n{said}\n```{language}\n{e.solution()}```\n`````")
        return "\n\n".join(parts)


def setup(app: Sphinx) -> None:
    app.add_config_value("abh_solutions", True, "env", bool)  # whether exercises show them
    app.add_directive("exercises", Exercises)
