"""Use the pages' live parts as a reader would, and compare every number with the book's native program.

    tests/browser/run.py live [--only attention] [--browser firefox]

Each part has a script here, live/PART.js: an expression `async (part) => {...}` that makes every kind of input and
throws an Error if something is not shown. All calls that the part then made of the book's code, with what went in and
what came out, are made again by build/book/tests/live_layers or live_transformer, which are compiled from the same
files for this processor: numbers may differ by 1e-5 of the largest of their group, in double precision by 1e-10, all else must be equal. In
Chromium, in light and dark and at both widths, from the disk and from a server on the loopback address, axe-core looks at
the part after that, the page must not scroll sideways, a part that starts by itself must have had its height from the
beginning, and in print its figure takes its place. There, too, the checkpoints that
`./book build` has trained are dropped into chapter 10's page, which must translate as the programs of chapters 10 and
13 do, word by word. In Firefox the scripts and the numbers alone are tried; without it, that is said. By day each part has
two of the four looks, and Firefox tries one part for each half of the code; with ABH_NIGHTLY=1 or --only all is done.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import importlib.resources
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "lib/program"))

import cli
from pages import FOREIGN, served

BOUND = {"layers": 1e-10, "transformer": 1e-5}  # double and single precision
TRUSTED = 10  # steps of training: later on, round-off has grown so much that only the losses are compared, with
LATER = 1e-2  # this bound; the native plain and fast ways differ as much from each other
CHECKS = {"live_attention_check": 0, "live_layer_norm": -4}  # from here on come comparisons with differences
LOOKS = [(1400, "light"), (390, "dark"), (1400, "dark"), (390, "light")]
BY_DAY = {"chromium": 2, "firefox": ("attention", "translate")}  # looks; parts
GRAMMAR = "the grammar's model"  # the name under which the pages open what comes with them
RUN = """(async () => {
  live.log ??= [];
  const part = document.querySelector("abh-%(part)s");
  await part.begin();
  if (!part.classList.contains("is-live")) throw new Error("the part does not start: " + part.textContent.trim().slice(0, 200));
  await (%(script)s)(part);
  return live.log;
})().then((log) => { window.liveResult = JSON.stringify({ log }); },
          (error) => { window.liveResult = JSON.stringify({ error: String(error && error.stack || error) }); });
"""


class Wrong(Exception):
    """A live part does not do what it should; the message says what."""


class Chromium:
    def __init__(self, program: str) -> None:
        from playwright.sync_api import sync_playwright

        self.playwright = sync_playwright().start()
        self.browser = self.playwright.chromium.launch(
            executable_path=program, chromium_sandbox=os.getuid() != 0, args=["--disable-gpu"]
        )
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

    def close_page(self) -> None:
        pass

    def close(self) -> None:
        self.marionette.quit()
        self.marionette.cleanup()
        del self.marionette


def calls(browser: Chromium | Firefox, part: str) -> list[dict[str, Any]]:
    """Runs the part's script. @return what the part called"""
    script = (HERE / "live" / f"{part}.js").read_text(encoding="utf-8").strip().rstrip(";")
    browser.start(RUN % {"part": part, "script": script})
    until = time.monotonic() + 300
    while (found := browser.read("liveResult")) is None:
        if time.monotonic() > until:
            raise Wrong("its script does not end")
        time.sleep(0.1)
    result = json.loads(found)
    if "error" in result:
        raise Wrong(result["error"])
    return result["log"]


# Comparison ---------------------------------------------------------------------------------------


