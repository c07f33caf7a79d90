"""Make small Marian models as the transformers library stores them, and what it makes of them.

    pip install -r tests/golden/requirements.txt
    python tests/golden/make_marian.py

Each folder under tests/golden/marian holds a model (config.json, model.safetensors,
vocab.json, source.spm, target.spm and what else the library writes) and beside it

    expected.safetensors  ids `src`, `tgt` and the `logits` of a forward pass in double precision
    expected.json         sentences with the ids of their pieces, ids with their text, and what
                          `generate` finds with some settings

Weights are drawn from seeds, and trained for some steps, in one thread. The numbers of the models that are stored in 16 bits are
rounded before anything is computed with them.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib/program"))

import cli
import sentencepiece
import torch
import transformers
from safetensors.torch import save_file
from torch import Tensor
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

HERE = Path(__file__).parent / "marian"
MAX_LENGTH = 24  # of generate, the start symbol counted

# Text of two languages for the pieces, and what the models are asked: among it characters that no
# piece has, several spaces in a row, and codes of languages.
TEXT = json.loads((HERE.parent / "marian_sentences.json").read_text(encoding="utf-8"))
GERMAN, ENGLISH = ("\n".join(TEXT[language]) for language in ("german", "english"))
SENTENCES = TEXT["sentences"]


@dataclass
class Shape:
    """What a model of this file is like."""

    name: str
    seed: int
    dtype: torch.dtype = torch.float32
    pieces: int = 70  # of each SentencePiece model
    separate: bool = False  # a vocabulary for each language
    steps: int = 70
    settings: dict = field(default_factory=dict)


SHAPES = [
    Shape("one_table", 1, settings={"d_model": 32, "heads": 4, "ffn": 48, "layers": (2, 2)}),
    Shape(
        "half",
        2,
        dtype=torch.float16,
        settings={"d_model": 24, "heads": 3, "ffn": 40, "layers": (3, 1), "activation": "relu"},
    ),
    Shape(
        "two_tables",
        3,
        separate=True,
        pieces=60,
        settings={"d_model": 16, "heads": 2, "ffn": 64, "layers": (1, 2), "activation": "silu"},
    ),
    Shape(
        "odd",
        4,
        dtype=torch.bfloat16,
        settings={"d_model": 15, "heads": 5, "ffn": 31, "layers": (1, 1), "scale": False},
    ),
    Shape(
        "three_tables",
        5,
        pieces=50,
        settings={"d_model": 20, "heads": 1, "ffn": 20, "layers": (1, 1), "tie": False},
    ),
]


def train_pieces(text: str, n_pieces: int) -> bytes:
    """A SentencePiece model; without tables of normalization it stays small."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text.splitlines()),
        model_writer=model,
        vocab_size=n_pieces,
        model_type="unigram",
        normalization_rule_name="identity",
        bos_id=-1,
        unk_id=0,
        eos_id=-1,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return model.getvalue()


def pieces_of(model: bytes) -> list[str]:
    loaded = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [loaded.id_to_piece(i) for i in range(loaded.get_piece_size())]


def vocabulary(pieces: list[str], seed: int, pad: int | None = None) -> dict[str, int]:
    """Pieces in an order that is none of SentencePiece's, the end first and the pad last (or at its
    id), as in Marian's vocabularies. One piece is missing, whose text then is unknown."""
    pieces = sorted(set(pieces) - {"<unk>", "<pad>", "</s>"})
    order = torch.randperm(len(pieces), generator=torch.Generator().manual_seed(seed)).tolist()
    names = ["</s>", "<unk>", ">>eng<<", *(pieces[i] for i in order[1:])]
    names.insert(len(names) if pad is None else pad, "<pad>")
    return {name: i for i, name in enumerate(names)}


