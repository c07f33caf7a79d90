"""A published model in llama.cpp or transformers; bench.py starts it, and lets it take turns with ours.

    build/venv-bench/bin/python bench/published_peer.py published_prompt --system llama_cpp --threads 2 --length 256

Speaks over pipes like pytorch_peer.py. llama.cpp keeps its defaults and the weights' bits; transformers reads the same file into floats.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "lib/program"))

import cli
import numpy as np


def words(count: int) -> list[int]:
    """The same as in steps.cpp; the first 17 ids are special."""
    return [17 + 7919 * i % 49000 for i in range(count)]


class LlamaCpp:
    def __init__(self, path: Path, threads: int) -> None:
        import llama_cpp as lib

        self.lib, self.version = lib, f"llama.cpp of llama-cpp-python {lib.__version__}"
        lib.llama_backend_init()
        self.model = lib.llama_model_load_from_file(str(path).encode(), lib.llama_model_default_params())
        if not self.model:
            raise cli.Failure(f"llama.cpp cannot load {path}")
        options = lib.llama_context_default_params()
        options.n_threads = options.n_threads_batch = threads
        self.context = lib.llama_init_from_model(self.model, options)
        self.size = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(self.model))

    def begin(self) -> None:
        self.lib.llama_memory_clear(self.lib.llama_get_memory(self.context), True)

    def best(self, ids: list[int]) -> int:
        """The likeliest word after these and those before them."""
        words = (self.lib.llama_token * len(ids))(*ids)  # the batch only points to them
        if self.lib.llama_decode(self.context, self.lib.llama_batch_get_one(words, len(ids))) != 0:
            raise cli.Failure("llama.cpp cannot go on")
        logits = self.lib.llama_get_logits_ith(self.context, -1)
        return int(np.ctypeslib.as_array(logits, shape=(self.size,)).argmax())


class Transformers:
    def __init__(self, path: Path, threads: int) -> None:
        import torch
        import transformers

        torch.set_num_threads(threads)
        self.torch, self.version = torch, f"transformers {transformers.__version__}, PyTorch {torch.__version__}"
        with tempfile.TemporaryDirectory() as folder:  # another process makes floats of the bits, whose memory does not count
            subprocess.run([sys.executable, __file__, "--model", path, "--write", folder], check=True, stdout=sys.stderr)
            self.model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def begin(self) -> None:
        self.cache = None

    def best(self, ids: list[int]) -> int:
        with self.torch.inference_mode():
            ids = self.torch.tensor([ids])
            result = self.model(ids, past_key_values=self.cache, use_cache=True, logits_to_keep=1)
        self.cache = result.past_key_values
        return int(result.logits[0, -1].argmax())


def write_floats(path: Path, folder: str) -> None:
    from transformers import AutoModelForCausalLM

    read = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype="float32")
    del read.config.quantization_config  # with which it is not saved
    model = AutoModelForCausalLM.from_config(read.config)
    model.load_state_dict(read.state_dict())
    model.save_pretrained(folder)


def prompt(system: LlamaCpp | Transformers, length: int) -> Callable[[], float]:
    """Reads a text at once, and finds the word after it. Returns what takes milliseconds."""
    ids = words(length)

    def iterate() -> float:
        system.begin()
        start = time.perf_counter()
        system.best(ids)
        return 1000 * (time.perf_counter() - start)

    return iterate


def tokens(system: LlamaCpp | Transformers, length: int) -> Callable[[], float]:
    """Goes on with one word, greedily."""

    def iterate() -> float:
        system.begin()
        [word] = words(1)
        start = time.perf_counter()
        for _ in range(length):
            word = system.best([word])
        return 1000 * (time.perf_counter() - start)

    return iterate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    works, systems = {"published_tokens": tokens, "published_prompt": prompt}, {"llama_cpp": LlamaCpp, "transformers": Transformers}
    parser.add_argument("work", nargs="?", default="published_prompt", choices=[*works])
    parser.add_argument("--system", choices=[*systems], default="llama_cpp")
    parser.add_argument("--threads", type=int, default=1, help="number of threads")
    parser.add_argument("--batch", type=int, choices=[1], default=1, help="texts")
    parser.add_argument("--length", type=int, default=128, help="words to read, or to find")
    parser.add_argument("--model", type=Path, default=ROOT / "build/models/smollm2.gguf", help="a GGUF file")
    parser.add_argument("--write", metavar="FOLDER", help="write the model there in floats, and exit")
    options = parser.parse_args()
    if options.write:
        write_floats(options.model, options.write)
        return
    system = systems[options.system](options.model, options.threads)
    iterate = works[options.work](system, options.length)
    iterate()
    print(f"ready {system.version}", flush=True)
    for _ in sys.stdin:
        print(iterate(), flush=True)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)


if __name__ == "__main__":
    cli.run(main)
