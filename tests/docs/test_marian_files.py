"""Models of the book as models of the transformers library, where that is installed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "chapters/13_real_translation/marian_files.py"
NEEDED = ("torch", "transformers", "safetensors", "sentencepiece")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]

if not MISSING:
    sys.path.insert(0, str(ROOT / "tests/golden"))
    import torch
    from checkpoint import write
    from safetensors.torch import load_file, save_file
    from transformer import ARTICLE, MARIAN, NOTEBOOK, SHARED_HEADS, TOY, Options, Transformer, small
    from transformers import MarianMTModel, MarianTokenizer

WORDS = {
    "source_words": ["P", *"abcdefghijkl"],
    "target_words": ["P", "S", "E", *"nopqrstuvw"],
}


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@unittest.skipIf(MISSING, f"not installed: {', '.join(MISSING)}")
class Export(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def model(self, system: Options, **changes) -> tuple[Transformer, Path]:
        """A small model of random weights with its checkpoint."""
        sizes = {
            "src_words": 13,
            "tgt_words": 13,
            "n_encoder_layers": 2,
            "n_decoder_layers": 1,
            "d_model": 12,
            "n_heads": 3,
            "d_ff": 17,
            "max_len": 20,
        }
        torch.manual_seed(1)
        model = Transformer(small(system, **sizes | changes)).eval()
        with torch.no_grad():
            for p in model.parameters():
                p.copy_(p + 0.3 * torch.randn(p.shape))
        file = self.folder / "model.safetensors"
        write(file, model, WORDS)
        return model, file

    @torch.no_grad() if not MISSING else (lambda f: f)
    def distance(self, model: Transformer, marian: MarianMTModel) -> float:
        """Between the logits of both, relative to the largest."""
        src = torch.tensor([[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 0, 0]])
        tgt = torch.tensor([[1, 3, 4, 5, 6], [1, 7, 8, 9, 10]])
        expected = model.double()(src, tgt)
        mask = (src != 0).long()
        found = marian.double()(input_ids=src, attention_mask=mask, decoder_input_ids=tgt).logits
        return float((found - expected).abs().max() / expected.abs().max())

    def test_logits_are_the_book_s(self) -> None:
        for name, system, changes in (
            ("article", ARTICLE, {}),
            ("notebook", NOTEBOOK, {"d_model": 15, "n_heads": 5}),
            ("toy", TOY, {}),
            ("marian", MARIAN, {}),
            ("tied target", ARTICLE, {"tied_embeddings": "target"}),
            ("another scale", NOTEBOOK, {"attention_scale": 0.2}),
            ("no output bias", MARIAN, {"output_bias": False}),
        ):
            with self.subTest(name):
                model, file = self.model(system, **changes)
                done = run("export", file, self.folder / "marian")
                self.assertEqual(done.returncode, 0, done.stderr)
                marian = MarianMTModel.from_pretrained(self.folder / "marian").eval()
                self.assertLess(self.distance(model, marian), 1e-6)  # its positions are single
                self.assertEqual(marian.config.decoder_start_token_id, 1)
                self.assertEqual(marian.config.eos_token_id, 2)
                self.assertEqual(marian.generation_config.bad_words_ids, [[0], [1]])
                self.assertEqual(marian.generation_config.max_length, 20)

    def test_what_marian_cannot_be_is_refused(self) -> None:
        for system, changes, message in (
            (ARTICLE, {"norm_placement": "pre"}, 'norm_placement is "pre", expected "post"'),
            (SHARED_HEADS, {"positions": "sinusoid"}, "shared_head_projections is true"),
            (NOTEBOOK, {"positions": "learned"}, 'positions is "learned"'),
            (NOTEBOOK, {"norm_eps": 1e-3}, "norm_eps is 0.001"),
        ):
            with self.subTest(message):
                _, file = self.model(system, **changes)
                done = run("export", file, self.folder / "marian")
                self.assertEqual(done.returncode, 1)
                self.assertIn(message, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)

    def test_a_model_with_subwords_gets_its_tokenizer(self) -> None:
        import io

        import sentencepiece

        pieces = {}
        for side, text in (("source", "two dogs and two cats"), ("target", "the dog and the cat")):
            out = io.BytesIO()
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter([text] * 5),
                model_writer=out,
                vocab_size=300,
                model_type="bpe",
                byte_fallback=True,
                hard_vocab_limit=False,
                normalization_rule_name="identity",
                pad_id=0,
                unk_id=1,
                bos_id=2,
                eos_id=3,
                minloglevel=2,
            )
            pieces[side] = out.getvalue()
        loaded = {
            n: sentencepiece.SentencePieceProcessor(model_proto=m) for n, m in pieces.items()
        }
        _, file = self.model(
            ARTICLE,
            src_words=loaded["source"].get_piece_size(),
            tgt_words=loaded["target"].get_piece_size(),
        )
        notes = {"options": json.dumps(asdict(self.model_options(file)))}
        notes |= {f"{side}_subwords": model.hex() for side, model in pieces.items()}
        save_file(load_file(file), file, notes)
        done = run("export", file, self.folder / "marian")
        self.assertEqual(done.returncode, 0, done.stderr)
        tokenizer = MarianTokenizer.from_pretrained(self.folder / "marian")
        text = "cats and 我"
        self.assertEqual(tokenizer(text)["input_ids"], [*loaded["source"].encode(text), 3])
        said = loaded["target"].encode("the cat and 友 dog")
        self.assertEqual(tokenizer.decode([*said, 3], skip_special_tokens=True), "the cat and 友 dog")
        model = MarianMTModel.from_pretrained(self.folder / "marian")
        self.assertEqual(model.config.pad_token_id, 0)
        self.assertEqual(model.config.decoder_start_token_id, 2)
        self.assertEqual(model.config.eos_token_id, 3)

    def model_options(self, file: Path) -> Options:
        from safetensors import safe_open

        with safe_open(file, "pt") as opened:
            return Options.read(opened.metadata()["options"])

    def test_weights_of_pytorch_become_safetensors(self) -> None:
        model, file = self.model(MARIAN)
        folder = self.folder / "marian"
        run("export", file, folder)
        state = load_file(folder / "model.safetensors")
        torch.save(state, folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
        done = run("safetensors", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(self.distance(model, MarianMTModel.from_pretrained(folder)), 1e-6)
        self.assertTrue((folder / "model.safetensors").exists())

    def test_a_file_that_is_no_model_of_the_book_is_refused(self) -> None:
        file = self.folder / "other.safetensors"
        save_file({"a": torch.zeros(2)}, file)
        done = run("export", file, self.folder / "marian")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not a model of this book", done.stderr)
