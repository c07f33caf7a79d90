"""Make small Llama models as the transformers library stores them, and what it makes of them.

    pip install -r tests/golden/requirements.txt
    python tests/golden/make_llama.py

Each folder under tests/golden/llama holds config.json and model.safetensors, as the library writes them, and

    expected.safetensors  `prompt`, the ids of a text; the `logits` of its words in double precision;
                          and `found`, the likeliest words that follow it, one after another

Weights are drawn from seeds. Numbers that are stored in 16 bits are rounded before anything is computed with them.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib/program"))

import cli
import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

HERE = Path(__file__).parent / "llama"
PROMPT, FOUND = 5, 12  # words
MARGIN = 1e-2  # by which each found word must be likelier than the next one, in logits


@dataclass
class Shape:
    """What a model of this file is like."""

    name: str
    seed: int
    width: int
    heads: int
    kv_heads: int
    d_ff: int
    layers: int = 2
    words: int = 23
    base: float = 10000.0
    eps: float = 1e-5
    tied: bool = False
    dtype: torch.dtype = torch.float32


SHAPES = [
    Shape("one_key_head", 1, width=24, heads=6, kv_heads=1, d_ff=17, layers=1),
    Shape("three_key_heads", 2, width=24, heads=6, kv_heads=3, d_ff=13, base=500000.0, tied=True),
    Shape("all_key_heads", 3, width=24, heads=6, kv_heads=6, d_ff=11, layers=1, eps=1e-6),
    Shape("odd", 4, width=18, heads=3, kv_heads=3, d_ff=7, layers=3, words=29, tied=True),
    Shape("one_head", 5, width=10, heads=1, kv_heads=1, d_ff=1, base=500000.0),
    Shape("half", 6, width=24, heads=6, kv_heads=3, d_ff=19, words=31, dtype=torch.bfloat16),
]


def make_model(shape: Shape) -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=shape.words,
        hidden_size=shape.width,
        intermediate_size=shape.d_ff,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        rms_norm_eps=shape.eps,
        rope_parameters={"rope_type": "default", "rope_theta": shape.base},
        tie_word_embeddings=shape.tied,
        max_position_embeddings=64,
        bos_token_id=None,
        eos_token_id=None,
    )
    model = LlamaForCausalLM(config).eval()
    random = torch.Generator().manual_seed(shape.seed)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            normal = torch.randn(p.shape, generator=random)
            if p.dim() == 1:
                p.copy_(1 + 0.3 * normal)
            else:  # queries and keys so large that it matters where a head looks
                large = 2 if "q_proj" in name or "k_proj" in name or "embed" in name else 1
                p.copy_(large * normal / p.shape[-1] ** 0.5)
    return model.to(shape.dtype)


@torch.no_grad()
def continued(model: LlamaForCausalLM, prompt: Tensor) -> tuple[Tensor, float]:
    """The likeliest words, the whole text computed anew for each; and the narrowest choice."""
    ids, narrowest = prompt, float("inf")
    for _ in range(FOUND):
        best = model(ids).logits[0, -1].topk(2)
        narrowest = min(narrowest, float(best.values[0] - best.values[1]))
        ids = torch.cat([ids, best.indices[:1][None]], 1)
    return ids[0, prompt.shape[1] :], narrowest


def expect(shape: Shape, folder: Path) -> bool:
    """Writes what is expected of the model; false if it is too dull or hangs on rounding."""
    double = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    random = torch.Generator().manual_seed(shape.seed + 50)
    prompt = torch.randint(0, shape.words, (1, PROMPT), generator=random)
    found, narrowest = continued(double, prompt)
    generated = double.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=FOUND, do_sample=False
    )
    assert generated[0, PROMPT:].equal(found), f"{shape.name}: generate finds other words"
    with torch.no_grad():
        logits = double(prompt).logits
    save_file(
        {"prompt": prompt.float(), "logits": logits, "found": found.float()},
        folder / "expected.safetensors",
    )
    largest, distinct = float(logits.abs().max()), len(set(found.tolist()))
    print(f"{shape.name}: seed {shape.seed}, {narrowest:.2g}, {distinct} words, logits to {largest:.1f}")
    return narrowest > MARGIN and distinct >= 6


def main() -> None:
    torch.set_num_threads(1)
    for shape in SHAPES:
        folder = HERE / shape.name
        while True:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            make_model(shape).save_pretrained(folder)
            (folder / "generation_config.json").unlink(missing_ok=True)
            if expect(shape, folder):
                break
            shape.seed += 1000
        files = {file.name: file.stat().st_size for file in sorted(folder.iterdir())}
        print(f"{shape.name}: {files}, {sum(files.values())} bytes")


if __name__ == "__main__":
    cli.run(main)
