"""Directives `exercises`, all exercises of a page's chapter that the judge has, and `exercise`, one that it does not have.

    ```{exercises}
    ```

Each folder chapters/NN_NAME/exercises/M_TITLE becomes a box with its statement, its points, the command that judges an
answer, and, folded, its hints and its solution. With `abh_solutions = False` there are no solutions.

    ```{exercise} 04.1 Title
    :difficulty: 2
    :points: 10
    :kind: derive a backward
    :trains: the chain rule through a normalizer that all outputs share
    :needs: 00.2

    The statement.
    ```

Difficulty counts from one to three. The number starts with the chapter's own and is used once in the book. The table
`{list-of} skills` shows what an exercise trains, and which ones it needs first.
"""

import re
import sys
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from .boxes import box
from .results import chapter_of

logger = logging.getLogger(__name__)
HARDEST = 3
KINDS = {
    "forward": "write a forward",
    "backward": "derive and write a backward",
    "bug": "find the bug, and write the test that catches it",
    "predict": "predict numbers",
    "speed": "reach a speed",
    "kernel": "write a kernel",
    "ablation": "measure what a part is worth",
}


def exercise_box(
    directive: SphinxDirective, number: str, title: str, difficulty: int, points: int, kind: str, **more: Any
) -> nodes.container:
    """The box of an exercise, without its statement. `more` is what lists say of it, too."""
    node = box("exercise", f"Exercise {number}", [nodes.Text(title)], f"exercise-{number}")
    # The search finds it by its number, and a number that is used twice is refused.
    directive.env.domains.standard_domain.note_object("exercise", number, node["ids"][0], directive.get_location())
    node["facts"] = {"number": number, "difficulty": difficulty, "points": points, "kind": kind, **more}
    dots = "●" * difficulty + "○" * (HARDEST - difficulty)
    worth = f"{points} {'point' if points == 1 else 'points'}"
    said = nodes.Text(f" difficulty {difficulty} of {HARDEST} · {worth} · {kind}")
    node += nodes.paragraph("", "", nodes.inline("", dots, classes=["difficulty"]), said, classes=["box-facts"])
    return node


class Exercise(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "difficulty": directives.positive_int,
        "points": directives.positive_int,
        "kind": directives.unchanged_required,
        "trains": directives.unchanged_required,
        "needs": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        number, _, title = self.arguments[0].strip().partition(" ")
        own, facts = chapter_of(self.env.docname) or "", dict(self.options)
        if not re.fullmatch(rf"{own[:2]}\.\d+", number):
            logger.warning("exercise %s is in chapter %s", number, own, location=self.get_location())
            return []
        facts["needs"] = tuple(facts.get("needs", "").replace(",", " ").split())
        if missing := [name for name in self.option_spec if name not in facts]:
            logger.warning("exercise %s: no option :%s:", number, missing[0], location=self.get_location())
            return []
        node = exercise_box(self, number, title.strip(), **facts)
        node += self.parse_content_to_nodes()
        self.set_source_info(node)
        return [node]


class Exercises(SphinxDirective):
    has_content = False

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.config.abh_root)
        if str(root) not in sys.path:
            sys.path.insert(0, str(root))
        from judge.answer.exercise import Mistaken, load_all

        own = (chapter_of(self.env.docname) or "")[:2]
        try:
            found = [e for e in load_all(root) if e.chapter == own]
        except Mistaken as why:
            logger.warning("%s", why, location=self.get_location())
            return []
        result: list[nodes.Node] = []
        for e in found:
            for path in e.folder.iterdir():
                if path.suffix in {".json", ".md"} or path == e.source:
                    self.env.note_dependency(str(path))
            more = {"short": e.kind, "trains": e.trains, "needs": e.needs, "hours": e.hours}
            node = exercise_box(self, e.number, e.title, e.difficulty, e.points, KINDS[e.kind], **more)
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
            said = f"{derivation}\n" if (derivation := e.derivation()) else ""
            language = "cpp" if e.source.suffix == ".cpp" else "text"
            parts.append(f"`````{{fold}} Solution\n{said}\n```{language}\n{e.solution()}```\n`````")
        return "\n\n".join(parts)


def new_folders(app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]) -> list[str]:
    """The pages that show all exercises of their chapter, if some have come or gone."""
    there = sorted(Path(app.config.abh_root).glob("chapters/*/exercises/*/"))
    known, env.abh_exercises = getattr(env, "abh_exercises", there), there  # type: ignore[attr-defined]
    return [] if known == there else [page for page in env.found_docs if page.endswith("/exercises")]


def setup(app: Sphinx) -> None:
    app.add_config_value("abh_solutions", True, "env", bool)  # whether exercises show them
    app.add_directive("exercise", Exercise)
    app.add_directive("exercises", Exercises)
    app.connect("env-get-outdated", new_folders)
