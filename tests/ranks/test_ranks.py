"""One training on several processes: the same bits, killed processes, and processes that do not fit together.

ABH_PROGRAM names the program of chapter 14; ABH_KILLS says how often it is killed.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "resume"))

import test_resume as resume

PROGRAM = os.environ.get("ABH_PROGRAM", "")
KILLS = int(os.environ.get("ABH_KILLS", "12"))
KILLED = "(rank [0-3] was ended by signal 9|a rank was ended by a signal)"  # by Open MPI, by MPICH
ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def ranks_below(pid: int) -> list[int]:
    """The processes of the program that a process has started, by way of others."""
    found = []
    for child in children(pid):
        try:
            found += [child] if os.readlink(f"/proc/{child}/exe") == os.path.realpath(PROGRAM) else []
        except OSError:
            pass  # it has ended
        found += ranks_below(child)
    return found


def rank_of(pid: int) -> int:
    """As mpirun has told it: Open MPI's, or MPICH's."""
    told = dict(entry.partition("=")[::2] for entry in Path(f"/proc/{pid}/environ").read_text().split("\0"))
    return int(told.get("OMPI_COMM_WORLD_RANK", told.get("PMI_RANK", "-1")))


def mpirun() -> list[str]:
    """The command: Open MPI's says nothing of its own with --quiet, and MPICH's does not know it."""
    said = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=True, env=ENVIRONMENT).stdout
    return ["mpirun", "--quiet"] if "Open MPI" in said else ["mpirun"]


def lives(pid: int) -> bool:
    """Whether a process is there and does something: what nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def still_alive(pids: list[int], until: float) -> list[int]:
    """Which of them do not end before then; one that was told to may be about it."""
    while any(map(lives, pids)) and time.monotonic() < until:
        time.sleep(0.01)
    return [pid for pid in pids if lives(pid)]


def about_errors(said: str) -> list[str]:
    """What a program says besides that this small model has not learned much."""
    return [line for line in said.strip().split("\n") if line and not line.startswith("epoch ")]


