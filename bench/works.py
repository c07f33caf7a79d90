"""The works that ./book bench measures, and the least time that a machine needs for them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path

OURS = "ours"
PEERS = {
    "eager": "PyTorch as a tutorial writes it",
    "tuned": "PyTorch tuned by hand",
    "compile": "PyTorch tuned, and compiled by torch.compile",
    "ctranslate2": "CTranslate2, float32",
}
OPERATIONS = "operations"  # can be chosen as if it were a work


@dataclass(frozen=True)
class Model:
    """The sizes of a Transformer, and the numbers that follow from them."""

    src_words: int
    tgt_words: int
    d_model: int
    d_ff: int
    n_layers: int  # in the encoder, and as many in the decoder
    biases: bool = True  # and learned norms
    states: int = 2  # numbers that the optimizer keeps per weight

    @property
    def attention(self) -> int:
        return 4 * self.d_model**2

    @property
    def encoder_layer(self) -> int:
        return self.attention + 2 * self.d_model * self.d_ff

    @property
    def decoder_layer(self) -> int:
        return self.encoder_layer + self.attention

    @property
    def cross_maps(self) -> int:
        """A decoder layer's weights that are applied to the source: the maps of keys and values."""
        return self.attention // 2

    @property
    def output(self) -> int:
        return self.d_model * self.tgt_words

    @property
    def matrices(self) -> int:
        """Weights that are used in matrix products."""
        return self.n_layers * (self.encoder_layer + self.decoder_layer) + self.output

    @property
    def parameters(self) -> int:
        d = self.d_model
        vectors = 0
        if self.biases:
            attention, ff, norm = 4 * d, self.d_ff + d, 2 * d
            encoder, decoder = attention + ff + 2 * norm, 2 * attention + ff + 3 * norm
            vectors = self.n_layers * (encoder + decoder) + self.tgt_words
        return self.matrices + (self.src_words + self.tgt_words) * d + vectors


TOY = Model(11, 12, 512, 2048, 6, biases=False, states=1)
BASE = Model(8000, 8000, 512, 2048, 6)
SMALL = Model(8000, 8000, 256, 1024, 3)


@dataclass(frozen=True)
class Need:
    """The least that a work must do: bytes of weights that it reads, bytes that it reads and writes
    in place, and floating-point operations of matrix products. `passes` is how often any of these
    bytes is moved at most; a cache that holds the byte can save all of these moves."""

    read: int
    updated: int
    flops: int
    passes: int = 1


def step_need(m: Model, sentences: int, src: int, tgt: int) -> Need:
    """A training step. Forward reads each matrix. Backward reads it once more for the gradient with
    respect to its input, and can update it then: it reads and writes the weight and the optimizer's
    numbers, and the gradient is never in memory. Activations do not count, although not all of them
    fit into a cache."""
    encoder = m.n_layers * (src * m.encoder_layer + 2 * src * src * m.d_model)
    self_attention, cross = 2 * tgt * tgt * m.d_model, 2 * tgt * src * m.d_model
    own = tgt * (m.decoder_layer - m.cross_maps) + src * m.cross_maps
    decoder = m.n_layers * (own + self_attention + cross)
    products = sentences * (encoder + decoder + tgt * m.output)
    updated = 4 * m.parameters * 2 * (1 + m.states)
    return Need(4 * m.matrices, updated, 3 * 2 * products, passes=3)


def decode_need(m: Model, sentences: int, src: int, words: int, cached: bool) -> Need:
    """Greedy decoding. It reads the weights of the encoder and of the maps of its memory once, and
    then, for each word, all other weights of the decoder; it computes the newest word (with a
    key-value cache) or all words so far. If the weights fit into a cache, less is read."""
    once = m.n_layers * (m.encoder_layer + m.cross_maps)
    each = m.n_layers * (m.decoder_layer - m.cross_maps) + m.output
    products = src * once + m.n_layers * 2 * src * src * m.d_model
    for t in range(1, words + 1):
        rows = 1 if cached else t
        products += rows * (each + m.n_layers * 2 * (t + src) * m.d_model)
    return Need(4 * (once + words * each), 0, 2 * sentences * products, passes=words)


