"""Does the same work in PyTorch, for bench.py, which lets it take turns with ours.

    build/venv-bench/bin/python bench/pytorch_peer.py WORK --threads 2 --style eager

Speaks over pipes. It prints `ready` and its version; then, for each line of input, it does one
iteration and prints its milliseconds; at the end of input, its peak memory in kB. Works and sizes
are those of steps.cpp. Styles:

    eager    as in a tutorial: the modules of tests/golden/transformer.py; decoding feeds in the
             whole prefix for every word
    tuned    products by oneDNN if that is faster than PyTorch's default, with weights packed once
             for decoding; query, key and value in one product; scaled_dot_product_attention;
             fused optimizers; tables that are kept; denormal numbers treated as 0; decoding with a
             key-value cache
    compile  `tuned` through torch.compile, for training

With --precision bf16, training steps run under autocast. Its own products are as fast as oneDNN's;
scaled_dot_product_attention is slow for short sentences of this type, so `tuned` writes it out.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib/program"))

import cli
import llama_peer as llama
import torch
import torch.nn.functional as F
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "golden"))
import transformer as book

TOY_SRC = [[1, 2, 3, 4, 5, 6, 7, 0], [1, 2, 8, 4, 9, 6, 7, 0]]
TOY_IN = [[9, 1, 2, 3, 4, 5, 11], [9, 1, 2, 6, 7, 5, 11]]
TOY_OUT = [[1, 2, 3, 4, 5, 11, 10], [1, 2, 6, 7, 5, 11, 10]]
BASE = book.small(book.ARTICLE, src_words=8000, tgt_words=8000)
SMALL = book.small(BASE, d_model=256, d_ff=1024, n_heads=4, n_encoder_layers=3, n_decoder_layers=3)
START = 1  # the id of the symbol that decoding begins with


# The linear map that torch.compile uses for inference; its operands may also be transposed.
ONEDNN = getattr(torch.ops.mkldnn, "_linear_pointwise", None)


def by_onednn(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    """`x w^T + b`"""
    if torch.compiler.is_compiling():
        return opaque(x, w, b)
    return ONEDNN(x, w, b, "none", [], "")


@torch.library.custom_op("bench::linear", mutates_args=())
def opaque(x: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
    """The same, as an operation that torch.compile does not look into: in training it cannot."""
    return ONEDNN(x, w, b, "none", [], "")


@opaque.register_fake
def _(x: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
    return x.new_empty((*x.shape[:-1], w.shape[0]))


def onednn_is_faster() -> bool:
    """PyTorch's default for float32 is MKL, which runs at half its speed on some processors."""
    if ONEDNN is None:
        return False
    x, w = torch.randn(768, 512), torch.randn(512, 512)

    def seconds(product: Callable[[Tensor, Tensor], Tensor]) -> float:
        times = []
        for _ in range(7):
            start = time.perf_counter()
            product(x, w)
            times.append(time.perf_counter() - start)
        return min(times)

    return seconds(by_onednn) < 0.95 * seconds(F.linear)


