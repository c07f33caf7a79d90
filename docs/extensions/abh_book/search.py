"""A search that finds Chinese words and numbers with a point, too.

Sphinx cuts text into words where spaces are, and Chinese has none. Here each Chinese character is a
word of the index and of the query: 朋友 finds the pages that have 朋 and 友, which the book also prints with
a space between them. A number with a point is one word: 04.2 finds the exercise of that number, which is an object of
the index. English words are stemmed as usual.
"""

import re

from sphinx.application import Sphinx
from sphinx.domains import ObjType
from sphinx.search.en import SearchEnglish

HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"


class Search(SearchEnglish):
    lang = "en"  # replaces English, with the English stemmer
    js_splitter_code = f"""
var splitQuery = (query) =>
  query.match(/[{HAN}]|[0-9]+\\.[0-9]+|(?:(?![{HAN}])[\\p{{Letter}}\\p{{Number}}_\\p{{Emoji_Presentation}}])+/gu) ?? [];
"""
    _words = re.compile(rf"[{HAN}]|[0-9]+\.[0-9]+|[^\W{HAN}]+")

    def split(self, input: str) -> list[str]:
        return self._words.findall(input)


def setup(app: Sphinx) -> None:
    app.add_search_language(Search)
    app.registry.domain_object_types.setdefault("std", {})["exercise"] = ObjType("exercise")
