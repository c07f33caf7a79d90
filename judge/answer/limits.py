"""What a program may use, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE = 1 << 20


class Unfit(RuntimeError):
    """This machine cannot do what judging needs, whatever the answer is, so nobody loses points."""


@dataclass(frozen=True)
class Limits:
    """The resources that a program may use."""

    seconds: float  # of processor time; a program is also ended if it computes nothing for as long
    patience: float = 6.0  # times `seconds` by the clock, because on a busy machine it may wait for a processor
    memory: int = 1024 * MEBIBYTE
    processes: int = 32
    file_size: int = 8 * MEBIBYTE
    reserves: bool = False  # whether it reserves more addresses than memory, as the emulated device does
    alone: bool = False  # no threads or children, which could help it or slow others down
    printed: int = 64 * 1024  # bytes kept; sixteen times as much ends the program


@dataclass(frozen=True)
class Outcome:
    """How a program ended: `ok`, `timeout`, `memory`, `output`, `crash`, or `start` if it did not even begin."""

    reason: str
    status: int
    printed: str
