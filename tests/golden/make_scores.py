"""Writes scores.json: what sacrebleu says about small corpora, for tests/13_real_translation/scores.cpp and text.cpp.

    python3 -m venv /tmp/sacrebleu && /tmp/sacrebleu/bin/pip install sacrebleu==2.6.0
    /tmp/sacrebleu/bin/python tests/golden/make_scores.py

The references are sentences of the Tatoeba data that chapter 13 ships, and lines written to be difficult;
the hypotheses are made of them here. The tests read scores.json alone and need no Python.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib/program"))

import cli
import sacrebleu
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

HERE = Path(__file__).resolve().parent
TATOEBA = HERE.parents[1] / "chapters/13_real_translation/data/tatoeba_cmn_eng.tsv.gz"
Corpus = dict[str, list[str]]


def tatoeba(column: int, count: int) -> list[str]:
    """Every so-manieth sentence of the data, short ones and long ones."""
    with gzip.open(TATOEBA, "rt", encoding="utf-8") as file:
        sentences = [line.split("\t")[column] for line in file]
    return sentences[50 :: len(sentences) // count][:count]


def spoiled(sentences: list[str], draw: random.Random, rate: float, *, characters: bool = False) -> list[str]:
    """Sentences with parts left out, doubled, exchanged, moved, or in another case."""
    joint = "" if characters else " "
    parts = [list(s) if characters else s.split() for s in sentences]
    every = [part for sentence in parts for part in sentence]
    result = []
    for sentence in parts:
        words: list[str] = []
        for word in sentence:
            kind = draw.random()
            if kind < rate:
                continue
            if kind < 2 * rate:
                words.append(draw.choice(every))
            elif kind < 2.5 * rate:
                words += [word, word]
            elif kind < 3 * rate:
                words.append(word.swapcase())
            else:
                words.append(word)
        if words and draw.random() < 4 * rate:
            start = draw.randrange(len(words))
            moved = words[start : start + draw.randint(1, 4)]
            del words[start : start + len(moved)]
            at = draw.randint(0, len(words))
            words[at:at] = moved
        result.append(joint.join(words))
    return result


def difficult() -> Corpus:
    """Signs, numbers, entities, spaces of all kinds, empty lines, characters beyond U+FFFF."""
    pairs = [
        ("", "Nothing was said."),
        ("Something was said.", ""),
        ("", ""),
        ("word", "word"),
        ("word", "Word"),
        ("two words", "two other words"),
        ("He paid $1,234.50 on 3.5. - 4-5 of them, 10.", "He paid $1,234.50 on 3.5. -- 4-5 of them, 10."),
        ("end.3 a.b ,5 5, .7 7. .. ... ,,, .,.", "end.3 a.b, 5 5 ,.7 7. .... .. , ,, .,."),
        ("&quot;A &amp; B&quot; &lt;3 &gt; 2 &amp;lt; x", '"A & B" <3 > 2 &lt; x'),
        ("don't it's John's' 'quoted' (hi) [x] {y} ~`^_|", "do n't it 's Johns' 'quoted' (hi) [x] {y} ~ ` ^_|"),
        ("tab\there  two\u00a0no-break\u3000wide\u2003em ", " tab here two no-break wide em"),
        ("well-known co-operation 1-2 -3 a-1 1-a-", "well-known cooperation 1 - 2 - 3 a-1 1- a -"),
        ("a <skipped> b<skipped>c", "a b c"),
        ("😀 good 👍🏽 morning 😀", "😀 good 👍 morning"),
        ("“Hello” – she said… 5° × 3 → €7 №8", "\"Hello\" - she said ... 5 ° x 3 -> € 7 № 8"),
        ("ÀÉÎ straße Ii ΣΑ Ωmega", "àéî STRASSE ii σα ωmega"),
        ("İZMİR Ο ΟΔΥΣΣΕΥΣ, ΟΔΥΣΣΕΥΣ.", "i\u0307zmi̇r ο οδυσσευς, οδυσσευσ."),
        ("naïve café", "naïve cafe"),
        ("我有一个好朋友。", "我有一个很好的朋友。"),
        ("他说：“你好！”然后走了……", "他说:\"你好!\"然后就走了。"),
        ("我 1999年买了iPhone 3.5,花了100%。", "我在1999年买了 iPhone 3.5 ，花了 100 %."),
        ("𠀀𠀁字 ｆｕｌｌ　ｗｉｄｔｈ １２．５", "𠀀字 ｆｕｌｌ ｗｉｄｔｈ １２．５"),
        ("一二三3.", "一二三3 ."),
        ("カタカナ ひらがな 한국어 ㄅㄆ ① ㊗ ㎏ ︰ ☀ ✂", "カタカナひらがな 한국어 ㄅ ㄆ ① ㊗㎏ ︰ ☀✂"),
        ("\x1cfour\x1dseparators\x1eof\x1fASCII\x85next", "four separators of ASCII next"),
        ("zero\u200bwidth joiner\u200dhere\ufeff", "zero width joiner here"),
    ]
    return {"hypotheses": [h for h, _ in pairs], "references": [r for _, r in pairs]}


def lower(draw: random.Random) -> dict[str, str]:
    """Texts and what Python, and with it sacrebleu, makes of them in lower case: a sigma among letters, marks and signs."""
    among = "ΣΣΣΣςσAaΆά İIı'’.:·-,!? \u0301\u0345\u00ad\u200d1ªⅣⓐʰ我ǅ😀🅰"
    texts = ["".join(draw.choice(among) for _ in range(draw.randint(1, 8))) for _ in range(400)]
    return {text: text.lower() for text in texts}


def corpora() -> dict[str, Corpus]:
    draw = random.Random(13)
    english, chinese = tatoeba(0, 60), tatoeba(1, 40)
    return {
        "english": {"hypotheses": spoiled(english, draw, 0.06), "references": english},
        "bad english": {"hypotheses": spoiled(english, draw, 0.25), "references": english},
        "chinese": {"hypotheses": spoiled(chinese, draw, 0.08, characters=True), "references": chinese},
        "difficult": difficult(),
        "one": {"hypotheses": ["I have a good friend ."], "references": ["I have a very good friend ."]},
        "short": {"hypotheses": ["Hi ."], "references": ["Hi ."]},
        "nothing in common": {"hypotheses": ["a b c d e f"], "references": ["g h i j k l m"]},
        "nothing said": {"hypotheses": ["", ""], "references": ["a b c", "d"]},
        "nothing wanted": {"hypotheses": ["a b c", "d"], "references": ["", ""]},
        "nothing at all": {"hypotheses": [""], "references": [""]},
        "one word right": {"hypotheses": ["yes it is so"], "references": ["no it never was"]},
        "no bigram": {"hypotheses": ["b a d c f e"], "references": ["a b c d e f"]},
    }


METRICS: list[dict[str, Any]] = [
    *[{"tokenize": t, "lowercase": low} for t in ("13a", "zh", "char", "none") for low in (False, True)],
    {"smooth_method": "none"},
]


def score(options: dict[str, Any], corpus: Corpus) -> dict[str, Any]:
    metric = BLEU(**options)
    said, wanted = corpus["hypotheses"], corpus["references"]
    result = metric.corpus_score(said, [wanted])
    counts = metric._extract_corpus_statistics(said, [wanted])
    return {
        "options": options,
        "value": float(result.score),
        "counts": [[int(n) for n in sentence] for sentence in counts],
        "printed": result.format(signature=metric.get_signature().format()),
    }


def intervals(corpus: Corpus, other: Corpus) -> dict[str, float]:
    """Confidence and a paired test, which depend on how samples are drawn: to be near, not equal."""
    result = BLEU().corpus_score(corpus["hypotheses"], [corpus["references"]], n_bootstrap=4000)
    test = PairedTest(
        [("a", corpus["hypotheses"]), ("b", other["hypotheses"])],
        {"bleu": BLEU(references=[corpus["references"]])},
        None,
        test_type="bs",
        n_samples=4000,
    )
    p_value = test()[1][result.name][1].p_value
    return {"mean": float(result._mean), "half_width": float(result._ci), "p": float(p_value)}


def main() -> None:
    texts = corpora()
    near = dict(texts["english"])
    near["hypotheses"] = [
        h if i % 7 else r for i, (h, r) in enumerate(zip(near["hypotheses"], near["references"], strict=True))
    ]
    document = {
        "made_by": f"sacrebleu {sacrebleu.__version__}",
        "corpora": {**texts, "near english": near},
        "scores": {
            name: [score(options, corpus) for options in METRICS] for name, corpus in texts.items()
        },
        "intervals": intervals(texts["english"], near),
        "lower": lower(random.Random(14)),
    }
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    text = text.replace('{"options"', '\n{"options"').replace('"hypotheses"', '\n"hypotheses"')
    (HERE / "scores.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    cli.run(main)
