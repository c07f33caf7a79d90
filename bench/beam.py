"""Times `translate` beside CTranslate2, with the same weights, pieces, sentences and beam width.

    build/venv-bench/bin/python bench/beam.py --model RUN/model.safetensors --source RUN/test.source.txt

The two take turns; each reads lines and writes lines. The book's time is that of its whole process,
including its start and the loading of the model; CTranslate2's model is loaded beforehand. Its
weights are float32, like the book's. Both have two threads, a beam of 4, and 32 sentences in a batch.
The results are written to build/bench/beam.json. Python needs ctranslate2, transformers, torch,
safetensors and sentencepiece.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib/program"))

import cli
import ctranslate2
import sentencepiece
from ctranslate2.converters import TransformersConverter
from ctranslate2.converters.transformers import BartLoader, MarianMTLoader
from safetensors import safe_open

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "chapters" / "13_real_translation"))
import marian_files
from machine import processor
from turns import in_turns, ratio

PROGRAM = ROOT / "build/release/chapters/13_real_translation/real_translation"
BEAM, BATCH, THREADS, ROUNDS = 4, 32, 2, 5


def pieces_of(subwords: sentencepiece.SentencePieceProcessor) -> list[str]:
    return [subwords.id_to_piece(i) for i in range(len(subwords))]


def expect_the_books_symbols(source: list[str], target: list[str]) -> None:
    """Makes CTranslate2's converter take the book's models. Marian's own have one vocabulary, whose
    last word is the pad, and begin with a row of zeros; the book's may have two vocabularies, and
    begin with a start symbol whose row is learned."""

    def set_config(_, config, model, tokenizer) -> None:
        config.eos_token, config.unk_token = tokenizer.eos_token, tokenizer.unk_token
        config.decoder_start_token = tokenizer.convert_ids_to_tokens(model.config.decoder_start_token_id)

    MarianMTLoader.set_config = set_config
    MarianMTLoader._remove_pad_weights = lambda _, spec: None
    MarianMTLoader.set_decoder = BartLoader.set_decoder
    MarianMTLoader.get_vocabulary = lambda *_: source

    def set_vocabulary(_, spec, tokens: list[str]) -> None:
        spec.register_source_vocabulary(tokens)
        spec.register_target_vocabulary(target)

    MarianMTLoader.set_vocabulary = set_vocabulary


class Peer:
    def __init__(self, model: Path, folder: Path) -> None:
        with safe_open(model, "pt") as file:
            notes = file.metadata()
        self.source, self.target = (
            sentencepiece.SentencePieceProcessor(model_proto=bytes.fromhex(notes[f"{side}_subwords"]))
            for side in ("source", "target")
        )
        marian_files.export(model, folder / "marian")
        expect_the_books_symbols(pieces_of(self.source), pieces_of(self.target))
        TransformersConverter(str(folder / "marian")).convert(str(folder / "model"))
        self.translator = ctranslate2.Translator(
            str(folder / "model"), device="cpu", compute_type="float32", inter_threads=1, intra_threads=THREADS
        )

    def translate(self, lines: Sequence[str]) -> list[str]:
        pieces = [[*line, "</s>"] for line in self.source.encode(list(lines), out_type=str)]
        found = self.translator.translate_batch(
            pieces, beam_size=BEAM, max_batch_size=BATCH, length_penalty=1, max_decoding_length=256
        )
        return self.target.decode([result.hypotheses[0] for result in found])


def ours(model: Path, lines: Sequence[str]) -> list[str]:
    command = [PROGRAM, "translate", "--model", model, "--beam", BEAM, "--batch", BATCH, "--threads", THREADS]
    text = "".join(line + "\n" for line in lines)
    done = subprocess.run(list(map(str, command)), input=text, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()


def seconds_of(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="model file of `./book run 13`")
    parser.add_argument("--source", type=Path, required=True, help="file with one sentence per line")
    o = parser.parse_args()
    lines = o.source.read_text().splitlines()
    with tempfile.TemporaryDirectory() as folder:
        peer = Peer(o.model, Path(folder))
        systems = {"ours": lambda: ours(o.model, lines), "CTranslate2": lambda: peer.translate(lines)}
        found = [run() for run in systems.values()]  # warms up
        seconds = in_turns({name: partial(seconds_of, run) for name, run in systems.items()}, ROUNDS)
    report = {
        "version": ctranslate2.__version__,
        "processor": processor(),
        "seconds": seconds,
        "ratio": ratio(seconds["CTranslate2"], seconds["ours"]),
        "same": sum(a == b for a, b in zip(*found, strict=True)),
        "lines": len(lines),
        "beam": BEAM,
        "batch": BATCH,
        "threads": THREADS,
    }
    print("CTranslate2 {version} / ours: {ratio:.2f}; {same} of {lines} translations are equal".format(**report))
    out = ROOT / "build" / "bench" / "beam.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    cli.run(main)
