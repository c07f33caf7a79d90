"""Chromium as it looks at the pages: how it starts, what is served to it, and axe-core, which judges in it."""

from __future__ import annotations

import http.server
import importlib.resources
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from playwright.sync_api import Browser, Playwright

AXE = (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]  # 2.1, A and AA
FOREIGN = re.compile(r"(?:https?|wss?)://(?!127\.0\.0\.1:)")  # is noted, and not let out


def launched(playwright: Playwright, program: str) -> Browser:
    """The browser. As root, as in a container, it refuses to start in its sandbox."""
    return playwright.chromium.launch(executable_path=program, chromium_sandbox=os.getuid() != 0, args=["--disable-gpu"])


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The folder on a free port of the loopback address."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
