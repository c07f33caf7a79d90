"""What the transformers library makes of a Marian folder whose files speak of tokens.

    pip install transformers==5.23.0 sentencepiece==0.2.3
    python tests/golden/make_marian_tokens.py

Each case adds files to tests/golden/marian/half. marian_tokens.json gets, for each, the ids of some
texts and the texts of some ids, or the library's error. Where `refused` says so, the book refuses
the folder, with these words in its message, because nobody can want what the library does.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib/program"))
warnings.filterwarnings("ignore")

import cli
import transformers
from transformers import MarianTokenizer

HERE = Path(__file__).parent
TEXTS = json.loads((HERE / "marian_sentences.json").read_text(encoding="utf-8"))["with_tokens"]
# Ids of the pieces "▁", "'", "s", "." and others; 109 and up only where a case has such tokens.
SPOKEN = [[48, 33, 48, 9, 1, 0], [2, 33, 1, 10, 9, 108, 22], [48, 11, 48, 60, 48, 10, 48]]


def settings(**fields) -> dict:
    return {"tokenizer_config.json": {"tokenizer_class": "MarianTokenizer"} | fields}


def token(text: str, **properties) -> dict:
    usual = dict.fromkeys(("lstrip", "rstrip", "single_word", "normalized", "special"), False)
    return {"content": text} | usual | properties


def special_map(**fields) -> dict:
    return {"special_tokens_map.json": fields}


ENT = ["<ent>"]
LISTED = {"0": token("</s>"), "1": token("<unk>"), "108": token("<pad>")}
CASES = [
    ("plain", {}),
    ("map_added", special_map(additional_special_tokens=ENT, eos_token="</s>", pad_token="<pad>")),
    ("config_added", settings(additional_special_tokens=ENT)),
    ("config_extra", settings(extra_special_tokens=ENT)),
    ("config_known", settings(additional_special_tokens=["▁dog"])),
    ("map_known", special_map(additional_special_tokens=[">>eng<<"])),
    ("config_unk", settings(unk_token="?")),
    ("config_eos", settings(eos_token="!"), "eos_token is !"),
    ("map_eos", special_map(eos_token="!"), "eos_token is !"),
    ("separate", settings(separate_vocabs=True), "separate_vocabs"),
    ("config_pad", settings(pad_token="!"), "pad_token is !"),
    ("longest", settings(additional_special_tokens=["<ent", "<ent>", "<ent2>", "ut<"])),
    ("named", settings(sep_token="<ent2>", bos_token="<ent>", mask_token="!", cls_token="▁dog")),
    ("no_named", settings(sep_token=None, additional_special_tokens=[], extra_special_tokens={})),
    ("empty_extra", settings(extra_special_tokens={}, additional_special_tokens=ENT)),
    ("objects", special_map(eos_token=token("</s>"), unk_token=token("?"))),
    ("typed", settings(additional_special_tokens=[{"__type": "AddedToken"} | token("<ent>")])),
    (
        "untyped",  # here the library's token is the text of the object
        special_map(additional_special_tokens=[token("<ent>")]),
        "additional_special_tokens is",
    ),
    ("map_wins", settings(unk_token="?") | special_map(unk_token="<unk>")),
    ("listed", settings(added_tokens_decoder=LISTED | {"110": token("<ent>")})),
    (
        "listed_special",
        settings(
            added_tokens_decoder=LISTED | {"109": token("<ent>", special=True)},
            additional_special_tokens=ENT,
        ),
    ),
    ("listed_and_next", settings(added_tokens_decoder={"109": token("<ent>")}, sep_token="<ent2>")),
    ("listed_twice", settings(added_tokens_decoder=LISTED | {"60": token("▁dog")})),
    (
        "map_unread",
        settings(added_tokens_decoder=LISTED) | special_map(unk_token="?", padding_side="left"),
    ),
    ("older", {"added_tokens.json": {"<ent>": 110, "<ent2>": 109}}),
    (
        "older_special",
        {"added_tokens.json": {"<ent>": 109}} | special_map(additional_special_tokens=ENT),
    ),
    (
        "fast",
        {"tokenizer.json": {"added_tokens": [{"id": 109} | token("<ent>")], "model": {}}},
    ),
    (
        "fast_unread",
        settings(added_tokens_decoder=LISTED)
        | {
            "tokenizer.json": {"added_tokens": [{"id": 109} | token("<ent>")]},
            "added_tokens.json": {"<ent2>": 109},
        },
    ),
    ("split", settings(split_special_tokens=True, additional_special_tokens=ENT)),
    ("clean", settings(clean_up_tokenization_spaces=True)),
    (
        "stripped",
        settings(added_tokens_decoder=LISTED | {"109": token("<ent>", lstrip=True)}),
        "lstrip of",
    ),
    ("left", settings(padding_side="left"), "padding_side"),
]


def found(files: dict) -> dict:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "model"
        shutil.copytree(HERE / "marian/half", folder)
        for file, content in files.items():
            (folder / file).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        try:
            tokenizer = MarianTokenizer.from_pretrained(folder)
        except Exception as error:  # noqa: BLE001
            return {"error": type(error).__name__}
        added = sorted(id for id in tokenizer.get_added_vocab().values() if id >= 109)
        said = [*SPOKEN, [48, 60, *added, 22]]
        return {
            "ids": [tokenizer(text)["input_ids"] for text in TEXTS],
            "spoken": [
                {"ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=True)} for ids in said
            ],
        }


def main() -> None:
    cases = [
        {"name": name, "files": files} | ({"refused": why[0]} if why else {}) | found(files)
        for name, files, *why in CASES
    ]
    notes = {"made_by": f"transformers {transformers.__version__}", "texts": TEXTS, "cases": cases}
    text = json.dumps(notes, ensure_ascii=False).replace('{"name"', '\n{"name"')
    (HERE / "marian_tokens.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    cli.run(main)
