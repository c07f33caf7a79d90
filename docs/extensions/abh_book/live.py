"""Directive `live`: a part of the page that runs the book's own code.

    `````{live} attention
    ````{task} ...
    ````
    ```{plot} weights
    :alt: ...
    ```
    `````

becomes `<abh-attention>`, which docs/live/page/attention.js defines. What stands in it is shown where there is no
script, until the part runs, in print, and in the EPUB and the PDF, which have it alone. Tasks (see `boxes`) stay, before or after
the figure, as they are written.
The scripts of docs/live/page, the recorded modules and the weights of the grammar's models (with position codes and without,
from this build if it has trained them, else the recorded ones) come to _static/live, and each page loads those that it needs. So
does next.js, what two models of chapter 15 say of the next word, from the arrays of the program's run `choices`.
"""

import base64
import gzip
import json
import shutil
import struct
from pathlib import Path
from typing import Any

import glosses
import numpy as np
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from .boxes import task
from .by_page import ByPage
from .results import parsed, run_file

logger = logging.getLogger(__name__)
HERE = Path(__file__).resolve().parents[2] / "live"
CHECKPOINTS = {"weights": "grammar-seed1.safetensors", "without_codes": "grammar-without-codes-seed1.safetensors"}
WITHOUT = "With JavaScript, this part runs the book's own code."

shown = ByPage[set[str]]("live_parts")  # the names of each page's live parts


class live(nodes.General, nodes.Element):
    """Attribute: part."""


class Live(SphinxDirective):
    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        part = self.arguments[0].strip()
        if not (HERE / "page" / f"{part}.js").is_file():
            logger.warning("live: there is no docs/live/page/%s.js", part, location=self.get_location())
            return []
        shown(self.env).setdefault(self.env.docname, set()).add(part)
        node, stage = live(part=part), nodes.container(classes=["stage"])
        for child in self.parse_content_to_nodes():
            if isinstance(child, task):
                node += child
                continue
            if not stage.parent:
                node += stage
            stage += child
        if not stage.parent:
            node += stage
        return [node]


def visit_live(self: HTML5Translator, node: live) -> None:
    if self.builder.name == "html":
        self.body.append(f'<abh-{node["part"]} class="live">\n<noscript><p>{WITHOUT}</p></noscript>\n')


def depart_live(self: HTML5Translator, node: live) -> None:
    if self.builder.name == "html":
        self.body.append(f'</abh-{node["part"]}>\n')


def check_tasks(app: Sphinx, doctree: nodes.document) -> None:
    for node in doctree.findall(task):
        if not isinstance(node.parent, live):
            logger.warning("task: it stands in no live part; a question would do", location=node)


def add_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    parts = sorted(shown(app.env).get(page, ()))
    if not parts or app.builder.name != "html":
        return
    app.add_css_file("live/live.css")
    for name in ("live", "glosses", *parts):
        app.add_js_file(f"live/{name}.js", loading_method="defer")


def halved(path: Path) -> bytes:
    """A checkpoint with F16 in place of F32: a twentieth of a percent off at most, except numbers below 6e-5, which lose digits."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    for entry in (entry for name, entry in header.items() if name != "__metadata__"):
        entry.update(dtype="F16", data_offsets=[offset // 2 for offset in entry["data_offsets"]])
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    count = len(body) // 4
    return struct.pack("<Q", len(text)) + text + struct.pack(f"<{count}e", *struct.unpack(f"<{count}f", body))


def weights(app: Sphinx, name: str) -> bytes:
    own = Path(app.config.abh_results).parent / "checkpoints" / name
    recorded = Path(app.config.abh_root) / "recorded" / "live" / name
    return halved(own) if own.is_file() else recorded.read_bytes()


def next_words(app: Sphinx) -> str:
    """What the models of chapter 15 say after each word of one line: arrays [places of the line, words], row by row."""
    found = parsed(run_file(app.config, "15", "choices", "results.json"))
    arrays = {name: np.load(run_file(app.config, "15", "choices", f"next_{name}.npy")) for name in ("counts", "exact", "smooth")}
    numbers = {name: [float(f"{x:.9g}") if name != "counts" else int(x) for x in array.ravel()] for name, array in arrays.items()}
    names = {name: found[f"next_{name}"]["value"].split() for name in ("words", "line")}
    return f'"use strict";\nlive.next = {json.dumps(names | numbers, ensure_ascii=False)};\n'


def copy_scripts(app: Sphinx, error: Exception | None) -> None:
    """Bring what live parts need into the output."""
    if error is not None or app.builder.name != "html" or not any(shown(app.env).values()):
        return
    out = Path(app.outdir) / "_static" / "live"
    out.mkdir(parents=True, exist_ok=True)
    for path in [*(HERE / "page").iterdir(), *(Path(app.config.abh_root) / "recorded" / "live").glob("*.js")]:
        shutil.copy2(path, out / path.name)
    whole = {word: glosses.halves(word) for word in glosses.GLOSSES if len(word) > 1}
    tables = f"live.glosses = {json.dumps(whole, ensure_ascii=False)};\nlive.alone = {json.dumps(glosses.ALONE, ensure_ascii=False)};\n"
    (out / "glosses.js").write_text(f'"use strict";\n{tables}', encoding="utf-8")
    if any("draw" in parts for parts in shown(app.env).values()):
        (out / "next.js").write_text(next_words(app), encoding="utf-8")
    for script, name in CHECKPOINTS.items():
        packed = base64.b64encode(gzip.compress(weights(app, name), 9, mtime=0)).decode()
        (out / f"{script}.js").write_text(f'"use strict";\nlive.{script} = "{packed}";\n')


def setup(app: Sphinx) -> None:
    app.add_node(live, html=(visit_live, depart_live))
    app.add_directive("live", Live)
    shown.connect(app)
    app.connect("doctree-read", check_tasks)
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", copy_scripts)