class OneDNNLinear(torch.autograd.Function):
    """`F.linear`, whose three products are all computed by oneDNN."""

    @staticmethod
    def forward(ctx, x: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, w)
        ctx.has_bias = b is not None
        return by_onednn(x, w, b)

    @staticmethod
    def backward(ctx, dy: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        x, w = ctx.saved_tensors
        rows = dy.reshape(-1, dy.shape[-1])
        dx = by_onednn(rows, w.t()).view_as(x)
        dw = by_onednn(rows.t(), x.reshape(-1, x.shape[-1]).t())
        return dx, dw, rows.sum(0) if ctx.has_bias else None


class FastLinear(nn.Linear):
    """A linear map by oneDNN."""

    packed: Tensor | None = None

    def pack(self, rows: int) -> None:
        """For inference: puts the weight into the order that suits products with this many rows."""
        self.packed = torch.ops.mkldnn._reorder_linear_weight(self.weight.detach(), rows)
        self.weight = None

    def forward(self, x: Tensor) -> Tensor:
        if self.packed is not None:
            return by_onednn(x, self.packed, self.bias)
        if torch.is_autocast_enabled("cpu"):
            return super().forward(x)
        return OneDNNLinear.apply(x, self.weight, self.bias)


def use_onednn(model: nn.Module) -> None:
    for module in model.modules():
        if type(module) is nn.Linear:
            module.__class__ = FastLinear


class FastAttention(nn.Module):
    """Multi-head attention with as few products as possible, and PyTorch's own attention."""

    def __init__(self, o: book.Options, cross: bool) -> None:
        super().__init__()
        self.n_heads = o.n_heads
        d, bias = o.d_model, o.bias_qkv
        self.w_q = nn.Linear(d, d, bias=bias) if cross else None
        self.w_kv = nn.Linear(d, 2 * d, bias=bias) if cross else None
        self.w_qkv = None if cross else nn.Linear(d, 3 * d, bias=bias)
        self.w_o = nn.Linear(d, d, bias=o.bias_out)

    def heads(self, linear: nn.Linear, x: Tensor) -> tuple[Tensor, ...]:
        """`[B, H, L, d_k]` for each of the maps that are stacked in `linear`."""
        y = linear(x).reshape(*x.shape[:2], -1, self.n_heads, x.shape[-1] // self.n_heads)
        return y.permute(2, 0, 3, 1, 4).unbind()

    def attend(self, q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None) -> Tensor:
        if torch.is_autocast_enabled("cpu"):
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
            if keep is not None:
                scores = scores.masked_fill(~keep, -math.inf)
            context = scores.softmax(-1) @ v
        else:
            context = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        return self.w_o(context.transpose(1, 2).flatten(2))

    def forward(self, query: Tensor, key: Tensor, value: Tensor, keep: Tensor) -> Tensor:
        if self.w_qkv is not None:
            q, k, v = self.heads(self.w_qkv, query)
        else:
            (q,), (k, v) = self.heads(self.w_q, query), self.heads(self.w_kv, key)
        return self.attend(q, k, v, keep[:, None])


class FastTransformer(book.Transformer):
    """The book's model with the attention above and a table of positions that is computed once."""

    def __init__(self, o: book.Options) -> None:
        super().__init__(o)
        for layer in self.encoder.layers:
            layer.self_attn = FastAttention(o, cross=False)
        for layer in self.decoder.layers:
            layer.self_attn = FastAttention(o, cross=False)
            layer.multihead_attn = FastAttention(o, cross=True)
        table = book.sinusoid(o.max_len, o.d_model, like=torch.zeros(0))
        self.register_buffer("table", table, persistent=False)

    def pack(self, sentences: int, words: int) -> None:
        """Packs all weights for decoding."""
        use_onednn(self)
        for name, module in self.named_modules():
            if isinstance(module, FastLinear):
                many = name.startswith("encoder") or name.endswith("w_kv")
                module.pack(sentences * words if many else sentences)

    def embed(self, side: str, ids: Tensor, first: int = 0) -> Tensor:
        x = getattr(self, f"{side}_embed")(ids)
        if self.o.scale_embedding:
            x = x * math.sqrt(self.o.d_model)
        return self.position_dropout(x + self.table[first : first + ids.shape[1]])


class CachedDecoder:
    """Hand-written decoding, word by word, that keeps the keys and values of earlier words."""

    def __init__(self, model: FastTransformer, source: Tensor, words: int) -> None:
        self.model, self.place = model, 0
        self.keep = model.keep_words(source[:, :1], source)[:, None]
        memory = model.encode(source)
        self.cross = [
            layer.multihead_attn.heads(layer.multihead_attn.w_kv, memory)
            for layer in model.decoder.layers
        ]
        d_k = model.o.d_model // model.o.n_heads
        shape = (2, len(source), model.o.n_heads, words, d_k)
        self.own = [torch.empty(shape) for _ in model.decoder.layers]

    def step(self, ids: Tensor) -> Tensor:
        x = self.model.embed("tgt", ids, self.place)
        t = self.place + 1
        for layer, own, (cross_k, cross_v) in zip(
            self.model.decoder.layers, self.own, self.cross, strict=True
        ):
            block, cross = layer.self_attn, layer.multihead_attn
            q, own[0, :, :, t - 1 : t], own[1, :, :, t - 1 : t] = block.heads(block.w_qkv, x)
            x = layer.norm1(x + block.attend(q, own[0, :, :, :t], own[1, :, :, :t], None))
            (q,) = cross.heads(cross.w_q, x)
            x = layer.norm2(x + cross.attend(q, cross_k, cross_v, self.keep))
            x = layer.norm3(x + layer.linear2(torch.relu(layer.linear1(x))))
        self.place = t
        return self.model.output(x)[:, -1]


def build(options: book.Options, style: str) -> book.Transformer:
    torch.manual_seed(1)
    return (book.Transformer if style == "eager" else FastTransformer)(options)


def training_step(
    options: book.Options,
    batch: tuple[Tensor, ...],
    optimizer: str,
    style: str,
    wrap: Callable[[nn.Module], nn.Module] = lambda model: model,
    autocast: Callable[[], contextlib.AbstractContextManager] = contextlib.nullcontext,
    mode: str | None = None,  # of torch.compile
) -> Callable[[], object]:
    def loss_of(model: nn.Module, source: Tensor, target_in: Tensor, target_out: Tensor) -> Tensor:
        with autocast():
            return book.loss_of(model(source, target_in), target_out, options.pad)

    return stepping(build(options, style), loss_of, batch, optimizer, style, wrap, mode)


def stepping(
    model: nn.Module,
    loss_of: Callable[..., Tensor],
    batch: tuple[Tensor, ...],
    optimizer: str,
    style: str,
    wrap: Callable[[nn.Module], nn.Module] = lambda model: model,
    mode: str | None = None,
) -> Callable[[], object]:
    model.train()
    if style != "eager" and onednn_is_faster():
        use_onednn(model)
    model = wrap(model)
    fast = {} if style == "eager" else {"fused": True}
    if optimizer == "sgd":
        moving = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.99, **fast)
    else:
        moving = torch.optim.Adam(model.parameters(), lr=1e-4, **fast)
    forward = torch.compile(loss_of, mode=mode) if style == "compile" else loss_of

    def step() -> None:
        moving.zero_grad()
        forward(model, *batch).backward()
        moving.step()

    return step


def llama_step(sentences: int, words: int, style: str) -> Callable[[], object]:
    torch.manual_seed(1)
    options = llama.Options()
    model = llama.Llama(options, words, tuned=style != "eager")
    text = torch.randint(1, options.words, (sentences, words + 1))

    def loss_of(model: nn.Module, read: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(model(read).flatten(0, 1), targets.flatten())

    return stepping(model, loss_of, (text[:, :-1], text[:, 1:]), "adam", style)


def random_batch(options: book.Options, sentences: int, words: int) -> tuple[Tensor, ...]:
    """Random sentences without pads, all of the same length."""
    torch.manual_seed(1)
    sizes = (options.src_words, options.tgt_words, options.tgt_words)
    return tuple(torch.randint(1, n, (sentences, words)) for n in sizes)


def decoding(
    options: book.Options, source: Tensor, start: int, words: int, style: str, cached: bool
) -> Callable[[], object]:
    model = build(options, style).eval()
    if style != "eager" and ONEDNN is not None:
        model.pack(*source.shape)

    @torch.inference_mode()
    def decode() -> Tensor:
        ids = torch.full((len(source), words + 1), start)
        if cached:
            decoder = CachedDecoder(model, source, words)
            for t in range(words):
                ids[:, t + 1] = decoder.step(ids[:, t : t + 1]).argmax(-1)
            return ids
        memory = model.encode(source)
        for t in range(words):
            ids[:, t + 1] = model.decode(ids[:, : t + 1], memory, source)[:, -1].argmax(-1)
        return ids

    return decode


def product(n: int, style: str) -> Callable[[], object]:
    a, b = torch.randn(n, n), torch.randn(n, n)
    if style != "eager" and onednn_is_faster():
        return lambda: by_onednn(a, b.t())
    return lambda: a @ b


def attention(sentences: int, words: int, causal: bool) -> Callable[[], object]:
    """Attention with 8 heads of 64 columns, forward and backward."""
    shape = (sentences, words, 512)
    inputs = [torch.randn(shape, requires_grad=True) for _ in range(3)]
    dy = torch.randn(shape)

    def forward_and_backward() -> tuple[Tensor, ...]:
        heads = (x.unflatten(2, (8, 64)).transpose(1, 2) for x in inputs)
        context = F.scaled_dot_product_attention(*heads, is_causal=causal)
        return torch.autograd.grad(context.transpose(1, 2).flatten(2), inputs, dy)

    return forward_and_backward


def make_work(
    name: str, sentences: int, words: int, style: str, precision: str
) -> Callable[[], object]:
    toy = tuple(torch.tensor(ids) for ids in (TOY_SRC, TOY_IN, TOY_OUT))
    if name == "toy_step":
        return training_step(book.TOY, toy, "sgd", style)
    if name == "toy_decode":
        return decoding(book.TOY, toy[0][:1], start=9, words=7, style=style, cached=False)
    if name == "product":
        return product(1024, style)
    if name == "llama_step":
        return llama_step(sentences, words, style)
    if name.startswith("attention"):
        return attention(sentences, words, causal=name == "attention_causal")
    options = {"base": BASE, "small": SMALL}[name.split("_")[0]]
    batch = random_batch(options, sentences, words)
    if name.endswith("_step"):
        bf16 = {"autocast": partial(torch.autocast, "cpu", torch.bfloat16)}
        return training_step(options, batch, "adam", style, **(bf16 if precision == "bf16" else {}))
    return decoding(options, batch[0], start=1, words=words, style=style, cached=style != "eager")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", help="its name in steps.cpp")
    parser.add_argument("--threads", type=int, default=1, help="number of threads")
    parser.add_argument("--batch", type=int, default=32, help="sentences per batch")
    parser.add_argument("--length", type=int, default=24, help="words of source and of target")
    parser.add_argument("--style", choices=["eager", "tuned", "compile"], default="eager")
    parser.add_argument("--precision", choices=["float", "bf16"], default="float")
    options = parser.parse_args()
    if options.style != "eager":
        torch.set_flush_denormal(True)  # before there are other threads, which inherit it
    torch.set_num_threads(options.threads)
    iterate = make_work(
        options.work, options.batch, options.length, options.style, options.precision
    )
    iterate()
    blas = "MKL" if torch.backends.mkl.is_available() else "no MKL"
    onednn = ", oneDNN" if torch.backends.mkldnn.is_available() else ""
    print(f"ready PyTorch {torch.__version__}, {blas}{onednn}", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        iterate()
        print(1000 * (time.perf_counter() - start), flush=True)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)


if __name__ == "__main__":
    cli.run(main)
