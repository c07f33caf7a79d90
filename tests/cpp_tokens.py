"""The tokens of C++, and where a source has them, whatever its line breaks, spaces and comments."""

import re
from dataclasses import dataclass
from functools import lru_cache

TOKEN = re.compile(
    r"""(?P<space> \s+ | \\\r?\n | //[^\n]* | /\*.*?\*/ )
      | (?P<raw> (?:u8|[uUL])?R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)" )
      | (?P<string> "(?:[^"\\\n]|\\.)*" )
      | (?P<other>
            (?:u8|[uUL])? '(?:[^'\\\n]|\\.)+'  # a character
          | (?:u8|[uUL]) "(?:[^"\\\n]|\\.)*"
          | \.?\d (?: [eEpP][+-] | '?[\w.] )*  # a number
          | [^\W\d]\w*
          | \.\.\. | <=> | <<= | ->\* | :: | -> | \.\* | \+\+ | -- | << | && | \|\| | \#\#
          | [-+*/%&|^=!<>] =
          | . )""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """The text at [begin, end) of a source."""

    text: str
    begin: int
    end: int


@lru_cache(maxsize=64)
def tokens(source: str) -> tuple[Token, ...]:
    """The tokens of C++, without white space and comments; adjacent string literals are one."""
    found: list[Token] = []
    joins = False  # whether the last token is a string literal that the next one may continue
    for match in TOKEN.finditer(source):
        if match["space"]:
            continue
        text = match[0]
        if match["string"] and joins:
            last = found.pop()
            found.append(Token(last.text[:-1] + text[1:], last.begin, match.end()))
        else:
            found.append(Token(text, match.start(), match.end()))
        joins = match["string"] is not None
    return tuple(found)


def places(find: str, source: str) -> list[tuple[int, int]]:
    """Where the tokens of `find` occur in `source`: begin and end, in characters."""
    wanted = [token.text for token in tokens(find)]
    found = tokens(source)
    texts = [token.text for token in found]
    return [
        (found[i].begin, found[i + len(wanted) - 1].end)
        for i in range(len(texts) - len(wanted) + 1)
        if wanted and texts[i : i + len(wanted)] == wanted
    ]
