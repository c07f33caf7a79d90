"""What runs in the sandbox has its limits, whoever runs the sandbox."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from judge.answer import compile, isolation, sandbox, session, verdict
from judge.answer.cases import Case
from judge.answer.exercise import load_all
from judge.answer.group import Group
from judge.answer.limits import MEBIBYTE, Limits, Outcome, Unfit
from judge.answer.running import PAUSE, Running
from judge.answer.session import Ended, Session
from judge.answer.setting import Setting, compiler

SOMEBODY = 54_321  # a user with processes of their own
# Starts sixty processes and says so. Not bash, which waits and tries again where none can be started.
SIXTY = ["/bin/sh", "-c", "i=0; while [ $i -lt 60 ]; do sleep 1000 & i=$((i + 1)); done; echo $i"]


def raised(path):
    """As listing the threads of a process that has just ended."""
    raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))


def shell(script, limits, **more):
    return sandbox.run(["/bin/bash", "-c", script], {}, limits, tight=True, **more)


@unittest.skipIf(sandbox.why_unavailable(), sandbox.why_unavailable())
class Sandbox(unittest.TestCase):
    def test_children_count_together(self):
        group = Group(Limits(1))
        limited = bool(group.memory)
        group.close()
        if not limited:
            self.skipTest("there are no control groups that may be made")
        child = "python3 -c 'a = bytearray(200 << 20); import time; time.sleep({})' & "
        for children, seconds, reason in ((1, 0, "ok"), (3, 1000, "memory")):
            with self.subTest(children=children):
                script = child.format(seconds) * children + "wait -n"  # until the first has ended
                self.assertEqual(reason, shell(script, Limits(20, memory=300 * MEBIBYTE)).reason)

    def test_processes_count(self):
        self.assertEqual("60\n", sandbox.run(SIXTY, {}, Limits(20, processes=80), tight=True).printed)
        self.assertNotIn("60\n", sandbox.run(SIXTY, {}, Limits(20, processes=20), tight=True).printed)

    def test_who_has_many_processes_can_grade(self):
        with tempfile.TemporaryDirectory() as name:
            Path(name).chmod(0o755)
            copy = Path(shutil.copytree(ROOT / "judge" / "answer", Path(name) / "answer", ignore=shutil.ignore_patterns("__pycache__")))
            for path in (copy, *copy.iterdir()):
                path.chmod(0o755 if path.is_dir() else 0o644)
            script = (
                "import subprocess\n"
                "from answer import limits, sandbox\n"
                "others = [subprocess.Popen(['sleep', '60']) for _ in range(80)]\n"
                "print(sandbox.run(['/bin/true'], {}, limits.Limits(10, processes=20), tight=True))\n"
                f"print(sandbox.run({SIXTY}, {{}}, limits.Limits(20, processes=20), tight=True).printed)\n"
                "for other in others: other.kill()\n"
            )
            somebody = {"user": SOMEBODY, "group": SOMEBODY, "extra_groups": []} if os.geteuid() == 0 else {}
            python = "/usr/bin/python3" if somebody else sys.executable  # root's own may be nobody else's
            if not Path(python).exists():
                self.skipTest(f"there is no {python}")
            done = subprocess.run(
                [python, "-B", "-c", script], cwd=name, capture_output=True, text=True, check=False, **somebody
            )
        if "Operation not permitted" in done.stdout or "Permission denied" in done.stdout:
            self.skipTest("only root may make namespaces here")
        self.assertIn("Outcome(reason='ok', status=0, printed='')", done.stdout, done.stderr)
        if isolation.counted(20):
            self.assertNotIn("60\n", done.stdout)

    def test_who_is_timed_starts_nothing(self):
        if not isolation.system_calls(alone=True):
            self.skipTest("there is no filter of system calls")
        thread = ["/usr/bin/python3", "-c", "import threading; threading.Thread(target=print, args=['started']).start()"]
        for alone in (False, True):
            with self.subTest(alone=alone):
                limits = Limits(10, alone=alone)
                self.assertEqual(not alone, "started" in sandbox.run(thread, {}, limits, tight=True).printed)
                self.assertEqual(not alone, "started" in shell("/bin/echo started; true", limits).printed)

    def test_nothing_is_left_of_what_ran(self):
        before = {p.name for p in Path("/tmp").iterdir()}
        limits = Limits(3, memory=256 << 20)
        script = "for i in 1 2 3; do (setsid sleep 1000 &) ; done; echo x > /tmp/left; echo y > /dev/shm/left; exit 0"
        script = script.replace("1000", f"1000.{os.getpid()}")
        outcome = sandbox.run(["/bin/sh", "-c", script], {}, limits, tight=True)
        self.assertEqual("ok", outcome.reason)
        for _ in range(600):  # the kernel takes its time on a busy machine
            running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
            if f"sleep 1000.{os.getpid()}" not in running:
                break
            time.sleep(0.1)
        self.assertNotIn(f"sleep 1000.{os.getpid()}", running)
        self.assertFalse(Path("/dev/shm/left").exists())
        new = {p.name for p in Path("/tmp").iterdir()} - before
        self.assertNotIn("left", new)

    def test_the_sandbox_shows_nothing(self):
        limits = Limits(5)
        script = "ls / /home /root /etc /work 2>&1; env; cat /proc/1/environ 2>&1 | tr '\\0' '\\n'; id -u; cat /proc/net/dev"
        os.environ["SECRET"] = "of the grader"
        self.addCleanup(os.environ.pop, "SECRET")
        printed = sandbox.run(["/bin/sh", "-c", script], {}, limits, tight=True).printed
        self.assertNotIn("of the grader", printed)
        self.assertNotIn("shadow", printed)
        self.assertNotIn("eth", printed)
        listing = printed.split("ls: ")[0].split()
        self.assertLessEqual(set(listing) - {"/:", "/etc:", "/home:", "/root:", "/work:"}, {"bin", "dev", "lib", "lib64", "proc", "tmp", "usr"})

    def test_a_folder_may_be_hidden(self):
        folder = Path("/usr/include")
        if not any(folder.iterdir()):
            self.skipTest("nothing is there")
        self.assertNotEqual("", shell(f"ls {folder}", Limits(5)).printed)
        self.assertEqual("", shell(f"ls {folder}", Limits(5), hidden=[folder]).printed)


class Time(unittest.TestCase):
    """A limit is a limit of what a program computes, and not of what else the machine does."""

    def ends(self, script, limits):
        return sandbox.run(["/bin/bash", "-c", script], {}, limits, tight=False)

    def test_a_loop_without_end_ends(self):
        self.assertEqual("timeout", self.ends("while :; do :; done", Limits(1)).reason)

    def test_one_that_waits_for_ever_ends(self):
        self.assertEqual("timeout", self.ends("sleep 1000", Limits(1)).reason)

    def late(self, works, limits, seconds, computed=lambda now: 0.0):
        """Whether its time is over, asked again and again until that time by the clock."""
        running = Running.__new__(Running)
        running.limits, running._idle, running._ends = limits, 0.0, limits.seconds * limits.patience
        now = 0.0
        with (
            unittest.mock.patch.object(Running, "at_work", lambda _: works(now)),
            unittest.mock.patch.object(Running, "computed", lambda _: computed(now)),
            unittest.mock.patch.object(time, "monotonic", lambda: now),
        ):
            while now < seconds:
                now += PAUSE
                if running.late():
                    return now
        return None

    def test_one_that_is_kept_waiting_by_others_has_more_time(self):
        limits = Limits(10, patience=6)
        self.assertIsNone(self.late(lambda now: True, limits, 59))
        self.assertIsNone(self.late(lambda now: now % 9 == 0, limits, 59))  # in threads that wait for one another
        self.assertEqual(60, self.late(lambda now: True, limits, 100))
        self.assertEqual(10, self.late(lambda now: False, limits, 100))
        self.assertEqual(15, self.late(lambda now: now <= 5, limits, 100))

    def test_what_it_has_started_computes_in_its_time(self):
        self.assertEqual(3, self.late(lambda now: True, Limits(10), 100, computed=lambda now: 4 * now))

    def test_whether_it_computes_or_waits(self):
        for script, works in (("while :; do :; done", True), ("read", False), ("sleep 1000 & wait", False), ("(while :; do :; done) & wait", True)):
            with self.subTest(script):
                running = Running(["/bin/bash", "-c", script], {}, Limits(60), tight=False)
                self.assertTrue(self.soon(lambda: running.at_work() == works))  # each begins by computing
                before = running.computed()
                if works:
                    self.assertTrue(self.soon(lambda: running.computed() > before + 0.01))
                else:
                    time.sleep(0.2)
                    self.assertLess(running.computed(), before + 0.01)
                running.kill()
                running.finish()

    def test_a_child_that_ends_while_it_is_listed_waits_for_nothing(self):
        running = Running.__new__(Running)
        with (
            unittest.mock.patch.object(Running, "processes", lambda _: [1, os.getpid()]),
            unittest.mock.patch.object(Path, "exists", lambda _: True),
            unittest.mock.patch.object(Path, "glob", lambda path, _: raised(path) if path.parts[2] == "1" else [path / f"{os.getpid()}/stat"]),
        ):
            self.assertTrue(running.at_work())  # this process computes

    def soon(self, true):
        """Whether it becomes so, however busy the machine is."""
        return any(true() or time.sleep(0.05) for _ in range(1000))


    def test_a_speed_is_measured_in_processor_time_where_nothing_else_can_compute_for_the_answer(self):
        answer = Session.__new__(Session)
        answer._running = unittest.mock.Mock(computed=lambda: "the processor's")
        for tight, filtered, without_rights, expected in (
            (True, b"filter", False, "the processor's"),
            (True, b"", False, "the clock's"),
            (False, b"", False, "the processor's"),  # one's own answer, on one's own machine
            (False, b"", True, "the clock's"),
        ):
            answer.tight = tight
            with (
                unittest.mock.patch.object(isolation, "system_calls", lambda filtered=filtered, **_: filtered),
                unittest.mock.patch.object(isolation, "without_rights", without_rights),
                unittest.mock.patch.object(session.time, "perf_counter", lambda: "the clock's"),
            ):
                self.assertEqual(expected, answer.computed())


class Starting(unittest.TestCase):
    """What cannot be started is the machine's fault, and an answer's only if others start."""

    def test_a_machine_that_starts_nothing(self):
        for place, name, error in (
            (subprocess, "Popen", BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")),
            (subprocess, "Popen", OSError(errno.ENOMEM, "Cannot allocate memory")),
            (subprocess, "Popen", subprocess.SubprocessError("Exception occurred in preexec_fn.")),
            (os, "pipe", OSError(errno.EMFILE, "Too many open files")),
            (tempfile, "TemporaryFile", OSError(errno.EROFS, "Read-only file system")),
            (threading.Thread, "start", RuntimeError("can't start new thread")),
        ):
            open_files = len(os.listdir("/proc/self/fd"))
            with (
                self.subTest(str(error)),
                unittest.mock.patch.object(isolation, "system_calls", lambda **_: b"filter"),
                unittest.mock.patch.object(place, name, side_effect=error),
                self.assertRaisesRegex(Unfit, f"^cannot start a program: .*{str(error).split('] ')[-1][:20]}"),
            ):
                Running(["/bin/sleep", "1000"], {}, Limits(1), tight=True)
            self.assertEqual(open_files, len(os.listdir("/proc/self/fd")))

    def test_limits_of_ones_own_are_kept(self):
        script = "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        script += "from judge.answer.limits import Limits\nfrom judge.answer.sandbox import run\n"
        script += "print(run(['/bin/bash', '-c', 'ulimit -f'], {}, Limits(1), tight=False).printed)"
        done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual("4", done.stdout.strip(), done.stderr)

    @unittest.skipIf(sandbox.why_unavailable(), sandbox.why_unavailable())
    def test_a_sandbox_that_fails_is_told_from_a_program_that_does(self):
        start = lambda command, mounts: sandbox.run(command, mounts, Limits(5), tight=True).reason
        self.assertEqual("start", start(["/sub/answer"], {"/sub/answer": Path("/nowhere")}))
        self.assertEqual("start", start(["/nowhere"], {}))
        self.assertEqual("crash", start(["/bin/bash", "-c", "exit 1"], {}))
        self.assertEqual("crash", start(["/bin/bash", "-c", "kill -SEGV $$"], {}))

    def unfit(self, found, tight=False):
        with unittest.mock.patch.object(compile, "setting", lambda: found):
            return compile.why_unfit(tight=tight)

    def test_a_machine_that_compiles_and_runs(self):
        found = Setting("g++", [], [], [], "", {})
        self.assertEqual("", self.unfit(found))
        if not sandbox.why_unavailable():
            self.assertEqual("", self.unfit(Setting(compiler(shutil.which("g++")), [], [], [], "", {}), tight=True))

    def test_a_compiler_that_is_missing(self):
        said = self.unfit(Setting("/nowhere/g++", [], [], [], "", {}))
        self.assertRegex(said, "^the compiler, /nowhere/g[+][+], cannot compile an empty program .*No such file or directory$")

    def test_a_library_that_is_missing_when_programs_run(self):
        with tempfile.TemporaryDirectory() as name:
            library = Path(name) / "libthere.so"
            subprocess.run(["g++", "-shared", "-x", "c++", "/dev/null", "-o", library, f"-Wl,-soname,libgone.so"], check=True)
            found = Setting("g++", [], [], [str(library)], "", {})
            self.assertRegex(self.unfit(found), "^not even an empty program runs here .*libgone.so")

    def outcome_of(self, printed, reason="crash"):
        """What compiling an answer comes to if the compiler ends so, where others compile."""
        target = next(e for e in load_all() if e.number == "04.2")
        with unittest.mock.patch.multiple(
            compile, setting=lambda: Setting("g++", [], [], [], "", {}), call_object=lambda *_: Path("call.o"),
            libraries=lambda *_: [], why_unfit=lambda **_: "", run_compiler=lambda *_, **__: Outcome(reason, 1, printed),
        ):  # fmt: skip
            return compile.compile_answer(target, Path("answer.cpp"), Path("program"), tight=False).reason

    def test_a_compiler_that_is_killed_from_outside_is_no_wrong_answer(self):
        self.assertEqual("crash", self.outcome_of("answer.cpp:1:1: error: Killed"))
        self.assertEqual("timeout", self.outcome_of("g++: fatal error: CPU time limit exceeded signal terminated program cc1plus"))
        for printed in ("g++: fatal error: Killed signal terminated program cc1plus", "clang++-14: error: unable to execute command: Killed"):
            self.assertRaises(MemoryError, self.outcome_of, printed)

    def test_an_answer_that_does_not_start_is_to_blame_only_if_others_do(self):
        for outcome, others, raises in (
            (Outcome("start", 1, "bwrap: execvp /sub/answer: No such file or directory"), "", False),
            (Outcome("start", 1, "bwrap: execvp /sub/answer: Permission denied"), "mounted noexec", True),
            (Outcome("start", 1, "bwrap: Creating new namespace failed: Resource temporarily unavailable"), "", True),
            (Outcome("start", 137, ""), "", True),
            (Outcome("crash", 127, "bwrap: says an answer"), "", False),
        ):
            with self.subTest(outcome), unittest.mock.patch.object(compile, "why_unfit", lambda others=others, **_: others):
                if raises:
                    self.assertRaises(Unfit, compile.require_fit, outcome, tight=True)
                else:
                    compile.require_fit(outcome, tight=True)


    def test_what_is_said_of_an_answer_that_does_not_start(self):
        class NoSession:
            tight = True

            def __init__(self, outcome):
                self.outcome = outcome

            def call(self, *_, **__):
                raise Ended("end")

            def close(self):
                return self.outcome

        judged = lambda outcome: verdict.judge_case(NoSession(outcome), Case("c", "f", "", 0, [], [], [], {}, []), Limits(1))
        bad = (Outcome("start", 1, "bwrap: execvp /sub/answer: Permission denied"), Outcome("crash", 127, ""), Outcome("crash", 126, ""))
        for outcome in bad:
            with unittest.mock.patch.object(compile, "why_unfit", lambda **_: "mounted noexec"):
                self.assertRaisesRegex(Unfit, "mounted noexec", judged, outcome)
            with unittest.mock.patch.object(compile, "why_unfit", lambda **_: ""):
                self.assertEqual("crash", judged(outcome).reason)
        with unittest.mock.patch.object(compile, "why_unfit", side_effect=AssertionError):
            self.assertIn("it crashed (segmentation fault)", judged(Outcome("crash", 139, "")).text)
            self.assertEqual("timeout", judged(Outcome("timeout", 152, "")).reason)


if __name__ == "__main__":
    unittest.main()
