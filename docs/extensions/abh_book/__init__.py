"""What the book adds to Sphinx and MyST: listings, results, figures, boxes, mathematics.

| module    | gives                                                                          |
|-----------|--------------------------------------------------------------------------------|
| `weave`   | source files cut into named parts (no Sphinx; `docs/tangle.py` uses it too)    |
| `by_page` | what pages leave in the environment, forgotten and merged with them         |
| `listing` | directives `listing` and `source`, the check that what teaches is shown once, source pages |
| `results` | files that runs wrote, and which runs each page shows                          |
| `value`   | role `value`: a number of a run                                                |
| `console` | directive `console`: what a run printed                                        |
| `plot`    | directive `plot`: a figure                                                     |
| `live`    | directive `live`: parts of a page that run the book's own code                 |
| `origin`  | when and where the runs took place, said at the end of each page               |
| `boxes`   | directives `question`, `task`, `mistake`, `checked`, `derivation`, `gradients`, `fold` |
| `cards`   | directives `card`, a chapter on one screen, and `cards`, all of them            |
| `exercises` | directives `exercises`, all that the judge knows, and `exercise`             |
| `zh`      | role `zh`: Chinese words with glosses                                          |
| `katex`   | mathematics rendered while the book is built                                   |
| `api`     | directive `header`, the API reference of one header                            |
| `length`  | the check that each page can be read in one sitting                            |
| `lists`   | directive `list-of`: all figures, derivations, mistakes, exercises or skills   |
| `cite`    | how `{cite:t}`, `{cite:p}` and `{bibliography}` look, and links by key         |
| `access`  | boxes that scroll can be reached by keyboard, and say what they are            |
| `navigation` | the list of all pages beside each page, made once for the book              |
| `search`  | a search that finds Chinese words too                                          |
| `colors` | the colors of code on a light page                                            |
"""

from __future__ import annotations

import zlib
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PARTS = [
    "listing", "results", "value", "console", "plot", "origin", "boxes", "cards", "exercises", "zh", "katex", "api", "lists", "length",
    "live", "cite", "access", "navigation", "search",
]


def env_version() -> int:
    """Changes with this package, so that no page is written from what another version of it has read."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return zlib.crc32(b"".join(path.read_bytes() for path in sources))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("abh_root", "", "env", str)  # the repository
    app.add_config_value("abh_results", "", "env", str)  # what the programs wrote
    app.add_config_value("abh_figures", "", "env", str)  # what figures/draw.py wrote
    for name in PARTS:
        import_module(f".{name}", __name__).setup(app)
    return {
        "version": "1",
        "env_version": env_version(),
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
