"""Use the pages' live parts as a reader would, and compare every number with the book's native program.

    tests/browser/run.py live [--only attention]

Each part has a script here, live/PART.js, which makes every kind of input to `part` with the functions of use.js, and
throws an Error if something is not shown. Then the right answer of each task is opened. All calls that the part then made of the book's code, with what went in and
what came out, are made again by build/book/tests/live_layers, live_sampling or live_transformer, which are compiled from the same
files for this processor: numbers may differ by 1e-5 of the largest of their group, in double precision by 1e-10, all else must be equal. In
Chromium, in light and dark and at both widths, from the disk and from a server on the loopback address, axe-core looks at
the part after that, the page must not scroll sideways, a part that starts by itself must have had its height from the
beginning, and in print its figure takes its place. By day each part has one of the first two looks. With ABH_NIGHTLY=1 or --only it has all, and the scripts and the numbers
are tried in Firefox, too; where there is none, that is said.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build/book"
sys.path.insert(0, str(ROOT / "lib/program"))

import cli
from chromium import AXE, FOREIGN, WCAG, launched, served
from native import Wrong, compare
from playwright.sync_api import sync_playwright

LOOKS = [(1400, "light"), (390, "dark"), (1400, "dark"), (390, "light")]
OWN = {  # the names under which the pages and the scripts open what comes with the pages, and its script there
    "the grammar's model": "weights",
    "grammar-seed1.safetensors": "weights",
    "without position codes": "without_codes",
}
RUN = """(async () => {
  live.log ??= [];
  const part = document.querySelector("abh-%(part)s");
  await part.begin();
  if (!part.classList.contains("is-live")) throw new Error("the part does not start: " + part.textContent.trim().slice(0, 200));
  %(use)s
  await (async () => {
    %(script)s
  })();
  for (const task of all(".task")) {
    const before = part.stage.innerHTML, [right, ...more] = task.querySelectorAll("details.right");
    demand(right && !more.length, "a task has one right answer");
    right.open = true;
    await until("what a task asks about", () => right.querySelector(".computed"));
    demand(part.stage.innerHTML !== before, "a task shows nothing else than before");
  }
  return live.log;
})().then((log) => { window.liveResult = JSON.stringify({ log }); },
          (error) => { window.liveResult = JSON.stringify({ error: String(error && error.stack || error) }); });
"""


class Chromium:
    def __init__(self, program: str) -> None:
        self.playwright = sync_playwright().start()
        self.browser = launched(self.playwright, program)
        self.complaints: list[str] = []

    def open(self, address: str, width: int = 1400, theme: str = "light") -> None:
        self.page = self.browser.new_page(viewport={"width": width, "height": 900})
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda r: self.complaints.append(f"asks for {r.url}") if FOREIGN.match(r.url) else None)
        self.page.add_init_script("window.liveLog = [];" + f"localStorage.setItem('theme', '{theme}');")
        self.page.goto(address)

    def start(self, script: str) -> None:
        self.page.evaluate(script + "; undefined")

    def read(self, name: str) -> Any:
        return self.page.evaluate(f"window.{name}")

    def close_page(self) -> None:
        self.page.close()
        if self.complaints:
            raise Wrong("; ".join(self.complaints))

    def close(self) -> None:
        self.browser.close()
        self.playwright.stop()


class Firefox:
    def __init__(self, program: str, folder: str) -> None:
        import logging

        from marionette_driver.marionette import Marionette

        logging.disable(logging.CRITICAL)
        self.marionette = Marionette(bin=program, headless=True, gecko_log=folder)  # a file that is there would be removed
        self.marionette.start_session()
        self.marionette.timeout.script = 600

    def open(self, address: str) -> None:
        self.marionette.navigate(address)

    def start(self, script: str) -> None:
        self.marionette.execute_script("window.wrappedJSObject.eval(arguments[0])", [script])

    def read(self, name: str) -> Any:
        return self.marionette.execute_script(f"return window.wrappedJSObject.{name}")

    def close(self) -> None:
        self.marionette.quit()
        self.marionette.cleanup()
        del self.marionette


def calls(browser: Chromium | Firefox, part: str) -> list[dict[str, Any]]:
    """Runs the part's script. @return what the part called"""
    helpers, script = ((HERE / name).read_text(encoding="utf-8") for name in ("use.js", f"live/{part}.js"))
    browser.start(RUN % {"part": part, "use": helpers, "script": script})
    until = time.monotonic() + 300
    while (found := browser.read("liveResult")) is None:
        if time.monotonic() > until:
            raise Wrong("its script does not end")
        time.sleep(0.1)
    result = json.loads(found)
    if "error" in result:
        raise Wrong(result["error"])
    return result["log"]


# Looks --------------------------------------------------------------------------------------------