@dataclass(frozen=True)
class Work:
    """One line of the table."""

    name: str
    kind: str  # its name in bench_steps and the peers
    text: str
    need: Need | None = None
    batch: int = 0
    length: int = 0
    peers: tuple[str, ...] = ("eager", "tuned")
    family: str = ""
    busy: bool = False  # measured while other processes keep all processors busy

    @property
    def sizes(self) -> list[str]:
        return ["--batch", str(self.batch), "--length", str(self.length)] if self.batch else []


TRAINING, DECODING = ("eager", "tuned", "compile"), ("eager", "tuned", "ctranslate2")


def step(name: str, m: Model, batch: int, n: int, **more: object) -> Work:
    size, sentences = ("base", "small")[m is SMALL], "sentence" if batch == 1 else "sentences"
    text = f"training step, {size} model, {batch} {sentences} of {n} words, Adam"
    text += ", beside one busy process per processor" if more.get("busy") else ""
    return Work(name, f"{size}_step", text, step_need(m, batch, n, n), batch, n, **more)


def decode(name: str, m: Model, batch: int, n: int) -> Work:
    size, sentences = ("base", "small")[m is SMALL], "sentence" if batch == 1 else "sentences"
    text = f"greedy decoding, {size} model, {batch} {sentences} of {n} words"
    need = decode_need(m, batch, n, n, cached=True)
    return Work(name, f"{size}_decode", text, need, batch, n, DECODING)


