"""Measures the works of bench/gpu.cpp in PyTorch on the device, and prints a JSON line for each.

    python bench/gpu_peer.py [--only NAME] [--rounds N] [--tf32]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent))

Call = Callable[[], object]
HEADS, D_K = 8, 64


def microseconds(call: Call, rounds: int) -> float:
    """Median time of one call; calls are queued until they fill some milliseconds."""

    def timed(calls: int) -> float:
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) / calls * 1e6

    timed(3)
    calls = int(min(max(5000 / timed(1), 1), 200))
    return statistics.median(timed(calls) for _ in range(rounds))


def attention_works() -> Iterator[tuple[str, Callable[[], Call]]]:
    for length in (512, 1024, 2048, 4096, 8192, 16384):
        batch = max(1, 16384 // length)
        for causal in (False, True):

            def inputs(batch: int = batch, length: int = length) -> list[torch.Tensor]:
                shape = (batch, HEADS, length, D_K)
                return [torch.randn(shape) for _ in range(4)]

            def forward(inputs=inputs, causal: bool = causal) -> Call:
                q, k, v, _ = inputs()
                return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)

            def backward(inputs=inputs, causal: bool = causal) -> Call:
                q, k, v, dy = inputs()
                for x in (q, k, v):
                    x.requires_grad_()
                y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
                return lambda: torch.autograd.grad(y, (q, k, v), dy, retain_graph=True)

            tail = f"{'causal' if causal else 'full'}_{length}"
            yield f"attention_forward_{tail}", forward
            yield f"attention_backward_{tail}", backward


def pass_works(rows: int = 16384, width: int = 1024) -> Iterator[tuple[str, Callable[[], Call]]]:
    def numbers(grad: bool = False) -> torch.Tensor:
        return torch.randn(rows, width, requires_grad=grad)

    def no_grad(function: Callable[[torch.Tensor], torch.Tensor]) -> Call:
        x = numbers()
        return lambda: function(x)

    def backward(function: Callable[[torch.Tensor], torch.Tensor]) -> Call:
        x, dy = numbers(True), numbers()
        y = function(x)
        return lambda: torch.autograd.grad(y, x, dy, retain_graph=True)

    norm = torch.nn.LayerNorm(width)
    yield "copy", lambda: no_grad(torch.clone)
    yield "softmax_forward", lambda: no_grad(lambda x: torch.softmax(x, -1))
    yield "softmax_backward", lambda: backward(lambda x: torch.softmax(x, -1))

    def norm_forward() -> Call:
        x = numbers()

        def call() -> torch.Tensor:
            with torch.inference_mode():
                return norm(x)

        return call

    def norm_backward() -> Call:
        x, dy = numbers(True), numbers()
        y = norm(x)
        inputs = (x, norm.weight, norm.bias)
        return lambda: torch.autograd.grad(y, inputs, dy, retain_graph=True)

    yield "layer_norm_forward", norm_forward
    yield "layer_norm_backward", norm_backward


def model_works() -> Iterator[tuple[str, Callable[[], Call]]]:
    import pytorch_peer as peer

    def step(options: peer.book.Options, sentences: int, words: int, optimizer: str) -> Call:
        ids = [
            torch.randint(1, n, (sentences, words))
            for n in (options.src_words, options.tgt_words, options.tgt_words)
        ]
        return peer.training_step(options, tuple(ids), optimizer, "eager")

    def decode() -> Call:
        """With a hand-written cache of keys and values, like ours."""
        torch.manual_seed(1)
        model = peer.FastTransformer(peer.BASE).eval()
        source = torch.randint(2, peer.BASE.src_words, (32, 24))

        @torch.inference_mode()
        def call() -> torch.Tensor:
            ids = torch.full((len(source), 25), 1)
            decoder = peer.CachedDecoder(model, source, 24)
            for t in range(24):
                ids[:, t + 1] = decoder.step(ids[:, t : t + 1]).argmax(-1)
            return ids

        return call

    toy = peer.book.small(peer.book.TOY, src_words=20, tgt_words=20)
    yield "base_step", lambda: step(peer.BASE, 64, 64, "adam")
    yield "toy_step", lambda: step(toy, 2, 8, "sgd")
    yield "base_decode", decode


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures the works of bench/gpu.cpp in PyTorch.")
    parser.add_argument("--only", default="", help="only works whose name begins with this")
    parser.add_argument("--rounds", type=int, default=7, help="rounds whose median is printed")
    parser.add_argument("--tf32", action="store_true", help="let matrix products use TF32")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("gpu_peer: PyTorch finds no CUDA device", file=sys.stderr)
        return 1
    torch.set_default_device("cuda")
    torch.backends.cuda.matmul.allow_tf32 = options.tf32
    device = torch.cuda.get_device_name()
    for works in (pass_works(), attention_works(), model_works()):
        for name, prepare in works:
            if not name.startswith(options.only):
                continue
            line = {"name": name, "device": device, "torch": torch.__version__}
            try:
                line["us"] = microseconds(prepare(), options.rounds)
            except (RuntimeError, AttributeError) as error:
                line["error"] = str(error).splitlines()[0]
            print(json.dumps(line), flush=True)
            torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
