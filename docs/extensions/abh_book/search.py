"""A search that finds Chinese words too.

Sphinx cuts text into words where spaces are, and Chinese has none. Here each Chinese character is a
word of the index and of the query: 朋友 finds the pages that have 朋 and 友, which the book also prints with
a space between them. English words are stemmed as ever.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"


class Search(SearchEnglish):
    lang = "en"  # in the place of English; the stemmer is English's
    js_splitter_code = f"""
var splitQuery = (query) =>
  query
    .replace(/[{HAN}]/g, " $& ")
    .split(/[^\\p{{Letter}}\\p{{Number}}_\\p{{Emoji_Presentation}}]+/gu)
    .filter((term) => term);
"""
    _words = re.compile(rf"[{HAN}]|[^\W{HAN}]+")

    def split(self, input: str) -> list[str]:
        return self._words.findall(input)


def setup(app: Sphinx) -> None:
    app.add_search_language(Search)
