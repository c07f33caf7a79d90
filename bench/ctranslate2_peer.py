"""Greedy decoding by CTranslate2; bench.py starts it, and lets it take turns with ours.

    build/venv-bench/bin/python bench/ctranslate2_peer.py base_decode --threads 2

Speaks over pipes like pytorch_peer.py. The model has the book's sizes and random weights.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib/program"))

import cli
import ctranslate2

# d_model, d_ff, heads, layers of each half
SIZES = {"base_decode": (512, 2048, 8, 6), "small_decode": (256, 1024, 4, 3)}
WORDS = 8000
SPECIAL = ["<unk>", "<s>", "</s>"]
TYPES = {"float": "float32", "int8": "int8"}
VOCABULARY = SPECIAL + [f"word{i}" for i in range(WORDS - len(SPECIAL))]


def write_model(folder: str, kind: str, d_model: int, d_ff: int, heads: int, layers: int) -> None:
    import numpy as np
    from ctranslate2.specs import TransformerSpec

    random = np.random.default_rng(1)

    def linear(spec: object, d_in: int, d_out: int) -> None:
        width = d_in**-0.5
        spec.weight = random.uniform(-width, width, (d_out, d_in)).astype(np.float32)
        spec.bias = random.uniform(-width, width, d_out).astype(np.float32)

    def norm(spec: object) -> None:
        spec.gamma = np.ones(d_model, np.float32)
        spec.beta = np.zeros(d_model, np.float32)

    def feed_forward(spec: object) -> None:
        norm(spec.layer_norm)
        linear(spec.linear_0, d_model, d_ff)
        linear(spec.linear_1, d_ff, d_model)

    def attention(spec: object, widths: tuple[int, ...]) -> None:
        norm(spec.layer_norm)
        for part, width in zip(spec.linear, widths, strict=True):
            linear(part, d_model, width * d_model)

    model = TransformerSpec.from_config((layers, layers), heads, pre_norm=False)
    for embeddings in (model.encoder.embeddings[0], model.decoder.embeddings):
        embeddings.weight = random.standard_normal((WORDS, d_model)).astype(np.float32)
    for layer in model.encoder.layer:
        attention(layer.self_attention, (3, 1))
        feed_forward(layer.ffn)
    for layer in model.decoder.layer:
        attention(layer.self_attention, (3, 1))
        attention(layer.attention, (1, 2, 1))
        feed_forward(layer.ffn)
    linear(model.decoder.projection, d_model, WORDS)
    model.register_source_vocabulary(VOCABULARY)
    model.register_target_vocabulary(VOCABULARY)
    model.validate()
    model.optimize(quantization=kind)
    model.save(folder)


def load(name: str, precision: str, threads: int) -> ctranslate2.Translator:
    """Loads a model whose weights another process makes, so that its memory does not count."""
    with tempfile.TemporaryDirectory() as folder:
        writing = ["--precision", precision, "--write", folder]
        subprocess.run([sys.executable, __file__, name, *writing], check=True)
        return ctranslate2.Translator(
            folder, compute_type=TYPES[precision], inter_threads=1, intra_threads=threads
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", choices=sorted(SIZES))
    parser.add_argument("--threads", type=int, default=1, help="number of threads")
    parser.add_argument("--batch", type=int, default=32, help="sentences per batch")
    parser.add_argument("--length", type=int, default=24, help="words of source and of target")
    parser.add_argument("--precision", choices=sorted(TYPES), default="float")
    parser.add_argument("--write", metavar="FOLDER", help="write the model there, and exit")
    options = parser.parse_args()
    if options.write:
        write_model(options.write, TYPES[options.precision], *SIZES[options.work])
        return
    n = options.length
    source = [
        [f"word{(n * sentence + i) * 7919 % (WORDS - len(SPECIAL))}" for i in range(n)]
        for sentence in range(options.batch)
    ]
    translator = load(options.work, options.precision, options.threads)

    def iterate() -> None:
        results = translator.translate_batch(
            source, beam_size=1, max_decoding_length=n, min_decoding_length=n
        )
        if any(len(result.hypotheses[0]) != n for result in results):
            raise cli.Failure("CTranslate2 ended a translation early")

    iterate()
    print(f"ready CTranslate2 {ctranslate2.__version__}", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        iterate()
        print(1000 * (time.perf_counter() - start), flush=True)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)


if __name__ == "__main__":
    cli.run(main)
