"""The systems that do a work: this book's program, and the peers that a Python has."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from cli import Failure
from turns import System
from works import OURS, Work

HERE = Path(__file__).resolve().parent
TREE = HERE.parent / "build" / "book"
PACKAGES = {"torch": "PyTorch", "ctranslate2": "CTranslate2"}
TURN_MS = 100  # a training step makes hundreds of calls in a row, so that none of them is cold
# For glibc: keeps freed memory, because fresh pages from the system cost time.
KEEP_MEMORY = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TOP_PAD_": str(64 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(16 << 30),
}


def installed(python: Path | str) -> set[str]:
    """The peers' packages that this Python has."""
    script = f"import importlib.util as u\nprint(*[m for m in {[*PACKAGES]} if u.find_spec(m)])"
    try:
        found = subprocess.run(
            [str(python), "-c", script], capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise Failure(f"--python {python}: {error.strerror}") from None
    if found.returncode != 0:
        raise Failure(f"--python {python}: not a working Python")
    return set(found.stdout.split())


def package_of(peer: str) -> str:
    return peer if peer in PACKAGES else "torch"


def peers_for(work: Work, have: set[str], quick: bool) -> list[str]:
    """The peers that can do this work here. A quick run leaves out torch.compile, which takes a minute."""
    peers = [p for p in work.peers if package_of(p) in have]
    return [p for p in peers if not (quick and p == "compile")]


def say_what_is_missing(works: Iterable[Work], have: set[str], python: Path | str) -> None:
    wanted = {package_of(peer) for work in works for peer in work.peers}
    missing = [name for package, name in PACKAGES.items() if package in wanted - have]
    if missing:
        print(
            f"{' and '.join(missing)}: not installed for {python}, so measured without. To install "
            "them:\n  python3 -m venv build/venv-bench && "
            "build/venv-bench/bin/pip install -r bench/requirements.txt"
        )


def systems_for(work: Work, threads: int, python: Path | str, peers: Sequence[str]) -> list[System]:
    count = ["--threads", str(threads)]
    program = str(TREE / "bench" / "bench_steps")
    systems = [System(OURS, (program, work.kind, *work.sizes, *count), turn_ms=TURN_MS)]
    environment = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    for peer in peers:
        tuned = {} if peer == "eager" else KEEP_MEMORY
        if peer == "ctranslate2":
            command = (str(python), str(HERE / "ctranslate2_peer.py"), work.kind)
            pause = 0.25  # its threads spin for 0.2 s
        else:
            style = ["--style", peer]
            command = (str(python), str(HERE / "pytorch_peer.py"), work.kind, *style)
            pause = 0.05
        command = (*command, *work.sizes, *count)
        systems.append(System(peer, command, environment | tuned, pause, TURN_MS))
    return systems