class Native:
    """The native program of a module, which is asked the same."""

    def __init__(self, program: Path, files: dict[str, Path]) -> None:
        self.files = files
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, name: str, given: list[Any]) -> Any:
        if name.startswith("live_open"):
            given = [str(self.files[given[0]]), *given[1:]]
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps({"name": name, "given": given}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "the native program has ended"}')
        if "error" in answer:
            raise Wrong(f"{name}, natively: {answer['error']}")
        return answer["out"]

    def close(self) -> None:
        self.process.communicate()


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """All values in a JSON, with the names on the way to them; places in lists are left out, so that a list is a group."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, path)
    else:
        yield path, value


def difference(name: str, page: Any, native: Any) -> float:
    """The largest difference, relative to the largest number of its group."""
    if isinstance(page, str):
        page, native = json.loads(page), json.loads(native)
    if name in CHECKS:  # which element is the worst is a matter of round-off
        at = CHECKS[name]
        for here, there in zip(page[at::4], native[at::4], strict=True):  # a flat row is off by more, here and there
            if here > max(1e-6, 2 * there):
                raise Wrong(f"{name}: a gradient is off by {here:.1e} from differences, natively by {there:.1e}")
        page, native = (x[:at] if at else [] for x in (page, native))
    ours, theirs = list(leaves(page)), list(leaves(native))
    if [path for path, _ in ours] != [path for path, _ in theirs]:
        raise Wrong(f"{name}: the page has {len(ours)} values, the native program {len(theirs)}")
    largest: dict[str, float] = {}
    for path, x in theirs:
        if isinstance(x, float):  # ids, which may stand beside them, are whole
            largest[path] = max(largest.get(path, 0), abs(x))
    worst = 0.0
    for (path, x), (_, y) in zip(ours, theirs, strict=True):
        if isinstance(x, float) or isinstance(y, float):
            worst = max(worst, abs(x - y) / (largest.get(path) or 1))
        elif x != y:
            raise Wrong(f"{name}{path}: {x} in the page, {y} natively")
    return worst


def compare(log: list[dict[str, Any]], native: Path, files: dict[str, Path]) -> str:
    programs: dict[str, Native] = {}
    worst = 0.0
    steps: Counter[str] = Counter()
    try:
        for call in log:
            module = call["module"]
            steps[module] = 0 if call["name"] == "live_train" else steps[module] + (call["name"] == "live_step")
            if module not in programs:
                programs[module] = Native(native / f"live_{module.split()[0]}", files)
            later = steps[module] > TRUSTED
            native_out = programs[module].ask(call["name"], call["given"])
            if later and call["name"] != "live_step":
                continue
            found = difference(call["name"], call["out"], native_out)
            bound = LATER if later else BOUND[module.split()[0]]
            if not found <= bound:
                raise Wrong(f"{call['name']}: differs by {found:.1e} from the native program, at most {bound:.0e}")
            if not later:
                worst = max(worst, found)
    finally:
        for program in programs.values():
            program.close()
    return f"{len(log)} calls, largest difference {worst:.1e}"


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
  const room = parseFloat(getComputedStyle(element).minHeight) || 0;
  if (element.constructor.eager && !window.liveUsed && element.offsetHeight > room + 2)
    wrong.push(`it is ${element.offsetHeight} px high, but has ${room} before it starts`);
  if (!window.axe) (0, eval)(axe);
  const { violations } = await window.axe.run(element, { runOnly: { type: "tag", values: rules }, preload: false });
  for (const { id, nodes } of violations) wrong.push(`${id}: ${nodes.length} times, first ${nodes[0].target}`);
  return wrong;
}"""


def look(browser: Chromium, part: str, width: int, theme: str, used: bool) -> None:
    axe = (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
    browser.page.evaluate(f"window.liveUsed = {json.dumps(used)}")
    wrong = []
    for media in ("screen", "print"):
        browser.page.emulate_media(media=media)
        wrong += browser.page.evaluate(LOOK, [part, axe, ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]])
    browser.page.emulate_media(media="screen")
    if wrong:
        raise Wrong(f"{width} px, {theme}: " + "; ".join(wrong))


def page_of(html: Path, part: str) -> Path:
    for path in sorted(html.rglob("index.html")) + sorted((html / "chapters").rglob("*.html")):
        if f"<abh-{part} " in path.read_text(encoding="utf-8"):
            return path
    raise Wrong("no page has this part")


