"""Mathematics as HTML while the book is built, by KaTeX in one process for all new formulas.

Debian packages `nodejs`, `katex` (or `node-katex`) and `fonts-katex`. Formulas are collected when
pages are read, rendered when all are read, and kept with Sphinx's environment: a later build renders
what is new. A formula that KaTeX refuses fails the build at its place. The style sheet and the
fonts are copied beside the pages, so that no page asks another host for anything.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

from .access import scrolls
from .by_page import ByPage

logger = logging.getLogger(__name__)
SCRIPT = Path(__file__).with_suffix(".js")
STYLES = Path("/usr/share/javascript/katex")
PACKAGES = "install the packages nodejs, katex and fonts-katex"
Formula = tuple[str, bool]  # TeX, display


def formula(node: nodes.math | nodes.math_block) -> Formula:
    text = node.astext().strip()
    if isinstance(node, nodes.math):
        return text, False
    if r"\\" in text and r"\begin{" not in text:
        text = rf"\begin{{aligned}}{text}\end{{aligned}}"
    return text, True


def rendered(env: BuildEnvironment) -> dict[Formula, str]:
    """HTML of every formula rendered so far."""
    if not hasattr(env, "abh_katex"):
        env.abh_katex = {}  # type: ignore[attr-defined]
    return env.abh_katex  # type: ignore[attr-defined]


formulas = ByPage[list[tuple[Formula, int]]]("formulas")  # formulas and their lines


def render(todo: list[Formula]) -> list[dict[str, str]]:
    """Renders all formulas in one process."""
    node = shutil.which("node", path=f"/usr/bin:{os.environ['PATH']}")  # Debian's first: it finds Debian's modules
    if node is None:
        raise ExtensionError(f"mathematics: node is not installed; {PACKAGES}")
    run = subprocess.run(
        [node, str(SCRIPT)],
        input=json.dumps([{"tex": tex, "display": display} for tex, display in todo]),
        capture_output=True, text=True, encoding="utf-8", check=False,
        env={**os.environ, "NODE_PATH": "/usr/share/nodejs"},
    )
    if run.returncode != 0:
        missing = f"it is not installed; {PACKAGES}" if "Cannot find module 'katex'" in run.stderr else run.stderr.strip()
        raise ExtensionError(f"mathematics: KaTeX: {missing}")
    return json.loads(run.stdout)


def collect(app: Sphinx, doctree: nodes.document) -> None:
    found = [
        (formula(node), node.line or 0)
        for kind in (nodes.math, nodes.math_block)
        for node in doctree.findall(kind)
    ]
    if found:
        formulas(app.env)[app.env.docname] = found


def render_new(app: Sphinx, env: BuildEnvironment) -> None:
    done = rendered(env)
    todo = sorted({f for page in formulas(env).values() for f, _ in page} - done.keys())
    if not todo:
        return
    answers = dict(zip(todo, render(todo), strict=True))
    for one, answer in answers.items():
        if "html" in answer:
            done[one] = answer["html"]
    for page, found in formulas(env).items():
        for one, line in found:
            if "error" in answers.get(one, {}):
                tex = " ".join(one[0].split())
                logger.warning(
                    "mathematics: %s in %s", answers[one]["error"], tex, location=(page, line)
                )


def to_html(self: HTML5Translator, node: nodes.math | nodes.math_block) -> str:
    one = formula(node)
    return rendered(self.builder.env).get(one, f"<code>{self.encode(one[0])}</code>")  # render_new has reported it


def visit_math(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(self.starttag(node, "span", "", CLASS="math"))
    self.body.append(f"{to_html(self, node)}</span>")
    raise nodes.SkipNode


def visit_math_block(self: HTML5Translator, node: nodes.math_block) -> None:
    wrapped = node.parent.get("ids") == node["ids"]  # the theme's wrapper has the id already
    self.body.append(self.starttag({} if wrapped else node, "div", "", CLASS="math display"))
    label = f"Equation {get_node_equation_number(self, node)}" if node["number"] else "Formula"
    self.body.append(f'<div class="math-body" {scrolls(label)}>{to_html(self, node)}</div>')
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def copy_fonts(app: Sphinx) -> None:
    """Copies the style sheet and the fonts, woff2 only, into the output's _static/katex."""
    if app.builder.format != "html":
        return
    if not (STYLES / "katex.min.css").is_file() or not list((STYLES / "fonts").glob("*.woff2")):
        raise ExtensionError(f"mathematics: KaTeX's style sheet or fonts are missing; {PACKAGES}")
    out = Path(app.outdir) / "_static" / "katex"
    (out / "fonts").mkdir(parents=True, exist_ok=True)
    css = (STYLES / "katex.min.css").read_text(encoding="utf-8")
    css = re.sub(r",url\([^)]*\.(?:woff|ttf)\) format\(['\"]\w+['\"]\)", "", css)
    (out / "katex.css").write_text(css, encoding="utf-8")
    for font in sorted((STYLES / "fonts").glob("*.woff2")):
        shutil.copyfile(font, out / "fonts" / font.name)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("katex", (visit_math, None), (visit_math_block, None))
    app.add_css_file("katex/katex.css")
    app.connect("doctree-read", collect)
    formulas.connect(app)
    app.connect("env-updated", render_new)
    app.connect("builder-inited", copy_fonts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
