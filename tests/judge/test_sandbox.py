"""What runs in the sandbox has its limits, whoever runs the sandbox; and what an answer may include."""

import contextlib
import errno
import os
import shutil
import subprocess
import tempfile
import threading
import time
import unittest
import unittest.mock
from pathlib import Path

from judge.answer import build, compile, isolation, sandbox, session, verdict
from judge.answer.cases import Case
from judge.answer.exercise import ROOT, load_all
from judge.answer.group import Group
from judge.answer.limits import MEBIBYTE, Limits, Outcome, Unfit
from judge.answer.running import PAUSE, Running
from judge.answer.session import Ended, Session
from judge.answer.setting import Failed, Setting, compiler

# Starts sixty processes and says so. Not bash, which waits and tries again where none can be started.
SIXTY = ["/bin/sh", "-c", "i=0; while [ $i -lt 60 ]; do sleep 1000 & i=$((i + 1)); done; echo $i"]


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

    def test_what_never_ends_is_ended(self):
        for script in ("while :; do :; done", "sleep 1000"):
            self.assertEqual("timeout", sandbox.run(["/bin/bash", "-c", script], {}, Limits(1), tight=False).reason)

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
        self.assertEqual(3, self.late(lambda now: True, limits, 100, computed=lambda now: 4 * now))  # with what it has started

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

    def soon(self, true):
        """Whether it becomes so, however busy the machine is."""
        return any(true() or time.sleep(0.05) for _ in range(1000))

    def test_a_speed_is_measured_in_processor_time_where_nothing_else_can_compute_for_the_answer(self):
        answer = Session.__new__(Session)
        answer._running = unittest.mock.Mock(computed=lambda: "the processor's")
        clock = unittest.mock.patch.object(session.time, "perf_counter", lambda: "the clock's")
        for answer.tight, calls, without_rights, expected in (
            (True, b"filter", False, "the processor's"),
            (True, b"", False, "the clock's"),
            (False, b"", False, "the processor's"),  # one's own answer, on one's own machine
            (False, b"", True, "the clock's"),
        ):
            with clock, unittest.mock.patch.multiple(isolation, system_calls=lambda calls=calls, **_: calls, without_rights=without_rights):
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

    @unittest.skipIf(sandbox.why_unavailable(), sandbox.why_unavailable())
    def test_a_sandbox_that_fails_is_told_from_a_program_that_does(self):
        start = lambda command, mounts: sandbox.run(command, mounts, Limits(5), tight=True).reason
        self.assertEqual("start", start(["/sub/answer"], {"/sub/answer": Path("/nowhere")}))
        self.assertEqual("start", start(["/nowhere"], {}))
        self.assertEqual("crash", start(["/bin/bash", "-c", "exit 1"], {}))
        self.assertEqual("crash", start(["/bin/bash", "-c", "kill -SEGV $$"], {}))

    def test_whether_a_machine_compiles_and_runs(self):
        with tempfile.TemporaryDirectory() as name:
            library = Path(name) / "libthere.so"
            subprocess.run(["g++", "-shared", "-x", "c++", "/dev/null", "-o", library, "-Wl,-soname,libgone.so"], check=True)
            for command, links, tight, said in (
                ("g++", [], False, "^$"),
                (compiler(shutil.which("g++")), [], not sandbox.why_unavailable(), "^$"),
                ("/nowhere/g++", [], False, r"^not installed: g\+\+; on Debian or Ubuntu: sudo apt-get install g\+\+$"),
                ("false", [], False, "^the compiler, false, cannot compile an empty program "),
                ("g++", [str(library)], False, "^not even an empty program runs here .*libgone.so"),
            ):
                with self.subTest(said), unittest.mock.patch.object(compile, "setting", lambda: Setting(command, [], ["/usr/include/eigen3"], links, "", {})):
                    self.assertRegex(compile.why_unfit(tight=tight), said)

    def test_a_library_that_is_not_installed_is_named_with_the_line_that_installs_it(self):
        needed = {"fmt/core.h": "libfmt-dev", "Gone/Core": "libgone-dev", "gone/gone.hpp": "libgone-extra-dev"}
        stand_ins = {"NEEDED": needed, "setting": lambda: Setting("g++", [], [], [], "", {})}
        with unittest.mock.patch.multiple(compile, **stand_ins):
            said = compile.why_unfit(tight=False)
        self.assertTrue(said.startswith("not installed: libgone-dev, libgone-extra-dev; "))
        self.assertTrue(said.endswith(": sudo apt-get install libgone-dev libgone-extra-dev"))

    def test_a_compiler_that_is_killed_from_outside_is_no_wrong_answer(self):
        target = next(e for e in load_all() if e.number == "04.2")
        for printed, reason in (
            ("answer.cpp:1:1: error: Killed", "crash"),
            ("g++: fatal error: CPU time limit exceeded signal terminated program cc1plus", "timeout"),
            ("g++: fatal error: Killed signal terminated program cc1plus", None),
            ("clang++-14: error: unable to execute command: Killed", None),
        ):
            stand_ins = {"setting": lambda: Setting("g++", [], [], [], "", {}), "call_object": lambda *_: Path("call.o"), "libraries": lambda *_: []}
            stand_ins |= {"run_compiler": lambda *_, printed=printed, **__: Outcome("crash", 1, printed)}
            with self.subTest(printed), unittest.mock.patch.multiple(compile, **stand_ins), contextlib.ExitStack() as stack:
                if reason is None:
                    stack.enter_context(self.assertRaises(MemoryError))
                outcome = compile.compile_answer(target, Path("answer.cpp"), Path("program"), tight=False)
                self.assertEqual(reason, outcome.reason)

    def test_a_sandbox_that_fails_is_not_the_answers_mistake(self):
        failed = unittest.mock.Mock(call=unittest.mock.Mock(side_effect=Ended("end")))
        for outcome, reason in (
            (Outcome("start", 1, "bwrap: execvp /sub/answer: No such file or directory"), "crash"),
            (Outcome("start", 1, "bwrap: Creating new namespace failed: Resource temporarily unavailable"), None),
            (Outcome("start", 137, ""), None),
            (Outcome("crash", 127, "bwrap: says an answer"), "crash"),
            (Outcome("timeout", 152, ""), "timeout"),
        ):
            failed.close.return_value = outcome
            case = Case("c", "f", "", 0, [], [], [], {}, [])
            with self.subTest(outcome):
                if reason:
                    self.assertEqual(reason, verdict.judge_case(failed, case, Limits(1)).reason)
                else:
                    self.assertRaises(Unfit, verdict.judge_case, failed, case, Limits(1))

    def test_a_missing_cmake_is_one_line(self):
        with tempfile.TemporaryDirectory() as name, unittest.mock.patch.dict(os.environ, {"PATH": name}):
            with self.assertRaisesRegex(Failed, "^cmake is not installed"):
                build.cmake("--version")


