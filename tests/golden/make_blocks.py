"""Writes blocks.json: numbers, the blocks to which the package gguf rounds them, and what it reads in those blocks.

    python3 -m venv /tmp/gguf && /tmp/gguf/bin/pip install gguf==0.19.0
    /tmp/gguf/bin/python tests/golden/make_blocks.py

The tests read blocks.json alone and need no Python.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib/program"))

import cli
import numpy as np
from gguf import GGMLQuantizationType, quants

HERE = Path(__file__).resolve().parent
KINDS = ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1")


def difficult() -> np.ndarray:
    """Blocks of 32 numbers, each as a hard case needs them."""
    draw = np.random.default_rng(15)
    x = draw.standard_normal((10, 32)).astype(np.float32)
    x[1] = 0
    x[2] = 5  # all equal: for Q4_1 the scale is 0
    x[3, 7] = -9  # the number of largest size is negative, and the scale of Q4_0 positive
    x[4, 7] = 9
    x[5] = np.arange(32) / 2 - 8  # many lie in the middle between two of the numbers that blocks have
    x[6] *= 1e-5  # the scale is subnormal in fp16
    x[7] *= 1e-9  # and here 0
    x[8] = np.abs(x[8]) + 100  # a minimum far from 0
    x[9, ::3] = 0
    return x


def short(numbers: np.ndarray) -> list[float]:
    """The fewest digits that are read as these floats again."""
    texts = [float(str(number)) for number in numbers.ravel()]
    assert np.array_equal(np.array(texts).astype(np.float32), numbers.ravel())
    return texts


def main() -> None:
    x = difficult()
    document = {"made_by": f"gguf {version('gguf')}", "numbers": short(x), "kinds": {}}
    for name in KINDS:
        kind = GGMLQuantizationType[name]
        blocks = np.ascontiguousarray(quants.quantize(x, kind))
        read = quants.dequantize(blocks, kind).astype(np.float32)
        document["kinds"][name] = {"bytes": blocks.view(np.uint8).ravel().tolist(), "numbers": short(read)}
    text = json.dumps(document, separators=(",", ":")).replace('{"bytes"', '\n{"bytes"')
    (HERE / "blocks.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    cli.run(main)
