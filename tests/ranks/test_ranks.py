"""One training on several processes: the same bits, killed processes, and processes that do not fit together.

ABH_PROGRAM names the program of chapter 14; ABH_KILLS says how often it is killed.
"""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "resume"))

import test_resume as resume

PROGRAM = os.environ.get("ABH_PROGRAM", "")
KILLS = int(os.environ.get("ABH_KILLS", "12"))
KILLED = "(rank [0-3] was ended by signal 9|a rank was ended by a signal)"  # the latter: by MPICH, or at the start
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


@unittest.skipUnless(PROGRAM and shutil.which("mpirun"), "no program, or no mpirun")
class SeveralProcesses(resume.Runs):
    @classmethod
    def command(cls, save: Path, *more: str) -> list[str]:
        """The command; without --ranks it is for one process."""
        return [PROGRAM, *([] if "--ranks" in more else ["--ranks", "1"]), *cls.options(save, *more)]

    def test_any_number_of_processes_ends_with_the_same_bytes(self) -> None:
        for ranks in (2, 3, 4):
            with self.subTest(ranks=ranks):
                save = self.place / f"ranks{ranks}"
                self.assert_same_report(self.run_whole(save, "--ranks", str(ranks)))
                self.assert_same(save)

    def test_killed_again_and_again_it_ends_with_the_same_bytes(self) -> None:
        save, draw, named, longest = self.place / "killed", random.Random(time.time()), 0, 0.5 * self.seconds
        for i in range(4 * KILLS):
            ranks = draw.randint(2, 4)
            command = self.command(save, "--ranks", str(ranks), *resume.going_on(save))
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
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
                lines = resume.about_errors(said)
                self.assertEqual(len(lines), 1)
                self.assertRegex(lines[0], rf"^{KILLED}, and the other ranks with it; --resume")
                named += 1
            if named == KILLS:
                break
        self.assertEqual(named, KILLS, "too few kills came before the end")
        self.run_whole(save, "--ranks", "3", *resume.going_on(save))
        self.assert_same(save)
        self.run_whole(save, "--resume")
        self.assert_same(save)

    def together(self, save: Path, *programs: list[str | Path]) -> subprocess.CompletedProcess[str]:
        """Runs a program with its options for each list, under mpirun."""
        command: list[str | Path] = mpirun()
        for i, (program, *more) in enumerate(programs):
            command += [":"] * (i > 0) + ["-n", "1", program, *self.options(save, *more)]
        return resume.run(*command, env=ENVIRONMENT)

    def test_another_version_of_the_program_is_refused(self) -> None:
        other = self.place / "other_version"
        other.write_bytes(Path(PROGRAM).read_bytes() + b"\n")
        other.chmod(0o755)
        done = self.together(self.place / "versions", [PROGRAM], [other])
        self.assertRegex(self.one_line(done), 'program is ".*" on rank 1, and ".*" on rank 0')

    def test_processes_that_do_not_have_the_same_are_refused_by_name(self) -> None:
        for more, says in (
            (["--clip", "3"], "training/clip is 3.0 on rank 1, and 1.0 on rank 0"),
            (["--shards", "2"], "training/shards is 2 on rank 1, and 4 on rank 0"),
            (["--epochs", "3"], "options/epochs is 3 on rank 1, and "),
            (["--resume"], "options/resume is true on rank 1, and false on rank 0"),
            (["--train", str(self.place / "dev.tsv")], "data/train is "),
            (["--way", "plain"], 'way is "plain" on rank 1, and "fast" on rank 0'),
        ):
            with self.subTest(more=more):
                save = self.place / "differ"
                self.assertIn(says, self.one_line(self.together(save, [PROGRAM], [PROGRAM, *more])))
                self.assertEqual(list(save.glob("*.safetensors")), [])

    def test_another_number_of_shards_is_another_training(self) -> None:
        line = self.fails(self.whole, "--ranks", "2", "--resume", "--shards", "2")
        self.assertIn("training/shards is 2, and was 4 when the run began", line)

    def test_gradients_in_bf16_are_said_to_be_another_training(self) -> None:
        save = self.place / "bf16"
        output = self.run_whole(save, "--ranks", "2", "--precision", "bf16")
        if "precision float: for bf16" in output:
            self.skipTest("this processor, or this build, has no products in bf16")
        self.assertIn("gradients are sent in bf16: results differ", output)
        name = "model.safetensors"
        self.assertNotEqual((save / name).read_bytes(), (self.whole / name).read_bytes())
        line = self.fails(save, "--ranks", "2", "--resume")
        self.assertIn('training/precision is missing, and was "bf16" when the run began', line)

    def test_what_cannot_be_is_one_line(self) -> None:
        for more, says in (
            (["--shards", "2"], "2 shards for 3 ranks"),
            (["--train", "/no/such/file"], "/no/such/file: No such file"),
        ):
            with self.subTest(more=more):
                self.assertIn(says, self.fails(self.place / "wrong", "--ranks", "3", *more))

    def test_a_disk_that_fills_up_below_rank_0_ends_all_with_one_line(self) -> None:
        save = self.place / "fills_up"
        once = [PROGRAM, *self.options(save)]  # mpirun resets what a process ignores: a shell ignores it anew
        command = [*mpirun(), "-n", "1", "sh", "-c", 'trap "" XFSZ; exec "$@"', "sh", *once, ":", "-n", "2", *once]
        start = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        while start.poll() is None and not (save / "state.safetensors").exists():
            time.sleep(0.01)
        ranks = ranks_below(start.pid)
        for pid in ranks:
            if rank_of(pid) == 0:
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (5000, 5000))
        said = start.communicate(timeout=120)[1]
        done = subprocess.CompletedProcess(start.args, start.returncode, None, said)
        self.assertRegex(self.one_line(done), r"cannot write .*fills_up/(state|epoch-\d+)\.safetensors: File too large")
        self.assertEqual(len(ranks), 3)
        self.assertEqual(still_alive(ranks, time.monotonic() + 10), [])
        self.run_whole(save, "--ranks", "2", "--resume")
        self.assert_same(save)
