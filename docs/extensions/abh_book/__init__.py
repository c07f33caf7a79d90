"""What the book adds to Sphinx and MyST: listings, results, figures, boxes, mathematics.

Each module says at its beginning what it gives.
"""

from __future__ import annotations

import zlib
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PARTS = [
    "listing", "results", "value", "console", "plot", "origin", "boxes", "cards", "exercises", "zh", "katex", "lists", "length",
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
