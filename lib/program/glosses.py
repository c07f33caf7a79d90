"""What the Chinese words of the book mean, for pages, figures and live parts: the one table of it.

A gloss is what a word does in these sentences, not all that it can mean. The stroke in a gloss says where it is cut when each
character of the word needs a part of its own, as beside the rows of a heat map.
"""

import re
from collections.abc import Sequence

GLOSSES = {
    "我": "I", "你": "you", "他": "he", "她": "she", "他们": "th|ey", "们": "plural",
    "有": "have", "喜欢": "li|ke", "认识": "kn|ow", "没": "not", "不": "not",
    "一": "one", "两": "two", "零": "zero", "这": "this",
    "个": "unit",  # a measure word: it stands between a number and what is counted, as in *one head of cattle*
    "好": "good", "老": "old", "很": "very", "的": "which",
    "朋友": "frie|nd", "女": "girl", "男": "boy", "老师": "tea|cher", "学生": "stu|dent", "孩子": "chi|ld",
    "吗": "?", "你好": "hello", "等": "wait", "等一下": "wait a bit", "汤姆": "Tom", "湯姆": "Tom",
    "S": "start", "E": "end", "P": "pad",
}
LONGEST = max(map(len, GLOSSES))
HAN = re.compile(r"[\u4e00-\u9fff]")


def halves(word: str) -> list[str]:
    """A gloss for each character of a word."""
    gloss = GLOSSES[word].split("|")
    return [("-" if place else "") + part + ("-" if place + 1 < len(gloss) else "") for place, part in enumerate(gloss)]


#: A character that is only half a word has half its gloss when it stands alone.
ALONE = {
    character: half
    for word in GLOSSES if len(word) > 1 for character, half in zip(word, halves(word), strict=False)
} | {word: gloss for word, gloss in GLOSSES.items() if len(word) == 1}


def longest(characters: Sequence[str], start: int) -> int:
    """How many of the characters from `start` on are one word; 1 if there is no longer one."""
    return next((n for n in range(LONGEST, 1, -1) if "".join(characters[start : start + n]) in GLOSSES
                 and start + n <= len(characters)), 1)


def pieces(text: str) -> list[tuple[str, str]]:
    """A text in words, each as it is written, blanks inside included, with its gloss; other text has an empty one."""
    places = [place for place, character in enumerate(text) if not character.isspace()]
    characters = [text[place] for place in places]
    found: list[tuple[str, str]] = []
    at = end = 0
    while at < len(places):
        count = longest(characters, at)
        start, after = places[at], places[at + count - 1] + 1
        word = "".join(characters[at : at + count])
        gloss = GLOSSES[word].replace("|", "") if count > 1 else ALONE.get(word, "")
        if start > end:
            found.append((text[end:start], ""))
        found.append((text[start:after], gloss))
        at, end = at + count, after
    if end < len(text):
        found.append((text[end:], ""))
    return found


def glossed(words: Sequence[str], between: str = "\n", *, staggered: bool = False) -> list[str]:
    """Labels for words of one character each, such as "我\\nI": two that are one word get half its gloss each.

    :param between: stands between a word and its gloss; a blank in labels of rows
    :param staggered: puts every other gloss a line lower, for narrow columns
    """
    labels: list[str] = []
    while (at := len(labels)) < len(words):
        count = longest(words, at)
        word = "".join(words[at : at + count])
        parts = halves(word) if count > 1 else [ALONE.get(word, "")]
        for one, gloss in zip(words[at:], parts, strict=False):
            if staggered:
                gloss = f" \n{gloss}" if len(labels) % 2 else f"{gloss}\n "
            labels.append(f"{one}{between}{gloss}" if gloss else one)
    return labels
