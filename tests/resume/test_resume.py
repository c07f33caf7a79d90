"""Training that is killed, goes on, and ends with the same bits; and what else can happen to it.

ABH_PROGRAM names the program of chapter 13.
"""

import os
import random
import resource
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM = os.environ.get("ABH_PROGRAM", "")
OPTIONS = (
    "--d-model 16 --d-ff 16 --heads 2 --layers 1 --pieces 330 --tokens 120 --dropout 0.1 "
    "--warmup 20 "
    "--epochs 30 --minutes 0 --patience 0 --save-minutes 0 --average 2 --threads 1 --accumulate 2"
).split()
WHO = {"我": "I", "你": "you", "他": "he", "她": "she", "我们": "we"}
DOES = {"看见": "saw", "喜欢": "liked", "认识": "knew", "找到": "found"}
WHAT = {
    "狗": "the dog", "猫": "the cat", "书": "the book",
    "朋友": "a friend", "老师": "the teacher", "海": "the sea",
}


def pairs() -> list[str]:
    """Chinese, tab, English: each sentence once."""
    return [f"{a}{b}{c}。\t{WHO[a]} {DOES[b]} {WHAT[c]}." for a in WHO for b in DOES for c in WHAT]


def small_files() -> None:
    """The process that begins cannot write more than 5,000 bytes to a file."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))


def run(*command: str | Path, **keywords: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300, check=False, **keywords)


def about_errors(said: str) -> list[str]:
    """What a program says besides that this small model has not learned much."""
    return [line for line in said.strip().split("\n") if line and not line.startswith("epoch ")]


class Runs(unittest.TestCase):
    """A run that nothing interrupts, in the folder `whole`, and others to compare with it."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.place = Path(cls.folder.name)
        lines = pairs()
        random.Random(5).shuffle(lines)
        for name, some in (("train", lines[20:]), ("dev", lines[:10]), ("test", lines[10:20])):
            (cls.place / f"{name}.tsv").write_text("\n".join(some) + "\n", encoding="utf-8")
        cls.whole = cls.place / "whole"
        start = time.monotonic()
        cls.output = cls.run_whole(cls.whole)
        cls.seconds = time.monotonic() - start

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    @classmethod
    def options(cls, save: Path, *more: str) -> list[str]:
        options = list(OPTIONS)
        for name in ("train", "dev", "test"):
            options += [f"--{name}", str(cls.place / f"{name}.tsv")]
        for name in more:  # another value takes the place of the usual one
            if name.startswith("--") and name in options:
                at = options.index(name)
                del options[at : at + 2]
        return ["train", *options, "--save", str(save), *more]

    @classmethod
    def command(cls, save: Path, *more: str) -> list[str]:
        return [PROGRAM, *cls.options(save, *more)]

    @classmethod
    def run_whole(cls, save: Path, *more: str) -> str:
        done = run(*cls.command(save, *more))
        if done.returncode != 0 or about_errors(done.stderr):
            raise AssertionError(f"{done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def one_line(self, done: subprocess.CompletedProcess[str]) -> str:
        """What a command says that must end with status 1 and one line."""
        self.assertEqual(done.returncode, 1, done.stderr)
        lines = about_errors(done.stderr)
        self.assertEqual(len(lines), 1, done.stderr)
        return lines[0]

    def fails(self, save: Path, *more: str, **keywords: object) -> str:
        return self.one_line(run(*self.command(save, *more), **keywords))

    def assert_same(self, save: Path) -> None:
        """Every file of weights has the same bytes as that of the run that nothing interrupted."""
        for file in sorted(self.whole.glob("*.safetensors")):
            if file.name != "state.safetensors":  # it holds times, too
                self.assertEqual((save / file.name).read_bytes(), file.read_bytes(), file.name)

    def assert_same_report(self, output: str) -> None:
        self.assertEqual(output.split("== Sentences")[1], self.output.split("== Sentences")[1])


def going_on(save: Path) -> list[str]:
    return ["--resume"] * (save / "state.safetensors").exists()


@unittest.skipUnless(PROGRAM, "ABH_PROGRAM names no program")
class RunOfTraining(Runs):
    interrupted = 0

    def killed(self, save: Path, moment: str, draw: random.Random) -> bool:
        """Runs, kills at a moment, says whether a file was being written; counts kills in time."""
        command = self.command(save, *going_on(save))
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            if moment == "any time":
                time.sleep(draw.uniform(0, 0.1 * self.seconds))
            else:  # the beginning of a file of the run that is being written, the second or a later one
                files: set[str] = set()
                wanted = draw.randint(2, 4)
                while len(files) < wanted and process.poll() is None:
                    if save.is_dir():
                        names = [name for name in os.listdir(save) if ".part" in name]
                        files |= {name for name in names if name.startswith(("state", "epoch"))}
        finally:
            process.send_signal(signal.SIGKILL)
            self.interrupted += process.wait() == -signal.SIGKILL
        return any(".part" in name for name in os.listdir(save)) if save.is_dir() else False

    def test_the_same_command_gives_the_same_bits(self) -> None:
        save = self.place / "again"
        output = self.run_whole(save)
        self.assert_same(save)
        self.assert_same_report(output)

    def test_killed_at_twenty_moments_it_ends_with_the_same_bits(self) -> None:
        save, draw, writing = self.place / "killed", random.Random(time.time()), 0
        self.interrupted = 0
        for i in range(20):
            writing += self.killed(save, "any time" if i % 2 else "while a file is written", draw)
        self.assertGreaterEqual(writing, 3, "too few kills came while a file was written")
        self.assertGreaterEqual(self.interrupted, 15, "too few kills came before the end")
        output = self.run_whole(save, *going_on(save))
        self.assert_same(save)
        self.assert_same_report(output)
        self.assertEqual([name for name in os.listdir(save) if ".part" in name], [])

    def test_a_full_disk_is_one_line_and_what_was_saved_stays(self) -> None:
        save = self.place / "full"
        self.killed(save, "while a file is written", random.Random(3))
        before = (save / "state.safetensors").read_bytes()
        line = self.fails(save, "--resume", preexec_fn=small_files, restore_signals=False)
        self.assertRegex(line, r"cannot write .*full/(state|epoch-\d+)\.safetensors: File too large")
        self.assertEqual(before, (save / "state.safetensors").read_bytes())
        self.assertEqual([name for name in os.listdir(save) if ".part" in name], [])
        self.run_whole(save, "--resume")
        self.assert_same(save)

    def test_what_cannot_be_saved_is_found_before_the_first_step(self) -> None:
        save = self.place / "no-room"
        line = self.fails(save, preexec_fn=small_files, restore_signals=False)
        self.assertIn("state.safetensors: File too large", line)
        (save / "test.source.txt").mkdir()
        self.assertIn("test.source.txt: Is a directory", self.fails(save))

    def test_a_run_that_goes_on_finds_the_weights_that_it_needs(self) -> None:
        save = self.place / "weights"
        self.run_whole(save, "--epochs", "3")
        for file in sorted(save.glob("epoch-*.safetensors"))[-2:]:  # --average 2
            content = file.read_bytes()
            for change in (file.unlink, lambda file=file, content=content: file.write_bytes(content[:-4])):
                change()
                for more in ((), ("--epochs", "3")):  # also where no epoch is left to train
                    line = self.fails(save, "--resume", *more)
                    for part in (file.name, "put it back", "leave out --resume"):
                        self.assertIn(part, line)
                file.write_bytes(content)
        self.run_whole(save, "--resume")
        self.assert_same(save)

    def test_a_finished_run_goes_on_to_the_same_end(self) -> None:
        output = self.run_whole(self.whole, "--resume")
        self.assert_same_report(output)

    def test_a_mean_of_more_epochs_than_were_kept_takes_those_that_are_there(self) -> None:
        save = self.place / "more"
        self.run_whole(save, "--epochs", "3")
        output = self.run_whole(save, "--epochs", "3", "--average", "3", "--resume")
        self.assertRegex(output, r"mean of the last [23] epochs")

    def test_few_pairs_are_enough_or_refused_in_one_line(self) -> None:
        for pairs_of_all, reported in ((9, None), (12, 1), (35, 3)):
            few = self.place / f"few-{pairs_of_all}.tsv"
            few.write_text("\n".join(pairs()[:pairs_of_all]) + "\n", encoding="utf-8")
            command = self.command(self.place / "few", "--epochs", "1")
            for name in ("--train", "--dev", "--test"):
                at = command.index(name)
                del command[at : at + 2]
            done = run(*command, "--train", few)
            if reported is None:
                self.assertEqual(done.returncode, 1)
                self.assertIn("no pairs to choose by: give some with --dev", done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
                continue
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = done.stdout.split("== By length of the source ==")[1].split("==")[0].strip().split("\n")
            self.assertEqual(sum(int(row.split()[3]) for row in rows[1:]), reported, rows)

    def test_every_line_of_dev_and_test_counts_or_is_named_beside_the_score(self) -> None:
        odd = ["我。\tYes , that is certainly what we all had been hoping for , or nearly all .",
               "\tnothing was said", "狗" * 600 + "\t" + "the dog " * 600]
        files = []
        for name in ("dev", "test"):
            file = self.place / f"{name}_odd.tsv"
            file.write_text("\n".join([*pairs()[:10], *odd]) + "\n", encoding="utf-8")
            files += [f"--{name}", str(file)]
        save = self.place / "odd"
        done = run(*self.command(save, "--epochs", "1", *files))
        self.assertEqual(done.returncode, 0, done.stderr)
        for name, section in (("dev", "The model that is kept"), ("test", "Sentences that nothing was chosen by")):
            said = done.stdout.split(f"== {section} ==")[1].split("==")[0]
            self.assertIn(f"scored: {self.place}/{name}_odd.tsv: 12 pairs; left out: 1 empty\n", said)
            self.assertIn("cut to the 255 pieces that the model takes: 1 of 12 pairs\n", said)
        self.assertNotIn("scored: ", self.output)
        self.assertIn("12 pairs: loss", done.stdout)
        for side in ("source", "reference", "translation"):
            self.assertEqual(12, (save / f"test.{side}.txt").read_text(encoding="utf-8").count("\n"))

    def test_an_unknown_tokenization_is_refused_before_anything_is_trained(self) -> None:
        self.assertIn("--tokenization", self.fails(self.place / "none", "--tokenization", "13A"))

    def test_other_options_or_data_are_refused_by_name(self) -> None:
        before = {file.name: file.stat().st_mtime_ns for file in self.whole.iterdir()}
        self.assertIn("training/learning_rate is", self.fails(self.whole, "--resume", "--lr", "1"))
        for option, value, says in (
            ("--d-model", "32", "model/d_model is 32, and was 16"),
            ("--seed", "7", "training/seed is 7, and was 1"),
            ("--way", "plain", 'way is "plain", and was "fast"'),
        ):
            self.assertIn(says, self.fails(self.whole, "--resume", option, value))
        other = self.place / "other.tsv"
        text = (self.place / "dev.tsv").read_text(encoding="utf-8")
        other.write_text(text.replace("dog", "cow"), encoding="utf-8")
        line = self.fails(self.whole, "--resume", "--dev", str(other))
        self.assertRegex(line, r"data/dev is .*, and was .* when the run began")
        after = {file.name: file.stat().st_mtime_ns for file in self.whole.iterdir()}
        self.assertEqual(before, after)

    def test_a_folder_without_a_run_or_with_another_file_is_one_line(self) -> None:
        self.assertIn("no state of a run is there", self.fails(self.place / "empty", "--resume"))
        foreign = self.place / "foreign"
        foreign.mkdir()
        (foreign / "state.safetensors").write_bytes(b"\x1b[31mnothing\x00")
        line = self.fails(foreign, "--resume")
        self.assertIn("state.safetensors", line)
        self.assertNotIn("\x1b", line)

    def test_translate_takes_the_model_that_the_run_of_the_seed_left(self) -> None:
        def translated(*more: str) -> subprocess.CompletedProcess:
            environment = {**os.environ, "ABH_CHECKPOINTS": str(self.place)}
            return run(PROGRAM, "translate", *more, input="我看见狗。\n你喜欢猫。\n", env=environment)

        file = self.place / "translation-seed3" / "model.safetensors"
        none = translated("--seed", "3")
        self.assertEqual((none.returncode, none.stdout), (1, ""))
        self.assertEqual(len(none.stderr.strip().split("\n")), 1, none.stderr)
        for part in (str(file), "./book run 13 --quick", "--model"):
            self.assertIn(part, none.stderr)
        file.parent.mkdir()
        file.write_bytes((self.whole / "model.safetensors").read_bytes())
        found = translated("--seed", "3")
        self.assertIn("--seed 3", none.stderr)
        named = translated("--model", str(self.whole / "model.safetensors"))
        self.assertEqual((found.returncode, found.stdout), (0, named.stdout), found.stderr)
        self.assertEqual(found.stdout.count("\n"), 2)
        self.assertRegex(found.stderr, rf"^{file}: (the mean of the last 2 epochs|epoch \d+) of 30, seed 1, 100 pairs, way fast\n$")
        self.assertEqual(named.stderr, "")
        self.assertEqual(translated("--seed", "4").returncode, 1)

    def test_translate_takes_the_folder_of_a_run_and_refuses_one_that_is_not_over(self) -> None:
        def translated(model: Path) -> subprocess.CompletedProcess:
            return run(PROGRAM, "translate", "--model", model, input="我看见狗。\n")

        whole, file = translated(self.whole), translated(self.whole / "model.safetensors")
        self.assertEqual((whole.returncode, whole.stdout), (0, file.stdout), whole.stderr)
        begun = self.place / "begun"
        begun.mkdir()
        (begun / "state.safetensors").write_bytes((self.whole / "state.safetensors").read_bytes())
        refused = translated(begun)
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertIn("which a training writes at its end", refused.stderr)
        self.assertEqual(translated(begun / "state.safetensors").returncode, 0)
        empty = self.place / "nothing"
        empty.mkdir()
        self.assertIn("no config.json", translated(empty).stderr)

    def test_a_run_that_the_clock_ends_goes_on_to_the_same_end(self) -> None:
        save = self.place / "clock"
        self.assertIn("would end after more than 1e-09 min", self.run_whole(save, "--minutes", "1e-9"))
        self.run_whole(save, "--resume", "--minutes", "0")
        self.assert_same(save)

    def test_lines_come_as_they_happen(self) -> None:
        process = subprocess.Popen(
            self.command(self.place / "lines", "--epochs", "5000"),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if line.startswith("epoch  2"):
                    break
            self.assertIsNone(process.poll())  # it goes on, and we have read
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
