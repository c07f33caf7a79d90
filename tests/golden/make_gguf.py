"""Make small GGUF files: one with a note of every type and a tensor of every kind that the book reads, and a whole model.

    pip install -r tests/golden/requirements.txt
    python tests/golden/make_gguf.py

In the first, all bytes of a tensor are its number in the file, so that a test sees whose bytes it has been shown. The second
is the model of the folder llama/three_key_heads, with the rows of queries and keys in the order that GGUF has for rotary pairs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib/program"))

import cli
import numpy as np
from gguf import GGMLQuantizationType as Kind
from gguf import GGUFReader, GGUFWriter
from gguf import GGUFValueType as Type
from gguf.constants import GGML_QUANT_SIZES
from safetensors.numpy import load_file

FILE = Path(__file__).parent / "kinds.gguf"
BELOW, ABOVE = -(2**63), 2**63 - 1
NUMBERS = {  # the least and the greatest of each type
    Type.UINT8: (0, 255),
    Type.INT8: (-128, 127),
    Type.UINT16: (0, 65535),
    Type.INT16: (-32768, 32767),
    Type.UINT32: (0, 2**32 - 1),
    Type.INT32: (-(2**31), 2**31 - 1),
    Type.UINT64: (0, ABOVE),
    Type.INT64: (BELOW, ABOVE),
    Type.FLOAT32: (-0.5, 1e-5),
    Type.FLOAT64: (-0.5, 1e-5),
    Type.BOOL: (False, True),
    Type.STRING: ("", "Ġ我\0"),
}
TENSORS = {  # sizes outermost first
    "norm": (Kind.F32, (5,)),
    "half": (Kind.F16, (2, 3)),
    "upper half": (Kind.BF16, (3, 1, 2)),
    "bytes": (Kind.Q8_0, (2, 64)),
    "signed": (Kind.Q4_0, (1, 2, 3, 32)),
    "lifted": (Kind.Q4_1, (7, 32)),
}


MODEL = FILE.parent / "llama" / "three_key_heads"
NAMES = {  # in transformers and in GGUF
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "model.layers.": "blk.",
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
CHAT = """{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system
You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>
' }}{% endif %}{{'<|im_start|>' + message['role'] + '
' + message['content'] + '<|im_end|>' + '
'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant
' }}{% endif %}"""


def pairs_together(weight: np.ndarray, heads: int) -> np.ndarray:
    """Rows i and i + d/2 of each head become neighbors."""
    return weight.reshape(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def write_model() -> None:
    config = json.loads((MODEL / "config.json").read_text())
    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    writer = GGUFWriter(FILE.with_name("llama.gguf"), "llama")
    writer.add_vocab_size(config["vocab_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_rope_dimension_count(config["head_dim"])
    special = ["<|im_start|>", "<|im_end|>"]
    pieces = [*special, *"abcdefghijklmnopqrst", "ab"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(pieces)
    writer.add_token_types([3 if piece in special else 1 for piece in pieces])
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(1)
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT)
    for name, weight in load_file(MODEL / "model.safetensors").items():
        for theirs, ours in NAMES.items():
            name = name.replace(theirs, ours)
        n = next((n for part, n in heads.items() if part in name), 0)
        writer.add_tensor(name, pairs_together(weight, n) if n else weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    write_model()
    writer = GGUFWriter(FILE, "llama")
    writer.add_custom_alignment(64)
    for type_, both in NUMBERS.items():
        name = type_.name.lower()
        writer.add_key_value(name, both[1], type_)
        writer.add_key_value(f"{name} list", list(both), Type.ARRAY, type_)
    for number, (name, (kind, shape)) in enumerate(TENSORS.items(), 1):
        numbers, size = GGML_QUANT_SIZES[kind]
        content = np.full((*shape[:-1], shape[-1] // numbers * size), number, np.uint8)
        writer.add_tensor(name, content, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    for tensor in GGUFReader(FILE).tensors:
        if (tensor.tensor_type, tuple(reversed(tensor.shape.tolist()))) != TENSORS[tensor.name]:
            raise cli.Failure(f"the package reads {tensor.name} as {tensor}")
    print(f"{FILE}: {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    cli.run(main)
