"""Systems that speak the protocol of ./book bench, and do no work."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest import mock

REPOSITORY = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(REPOSITORY / "lib/program"), str(REPOSITORY / "bench")]

import load
import turns

UNKNOWN = mock.patch.object(load, "read_ticks", lambda: None)  # whatever else this machine does


def shell(name: str, script: str) -> turns.System:
    return turns.System(name, ("sh", "-c", script), pause=0)


def fake(name: str, *times: float, peak: int = 1000) -> turns.System:
    """A system that takes these times, and counts any round beyond them as an error."""
    turns = "".join(f"read go && echo {t} && " for t in times)
    return shell(name, f"echo ready {name} 1.0; {turns} ! read go && echo {peak}")


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return state.rsplit(")", 1)[1].split()[0] != "Z"
