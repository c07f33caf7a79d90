"""A small tokenizer of the kind that SmolLM2 has, and the library's ids of some texts.

    pip install tokenizers==0.23.3
    python tests/golden/make_tokenizer.py

tokenizer/tokenizer.json is trained on the pages of this book's first chapters, so it lacks a piece
for most bytes above 127; tokenizer/expected.json holds each text, its ids if special pieces count
as such, its ids if they are ordinary text, and the parts that are merged on their own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib/program"))

import cli
import tokenizers
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|im_end|>\n", "<long"]
TEXTS = [
    "",
    "\0",
    "I have a good friend.",
    "Attention is a weighted mean; the weights are a softmax.",
    "café cafe\u0301 Ångström A\u030angstro\u0308m \u0301 ﬁ",
    "👩\u200d👩\u200d👧\u200d👦 🇩🇪🇫🇷 👍🏽 ❤\ufe0f",
    "12 345 ٠١٢ x٤ ²³ ½ Ⅷ ① 三十 1st 2nd",
    "  12  34 ",
    "\t\ta\tb\n\n\tc",
    "one\r\ntwo\r\n\r\n three",
    "a   b    c   ",
    "   ",
    " \n \n  x \n",
    "我有一个好朋友。 你好！",
    "it's IT'S it’s 'S ''s we'll've I'm 'd 're't",
    "a\u200bb\u200dc\ufeffd\u2060e",
    "a\xa0b \xa0 c\xa0\xa0",
    "a\x85b \x85 c\x85 a\u180eb \u3000c\u3000\u3000d\u2028e\u1680f",
    "a\x1cb \x1f\x0b\x0cc\x7f",
    "<|im_start|>user\nHi there<|im_end|>\n<|im_start|>assistant\n",
    "a<|im_end|>b  <|im_start|>  c<|im_end|> <|endoftext|>",
    "<|im_start|",
    "<<|im_end|>> <|im_<|im_end|>start|> <|im_end|><|im_end|>",
    "<long <lon <<long>",
    "attentionattentionattention the the the",
    "aaaaaaaaaaaaaaaaaaaaaaaaa eeeeee ssssssss",
    "if (x[0] != y) { return -1; }  // it's",
    "नमस्ते ประเทศ 한국어 שָׁלוֹם",
    "\U0001d7d8\U0001d7d9 \U00010107 \U000f0000 \U0010ffff",
    "' 's ' ' 'll '",
]


def trained() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = [AddedToken(text, special=True, normalized=False) for text in SPECIAL]
    trainer = trainers.BpeTrainer(vocab_size=420, special_tokens=special, show_progress=False)
    pages = [ROOT / "chapters" / name / "index.md" for name in ("00_workbench", "01_embedding")]
    tokenizer.train_from_iterator([page.read_text(encoding="utf-8") for page in pages], trainer)
    return tokenizer


def main() -> None:
    tokenizer = trained()
    ordinary = Tokenizer.from_str(tokenizer.to_str())
    ordinary.encode_special_tokens = True
    folder = HERE / "tokenizer"
    folder.mkdir(exist_ok=True)
    folder.joinpath("tokenizer.json").write_text(tokenizer.to_str() + "\n", encoding="utf-8")
    cases = [
        {
            "text": text,
            "ids": tokenizer.encode(text).ids,
            "ordinary": ordinary.encode(text).ids,
            # a letter of the byte alphabet is a byte
            "parts": [len(p) for p, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)],
        }
        for text in TEXTS
    ]
    notes = {"made_by": f"tokenizers {tokenizers.__version__}", "cases": cases}
    lines = json.dumps(notes, ensure_ascii=True).replace(' {"text"', '\n{"text"')
    folder.joinpath("expected.json").write_text(lines + "\n", encoding="utf-8")


if __name__ == "__main__":
    cli.run(main)
