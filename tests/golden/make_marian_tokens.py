"""Writes marian_tokens.json: how the transformers library reads and writes tokens that were added to a model of Marian.

    pip install -r tests/golden/requirements.txt
    python tests/golden/make_marian_tokens.py

Each case is a set of the tokenizer's own files, laid beside vocab.json and the SentencePiece models of
marian/one_table, with the ids of some sentences and the text of some ids.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import transformers
from transformers import MarianTokenizer

HERE = Path(__file__).resolve().parent
MODEL = HERE / "marian" / "one_table"
SENTENCES = [
    "Das ist <ent> gut.",
    "<ent>",
    "das<ent>ist <entity> gut",
    "<hide>Das ist",
    "Das </s> ist <unk> gut",
    "<ent>>>eng<< Das ist",
]
SPOKEN = [[75, 38, 57, 109, 102, 6, 58, 26], [109, 5, 110, 6, 111, 7], [111], [5, 6, 0, 108, 1, 7]]


def added_by_the_library(folder: Path) -> dict[str, str]:
    """What today's library saves."""
    tokenizer = MarianTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["<ent>", "<entity>"])
    tokenizer.add_special_tokens({"additional_special_tokens": ["<hide>"]})
    out = folder / "saved"
    tokenizer.save_pretrained(out)
    return {"tokenizer_config.json": (out / "tokenizer_config.json").read_text(encoding="utf-8")}


def older(folder: Path) -> dict[str, str]:
    """What it saved years ago."""
    symbols = {"eos_token": "</s>", "unk_token": {"content": "<unk>"}, "pad_token": "<pad>"}
    symbols["additional_special_tokens"] = ["<hide>"]
    return {
        "added_tokens.json": json.dumps({"<ent>": 109, "<entity>": 110, "<hide>": 111}),
        "special_tokens_map.json": json.dumps(symbols),
        "tokenizer_config.json": json.dumps({"clean_up_tokenization_spaces": True, "model_max_length": 512}),
    }


def expected(files: dict[str, str], folder: Path) -> dict:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    tokenizer = MarianTokenizer.from_pretrained(folder)
    return {
        "files": files,
        "sentences": [{"text": s, "ids": tokenizer(s)["input_ids"]} for s in SENTENCES],
        "spoken": [{"ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=True)} for ids in SPOKEN],
    }


def main() -> None:
    cases = {}
    for case in (added_by_the_library, older):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "model"
            folder.mkdir()
            for name in ("vocab.json", "source.spm", "target.spm", "config.json"):
                shutil.copy(MODEL / name, folder)
            cases[case.__name__] = expected(case(folder), folder)
    document = {"made_by": f"transformers {transformers.__version__}", "cases": cases}
    text = json.dumps(document, ensure_ascii=False).replace('{"text"', '\n{"text"').replace('{"ids"', '\n{"ids"')
    (HERE / "marian_tokens.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
