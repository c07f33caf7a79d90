"""Runs other people's programs under bubblewrap, with limits, and lets them see only what they need."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from functools import cache
from pathlib import Path

from .isolation import drops
from .limits import Limits, Outcome, Unfit
from .running import Running


@cache
def why_unavailable() -> str:
    """Why there is no sandbox here; empty if there is one."""
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed (apt-get install bubblewrap)"
    temporary = Path(tempfile.gettempdir())
    if drops(tight=True) and not all(p.stat().st_mode & 0o001 for p in (temporary, *temporary.parents)):
        return f"{temporary}, where answers are compiled, is closed to other users; put TMPDIR=/tmp before the command to compile elsewhere"
    try:
        outcome = run(["/bin/true"], {}, Limits(10), tight=True)
    except (OSError, Unfit) as error:
        return str(error)
    if outcome.reason != "ok":
        return f"bubblewrap cannot make its namespaces here: {outcome.printed.strip()}{what_forbids()}"
    return ""


def what_forbids() -> str:
    """The setting that keeps unprivileged users from making namespaces, if there is one and it is on."""
    for name, forbids in (("kernel.apparmor_restrict_unprivileged_userns", "1"), ("kernel.unprivileged_userns_clone", "0")):
        with contextlib.suppress(OSError):
            if Path("/proc/sys", name.replace(".", "/")).read_text().strip() == forbids:
                return f"\n{name} forbids it; to allow it until the next reboot: sudo sysctl -w {name}={1 - int(forbids)}"
    return ""


def run(*arguments: object, **more: object) -> Outcome:
    """Runs a program until it ends; see `Running`."""
    return Running(*arguments, **more).finish()
