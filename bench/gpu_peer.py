"""Measures the works of bench/gpu.cpp in PyTorch, and prints a JSON line for each.

    build/venv-bench/bin/python bench/gpu_peer.py [--only NAME] [--rounds N] [--precision bf16,tf32,fp32] [--style compiled] [--tiny]

fp32 and tf32 are single precision, where products round nothing, or their operands to TF32; bf16 is torch.autocast, and
attention of bfloat16 by FlashAttention. A training step is measured as a tutorial writes it (eager), and by torch.compile
with CUDA graphs and a fused optimizer (compiled). With --tiny the works are small, and run on the processor if there is no
device.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib/program"))

import cli
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(Path(__file__).resolve().parent))
import pytorch_peer as peer

peer.ONEDNN = None  # a device has products of its own
Call = Callable[[], object]
Work = tuple[str, str, Callable[[], Call]]  # name, style, and what prepares it
HEADS, D_K = 8, 64
STYLES = ("eager", "compiled")  # of a training step


@dataclass(frozen=True)
class Setting:
    precision: str
    tiny: bool
    device: str

    @property
    def kind(self) -> torch.dtype:
        """The type of tensors that a program in this precision hands to an operation."""
        return torch.bfloat16 if self.precision == "bf16" else torch.float32

    def autocast(self) -> contextlib.AbstractContextManager:
        return torch.autocast(self.device, torch.bfloat16, enabled=self.precision == "bf16")


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def microseconds(call: Call, rounds: int) -> list[float]:
    """The time of one call in each round; calls are queued until they fill some milliseconds."""

    def timed(calls: int) -> float:
        wait()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        wait()
        return (time.perf_counter() - start) / calls * 1e6

    timed(3)
    calls = int(min(max(5000 / timed(1), 1), 200))
    return [timed(calls) for _ in range(rounds)]


def pass_works(s: Setting) -> Iterator[Work]:
    """Passes over memory."""
    shape = (5, 40) if s.tiny else (65536, 1024)
    norm = torch.nn.LayerNorm(shape[1], dtype=s.kind)
    words = torch.randint(1, shape[1], shape[:1])
    functions = {
        "softmax": (lambda x: torch.softmax(x, -1), ()),
        "layer_norm": (norm, (norm.weight, norm.bias)),
        "cross_entropy": (lambda x: F.cross_entropy(x, words), ()),
    }

    def forward(function: Callable[[torch.Tensor], torch.Tensor]) -> Call:
        x = torch.randn(shape, dtype=s.kind)
        return torch.inference_mode()(lambda: function(x))

    def backward(function: Callable[[torch.Tensor], torch.Tensor], others: tuple) -> Call:
        x = torch.randn(shape, dtype=s.kind, requires_grad=True)
        y = function(x)
        dy = torch.randn_like(y)
        return lambda: torch.autograd.grad(y, (x, *others), dy, retain_graph=True)

    def adam() -> Call:
        weight = torch.nn.Parameter(torch.randn(shape))
        weight.grad = torch.randn(shape)
        return torch.optim.Adam([weight], lr=1e-4, fused=True).step

    yield "copy", "", partial(forward, torch.clone)
    for name, (function, others) in functions.items():
        yield f"{name}_forward", "", partial(forward, function)
        yield f"{name}_backward", "", partial(backward, function, others)
    if s.precision == "fp32":  # the weights are in single precision whatever the products are in
        yield "adam", "fused", adam


def product_works(s: Setting) -> Iterator[Work]:
    n = 16 if s.tiny else 8192

    def prepare() -> Call:
        a, b = (torch.randn(n, n, dtype=s.kind) for _ in range(2))
        return lambda: a @ b

    yield f"product_{n}", "", prepare


def attention_works(s: Setting) -> Iterator[Work]:
    longest = 40 if s.tiny else 16384
    backends = [SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION] if s.precision == "bf16" else []
    backends += [SDPBackend.EFFICIENT_ATTENTION] if s.device == "cuda" else [SDPBackend.MATH]

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
        with sdpa_kernel(backends, set_priority=True):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    def forward(shape: tuple[int, ...], causal: bool) -> Call:
        q, k, v = (torch.randn(shape, dtype=s.kind) for _ in range(3))
        return lambda: attend(q, k, v, causal)

    def backward(shape: tuple[int, ...], causal: bool) -> Call:
        inputs = [torch.randn(shape, dtype=s.kind, requires_grad=True) for _ in range(3)]
        y, dy = attend(*inputs, causal), torch.randn(shape, dtype=s.kind)
        return lambda: torch.autograd.grad(y, inputs, dy, retain_graph=True)

    for length in [40] if s.tiny else [2**i for i in range(9, 15)]:
        for causal in (False, True):
            tail = f"{'causal' if causal else 'full'}_{length}"
            shape = (max(1, longest // length), HEADS, length, D_K)
            yield f"attention_forward_{tail}", "", partial(forward, shape, causal)
            yield f"attention_backward_{tail}", "", partial(backward, shape, causal)


def model_works(s: Setting) -> Iterator[Work]:
    """Whole steps of training, and decoding."""
    base, toy = peer.BASE, peer.book.small(peer.book.TOY, src_words=20, tgt_words=20)
    if s.tiny:
        base, toy = (peer.book.small(o, src_words=20, tgt_words=20, d_model=32, d_ff=64, n_heads=2, n_encoder_layers=1,
                                     n_decoder_layers=1) for o in (base, toy))  # fmt: skip

    def step(options: peer.book.Options, batch: tuple[int, int], optimizer: str, style: str) -> Call:
        words = peer.random_batch(options, *batch)
        style = {"compiled": "compile"}.get(style, style)
        return peer.training_step(options, words, optimizer, style, autocast=s.autocast, mode="reduce-overhead")

    def decode() -> Call:
        """With a hand-written cache of keys and values, like ours."""
        sentences, words = (2, 4) if s.tiny else (32, 24)
        source = peer.random_batch(base, sentences, words)[0]
        decoded = peer.decoding(base, source, start=1, words=words, style="tuned", cached=True)

        def call() -> None:
            with s.autocast():
                decoded()

        return call

    for style in ("compiled", "eager"):
        yield "base_step", style, partial(step, base, (2, 5) if s.tiny else (64, 64), "adam", style)
    yield "toy_step", "eager", partial(step, toy, (2, 5 if s.tiny else 8), "sgd", "eager")
    yield "base_decode", "", decode


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the works of bench/gpu.cpp in PyTorch.")
    parser.add_argument("--only", default="", help="only works whose name begins with this, or with one of these, divided by commas")
    parser.add_argument("--rounds", type=int, default=7, help="rounds whose median is printed")
    parser.add_argument("--precision", type=lambda text: text.split(","), default=["fp32"], metavar="bf16,tf32,fp32",
                        help="of tensors and products, one after the other (default fp32)")  # fmt: skip
    parser.add_argument("--style", choices=STYLES, help="only steps in this style")
    parser.add_argument("--tiny", action="store_true", help="small sizes, to try this program, on the processor if there is no device")
    options = parser.parse_args()
    if not (options.tiny or torch.cuda.is_available()):
        raise cli.Failure("PyTorch finds no CUDA device")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_default_device(device)
    name_of_device = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    for precision in options.precision:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
        setting = Setting(precision, options.tiny, device)
        for works in (model_works, pass_works, product_works, attention_works):
            for name, style, prepare in works(setting):
                if not name.startswith(tuple(options.only.split(","))) or (options.style and style in STYLES and style != options.style):
                    continue
                line = {"name": name, "device": name_of_device, "torch": torch.__version__, "precision": precision, "style": style}
                try:
                    line["us"] = microseconds(prepare(), options.rounds)
                except (RuntimeError, AttributeError) as error:
                    line["error"] = str(error).splitlines()[0]
                if device == "cuda":
                    line["peak"] = torch.cuda.max_memory_allocated()
                    torch.cuda.empty_cache()
                    torch.cuda.reset_peak_memory_stats()
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    cli.run(main)