def write_tokenizer(shape: Shape, folder: Path) -> MarianTokenizer:
    source, target = (train_pieces(text, shape.pieces) for text in (GERMAN, ENGLISH))
    (folder / "source.spm").write_bytes(source)
    (folder / "target.spm").write_bytes(target)
    if shape.separate:
        pad = 55  # both vocabularies have it there
        tables = {
            "vocab.json": vocabulary(pieces_of(source), shape.seed, pad),
            "target_vocab.json": vocabulary(pieces_of(target), shape.seed + 100, pad),
        }
    else:
        tables = {"vocab.json": vocabulary(pieces_of(source) + pieces_of(target), shape.seed)}
    for name, table in tables.items():
        (folder / name).write_text(json.dumps(table, ensure_ascii=False), encoding="utf-8")
    if shape.separate:
        (folder / "tokenizer_config.json").write_text('{"separate_vocabs": true}\n')
    more = {"target_vocab_file": str(folder / "target_vocab.json")} if shape.separate else {}
    return MarianTokenizer(
        source_spm=str(folder / "source.spm"),
        target_spm=str(folder / "target.spm"),
        vocab=str(folder / "vocab.json"),
        separate_vocabs=shape.separate,
        **more,
    )


def make_model(shape: Shape, tokenizer: MarianTokenizer) -> MarianMTModel:
    s = shape.settings
    n_source = len(tokenizer.encoder)
    n_target = len(tokenizer.target_encoder) if shape.separate else n_source
    config = MarianConfig(
        vocab_size=n_source,
        decoder_vocab_size=n_target,
        d_model=s["d_model"],
        encoder_layers=s["layers"][0],
        decoder_layers=s["layers"][1],
        encoder_attention_heads=s["heads"],
        decoder_attention_heads=s["heads"],
        encoder_ffn_dim=s["ffn"],
        decoder_ffn_dim=s["ffn"],
        activation_function=s.get("activation", "swish"),
        scale_embedding=s.get("scale", True),
        share_encoder_decoder_embeddings=not shape.separate,
        tie_word_embeddings=s.get("tie", True),
        max_position_embeddings=96,
        pad_token_id=tokenizer.pad_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
        eos_token_id=0,
        forced_eos_token_id=None,
    )
    model = MarianMTModel(config).eval()
    draw_weights(model, shape.seed)
    train(model, tokenizer, shape.steps)
    return model.to(shape.dtype)


def draw_weights(model: MarianMTModel, seed: int) -> None:
    """Weights with which every part of the model matters, biases, gains and all."""
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            if "embed_positions" in name:
                continue
            normal = torch.randn(p.shape, generator=random)
            if p.dim() == 1:
                p.copy_(0.2 * normal + (1.0 if "layer_norm.weight" in name else 0.0))
            else:
                p.copy_(normal / p.shape[-1] ** 0.5)
        model.final_logits_bias.copy_(0.5 * torch.randn(model.final_logits_bias.shape, generator=random))


def sentences_of(text: str) -> list[str]:
    return [part + "." for line in text.splitlines() for part in line.rstrip(".").split(". ")]


def train(model: MarianMTModel, tokenizer: MarianTokenizer, steps: int) -> None:
    """A few steps with the sentences above. A model of drawn weights would say one word for ever."""
    pairs = list(zip(sentences_of(GERMAN), sentences_of(ENGLISH), strict=True))
    batch = dict(tokenizer([p[0] for p in pairs], return_tensors="pt", padding=True))
    labels = tokenizer(text_target=[p[1] for p in pairs], return_tensors="pt", padding=True)["input_ids"]
    labels[labels == model.config.pad_token_id] = -100
    moving = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        loss = model(**batch, labels=labels).loss
        moving.zero_grad()
        loss.backward()
        moving.step()


SEARCHES = [
    {"num_beams": 1},
    {"num_beams": 4},
    {"num_beams": 6, "num_return_sequences": 3},
    {"num_beams": 4, "length_penalty": 0.0, "num_return_sequences": 4},
    {"num_beams": 4, "length_penalty": 2.0, "num_return_sequences": 2},
    {"num_beams": 4, "early_stopping": True, "num_return_sequences": 2},
    {"num_beams": 6, "early_stopping": True, "length_penalty": 0.6},
    {"num_beams": 4, "renormalize_logits": True, "num_return_sequences": 2},
    {"num_beams": 4, "early_stopping": "never", "num_return_sequences": 2},
    {"num_beams": 4, "early_stopping": "never", "length_penalty": 2.0, "num_return_sequences": 2},
]