@unittest.skipUnless(PROGRAM and shutil.which("mpirun"), "no program, or no mpirun")
class SeveralProcesses(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.place = Path(cls.folder.name)
        lines = resume.pairs()
        random.Random(5).shuffle(lines)
        cls.files = []
        for name, some in (("train", lines[20:]), ("dev", lines[:10]), ("test", lines[10:20])):
            (cls.place / f"{name}.tsv").write_text("\n".join(some) + "\n", encoding="utf-8")
            cls.files += [f"--{name}", str(cls.place / f"{name}.tsv")]
        cls.whole = cls.place / "whole"
        start = time.monotonic()
        cls.output = cls.run_whole(cls.whole, 1)
        cls.seconds = time.monotonic() - start

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    @classmethod
    def options(cls, save: Path, *more: str) -> list[str]:
        usual = [*resume.OPTIONS, *cls.files]
        for name in more:  # another value takes the place of the usual one
            if name.startswith("--") and name in usual:
                at = usual.index(name)
                del usual[at : at + 2]
        return ["train", *usual, "--save", str(save), *more]

    @classmethod
    def command(cls, save: Path, ranks: int, *more: str) -> list[str]:
        return [PROGRAM, "--ranks", str(ranks), *cls.options(save, *more)]

    @classmethod
    def run_whole(cls, save: Path, ranks: int, *more: str) -> str:
        done = subprocess.run(cls.command(save, ranks, *more), capture_output=True, text=True, timeout=300)
        if done.returncode != 0 or about_errors(done.stderr):
            raise AssertionError(f"{done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def assert_same(self, save: Path) -> None:
        """Every file of weights has the same bytes as that of one process."""
        for file in sorted(self.whole.glob("*.safetensors")):
            if not file.name.startswith("state"):
                self.assertEqual((save / file.name).read_bytes(), file.read_bytes(), file.name)

    def one_line(self, done: subprocess.CompletedProcess) -> str:
        self.assertEqual(done.returncode, 1, done.stderr)
        lines = about_errors(done.stderr)
        self.assertEqual(len(lines), 1, done.stderr)
        return lines[0]

    def test_any_number_of_processes_ends_with_the_same_bytes(self) -> None:
        for ranks in (2, 3, 4):
            with self.subTest(ranks=ranks):
                save = self.place / f"ranks{ranks}"
                output = self.run_whole(save, ranks)
                self.assert_same(save)
                self.assertEqual(output.split("== Sentences")[1], self.output.split("== Sentences")[1])

    def test_killed_again_and_again_it_ends_with_the_same_bytes(self) -> None:
        save, draw, named, longest = self.place / "killed", random.Random(time.time()), 0, 0.5 * self.seconds
        for i in range(4 * KILLS):
            ranks = draw.randint(2, 4)
            more = ["--resume"] if list(save.glob("state-*.safetensors")) else []
            process = subprocess.Popen(
                self.command(save, ranks, *more), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
            until = time.monotonic() + 60
            processes: list[int] = []
            while len(processes) < ranks and process.poll() is None and time.monotonic() < until:
                processes = ranks_below(process.pid)
            self.assertEqual(len(processes), ranks)
            time.sleep(draw.uniform(0.1, 0.1 + longest))
            victim = draw.choice(processes)
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it was done
            killed = time.monotonic()
            _, said = process.communicate(timeout=60)
            alive = still_alive(processes, killed + 10)
            with self.subTest(kill=i, ranks=ranks, said=said):
                self.assertEqual(alive, [])
                if process.returncode == 0:  # too late: it begins anew, and the next ones come sooner
                    self.assert_same(save)
                    shutil.rmtree(save)
                    longest /= 2
                    continue
                lines = about_errors(said)
                self.assertEqual(len(lines), 1)
                self.assertRegex(lines[0], rf"^{KILLED}, and the other ranks with it; --resume")
                named += 1
            if named == KILLS:
                break
        self.assertEqual(named, KILLS, "too few kills came before the end")
        more = ["--resume"] if list(save.glob("state-*.safetensors")) else []
        self.run_whole(save, 3, *more)
        self.assert_same(save)
        self.run_whole(save, 1, "--resume")
        self.assert_same(save)

    def test_another_version_of_the_program_is_refused(self) -> None:
        other = self.place / "other_version"
        other.write_bytes(Path(PROGRAM).read_bytes() + b"\n")
        other.chmod(0o755)
        save = self.place / "versions"
        command = [*mpirun(), "-n", "1", PROGRAM, *self.options(save)]
        command += [":", "-n", "1", str(other), *self.options(save)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=ENVIRONMENT)
        self.assertRegex(self.one_line(done), 'program is ".*" on rank 1, and ".*" on rank 0')

    def together(self, save: Path, *differ: list[str]) -> subprocess.CompletedProcess:
        """One process for each list of options, under mpirun."""
        command = mpirun()
        for i, more in enumerate(differ):
            command += [":"] * (i > 0) + ["-n", "1", PROGRAM, *self.options(save, *more)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, env=ENVIRONMENT)

    def test_processes_that_do_not_have_the_same_are_refused_by_name(self) -> None:
        for more, says in (
            (["--clip", "3"], "training/clip is 3.0 on rank 1, and 1.0 on rank 0"),
            (["--shards", "2"], "training/shards is 2 on rank 1, and 4 on rank 0"),
            (["--epochs", "3"], "options/epochs is 3 on rank 1, and "),
            (["--average", "3"], "options/average is 3 on rank 1, and "),
            (["--resume"], "options/resume is true on rank 1, and false on rank 0"),
            (["--pieces", "290"], "data/pieces is 290 on rank 1, and "),
            (["--train", str(self.place / "dev.tsv")], "data/train is "),
            (["--bfloat16"], "training/bfloat16 is true on rank 1, and missing on rank 0"),
            (["--way", "plain"], 'way is "plain" on rank 1, and "fast" on rank 0'),
        ):
            with self.subTest(more=more):
                save = self.place / "differ"
                self.assertIn(says, self.one_line(self.together(save, [], more)))
                self.assertEqual(list(save.glob("*.safetensors")), [])

    def test_another_number_of_shards_is_another_training(self) -> None:
        done = subprocess.run(
            self.command(self.whole, 2, "--resume", "--shards", "2"), capture_output=True, text=True, timeout=120
        )
        self.assertIn("training/shards is 2, and was 4 when the run began", self.one_line(done))

    def test_gradients_in_bfloat16_are_said_to_be_another_training(self) -> None:
        save = self.place / "bfloat16"
        self.assertIn("gradients are sent in bfloat16: results differ", self.run_whole(save, 2, "--bfloat16"))
        name = "model.safetensors"
        self.assertNotEqual((save / name).read_bytes(), (self.whole / name).read_bytes())
        done = subprocess.run(self.command(save, 2, "--resume"), capture_output=True, text=True, timeout=120)
        self.assertIn("training/bfloat16 is missing, and was true when the run began", self.one_line(done))

    def test_what_cannot_be_is_one_line(self) -> None:
        for more, says in (
            (["--shards", "2"], "2 shards for 3 ranks"),
            (["--train", "/no/such/file"], "/no/such/file: No such file"),
        ):
            with self.subTest(more=more):
                command = self.command(self.place / "wrong", 3, *more)
                done = subprocess.run(command, capture_output=True, text=True, timeout=120)
                self.assertIn(says, self.one_line(done))

    def test_weights_that_are_gone_are_named_when_a_run_goes_on(self) -> None:
        save = self.place / "gone"
        self.run_whole(save, 2, "--epochs", "2")
        file = save / "epoch-0002.safetensors"
        file.unlink()
        done = subprocess.run(self.command(save, 2, "--resume"), capture_output=True, text=True, timeout=120)
        self.assertRegex(self.one_line(done), f"{file.name}: No such file.* put it back")
        self.assertNotIn("epoch  3", done.stdout)

    def test_a_full_disk_is_one_line_and_what_was_saved_stays(self) -> None:
        save = self.place / "full"
        self.run_whole(save, 2, "--epochs", "2")
        before = {file.name: file.read_bytes() for file in save.glob("state-*.safetensors")}
        self.assertTrue(before)

        def small_files() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

        done = subprocess.run(
            [PROGRAM, "--ranks", "1", *self.options(save, "--resume")],
            capture_output=True, text=True, timeout=120, preexec_fn=small_files, restore_signals=False,
        )
        self.assertRegex(self.one_line(done), r"cannot write .*full/(state|epoch)-\d+\.safetensors: File too large")
        self.assertEqual(before, {file.name: file.read_bytes() for file in save.glob("state-*.safetensors")})
        self.run_whole(save, 4, "--resume")
        self.assert_same(save)

    def test_a_disk_that_fills_up_below_rank_0_ends_all_with_one_line(self) -> None:
        save = self.place / "fills_up"
        once = [PROGRAM, *self.options(save)]  # mpirun resets what a process ignores: a shell ignores it anew
        command = [*mpirun(), "-n", "1", "sh", "-c", 'trap "" XFSZ; exec "$@"', "sh", *once, ":", "-n", "2", *once]
        start = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        while start.poll() is None and not list(save.glob("state-*.safetensors")):
            time.sleep(0.01)
        ranks = ranks_below(start.pid)
        for pid in ranks:
            if rank_of(pid) == 0:
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (5000, 5000))
        said = start.communicate(timeout=120)[1]
        done = subprocess.CompletedProcess(start.args, start.returncode, None, said)
        self.assertRegex(self.one_line(done), r"cannot write .*fills_up/(state|epoch)-\d+\.safetensors: File too large")
        self.assertEqual(len(ranks), 3)
        self.assertEqual(still_alive(ranks, time.monotonic() + 10), [])
        self.run_whole(save, 2, "--resume")
        self.assert_same(save)


if __name__ == "__main__":
    unittest.main()
