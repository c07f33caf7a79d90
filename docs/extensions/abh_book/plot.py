"""Directive `plot`: a figure of this chapter (or `04/weights` of another).

    ```{plot} weights
    :alt: What there is to see
    The caption.
    ```

A screen as narrow as a phone's shows the figure's narrow shape, where it has one.
"""

import html
import json
import re
import shutil
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from .results import ResultError, chapter_and_name, chapter_folder, note_shown

logger = logging.getLogger(__name__)
FIGURES = "_figures"


class plot(nodes.General, nodes.Element):
    """Attributes: chapter, figure, alt, width, height, narrow; the children are the caption."""


def svg_size(path: Path) -> tuple[int, int]:
    """Width and height of an SVG file in CSS pixels."""
    found = re.search(r"<svg[^>]*>", path.read_text(encoding="utf-8"))
    sizes = dict(re.findall(r'\b(width|height)="([\d.]+)pt"', found.group() if found else ""))
    if len(sizes) != 2:
        raise ResultError(f"{path} is not an SVG with width and height in pt")
    return round(float(sizes["width"]) * 4 / 3), round(float(sizes["height"]) * 4 / 3)


def drawn(env: BuildEnvironment, chapter: str, name: str) -> tuple[str, int, int, bool]:
    """Folder, width, height, and whether there is a narrow shape."""
    folder = chapter_folder(Path(env.config.abh_figures), chapter, "figures")
    for look in ("light", "dark"):
        path = folder / f"{name}.{look}.svg"
        if not path.is_file():
            there = sorted({p.name.split(".")[0] for p in folder.glob("*.light.svg")})
            raise ResultError(f"no figure {folder.name}/{path.name}; figures: {', '.join(there) or 'none'}")
    notes = folder / "drawn.json"  # of figures/draw.py: what a figure was drawn from
    env.note_dependency(str(notes if notes.is_file() else folder / f"{name}.light.svg"))
    if notes.is_file():
        for file in json.loads(notes.read_text(encoding="utf-8"))["figures"].get(name, {}).get("read", []):
            note_shown(env, notes, file.rpartition("/")[0])
    return (folder.name, *svg_size(folder / f"{name}.light.svg"), (folder / f"{name}.narrow.light.svg").is_file())


class Plot(SphinxDirective):
    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        try:
            if not self.options.get("alt", "").strip():
                raise ResultError("the option :alt: (what there is to see) is missing")
            chapter, name = chapter_and_name(self, "figure")
            folder, width, height, narrow = drawn(self.env, chapter, name)
        except ResultError as error:
            logger.warning("plot %s: %s", self.arguments[0], error, location=self.get_location())
            return []
        node = plot(
            chapter=folder, figure=name, width=width, height=height, narrow=narrow,
            alt=" ".join(self.options["alt"].split()),
        )
        node["ids"].append(nodes.make_id(f"figure-{name}"))
        self.set_source_info(node)
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
    """Bring the figures into the output."""
    if error is None and app.builder.format == "html":
        no_notes = shutil.ignore_patterns("*.json")
        shutil.copytree(app.config.abh_figures, Path(app.outdir) / FIGURES, ignore=no_notes, dirs_exist_ok=True)


def setup(app: Sphinx) -> None:
    app.add_node(plot, html=(visit_plot, depart_plot))
    app.add_directive("plot", Plot)
    app.connect("build-finished", copy_figures)
