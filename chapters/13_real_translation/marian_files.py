"""Convert models between this book and the transformers library.

    pip install torch transformers safetensors sentencepiece
    python chapters/13_real_translation/marian_files.py export RUN FOLDER
    python chapters/13_real_translation/marian_files.py safetensors FOLDER

`export` turns a model of this book, given as its file or the folder of its run, into a
MarianMTModel, which gives the same logits up to the order of its sums. If the model has subwords,
the files of a MarianTokenizer are written, too:

    model = MarianMTModel.from_pretrained(FOLDER)
    tokenizer = MarianTokenizer.from_pretrained(FOLDER)

`safetensors` converts a published model's weights, which may come as pytorch_model.bin or in
several files, to the model.safetensors that the book's program reads.

Marian's models have biases and a learned norm everywhere, and all sines before all cosines. What a
model of the book lacks becomes zeros and ones; if its sines and cosines alternate, the columns of
every weight are reordered. Models that cannot be Marian's are refused.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib/program"))

import cli
import torch
from safetensors import safe_open
from torch import Tensor
from transformers import GenerationConfig, MarianConfig, MarianMTModel

# The book's names of parameters, and the library's.
PARTS = {
    "w_q": "q_proj",
    "w_k": "k_proj",
    "w_v": "v_proj",
    "w_o": "out_proj",
    "linear1": "fc1",
    "linear2": "fc2",
    "multihead_attn": "encoder_attn",
    "norm1": "self_attn_layer_norm",
    "norm3": "final_layer_norm",
}
NORM2 = {"encoder": "final_layer_norm", "decoder": "encoder_attn_layer_norm"}


def expect(ok: bool, options: dict, name: str, expected: str) -> None:
    if not ok:
        raise cli.Failure(f"{name} is {json.dumps(options[name])}, expected {expected}")


def require_possible(o: dict) -> None:
    """Refuses options that a MarianMTModel does not have."""
    expect(o["norm_placement"] == "post", o, "norm_placement", '"post"')
    expect(not o["shared_head_projections"], o, "shared_head_projections", "false")
    expect(math.isclose(o["norm_eps"], 1e-5), o, "norm_eps", "1e-05")
    sinusoids = ("sinusoid", "sines_then_cosines")
    expect(o["positions"] in sinusoids, o, "positions", " or ".join(sinusoids))


def theirs(name: str) -> str:
    """`model.encoder.layers.0.fc1.weight` for `encoder.layers.0.linear1.weight`."""
    stack, *rest = name.split(".")
    parts = PARTS | {"norm2": NORM2[stack]}
    return ".".join(["model", stack, *(parts.get(part, part) for part in rest)])


def columns(o: dict) -> Tensor:
    """The book's columns in the order of Marian's, where the sines are the first half."""
    all_columns = torch.arange(o["d_model"])
    if o["positions"] == "sines_then_cosines":
        return all_columns
    return torch.cat((all_columns[0::2], all_columns[1::2]))


def reordered(name: str, value: Tensor, order: Tensor) -> Tensor:
    """A weight for rows whose columns are in another order. Heads and hidden numbers stay."""
    kind = name.split(".")[-2]
    writes_rows = kind in ("w_o", "linear2") or kind.startswith("norm")
    reads_rows = kind in ("w_q", "w_k", "w_v", "linear1", "src_embed", "tgt_embed", "output")
    if writes_rows:
        value = value[order]
    if reads_rows and value.dim() == 2:
        value = value[:, order]
    return value


def config_of(o: dict, symbols: dict[str, int]) -> MarianConfig:
    same_vocabulary = o["tied_embeddings"] == "all"
    return MarianConfig(
        vocab_size=o["src_words"],
        decoder_vocab_size=o["tgt_words"],
        d_model=o["d_model"],
        encoder_layers=o["n_encoder_layers"],
        decoder_layers=o["n_decoder_layers"],
        encoder_attention_heads=o["n_heads"],
        decoder_attention_heads=o["n_heads"],
        encoder_ffn_dim=o["d_ff"],
        decoder_ffn_dim=o["d_ff"],
        activation_function=o["activation"],
        dropout=o["dropout"],
        scale_embedding=o["scale_embedding"],
        max_position_embeddings=o["max_len"],
        share_encoder_decoder_embeddings=same_vocabulary,
        tie_word_embeddings=o["tied_embeddings"] != "none",
        pad_token_id=symbols["pad"],
        decoder_start_token_id=symbols["start"],
        eos_token_id=symbols["end"],
        forced_eos_token_id=None,
        is_encoder_decoder=True,
    )


def set_search(search: GenerationConfig, o: dict, symbols: dict[str, int]) -> None:
    """What `translate` does without options; the start symbol counts in the length."""
    search.bad_words_ids = [[id] for id in sorted({symbols["pad"], symbols["start"]})]
    search.num_beams = 4
    search.max_length = min(257, o["max_len"])


def tables(o: dict, own: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tables of words under all names that the library's model has for them."""
    source = own["src_embed.weight"]
    target = own.get("tgt_embed.weight", source)
    found = {
        "model.encoder.embed_tokens.weight": source,
        "model.decoder.embed_tokens.weight": target,
        "model.shared.weight": source,
        "lm_head.weight": own.get("output.weight", target),
        "final_logits_bias": own.get("output.bias", torch.zeros(o["tgt_words"]))[None],
    }
    return found


