"""The works that ./book bench measures, and the systems that do them."""

import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from cli import Failure
from turns import OURS, System

HERE = Path(__file__).resolve().parent
PROGRAM = HERE.parent / "build" / "book" / "bench" / "bench_steps"
PEERS = {
    "eager": "PyTorch as a tutorial writes it",
    "tuned": "PyTorch tuned by hand",
    "compile": "PyTorch tuned, and compiled by torch.compile",
    "ctranslate2": "CTranslate2",
    "llama_cpp": "llama.cpp, through llama-cpp-python",
    "transformers": "transformers on PyTorch, with the weights in float",
}
PACKAGES = {
    "torch": "PyTorch",
    "ctranslate2": "CTranslate2",
    "llama_cpp": "llama-cpp-python",
    "transformers": "transformers",
}
MODEL = HERE.parent / "build" / "models" / "smollm2.gguf"
TURN_MS = 100  # a training step makes hundreds of calls in a row, so that none of them is cold
# For glibc: keeps freed memory, because fresh pages from the system cost time.
KEEP_MEMORY = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TOP_PAD_": str(64 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(16 << 30),
}


@dataclass(frozen=True)
class Work:
    """One line of the table."""

    name: str
    kind: str  # its name in bench_steps and the peers
    text: str
    batch: int = 1
    length: int = 1
    peers: tuple[str, ...] = ("eager", "tuned")
    family: str = ""
    busy: bool = False  # measured while other processes keep all processors busy
    precision: str = "float"  # of products: float, bf16 or int8
    model: Path | None = None  # a file with a published model

    @property
    def options(self) -> list[str]:
        sizes = ["--batch", str(self.batch), "--length", str(self.length)]
        more = ["--model", str(self.model)] if self.model else []
        return [*sizes, *more] if self.precision == "float" else [*sizes, "--precision", self.precision]


TRAINING, DECODING = ("eager", "tuned", "compile"), ("eager", "tuned", "ctranslate2")


def sized(batch: int, n: int) -> str:
    return f"{batch} {'sentence' if batch == 1 else 'sentences'} of {n} words"


def step(name: str, size: str, batch: int, n: int, **more: object) -> Work:
    text = f"training step, {size} model, {sized(batch, n)}, Adam"
    text += ", beside one busy process per processor" if more.get("busy") else ""
    return Work(name, f"{size}_step", text, batch, n, **more)


def decode(name: str, size: str, batch: int, n: int) -> Work:
    text = f"greedy decoding, {size} model, {sized(batch, n)}"
    return Work(name, f"{size}_decode", text, batch, n, DECODING)


def rounded(work: Work, precision: str, peers: tuple[str, ...]) -> Work:
    """The same with products of fewer bits."""
    name, text = f"{work.name}_{precision}", f"{work.text}, products in {precision}"
    return replace(work, name=name, text=text, peers=peers, family="precision", precision=precision)


