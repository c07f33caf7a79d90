"""Calls an answer's functions, one request at a time, in a process of its own."""

from __future__ import annotations

import os
import select
import struct
import threading
import time
from pathlib import Path

from . import isolation
from .limits import Limits, Outcome, Unfit
from .running import PAUSE, Running
from .values import Malformed, Value, decode, encode, text


class Ended(RuntimeError):
    """The program did not answer, because it ended or its time was up."""


class Threw(RuntimeError):
    """The function threw, with this text."""


class Session:
    """A compiled answer, waiting for requests."""

    def __init__(self, program: Path, limits: Limits, *, tight: bool) -> None:
        self.tight = tight
        command = ["/sub/answer"] if tight else [str(program)]
        self._running = Running(command, {"/sub/answer": program}, limits, tight=tight)
        os.set_blocking(self._running.process.stdin.fileno(), True)
        self.outcome: Outcome | None = None

    def computed(self) -> float:
        """Seconds of processor time that the program has used so far; seconds by the clock if the sandbox cannot keep it from
        starting others that compute for it."""
        helped = isolation.without_rights or (self.tight and not isolation.system_calls(alone=True))
        return time.perf_counter() if helped else self._running.computed()

    def call(self, function: str, arguments: list[Value], *, most: int) -> list[Value]:
        """Calls a function and returns its results.

        :param most: the most bytes that an answer may have
        :raises Threw: if the function threw
        :raises Ended: if no answer came
        :raises Malformed: if the answer is not a message
        """
        self.send(self.prepare(function, arguments))
        return self.receive(most)

    @staticmethod
    def prepare(function: str, arguments: list[Value]) -> bytes:
        """The request for a call."""
        message = encode([text(function), *arguments])
        return struct.pack("<Q", len(message)) + message

    def send(self, request: bytes) -> None:
        """Sends a request without waiting for the answer."""
        try:
            threading.Thread(target=self._write, args=(request,), daemon=True).start()
        except RuntimeError as error:
            raise Unfit(f"cannot send a request to an answer: {error}") from error

    def receive(self, most: int) -> list[Value]:
        """Receives the answer to a request; see `call`."""
        (size,) = struct.unpack("<Q", self._read(8))
        if size > most:
            raise Malformed(f"the answer has {size} bytes, but {most} are enough")
        status, *results = decode(self._read(size)) or [text("no answer")]
        if status.text:
            raise Threw(status.text)
        return results

    def _write(self, data: bytes) -> None:
        try:
            self._running.process.stdin.write(data)
            self._running.process.stdin.flush()
        except (OSError, ValueError):
            pass  # it ended, which reading will report

    def _read(self, size: int) -> bytes:
        parts, left = [], size
        while left > 0:
            ready, _, _ = select.select([self._running.answers], [], [], PAUSE)
            if (not ready and self._running.late()) or self._running.over():
                self._running.timed_out = True
                self._running.kill()
                raise Ended("timeout")
            if not ready:
                continue
            part = os.read(self._running.answers, min(left, 1 << 20))
            if not part:
                raise Ended("end")
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def close(self) -> Outcome:
        """Ends the program, and says how it ended."""
        if self.outcome is None:
            self.outcome = self._running.finish()
        return self.outcome