@torch.no_grad()
def marian_model(o: dict, weights: dict[str, Tensor], symbols: dict[str, int]) -> MarianMTModel:
    """The library's model for these options and for weights under the book's names."""
    require_possible(o)
    model = MarianMTModel(config_of(o, symbols)).eval()
    order = columns(o)
    own = {n: reordered(n, v, order) for n, v in weights.items() if n != "output.bias"}
    own |= {n: v for n, v in weights.items() if n == "output.bias"}
    found = tables(o, own)
    found |= {theirs(n): v for n, v in own.items() if n.startswith(("encoder.", "decoder."))}
    if o["attention_scale"]:  # the library always has 1 / sqrt(d_k)
        factor = o["attention_scale"] * math.sqrt(o["d_model"] // o["n_heads"])
        found |= {n: v * factor for n, v in found.items() if ".q_proj." in n}
    for name, value in model.state_dict().items():
        if name.endswith("embed_positions.weight"):
            continue
        is_gain = name.endswith("layer_norm.weight")
        value.copy_(found.pop(name, torch.ones(()) if is_gain else torch.zeros(())))
    leftover = [name for name in found if name != "model.shared.weight"]
    if leftover:
        raise cli.Failure(f"a MarianMTModel has no place for {', '.join(leftover)}")
    set_search(model.generation_config, o, symbols)
    return model


# Files --------------------------------------------------------------------------------------------


def write_tokenizer(notes: dict[str, str], folder: Path) -> dict[str, int]:
    """The files of a MarianTokenizer; returns the ids of the symbols."""
    import sentencepiece
    from transformers import MarianTokenizer

    names = ("source", "target")
    models = {n: bytes.fromhex(notes[f"{n}_subwords"]) for n in names}
    loaded = {n: sentencepiece.SentencePieceProcessor(model_proto=m) for n, m in models.items()}
    for name in names:
        (folder / f"{name}.spm").write_bytes(models[name])
        table = {loaded[name].id_to_piece(i): i for i in range(loaded[name].get_piece_size())}
        file = folder / ("vocab.json" if name == "source" else "target_vocab.json")
        file.write_text(json.dumps(table, ensure_ascii=False), encoding="utf-8")
    target = loaded["target"]
    MarianTokenizer(
        source_spm=str(folder / "source.spm"),
        target_spm=str(folder / "target.spm"),
        vocab=str(folder / "vocab.json"),
        target_vocab_file=str(folder / "target_vocab.json"),
        separate_vocabs=True,
        unk_token=target.id_to_piece(target.unk_id()),
        eos_token=target.id_to_piece(target.eos_id()),
        pad_token=target.id_to_piece(target.pad_id()),
    ).save_pretrained(folder)
    return {"pad": target.pad_id(), "start": target.bos_id(), "end": target.eos_id()}


def symbols_of_words(notes: dict[str, str]) -> dict[str, int]:
    """The ids of the symbols in a model of whole words, as in chapters 9 and 10."""
    words = json.loads(notes["target_words"])
    return {"pad": words.index("P"), "start": words.index("S"), "end": words.index("E")}


def export(file: Path, folder: Path) -> None:
    file = file / "model.safetensors" if file.is_dir() else file
    with safe_open(file, "pt") as opened:
        notes = opened.metadata() or {}
        weights = {name: opened.get_tensor(name) for name in opened.keys()}
    if "options" not in notes:
        raise cli.Failure(f"{file} is not a model of this book")
    options = json.loads(notes["options"])
    folder.mkdir(parents=True, exist_ok=True)
    has_subwords = "source_subwords" in notes
    symbols = write_tokenizer(notes, folder) if has_subwords else symbols_of_words(notes)
    marian_model(options, weights, symbols).save_pretrained(folder)
    if not has_subwords:
        print("this model has whole words, not subwords: no tokenizer was written", file=sys.stderr)


def to_safetensors(folder: Path) -> None:
    MarianMTModel.from_pretrained(folder).save_pretrained(folder, max_shard_size="100GB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("export", help="turn a model of this book into a MarianMTModel")
    verb.add_argument("file", type=Path)
    verb.add_argument("folder", type=Path)
    verb = verbs.add_parser("safetensors", help="convert published weights to model.safetensors")
    verb.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    if arguments.verb == "export":
        export(arguments.file, arguments.folder)
    else:
        to_safetensors(arguments.folder)


if __name__ == "__main__":
    cli.run(main)
