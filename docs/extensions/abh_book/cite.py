"""Citations: the look of `{cite:t}`, `{cite:p}` and `{bibliography}`, and links by an entry's key.

The entries are in `docs/references.bib`. A page cites by

    {cite:t}`vaswani2017`                Vaswani et al. (2017)
    {cite:p}`vaswani2017`                (Vaswani et al. 2017)
    [equation 3 of the paper](#vaswani2017)

The last form, and `{ref}` with a key, keep the page's own words. All of them show the entry when the pointer rests on them.
"""

from dataclasses import dataclass, field
from typing import Any

from docutils import nodes
from pybtex.backends.plaintext import Backend
from pybtex.plugin import register_plugin
from pybtex.style.formatting.unsrt import Style
from pybtex.style.labels import BaseLabelStyle
from pybtex.style.template import field as stored
from pybtex.style.template import href, sentence
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode
from sphinxcontrib.bibtex import plugin
from sphinxcontrib.bibtex.style.referencing import BracketStyle, PersonStyle
from sphinxcontrib.bibtex.style.referencing.author_year import AuthorYearReferenceStyle

LOOK = "abh"
PLAIN = Backend()  # one for all: to look it up by its name takes longer than to render an entry


class Labels(BaseLabelStyle):  # type: ignore[misc]
    """`Vaswani et al. 2017`, as in the text."""

    def format_labels(self, sorted_entries: list[Any]) -> Any:
        for entry in sorted_entries:
            people = [" ".join(p.prelast_names + p.last_names) for p in entry.persons["author"]]
            if len(people) > 2:
                people = [f"{people[0]} et al."]
            yield " ".join([" and ".join(people), entry.fields.get("year", "")]).strip()


class Entries(Style):  # type: ignore[misc]
    """Names first, sorted by author and year; arXiv, DOI and addresses are links."""

    default_sorting_style = "author_year_title"
    default_name_style = "lastfirst"

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "abbreviate_names": True})
        self.format_labels = Labels().format_labels

    def format_title(self, e: Any, which_field: str, as_sentence: bool = True) -> Any:
        """The title as in the file, with no letter changed to lower case."""
        title = stored(which_field)
        return sentence[title] if as_sentence else title

    def format_url(self, e: Any) -> Any:
        """The address itself is the link; nothing is put before it."""
        bare = stored("url", raw=True, apply_func=lambda url: url.split("://")[-1].rstrip("/"))
        return href(stored("url", raw=True))[bare]


def brackets() -> BracketStyle:
    return BracketStyle(left="(", right=")", sep="; ")


@dataclass
class References(AuthorYearReferenceStyle):
    bracket_textual: BracketStyle = field(default_factory=brackets)
    bracket_parenthetical: BracketStyle = field(default_factory=brackets)
    person: PersonStyle = field(default_factory=lambda: PersonStyle(other=" et al."))
    author_year_sep: Any = " "


class LinksByKey(SphinxPostTransform):
    """Makes `[words](#key)` and `{ref}` with a key point at the entry, with the words kept."""

    default_priority = 5  # before the references of MyST and of Sphinx

    def run(self, **options: Any) -> None:
        places = {
            citation.key: (citation.bibliography_key.docname, citation.citation_id)
            for citation in self.env.get_domain("cite").citations
        }
        for node in list(self.document.findall(pending_xref)):
            if node["reftype"] not in {"myst", "ref"} or node["reftarget"] not in places:
                continue
            page, identifier = places[node["reftarget"]]
            inside = nodes.inline("", "", *(child.deepcopy() for child in node.children))
            node.replace_self(
                make_refnode(self.app.builder, self.env.docname, page, identifier, inside)
            )


def say_entries(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """The entry's text is the title of each link that leads to it."""
    entries = {
        (citation.bibliography_key.docname, citation.citation_id): citation.formatted_entry.text.render(PLAIN)
        for citation in app.env.get_domain("cite").citations
    }
    addresses = {
        ("" if page == docname else app.builder.get_relative_uri(docname, page)) + f"#{identifier}": text
        for (page, identifier), text in entries.items()
    }
    for link in doctree.findall(nodes.reference):
        place = f"#{link['refid']}" if "refid" in link else link.get("refuri", "")
        if text := addresses.get(place):
            link["reftitle"] = text


def setup(app: Sphinx) -> None:
    register_plugin("pybtex.style.formatting", LOOK, Entries)
    plugin.register_plugin("sphinxcontrib.bibtex.style.referencing", LOOK, References)
    app.setup_extension("sphinxcontrib.bibtex")
    app.add_post_transform(LinksByKey)
    app.connect("doctree-resolved", say_entries)