LOOK = """async ([part, axe, rules]) => {
  const element = document.querySelector(`abh-${part}`), wrong = [];
  if (matchMedia("print").matches) {
    const seen = (kind) => [...element.querySelectorAll(kind)].some((e) => e.checkVisibility());
    if (seen(".live-body")) wrong.push("it is printed");
    if (element.querySelector("figure.plot") && !seen("figure.plot")) wrong.push("its figure is not printed");
    return wrong;
  }
  if (document.scrollingElement.scrollWidth > innerWidth) wrong.push("the page scrolls sideways");
  const room = parseFloat(getComputedStyle(element.stage).minHeight) || 0;
  if (element.constructor.eager && !window.liveUsed && element.stage.offsetHeight > room + 2)
    wrong.push(`it is ${element.stage.offsetHeight} px high, but has ${room} before it starts`);
  if (!window.axe) (0, eval)(axe);
  const { violations } = await window.axe.run(element, { runOnly: { type: "tag", values: rules }, preload: false });
  for (const { id, nodes } of violations) wrong.push(`${id}: ${nodes.length} times, first ${nodes[0].target}`);
  return wrong;
}"""


def look(browser: Chromium, part: str, width: int, theme: str, used: bool) -> None:
    browser.page.evaluate(f"window.liveUsed = {json.dumps(used)}")
    wrong = []
    for media in ("screen", "print"):
        browser.page.emulate_media(media=media)
        wrong += browser.page.evaluate(LOOK, [part, AXE, WCAG])
    browser.page.emulate_media(media="screen")
    if wrong:
        raise Wrong(f"{width} px, {theme}: " + "; ".join(wrong))


def page_of(html: Path, part: str) -> Path:
    for path in sorted(html.rglob("index.html")) + sorted((html / "chapters").rglob("*.html")):
        if f"<abh-{part} " in path.read_text(encoding="utf-8"):
            return path
    raise Wrong("no page has this part")


def checkpoints(html: Path, folder: Path) -> dict[str, Path]:
    """The files that come with the pages, under the names by which parts and their scripts open them."""
    for script in {*OWN.values()}:
        packed = re.search(r'live\.\w+ = "([^"]+)"', (html / f"_static/live/{script}.js").read_text(encoding="utf-8"))
        assert packed
        (folder / f"{script}.safetensors").write_bytes(gzip.decompress(base64.b64decode(packed[1])))
    return {name: folder / f"{script}.safetensors" for name, script in OWN.items()}


def use(
    browser: Chromium | Firefox, part: str, path: Path, server: str, looks: list[tuple[int, str]], files: dict[str, Path]
) -> str:
    """Runs the part's script, and in Chromium looks at the part in several windows. @return what was compared"""
    said = ""
    if isinstance(browser, Firefox):
        browser.open(path.as_uri())
        return compare(calls(browser, part), BUILD / "tests", files)
    for width, theme in looks:
        browser.open(path.as_uri() if theme == "light" else server, width, theme)
        if not said:
            said = compare(calls(browser, part), BUILD / "tests", files)
        else:
            browser.page.evaluate(f"document.querySelector('abh-{part}').begin()")
        look(browser, part, width, theme, (width, theme) == looks[0])
        browser.close_page()
    return said


def main() -> int:
    parser = argparse.ArgumentParser(description="use the pages' live parts, and compare their numbers with the native program's")
    parser.add_argument("--html", type=Path, default=ROOT / "build/book/html", help="the rendered book")
    parser.add_argument("--chromium", required=True, help="the browser's program")
    parser.add_argument("--firefox", help="the other browser's program")
    parser.add_argument("--only", default="", metavar="PART", help="one part alone")
    options = parser.parse_args()
    html = options.html.resolve()
    parts = [options.only] if options.only else sorted(path.stem for path in (HERE / "live").glob("*.js"))
    by_day = not options.only and os.environ.get("ABH_NIGHTLY") != "1"
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, served(html) as server:
        files = checkpoints(html, Path(folder))
        for name in ("chromium",) if by_day else ("chromium", "firefox"):
            if name == "firefox" and not options.firefox:
                print("live: there is no Firefox here; the package is firefox-esr")
                continue
            browser = Chromium(options.chromium) if name == "chromium" else Firefox(options.firefox, folder)
            for at, part in enumerate(parts):
                looks = [LOOKS[at % 2]] if by_day else LOOKS
                try:
                    path = page_of(html, part)
                    said = use(browser, part, path, server + path.relative_to(html).as_posix(), looks, files)
                    print(f"live: {part} in {name}: {said}", flush=True)
                except Wrong as error:
                    wrong += 1
                    print(f"live: {part} in {name}: {error}", file=sys.stderr, flush=True)
            browser.close()
    return 1 if wrong or not parts else 0


if __name__ == "__main__":
    cli.run(main)