def checkpoints(html: Path, folder: Path) -> dict[str, Path]:
    """The file that comes with the pages, under the names by which parts and their scripts open it."""
    text = (html / "_static/live/weights.js").read_text(encoding="utf-8")
    packed = re.search(r'live\.weights = "([^"]+)"', text)
    assert packed
    own = folder / "own.safetensors"
    own.write_bytes(gzip.decompress(base64.b64decode(packed[1])))
    return dict.fromkeys((GRAMMAR, own.name, "grammar-seed1.safetensors"), own)


# Checkpoints of the reader's own ------------------------------------------------------------------

SENTENCES = {
    "toy-seed1.safetensors": ["我 有 一 个 好 朋 友 P", "我 有 零 个 女 朋 友 P", "我 有 一 个 男 朋 友 P"],
    "grammar-seed1.safetensors": [  # held out from training
        "我 有 一 个 女 朋 友", "你 认 识 两 个 老 师 吗", "她 没 有 一 个 女 朋 友", "他 有 一 个 好 女 朋 友", "你 有 一 个 老 女 朋 友 吗",
        "我 不 认 识 两 个 老 师", "她 认 识 两 个 好 老 师", "他 不 认 识 两 个 老 老 师", "他 有 一 个 女 朋 友 吗", "我 没 有 一 个 老 女 朋 友",
        "\ufeff我\u00a0有\u3000一 个\u2060 女\u200b 朋\u00ad \u200e友\ufe0f",  # with blanks of other kinds, and what nobody sees
    ],
}
ASK = """async (sentence) => {
  const part = document.querySelector("abh-translate");
  part.text.value = sentence;
  part.text.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  await part.queue;
  return [part.run.says, part.run.probabilities, part.said.textContent, part.trouble.textContent];
}"""


def said_by(program: Path, *options: str, text: str = "") -> str:
    run = subprocess.run([program, "--threads", "1", *options], input=text, capture_output=True, text=True, check=False)
    if run.returncode:
        raise Wrong(f"{program.name}: {run.stderr.strip()}")
    return run.stdout


def compare_programs(browser: Chromium, page: str, build: Path) -> str:
    """Drops checkpoints into chapter 10's page, and compares its translations with those of the programs."""
    trained, chapters = build / "checkpoints", build / "chapters"
    ten, thirteen = chapters / "10_greedy_decoding/greedy_decoding", chapters / "13_real_translation/real_translation"
    browser.open(page)
    browser.page.evaluate("document.querySelector('abh-translate').begin()")

    def drop(path: Path) -> None:
        browser.page.set_input_files("abh-translate input[type=file]", path)
        browser.page.wait_for_function("(n) => document.querySelector('abh-translate').using.textContent.includes(n)", arg=path.name)
        browser.page.evaluate("document.querySelector('abh-translate').queue")

    count = 0
    for name, sentences in SENTENCES.items():
        drop(trained / name)
        for sentence in sentences:
            printed = said_by(ten, "--checkpoint", str(trained / name), "--translate", sentence)
            steps = re.findall(r"^ +\S+ +(\S+) +(\d\.\d+) ", printed, re.MULTILINE)
            words, probabilities, _, trouble = browser.page.evaluate(ASK, sentence)
            if trouble or words != [word for word, _ in steps]:
                raise Wrong(f"{name}: {sentence}: the page says {words} {trouble}, the program {steps}")
            if max(abs(p - float(q)) for p, (_, q) in zip(probabilities, steps, strict=True)) > 1e-5:
                raise Wrong(f"{name}: {sentence}: the page has {probabilities}, the program {steps}")
            count += 1
    folder = trained / "translation-seed1"
    lines = (folder / "test.source.txt").read_text(encoding="utf-8").splitlines()[::100][:10]
    expected = said_by(thirteen, "translate", "--model", str(folder), "--beam", "1", text="\n".join(lines) + "\n").splitlines()
    drop(folder / "model.safetensors")
    for line, translation in zip(lines, expected, strict=True):
        _, _, said, trouble = browser.page.evaluate(ASK, line)
        if trouble or said.partition(" is: ")[2] != translation:
            raise Wrong(f"chapter 13: {line}: the page says {said} {trouble}, the program {translation}")
        count += 1
    browser.close_page()
    return f"{count} sentences as the programs translate them"


