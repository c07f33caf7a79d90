"""Sphinx configuration of the slides: that of the pages, with reveal.js in place of their theme."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "extensions"))

extensions = ["myst_parser", "sphinx_revealjs", "abh_book.slides"]
project = "Attention by Hand"
language = "en"
html_copy_source = False
source_suffix = {".md": "markdown"}
nitpicky = True

myst_enable_extensions = ["dollarmath"]
html_math_renderer = "katex"
pygments_style = "abh_book.colors.Light"

revealjs_html_theme = "revealjs-simple"
revealjs_style_theme = "deck.css"
revealjs_static_path = [str(HERE / name) for name in ("deck.css", "deck.js")]
revealjs_css_files = ["pygments.css", "katex/katex.css"]
revealjs_script_files = ["deck.js"]
revealjs_script_plugins = [{"name": "RevealNotes", "src": "revealjs/plugin/notes/notes.js"}]
revealjs_use_section_ids = True
revealjs_script_conf = {
    "width": 1280, "height": 720, "margin": 0.02, "center": False, "controls": False, "hash": True,
    "slideNumber": "c/t", "transition": "none", "defaultTiming": 120,
}
