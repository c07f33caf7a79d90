"""Record what transformers makes of SmolLM2, decoded from its file, for tests that run where that file is.

    pip install -r tests/golden/requirements.txt
    ./book model smollm2
    python tests/golden/make_smollm2.py

Greedy continuations of the prompts in smollm2.json, its answers to the questions there, and how well it predicts the story of
chapter 15. `least_lead` is the smallest distance between the two likeliest pieces, in logits: nearly equal ones may change places.
The pieces are those of the library `tokenizers`, cut as SmolLM2's own tokenizer.json says; transformers cuts a GGUF's otherwise.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "lib/program"))
os.environ["HF_HUB_OFFLINE"] = "1"

import cli
import torch
import transformers
from gguf import GGUFReader
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

FILE = Path(__file__).with_name("smollm2.json")
MODEL = ROOT / "build/models/smollm2.gguf"
STORY = ROOT / "chapters/15_language_model/data/oven.txt"
SYSTEM = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
END = 2


def read_tokenizer() -> Tokenizer:
    fields = GGUFReader(MODEL).fields
    pieces, types, merges = (fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "token_type", "merges"))
    tokenizer = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, [tuple(m.split(" ")) for m in merges]))
    digits, words = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, words])
    tokenizer.add_special_tokens([AddedToken(p, normalized=False) for p, t in zip(pieces, types, strict=True) if t == 3])
    return tokenizer


@torch.inference_mode()
def greedy(model: transformers.PreTrainedModel, pieces: list[int], most: int, stop: int = -1) -> tuple[list[int], float]:
    more, lead, cache, feed = [], float("inf"), None, pieces
    while len(more) < most and stop not in more:
        result = model(torch.tensor([feed]), past_key_values=cache, use_cache=True)
        best, cache = result.logits[0, -1].topk(2), result.past_key_values
        lead = min(lead, (best.values[0] - best.values[1]).item())
        feed = [best.indices[0].item()]
        more += feed
    return more, round(lead, 4)


def main() -> None:
    known = json.loads(FILE.read_text())
    tokenizer = read_tokenizer()
    model = transformers.AutoModelForCausalLM.from_pretrained(MODEL.parent, gguf_file=MODEL.name, dtype=torch.float32).eval()
    for item in known["continuations"]:
        item["pieces"] = tokenizer.encode(item["prompt"]).ids
        item["more"], item["least_lead"] = greedy(model, item["pieces"], len(item["more"]))
    for item in known["chats"]:
        form = f"{SYSTEM}<|im_start|>user\n{item['question']}<|im_end|>\n<|im_start|>assistant\n"
        item["pieces"] = tokenizer.encode(form).ids
        item["answer"], _ = greedy(model, item["pieces"], 60, END)
    pieces = torch.tensor(tokenizer.encode(STORY.read_text()).ids)
    with torch.inference_mode():
        logits = model(pieces[None]).logits[0, :-1].double()
    surprise = torch.nn.functional.cross_entropy(logits, pieces[1:]).item()
    known |= {"transformers": transformers.__version__, "torch": torch.__version__}
    known["story"] = {"pieces": len(pieces), "surprise": surprise}
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in known.items()]
    FILE.write_text("{\n" + ",\n".join(lines).replace("}, {", "},\n{") + "\n}\n")


if __name__ == "__main__":
    cli.run(main)