def found_by_generate(model: MarianMTModel, batch: dict[str, Tensor], search: dict) -> list[list]:
    """For each sentence the ids of its hypotheses, without start and end symbol, and their scores."""
    pad = model.config.pad_token_id
    out = model.generate(
        **batch,
        **search,
        max_length=MAX_LENGTH,
        do_sample=False,
        bad_words_ids=[[pad]],
        return_dict_in_generate=True,
        output_scores=True,
    )
    scores = out.sequences_scores.tolist() if search["num_beams"] > 1 else [None] * len(out.sequences)
    found = []
    for ids, score in zip(out.sequences.tolist(), scores, strict=True):
        words = ids[1:]
        finished = 0 in words
        words = words[: words.index(0)] if finished else words
        assert pad not in words
        found.append({"ids": words, "finished": finished, "score": score})
    n = search.get("num_return_sequences", 1)
    return [found[i : i + n] for i in range(0, len(found), n)]


def is_lively(searches: list[dict]) -> bool:
    """Whether the searches tell right from wrong: translations of several lengths and many words,
    some cut at the limit, and the settings disagree."""
    of_search = [[h["ids"] for s in search["found"] for h in s] for search in searches]
    all_ids = [ids for found in of_search for ids in found]
    ends = {h["finished"] for search in searches for s in search["found"] for h in s}
    best = {json.dumps([s[0]["ids"] for s in search["found"]]) for search in searches}
    return (
        len(ends) == 2
        and len({len(ids) for ids in all_ids}) >= 6
        and len({word for ids in all_ids for word in ids}) >= 12
        and len(best) >= 4
    )


def same_words(a: list[list], b: list[list]) -> bool:
    strip = lambda found: [[(h["ids"], h["finished"]) for h in s] for s in found]
    return strip(a) == strip(b)


def expect(shape: Shape, folder: Path, tokenizer: MarianTokenizer) -> bool:
    """Writes what is expected of the model; false if it is too dull or hangs on rounding."""
    single = MarianMTModel.from_pretrained(folder, dtype=torch.float32).eval()
    double = MarianMTModel.from_pretrained(folder, dtype=torch.float64).eval()
    texts = SENTENCES[:3]
    batch = dict(tokenizer(texts, return_tensors="pt", padding=True))
    n_target = single.config.decoder_vocab_size
    random = torch.Generator().manual_seed(shape.seed + 50)
    tgt = torch.randint(1, n_target, (len(texts), 7), generator=random)
    tgt[:, 0] = single.config.decoder_start_token_id
    with torch.no_grad():
        logits = double(**batch, decoder_input_ids=tgt).logits
    save_file(
        {"src": batch["input_ids"].float(), "tgt": tgt.float(), "logits": logits},
        folder / "expected.safetensors",
    )
    searches = []
    for search in SEARCHES:
        found = found_by_generate(double, batch, search)
        if not same_words(found, found_by_generate(single, batch, search)):
            return False
        searches.append({**search, "found": found})
    if not is_lively(searches):
        return False
    spoken = torch.randint(0, n_target, (4, 9), generator=random).tolist()
    notes = {
        "made_by": f"transformers {transformers.__version__}",
        "sentences": [{"text": t, "ids": tokenizer(t)["input_ids"]} for t in SENTENCES],
        "spoken": [
            {"ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=True)} for ids in spoken
        ],
        "max_length": MAX_LENGTH,
        "searches": searches,
    }
    text = json.dumps(notes, ensure_ascii=False).replace('{"', '\n{"')
    (folder / "expected.json").write_text(text + "\n", encoding="utf-8")
    return True


def main() -> None:
    torch.set_num_threads(1)
    for shape in SHAPES:
        folder = HERE / shape.name
        while True:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            tokenizer = write_tokenizer(shape, folder)
            make_model(shape, tokenizer).save_pretrained(folder)
            if expect(shape, folder, tokenizer):
                break
            shape.seed += 1000
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{shape.name}: {sorted(f.name for f in folder.iterdir())}, {size} bytes")


if __name__ == "__main__":
    cli.run(main)
