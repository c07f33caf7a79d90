"""What runs in the sandbox has its limits, whoever runs the sandbox."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from judge import sandbox
from judge.sandbox import MEBIBYTE, Limits

SOMEBODY = 54_321  # a user with processes of their own


def shell(script, limits, **more):
    return sandbox.run(["/bin/bash", "-c", script], {}, limits, tight=True, **more)


@unittest.skipIf(sandbox.why_unavailable(), sandbox.why_unavailable())
class Sandbox(unittest.TestCase):
    def test_children_count_together(self):
        group = sandbox.Group(Limits(1))
        limited = bool(group.memory)
        group.close()
        if not limited:
            self.skipTest("there are no control groups that may be made")
        child = "python3 -c 'bytearray(200 << 20); import time; time.sleep(1)' & "
        for children, reason in ((1, "ok"), (3, "memory")):
            with self.subTest(children=children):
                self.assertEqual(reason, shell(child * children + "wait", Limits(20, memory=300 * MEBIBYTE)).reason)

    def test_processes_count(self):
        script = "for i in {1..60}; do sleep 2 & done 2>/dev/null; jobs -p | wc -l"
        self.assertEqual("60\n", shell(script, Limits(20, processes=80)).printed)
        self.assertNotEqual("60\n", shell(script, Limits(20, processes=20)).printed)

    def test_who_has_many_processes_can_grade(self):
        with tempfile.TemporaryDirectory() as name:
            Path(name).chmod(0o755)
            shutil.copyfile(ROOT / "judge" / "sandbox.py", Path(name) / "sandbox.py")
            (Path(name) / "sandbox.py").chmod(0o644)
            script = (
                "import sandbox, subprocess\n"
                "others = [subprocess.Popen(['sleep', '60']) for _ in range(80)]\n"
                "print(sandbox.run(['/bin/true'], {}, sandbox.Limits(10, processes=20), tight=True))\n"
                "forks = ['/bin/bash', '-c', 'for i in {1..60}; do sleep 2 & done 2>/dev/null; jobs -p | wc -l']\n"
                "print(sandbox.run(forks, {}, sandbox.Limits(20, processes=20), tight=True).printed)\n"
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
        if sandbox.counted(20):
            self.assertNotIn("60\n", done.stdout)

    def test_who_is_timed_starts_nothing(self):
        if not sandbox.system_calls(alone=True):
            self.skipTest("there is no filter of system calls")
        thread = ["/usr/bin/python3", "-c", "import threading; threading.Thread(target=print, args=['started']).start()"]
        for alone in (False, True):
            with self.subTest(alone=alone):
                limits = Limits(10, alone=alone)
                self.assertEqual(not alone, "started" in sandbox.run(thread, {}, limits, tight=True).printed)
                self.assertEqual(not alone, "started" in shell("/bin/echo started; true", limits).printed)

    def test_a_folder_may_be_hidden(self):
        folder = Path("/usr/include")
        if not any(folder.iterdir()):
            self.skipTest("nothing is there")
        self.assertNotEqual("", shell(f"ls {folder}", Limits(5)).printed)
        self.assertEqual("", shell(f"ls {folder}", Limits(5), hidden=[folder]).printed)


if __name__ == "__main__":
    unittest.main()