class Available(unittest.TestCase):
    def test_brackets_on_a_tensor_are_told_what_to_be_instead(self):
        for code, told in (("p[0];", True), ("t[0];", True), ("t(0);", False), ("int{}[0];", False)):
            body = f"void f(abh::Tensor t, abh::Parameter p) {{ (void)t, (void)p; {code} }}"
            source = f'#include "lib/linear.hpp"\n{body}\n'
            command = ["g++", "-std=c++20", f"-I{ROOT}", "-fsyntax-only", "-x", "c++", "-"]
            done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
            said = compile.why_not_compiled("crash", done.stderr)
            self.assertEqual(told, "t(i, j), in parentheses" in said, done.stderr)
        of_clang = "a.cpp:2:4: error: type 'abh::Tensor' (aka 'BasicTensor<float>') does not provide a subscript operator"
        self.assertIn("t(i, j), in parentheses", compile.why_not_compiled("crash", of_clang))

    def test_an_exercise_can_go_without_eigen(self):
        found = Setting("g++", [], ["/usr/include/eigen3", "/opt/fmt"], [], "", {})
        loops, other = (next(e for e in load_all() if e.number == n) for n in ("00.6", "00.1"))
        self.assertEqual(["/opt/fmt"], compile.allowed(loops, found).includes)
        self.assertEqual([], compile.hidden(other))
        with tempfile.TemporaryDirectory() as name:
            answer = Path(name) / "answer.cpp"
            answer.write_text("#include <eigen3/Eigen/Core>\nEigen::MatrixXd m;\nusing namespace Eigen;\n")
            command = ["g++", *compile.allowed(loops, found).flags, "-fsyntax-only", answer]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertIn("Eigen is not available", compile.why_not_compiled("crash", done.stderr, eigen=False))
        self.assertNotIn("Eigen is not", compile.why_not_compiled("crash", "error: 'Bridge' is not a member of 'Eigen'"))
        self.assertEqual(found, compile.allowed(other, found))
        printed = "answer.cpp:1:10: fatal error: Eigen/Dense: No such file or directory"
        self.assertIn("Eigen is not available", compile.why_not_compiled("crash", printed))
        self.assertNotIn("Eigen is", compile.why_not_compiled("crash", printed.replace("Eigen/", "Igen/")))