def attention(n: int, causal: bool) -> Work:
    """Attention with 8 heads of 64 columns: two products forward and five backward, which computes
    the scores again. What the future hides costs nothing."""
    kind, batch = "attention_causal" if causal else "attention", max(1, 2048 // n)
    name, future = f"{kind}_{n}", ", future hidden" if causal else ""
    sentences = "sentence" if batch == 1 else "sentences"
    text = f"attention, forward and backward, {batch} {sentences} of {n} words{future}"
    pairs = n * (n + 1) // 2 if causal else n * n
    need = Need(0, 0, 7 * 2 * batch * pairs * 512)
    return Work(name, kind, text, need, batch, n, peers=("tuned",), family="attention")


def make_works() -> list[Work]:
    toy = step_need(TOY, 2, 8, 7)
    toy_text = "training step, the toy, 2 sentences of 8 and 7 words, SGD with momentum"
    toy_decode = decode_need(TOY, 1, 8, 7, cached=False)
    return [
        Work("product", "product", "one product of 1024 x 1024 matrices"),
        Work("toy_step", "toy_step", toy_text, toy, peers=TRAINING),
        step("base_step", BASE, 32, 24, peers=TRAINING),
        step("small_step", SMALL, 64, 24, peers=TRAINING),
        Work("toy_decode", "toy_decode", "greedy decoding, the toy, 7 words, no cache", toy_decode),
        decode("base_decode", BASE, 32, 24),
        decode("one_decode", BASE, 1, 24),
        decode("small_decode", SMALL, 32, 24),
        step("busy_step", BASE, 32, 24, peers=TRAINING, busy=True),
        *(step(f"length_{n}", SMALL, 8, n, family="growth") for n in (16, 32, 64, 128, 256, 512)),
        *(step(f"batch_{n}", SMALL, n, 24, family="growth") for n in (1, 4, 16, 64)),
        *(attention(n, c) for c in (False, True) for n in (24, 64, 128, 256, 512, 1024, 2048)),
    ]


WORKS = make_works()


@dataclass(frozen=True)
class Limits:
    """Bytes per second of the three streams, and operations per second of the best product."""

    read: float
    copy: float
    update: float
    product: float


# Shares of an operation's bytes that are read, copied, updated; without an entry, all are copied.
STREAMS = {
    "read": (1, 0, 0),
    "update": (0, 0, 1),
    "cross_entropy": (1, 0, 0),
    "softmax_backward": (1 / 3, 2 / 3, 0),
    "layer_norm_backward": (1 / 3, 2 / 3, 0),
    "sgd": (1 / 5, 0, 4 / 5),
    "adam": (1 / 7, 0, 6 / 7),
}


def read_operations(report: dict) -> list[dict[str, object]]:
    """The medians of Google Benchmark's report."""
    found: dict[tuple[str, int], list[dict]] = {}
    for entry in report["benchmarks"]:
        if entry.get("run_type", "iteration") == "iteration" and not entry.get("error_occurred"):
            name, _, threads = entry["name"].removesuffix("/real_time").rpartition("/threads:")
            found.setdefault((name, int(threads)), []).append(entry)
    unit = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
    operations = []
    for (name, threads), entries in found.items():
        times = [e["real_time"] * unit[e["time_unit"]] for e in entries]
        ms = statistics.median(times)
        operation: dict[str, object] = {"name": name, "threads": threads, "ms": ms}
        operation["times_ms"] = times
        for rate in ("bytes_per_second", "flops_per_second"):
            if rate in entries[0]:
                operation[rate] = statistics.median(e[rate] for e in entries)
        operations.append(operation)
    return operations


def find_limits(operations: list[dict], products: dict[int, float]) -> dict[int, Limits]:
    """The limits by number of threads. `products` holds, by number of threads, the operations per
    second of the best product of any system."""
    limits = {}
    for threads in sorted({o["threads"] for o in operations}):
        own = {o["name"]: o for o in operations if o["threads"] == threads}
        streams = [own[name]["bytes_per_second"] for name in ("read", "copy", "update")]
        rates = [o["flops_per_second"] for name, o in own.items() if name.startswith("matmul")]
        limits[threads] = Limits(*streams, max([*rates, products.get(threads, 0.0)]))
    return limits


def floor(need: Need, limits: Limits) -> dict[str, float]:
    """The least milliseconds for memory traffic and for products, which can overlap."""
    memory = 1e3 * (need.read / limits.read + need.updated / limits.update)
    products = 1e3 * need.flops / limits.product
    return {
        "memory_ms": memory,
        "products_ms": products,
        "floor_ms": max(memory, products),
    }


PASSES = 2  # of a byte in a single operation: it is read and written


def operation_parts(operation: dict, limits: Limits) -> tuple[float, float]:
    """The least milliseconds for an operation's memory traffic, and for its products."""
    seconds = operation["ms"] / 1e3
    memory = products = 0.0
    if "bytes_per_second" in operation:
        amount = operation["bytes_per_second"] * seconds
        shares = STREAMS.get(operation["name"].split("/")[0], (0, 1, 0))
        rates = (limits.read, limits.copy, limits.update)
        memory = amount * sum(share / rate for share, rate in zip(shares, rates, strict=True))
    if "flops_per_second" in operation:
        products = operation["flops_per_second"] * seconds / limits.product
    return 1e3 * memory, 1e3 * products


def cache_bytes(folder: Path = Path("/sys/devices/system/cpu")) -> int | None:
    """Bytes that all caches of this machine hold together, or None if it does not report them."""
    sizes = {}
    for path in folder.glob("cpu[0-9]*/cache/index[0-9]*"):
        try:
            level, kind, shared, size = (
                (path / name).read_text().strip()
                for name in ("level", "type", "shared_cpu_list", "size")
            )
        except OSError:
            continue
        unit = {"K": 1 << 10, "M": 1 << 20}.get(size[-1:], 0)
        if kind != "Instruction" and unit and size[:-1].isdigit():
            sizes[level, kind, shared] = int(size[:-1]) * unit
    return sum(sizes.values()) or None


def least_ms(
    memory_ms: float, products_ms: float, passes: int, cache: int | None, limits: Limits
) -> float:
    """The time that no run can beat, even if the caches are full of the right bytes and save all of
    their passes. If the size of the caches is unknown, only products count."""
    if cache is None:
        return products_ms
    saved_ms = 1e3 * passes * cache / min(limits.read, limits.copy, limits.update)
    return max(products_ms, memory_ms - saved_ms)


def beats(ms: float, least: float) -> bool:
    """Whether a time is more than 5 % below the least: then the time or the floor is wrong."""
    return ms < 0.95 * least
