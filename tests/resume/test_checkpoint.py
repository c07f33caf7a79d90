"""Checkpoints of chapter 9, and how chapter 10 finds them: a model takes no other's place, and what cannot be saved is not trained.

ABH_TRAINING and ABH_DECODING name the programs of chapters 9 and 10.
"""

import json
import os
import resource
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

TRAINING, DECODING = os.environ.get("ABH_TRAINING", ""), os.environ.get("ABH_DECODING", "")
LINE = "我 有 一 个 好 朋 友 P"


@unittest.skipUnless(TRAINING and DECODING, "ABH_TRAINING and ABH_DECODING name no programs")
class Checkpoints(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = Path(folder.name)
        self.checkpoints = self.place / "checkpoints"
        options = json.loads(self.runs(TRAINING, "--show-config").stdout)
        options |= {"d_model": 16, "d_ff": 16, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 1}
        self.tiny = self.place / "tiny.json"
        self.tiny.write_text(json.dumps(options))

    def runs(self, program: str, *options: str | Path, **keywords: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, "--threads", "1", *map(str, options)], capture_output=True, text=True, errors="replace", timeout=300, check=False,
            env={**os.environ, "ABH_CHECKPOINTS": str(self.checkpoints)}, **keywords,
        )  # fmt: skip

    def trains(self, *options: str | Path) -> None:
        done = self.runs(TRAINING, "--config", self.tiny, "--epochs", "2", *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def refused(self, *options: str | Path, **keywords: object) -> str:
        """What a training says that ends with one line before it begins."""
        done = self.runs(TRAINING, "--config", self.tiny, "--epochs", "2", *options, **keywords)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
        self.assertNotIn("Epoch", done.stdout)
        return done.stderr

    def saved(self) -> list[str]:
        return sorted(path.name for path in self.checkpoints.iterdir()) if self.checkpoints.is_dir() else []

    def test_another_model_or_training_takes_no_other_ones_place(self) -> None:
        for options in ((), ("--epochs", "1"), ("--lr", "0.01"), ("--seed", "2")):
            more = [word for word in ("--epochs", "2") if "--epochs" not in options]
            done = self.runs(TRAINING, "--config", self.tiny, *more, *options)
            self.assertEqual(done.returncode, 0, done.stderr)
        names = self.saved()
        self.assertEqual([name.partition("-model=")[0] for name in names], ["toy"] * 4)
        for name, end in zip(names, ("1-seed1", "2-lr=0.01-seed1", "2-seed1", "2-seed2"), strict=True):
            self.assertRegex(name, rf"^toy-model=[0-9a-f]{{8}}-epochs={end}\.safetensors$")

    def test_a_program_says_what_it_translates_with(self) -> None:
        file = self.checkpoints / "toy-seed1.safetensors"
        self.trains("--checkpoint", file, "--lr", "0.01")
        before = file.read_bytes()
        self.trains()
        self.assertEqual((file.read_bytes(), len(self.saved())), (before, 2))
        said = self.runs(DECODING, "--translate", LINE)
        self.assertEqual(said.returncode, 0, said.stderr)
        lines = said.stdout.split("== Checkpoint ==\n")[1].splitlines()
        self.assertEqual(lines[0], str(file))
        self.assertRegex(lines[1], "^toy, seed 1, model=[0-9a-f]{8}, epochs 2, .*lr 0.01, .*way fast$")

    def test_one_of_other_words_is_refused_and_the_new_words_are_named(self) -> None:
        self.trains("--checkpoint", self.checkpoints / "grammar-seed1.safetensors")  # of the toy
        done = self.runs(DECODING, "--corpus", "grammar")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
        self.assertRegex(done.stderr, "its words are not those of the corpus grammar, which also has .* 这 .* this; name another")

    def test_one_that_is_missing_is_named_before_it_is_trained(self) -> None:
        self.trains()
        process = subprocess.Popen(
            [DECODING, "--threads", "1"], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "ABH_CHECKPOINTS": str(self.checkpoints)},
        )  # fmt: skip
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        self.assertIn(f"{self.checkpoints}/toy-seed1.safetensors is missing", line)
        self.assertIn("./book run 09", line)
        self.assertIn("--checkpoint", line)

    def test_what_cannot_be_saved_is_not_trained(self) -> None:
        latin1 = self.place / "latin1.tsv"
        latin1.write_bytes(b"a \xe9\tI want\nb\tyou\n")
        self.assertIn("UTF-8", self.refused("--data", latin1))
        self.assertIn("Is a directory", self.refused("--checkpoint", self.place))

        def small_files() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

        self.assertIn("File too large", self.refused(preexec_fn=small_files, restore_signals=False))
        self.assertEqual(self.saved(), [])

    def test_a_checkpoint_is_no_other_file_of_the_run(self) -> None:
        pairs = self.place / "pairs.tsv"
        pairs.write_text("a b\tx\n")
        for options, file in ((("--data", pairs), pairs), ((), self.tiny), (("--profile", self.place / "trace"), self.place / "trace")):
            before = file.read_bytes() if file.exists() else None
            line = self.refused(*options, "--checkpoint", f"{file.parent}/checkpoints/../{file.name}")
            self.assertIn(f"{file} cannot be the checkpoint and something else", line)
            self.assertEqual(file.read_bytes() if file.exists() else None, before)
