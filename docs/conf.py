"""Sphinx configuration. `docs/build.py` stages the pages, sets the paths, and calls Sphinx."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "extensions"), str(HERE), str(HERE.parent / "lib/program")]

project = "Attention by Hand"
author = "the authors of Attention by Hand"
project_copyright = "the authors; prose and figures CC BY-SA 4.0, code MIT"
language = "en"

extensions = ["abh_book", "myst_parser", "sphinx_copybutton", "breathe"]
source_suffix = {".md": "markdown"}
root_doc = "index"

# build.py passes the places of the repository, the programs' output, the figures and Doxygen's XML
# with -D, because a build folder may lie anywhere.
breathe_default_project = "abh"
breathe_domain_by_extension = {"hpp": "cpp"}
breathe_show_include = False
suppress_warnings = ["duplicate_declaration.cpp"]  # a namespace is declared on the page of each header

myst_enable_extensions = ["amsmath", "deflist", "dollarmath", "attrs_block", "attrs_inline"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
myst_update_mathjax = False
html_math_renderer = "katex"
math_number_all = False

# Citations, from docs/references.bib; an entry's anchor is its key.
bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "abh"
bibtex_reference_style = "abh"
bibtex_cite_id = "{key}"

# References must resolve, except those to names that are described elsewhere.
nitpicky = True
nitpick_ignore_regex = [
    (r"cpp:.*", r"(std|Eigen|nlohmann|CLI|fmt)(::.*)?"),
    (r"cpp:identifier", r"u?int\d+_t|s?size_t|format_parse_context|format_context|abh|cuda|stdout|PTRDIFF_MAX"),
    (r"cpp:identifier", r"(Block::)?(Norm|Network)::Cache"),  # of a layer of one kind or another
]
cpp_index_common_prefix = ["abh::plain::", "abh::fast::", "abh::cuda::", "abh::"]
cpp_id_attributes = ["__global__", "__device__", "__host__", "__shared__", "__restrict__"]

pygments_style = "abh_book.colors.Light"
pygments_dark_style = "github-dark"
highlight_language = "cpp"

html_theme = "furo"
html_title = "Attention by Hand"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["book.css"]
html_js_files = [("book.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "navigation_with_keys": True,
    "top_of_page_buttons": [],
    "light_css_variables": {
        "color-brand-primary": "#0b5b92",
        "color-brand-content": "#0b5b92",
        "color-brand-visited": "#5b4a91",
        "abh-rule": "#0b5b92",
        "abh-mistake": "#b45309",
        "abh-mistake-paper": "#fdf6ec",
        "abh-exercise": "#00805d",
        "abh-exercise-paper": "#eef8f4",
        "abh-code-paper": "#f6f8fa",
        "live-mark": "11 91 146",
        "live-minus": "180 83 9",
        "live-deep": "0.6",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7dbce4",
        "color-brand-content": "#7dbce4",
        "color-brand-visited": "#b9a6ee",
        "abh-rule": "#7dbce4",
        "abh-mistake": "#f0a04b",
        "abh-mistake-paper": "#241c13",
        "abh-exercise": "#2fc79a",
        "abh-exercise-paper": "#12211c",
        "abh-code-paper": "#1a1c20",
        "live-mark": "125 188 228",
        "live-minus": "240 160 75",
        "live-deep": "0.42",
    },
}
copybutton_selector = "div.highlight:not(.source-file) > pre"
copybutton_prompt_text = "$ "
copybutton_exclude = ".linenos, .gap"