def attention(n: int, causal: bool) -> Work:
    kind, batch = "attention_causal" if causal else "attention", max(1, 2048 // n)
    text = f"attention, forward and backward, {sized(batch, n)}{', future hidden' if causal else ''}"
    return Work(f"{kind}_{n}", kind, text, batch, n, ("tuned",), "attention")


def published(kind: str, text: str, n: int, peers: tuple[str, ...]) -> Work:
    return Work(f"published_{kind}", f"published_{kind}", text, 1, n, peers, "published", model=MODEL)


TOY_STEP = "training step, the toy, 2 sentences of 8 and 7 words, SGD with momentum"
LLAMA_STEP = "training step, chapter 15's Llama of 4 layers, 4 texts of 256 words, Adam"
WORKS = [
    Work("product", "product", "one product of 1024 x 1024 matrices"),
    Work("toy_step", "toy_step", TOY_STEP, peers=TRAINING),
    step("base_step", "base", 32, 24, peers=TRAINING),
    step("small_step", "small", 64, 24, peers=TRAINING),
    Work("toy_decode", "toy_decode", "greedy decoding, the toy, 7 words, no cache"),
    decode("base_decode", "base", 32, 24),
    decode("one_decode", "base", 1, 24),
    decode("small_decode", "small", 32, 24),
    Work("llama_step", "llama_step", LLAMA_STEP, 4, 256, TRAINING),
    step("busy_step", "base", 32, 24, peers=TRAINING, busy=True),
    *(step(f"length_{n}", "small", 8, n, family="growth") for n in (16, 32, 64, 128, 256, 512)),
    *(step(f"batch_{n}", "small", n, 24, family="growth") for n in (1, 4, 16, 64)),
    *(attention(n, c) for c in (False, True) for n in (24, 64, 128, 256, 512, 1024, 2048)),
    rounded(step("base_step", "base", 32, 24), "bf16", TRAINING),
    rounded(step("small_step", "small", 64, 24), "bf16", TRAINING),
    rounded(decode("base_decode", "base", 32, 24), "int8", ("ctranslate2",)),
    rounded(decode("one_decode", "base", 1, 24), "int8", ("ctranslate2",)),
    published("tokens", "128 words of a published model, greedily, one by one", 128, ("llama_cpp",)),
    published("prompt", "a text of 256 words, read by a published model", 256, ("llama_cpp", "transformers")),
]


def installed(python: Path | str) -> set[str]:
    """The peers' packages that this Python has."""
    script = f"import importlib.util as u\nprint(*[m for m in {[*PACKAGES]} if u.find_spec(m)])"
    try:
        found = subprocess.run([python, "-c", script], capture_output=True, text=True, check=True)
    except OSError as error:
        raise Failure(f"--python {python}: {error.strerror}") from None
    except subprocess.CalledProcessError:
        raise Failure(f"--python {python}: not a working Python") from None
    return set(found.stdout.split())


def package_of(peer: str) -> str:
    return peer if peer in PACKAGES else "torch"


def with_model(works: list[Work], model: Path) -> list[Work]:
    """The works, with this file in those of a published model, or without them if there is none."""
    wanted = [w for w in works if w.model]
    if wanted and not model.is_file():
        names = " and ".join(w.name for w in wanted)
        print(f"{names}: there is no {model}, so not measured; ./book model smollm2 downloads it")
        return [w for w in works if not w.model]
    return [replace(w, model=model.resolve()) if w.model else w for w in works]


def say_what_is_missing(works: list[Work], have: set[str], python: Path | str) -> None:
    wanted = {package_of(peer) for work in works for peer in work.peers}
    missing = [name for package, name in PACKAGES.items() if package in wanted - have]
    if missing:
        print(
            f"{' and '.join(missing)}: not installed for {python}, so measured without. To install "
            "them:\n  python3 -m venv build/venv-bench && "
            "build/venv-bench/bin/pip install -r bench/requirements.txt"
        )


def systems_for(work: Work, threads: int, python: Path | str, have: set[str], quick: bool) -> list[System]:
    """This book's program, and the peers that can do this work here. A quick run leaves out
    torch.compile and transformers, which take a minute to start."""
    options = (*work.options, "--threads", str(threads))
    systems = [System(OURS, (str(PROGRAM), work.kind, *options), turn_ms=TURN_MS)]
    environment = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    for peer in work.peers:
        if package_of(peer) not in have or (quick and peer in ("compile", "transformers")):
            continue
        tuned = {} if peer == "eager" else KEEP_MEMORY
        script, style, pause = "pytorch_peer.py", ["--style", peer], 0.05
        if peer == "ctranslate2":
            script, style, pause = "ctranslate2_peer.py", [], 0.25  # its threads spin for 0.2 s
        if work.model:
            script, style = "published_peer.py", ["--system", peer]
        command = (str(python), str(HERE / script), work.kind, *style, *options)
        systems.append(System(peer, command, environment | tuned, pause, TURN_MS))
    return systems