def works(program: str) -> bool:
    """Ubuntu's package of that name is a script that asks for a snap, which may not be there."""
    return subprocess.run([program, "--version"], capture_output=True, check=False).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description="use the pages' live parts, and compare their numbers with the native program's")
    parser.add_argument("--html", type=Path, default=ROOT / "build/book/html", help="the rendered book")
    parser.add_argument("--native", type=Path, default=ROOT / "build/book/tests", help="folder of the native programs, beside the checkpoints")
    parser.add_argument("--chromium", required=True, help="the browser's program")
    parser.add_argument("--out", type=Path, help="folder for screenshots; without it none is taken")
    parser.add_argument("--only", default="", metavar="PART", help="one part alone")
    parser.add_argument("--browser", choices=("chromium", "firefox"), help="one browser alone")
    options = parser.parse_args()
    html = options.html.resolve()
    parts = [options.only] if options.only else sorted(path.stem for path in (HERE / "live").glob("*.js"))
    by_day = not options.only and os.environ.get("ABH_NIGHTLY") != "1"
    looks = LOOKS[: BY_DAY["chromium"]] if by_day else LOOKS
    firefox = next((name for name in map(shutil.which, ("firefox-esr", "firefox")) if name and works(name)), None)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, served(html) as server:
        files = checkpoints(html, Path(folder))
        for name in ("chromium", "firefox"):
            if options.browser not in {None, name}:
                continue
            if name == "firefox" and not firefox:
                print("live: there is no Firefox here; the package is firefox-esr")
                continue
            browser = Chromium(options.chromium) if name == "chromium" else Firefox(firefox, folder)
            for part in parts:
                if name == "firefox" and by_day and part not in BY_DAY["firefox"]:
                    continue
                try:
                    path = page_of(html, part)
                    page = path.as_uri()
                    for width, theme in looks if isinstance(browser, Chromium) else [(0, "")]:
                        if isinstance(browser, Chromium):
                            address = page if theme == "light" else server + path.relative_to(html).as_posix()
                            browser.open(address, width, theme)
                        else:
                            browser.open(page)
                        if (width, theme) in {LOOKS[0], (0, "")}:
                            log = calls(browser, part)
                            said = compare(log, options.native, files)
                            print(f"live: {part} in {name}: {said}", flush=True)
                        elif isinstance(browser, Chromium):
                            browser.page.evaluate(f"document.querySelector('abh-{part}').begin()")
                        if isinstance(browser, Chromium):
                            look(browser, part, width, theme, (width, theme) == LOOKS[0])
                            if options.out:
                                options.out.mkdir(parents=True, exist_ok=True)
                                browser.page.locator(f"abh-{part}").screenshot(path=options.out / f"{part}-{width}-{theme}.png")
                        browser.close_page()
                    if part == "translate" and isinstance(browser, Chromium):
                        build = options.native.parent
                        if (build / "checkpoints/translation-seed1").is_dir():
                            print(f"live: checkpoints dropped: {compare_programs(browser, page, build)}", flush=True)
                        else:
                            print("live: no checkpoint is dropped: ./book build trains those")
                except Wrong as error:
                    wrong += 1
                    print(f"live: {part} in {name}: {error}", file=sys.stderr, flush=True)
            browser.close()
    return 1 if wrong or not parts else 0


if __name__ == "__main__":
    cli.run(main)
