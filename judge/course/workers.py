"""Processes that judge answers at once."""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from ..answer.group import adopt_orphans

PROCESSORS = len(os.sched_getaffinity(0))  # that this process may use
FORK = multiprocessing.get_context("fork")  # workers inherit what this process has found out


@contextlib.contextmanager
def workers(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that inherit what this one has found out. After an error, or Ctrl-C, they begin nothing more."""
    with ProcessPoolExecutor(jobs, FORK, initializer=begin_work) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def begin_work() -> None:
    """Prepares a worker. Ctrl-C ends it, and only the process that gives out the tasks says so."""
    adopt_orphans()
    signal.signal(signal.SIGINT, lambda *_: sys.exit(128 + signal.SIGINT))


def at_least_one(text: str) -> int:
    """The argument of --jobs."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of at least 1, not {text!r}")
    return int(text)
