"""Serve the rendered pages on the loopback address, until Ctrl-C.

    python3 docs/serve.py [PORT] [--html build/book/html]

Port 0 is any free one. Standard library only.
"""

import argparse
import functools
import http.server
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "lib/program"))

import cli


class Server(http.server.ThreadingHTTPServer):
    """Of the files of a folder, to this machine only."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int, handler: type[http.server.SimpleHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", port), functools.partial(handler, directory=str(folder)))

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(error := sys.exc_info()[1], ConnectionError):  # a browser that has gone is none
            print(f"serve: {cli.explained(error)}", file=sys.stderr)


def port_number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"expected a port number up to 65535, not {text}")
    return int(text)


def main() -> None:
    parser = argparse.ArgumentParser(prog="./book serve", description="serve the rendered pages on the loopback address")
    parser.add_argument("port", nargs="?", type=port_number, default=8000, help="number of the port (default: 8000)")
    parser.add_argument("--html", type=Path, default=ROOT / "build/book/html", help="folder of the pages")
    options = parser.parse_args()
    if not (options.html / "index.html").is_file():
        raise cli.Failure("there are no pages yet; make them with: ./book build")
    try:
        server = Server(options.html, options.port, http.server.SimpleHTTPRequestHandler)
    except OSError as error:
        raise cli.Failure(f"port {options.port}: {error.strerror}; choose another: ./book serve PORT") from None
    with server:  # ends by Ctrl-C, as it says
        print(f"http://127.0.0.1:{server.server_port}/ (stop with Ctrl-C)", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    cli.run(main)
