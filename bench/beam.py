"""Times `translate` beside CTranslate2, with the same weights, pieces, sentences and beam width.

    build/venv-bench/bin/python bench/beam.py --model RUN/model.safetensors --source RUN/test.source.txt

The two take turns; each reads lines and writes lines. The book's time is that of its whole process,
including its start and the loading of the model; CTranslate2's model is loaded beforehand. Its
weights are float32, like the book's. Python needs ctranslate2, transformers, torch, safetensors and
sentencepiece.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
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

PROGRAM = ROOT / "build/release/chapters/13_real_translation/real_translation"


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
    def __init__(self, model: Path, folder: Path, o: argparse.Namespace) -> None:
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
            str(folder / "model"), device="cpu", compute_type="float32", inter_threads=1, intra_threads=o.threads
        )
        self.o = o

    def translate(self, lines: Sequence[str]) -> list[str]:
        pieces = [[*line, "</s>"] for line in self.source.encode(list(lines), out_type=str)]
        found = self.translator.translate_batch(
            pieces, beam_size=self.o.beam, max_batch_size=self.o.batch, length_penalty=1, max_decoding_length=256
        )
        return self.target.decode([result.hypotheses[0] for result in found])


def ours(lines: Sequence[str], o: argparse.Namespace) -> list[str]:
    command = [o.program, "translate", "--model", o.model, "--beam", o.beam, "--batch", o.batch]
    done = subprocess.run(
        [str(part) for part in [*command, "--threads", o.threads]],
        input="".join(line + "\n" for line in lines),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="model file of `./book run 13`")
    parser.add_argument("--source", type=Path, required=True, help="file with one sentence per line")
    parser.add_argument("--program", type=Path, default=PROGRAM, help="program of chapter 13")
    parser.add_argument("--beam", type=int, default=4, help="width of the beam (default 4)")
    parser.add_argument("--batch", type=int, default=32, help="sentences per batch (default 32)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each system (default 2)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of turns (default 5)")
    parser.add_argument("--out", type=Path, help="JSON file to write the results to")
    o = parser.parse_args()
    if o.out:
        o.out.open("a").close()  # fails now, not after the rounds
    lines = o.source.read_text().splitlines()
    with tempfile.TemporaryDirectory() as folder:
        peer = Peer(o.model, Path(folder), o)
        systems = {"ours": lambda: ours(lines, o), "CTranslate2": lambda: peer.translate(lines)}
        found = {name: run() for name, run in systems.items()}  # warms up
        seconds: dict[str, list[float]] = {name: [] for name in systems}
        for _ in range(o.rounds):
            for name, run in systems.items():
                start = time.perf_counter()
                run()
                seconds[name].append(time.perf_counter() - start)
    same = sum(a == b for a, b in zip(*found.values(), strict=True))
    ratio = statistics.median(b / a for a, b in zip(*seconds.values(), strict=True))
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    for name, median in medians.items():
        print(f"{name:12}  {median:6.2f} s  {len(lines) / median:6.0f} sentences/s")
    print(f"CTranslate2 {ctranslate2.__version__} / ours: {ratio:.2f}; {same} of {len(lines)} translations are equal")
    if o.out:
        report = {
            "version": ctranslate2.__version__,
            "seconds": seconds,
            "ratio": ratio,
            "same": same,
            "lines": len(lines),
        }
        report |= {"beam": o.beam, "batch": o.batch, "threads": o.threads}
        o.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    cli.run(main)
