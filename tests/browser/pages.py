"""Look at every page of the rendered book in Chromium, as its readers will.

    tests/browser/run.py [--html build/book/html] [--out build/browser] [--all]

finds Chromium, installs what drives it, and calls this file. Each page is opened from `file://` and looked at once, in
light and 390 px wide; of those that are made from a source only one in four. One in twenty, chosen by its name, is looked
at in every way instead; with --all and with --only each page is. Every way means 1400 and 390 px wide, in light and dark,
1050 px wide from a server on the loopback address, and with JavaScript off; for pages that are made from a source, wide in light and narrow in dark. Asked of each page:

- no error on the console, no request to another host, none that fails;
- no raw TeX, no character without a glyph, no picture that is missing;
- the page does not scroll sideways; a box within it that scrolls takes the focus and has a label;
- axe-core finds no violation of WCAG 2.1 A and AA, and the headings go down one level at a time (some pages answer for
  all, one in four of those written by hand, since that takes longer than all else; with --all each answers for itself, but
  for copies of sources, which differ only in their code).

The search must find English words in any of their forms, Chinese ones, and an exercise by its number. Links and anchors are
checked by docs/offline.py whenever the book is rendered. OUT gets a screenshot of each page written
by hand in each look. Exit status 1 names each page and complaint.
"""

from __future__ import annotations

import argparse
import http.server
import importlib.resources
import os
import re
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / folder) for folder in ("lib/program", "docs")]

import cli
from playwright.sync_api import Browser, Page, sync_playwright
from serve import Server

LOOK = (HERE / "look.js").read_text(encoding="utf-8")
GLYPHS = (HERE / "glyphs.js").read_text(encoding="utf-8")
WIDTHS = {1400: 1000, 1050: 800, 390: 844}  # of the window, and its height
LOOKS = [(width, theme) for width in (1400, 390) for theme in ("light", "dark")]
FIRST = [(390, "light")]  # of each page: what goes wrong does so first where there is little room
APART = [(1400, "light"), (390, "dark")]
RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]},
    "rules": {"heading-order": {"enabled": True}},
}
COLORS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
# Of the pieces of text that have the same colors and size on the same ground, one is judged; the others are invisible
# meanwhile, which keeps their places. (To exclude them takes axe-core far longer.) What names a link or a button stays.
AXE = """(rules) => {
  const judged = new Set(), others = [], grounds = new Map([[null, ""]]);
  const ground = (box) => {
    if (!grounds.has(box)) {
      const color = getComputedStyle(box).backgroundColor, below = ground(box.parentElement);
      grounds.set(box, color === "rgba(0, 0, 0, 0)" ? below : `${color} ${below}`);
    }
    return grounds.get(box);
  };
  for (const piece of document.querySelectorAll("p, li, dd, td, em, code, span")) {
    if (piece.childElementCount || piece.closest("a, button, summary, label, h1, h2, h3, h4, h5, h6")) continue;
    if (!piece.checkVisibility({visibilityProperty: true})) continue;
    const {color, fontSize, fontWeight, opacity} = getComputedStyle(piece);
    const key = [color, fontSize, fontWeight, opacity, piece.closest("pre, .katex")?.localName, ground(piece)].join();
    if (judged.has(key)) others.push(piece);
    else if (piece.textContent.trim().length > 1) judged.add(key);  // axe-core judges no single character
  }
  for (const piece of others) piece.style.visibility = "hidden";
  return axe.run(document, {
    ...rules, preload: false, elementRef: false, resultTypes: ["violations", "passes"],
  }).finally(() => {
    for (const piece of others) piece.style.visibility = "";
  }).then(({violations, passes}) => ({
  wrong: violations.flatMap(({id, nodes}) => nodes.map(
    (node) => [id, node.target.join(" "), (node.any[0] ?? node.all[0] ?? node.none[0])?.message ?? ""])),
  held: Object.fromEntries(passes.map(({id, nodes}) => [id, nodes.length])),
  }));
}"""
FOREIGN = re.compile(r"(?:https?|wss?)://(?!127\.0\.0\.1:)")  # is noted, and not let out
ENGLISH = ("attention", "multiplied", "gradients")
CHINESE = ("朋友", "好", "女")
NUMBERS = {"04.2": "#exercise-04-2"}  # and the place that is found first


@dataclass
class Seen:
    """What was looked at, and what was wrong with it."""

    complaints: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, other: Seen) -> None:
        self.complaints += other.complaints
        self.counts.update(other.counts)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The folder on a free port of the loopback address."""
    with Server(folder, 0, Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Reader:
    """A browser, and the glyphs that it is known to have."""

    def __init__(self, html: Path, out: Path | None, http: str, chromium: str) -> None:
        self.html, self.out, self.http = html, out, http
        self.file = html.as_uri() + "/"
        self.playwright = sync_playwright().start()
        # As root, as in a container, Chromium refuses to start in its sandbox.
        sandbox = os.name != "posix" or os.getuid() != 0
        self.browser: Browser = self.playwright.chromium.launch(
            executable_path=chromium, chromium_sandbox=sandbox, args=["--disable-gpu"]
        )
        self.tabs: dict[bool, Page] = {}  # with JavaScript, and without
        self.themes: dict[Page, str] = {}
        self.known: dict[str, set[str]] = {}
        self.axe = (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8")

    def close(self) -> None:
        self.browser.close()
        self.playwright.stop()

    @contextmanager
    def opened(self, base: str, name: str, seen: Seen, script: bool = True) -> Iterator[Page]:
        """A page, watched: what its console says and what it asks for. Its tab then takes the next one."""
        self.base, self.said, self.seen = base, f"{name} ({urlsplit(base).scheme})", seen
        if script not in self.tabs:
            self.tabs[script] = self.new_tab(script)
        tab = self.tabs[script]
        try:
            tab.goto(base + quote(name, safe="/?=&%"), wait_until="load")
            yield tab
            tab.goto("about:blank")  # what the page still has to say is said of it
        except BaseException:
            self.tabs.pop(script).context.close()
            raise

    def complain(self, text: str) -> None:
        self.seen.complaints.append(f"{self.said}: {text}")

    def new_tab(self, script: bool) -> Page:
        context = self.browser.new_context(java_script_enabled=script)
        context.route(FOREIGN, lambda route: route.abort())
        tab = context.new_page()
        tab.set_default_timeout(120_000)  # the machine may be busy

        def asked(request: Any) -> None:
            if request.url == "about:blank":
                return
            self.seen.counts["requests"] += 1
            if not request.url.startswith((self.base, "data:", "blob:")):
                self.complain(f"asks for {request.url}")

        def answered(response: Any) -> None:
            if response.status >= 400:
                self.complain(f"{response.url} is answered {response.status}")

        def failed(request: Any) -> None:
            if request.failure != "net::ERR_ABORTED":  # the next look begins before a picture came
                self.complain(f"gets no answer from {request.url}")

        tab.on("request", asked)
        tab.on("response", answered)
        tab.on("requestfailed", failed)
        tab.on("pageerror", lambda error: self.complain(f"a script fails: {error}"))
        tab.on("console", lambda said: self.complain(f"the console says: {said.text}") if said.type == "error" else None)
        return tab

    def look(self, page: Page, where: str, seen: Seen, script: bool = True) -> None:
        """The page in this window."""
        if script:  # without it no frame calls back
            page.evaluate(SETTLED)
        found = page.evaluate(LOOK)
        new = {}
        for font, characters in found["glyphs"].items():
            known = self.known.setdefault(font, set())
            if fresh := set(characters) - known:
                new[font] = "".join(sorted(fresh))
        if new:
            missing = page.evaluate(GLYPHS, new)
            found["complaints"] += [f"no font has a glyph for {c!r} (U+{ord(c):04X})" for c in sorted(set(missing))]
            for font, characters in new.items():
                self.known[font] |= set(characters) - set(missing)
        seen.counts["looks"] += 1
        seen.counts["boxes"] += found["boxes"]
        seen.complaints += [f"{where}: {text}" for text in found["complaints"]]

    def judge(self, page: Page, where: str, seen: Seen, rules: dict[str, Any] = RULES) -> None:
        """What axe-core says of it."""
        if not page.evaluate("typeof axe === 'object'"):
            page.evaluate(self.axe)
        result = page.evaluate(AXE, rules)
        seen.counts["axe"] += 1
        seen.counts["contrasts"] += result["held"].get("color-contrast", 0)
        seen.counts["headings"] += result["held"].get("heading-order", 0)
        for rule, target, message in result["wrong"]:
            seen.complaints.append(f"{where}: {rule}: {target}: {message}")

    def whole(self, name: str) -> Seen:
        """A page written by hand: in each window and theme, from a server, and without JavaScript."""
        seen = Seen()
        with self.opened(self.file, name, seen) as page:
            self.show(page, 390, "light")  # as without JavaScript: a narrow page hides the heads of some tables
            words = words_of(page)
            for width, theme in LOOKS:
                self.show(page, width, theme)
                where = f"{name} (file, {theme}, {width} px)"
                if self.out:
                    self.picture(page, name, theme, width)
                page.evaluate(UNFOLD)
                self.look(page, where, seen)
                self.judge(page, where, seen, RULES if (width, theme) in APART else COLORS)
                page.evaluate(FOLD)
            self.preview(page, name, seen)
        with self.opened(self.http, name, seen) as page:
            self.show(page, 1050, "light")  # where the lists at both sides leave the least room
            page.evaluate(UNFOLD)
            self.look(page, f"{name} (http, light, 1050 px)", seen)
        with self.opened(self.file, name, seen, script=False) as page:
            where = f"{name} (file, without JavaScript, 390 px)"
            self.show(page, 390, "light")
            without = words_of(page)
            if without != words:
                there = set(without)
                lost = next((word for word in words if word not in there), "")
                seen.complaints.append(f"{where}: does not show the words that it shows with it, first {lost!r}")
            page.evaluate(UNFOLD)
            self.look(page, where, seen, script=False)
        return seen

    def preview(self, page: Page, name: str, seen: Seen) -> None:
        """A link to an equation shows it while it has the focus, inside the window."""
        links = page.locator('article a[href^="#equation-"]').filter(visible=True)
        if links.count() == 0:
            return
        links.first.focus()
        box = page.locator(".preview").bounding_box()
        width = page.viewport_size["width"] if page.viewport_size else 0
        if box is None or box["x"] < 0 or box["x"] + box["width"] > width:
            seen.complaints.append(f"{name}: the preview of an equation stands at {box} in a window {width} wide")
        page.keyboard.press("Escape")
        if page.locator(".preview").is_visible():
            seen.complaints.append(f"{name}: the preview of an equation stays after Escape")

    def some(self, name: str, looks: list[tuple[int, str]], judged: bool) -> Seen:
        """A page in some windows and themes."""
        seen = Seen()
        with self.opened(self.file, name, seen) as page:
            for width, theme in looks:
                self.show(page, width, theme)
                where = f"{name} (file, {theme}, {width} px)"
                page.evaluate(UNFOLD)
                self.look(page, where, seen)
                if judged:
                    self.judge(page, where, seen)
        return seen

    def show(self, page: Page, width: int, theme: str) -> None:
        """In this window and theme; what is so already is not done again, which would lay the page out anew."""
        size = {"width": width, "height": WIDTHS[width]}
        if page.viewport_size != size:
            page.set_viewport_size(size)
        if theme != self.themes.get(page, "light"):
            page.emulate_media(color_scheme=theme)
            self.themes[page] = theme

    def picture(self, page: Page, name: str, theme: str, width: int) -> None:
        assert self.out is not None
        path = self.out / "screenshots" / f"{name.removesuffix('.html').replace('/', '.')}.{theme}.{width}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=path, type="jpeg", quality=75, full_page=True, animations="disabled")

    def search(self, query: str, judged: bool) -> Seen:
        """It finds pages, and from a server, too, if judged; a Chinese word's have all its characters, a number's first is its own."""
        seen = Seen()
        for base in (self.file, self.http) if judged else (self.file,):
            scheme = urlsplit(base).scheme
            where = f"search for {query} ({scheme})"
            with self.opened(base, f"search.html?q={quote(query)}", seen) as page:
                page.wait_for_function("/finished|did not match/.test(document.body.innerText)")
                page.wait_for_timeout(300)
                links = page.eval_on_selector_all("ul.search a", "all => all.map((a) => a.href)")
                self.look(page, where, seen)
                if judged and base == self.file:
                    self.judge(page, where, seen)
            seen.counts["searches"] += 1
            if not links:
                seen.complaints.append(f"{where}: finds nothing")
            elif not links[0].endswith(NUMBERS.get(query, "")):
                seen.complaints.append(f"{where}: finds {links[0]} first")
            for link in links if not query.isascii() else []:
                path = self.html / unquote(link.removeprefix(base).split("#")[0].split("?")[0])
                text = re.sub(r"<[^>]*>", "", path.read_text(encoding="utf-8"))
                if not set(query) <= set(text):
                    seen.complaints.append(f"{where}: finds {path.name}, which has it not")
        return seen


# What is unfolded may need another font, and what follows the size of a box has done so after two more frames.
SETTLED = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  await frame(); await document.fonts.ready; await frame(); await frame(); }"""
UNFOLD = """() => document.querySelectorAll("details:not([open])").forEach((one) => {
  one.open = true; one.dataset.unfolded = ""; })"""
FOLD = """() => document.querySelectorAll("details[data-unfolded]").forEach((one) => {
  one.open = false; delete one.dataset.unfolded; })"""


def words_of(page: Page) -> list[str]:
    """What the page's text says to who only looks, without its live parts."""
    page.evaluate("for (const part of document.querySelectorAll('.live')) part.style.display = 'none'")
    words = page.evaluate("(document.querySelector('article, main') ?? document.body).innerText").split()
    page.evaluate("for (const part of document.querySelectorAll('.live')) part.style.display = ''")
    return words


# Many pages at once -------------------------------------------------------------------------------

reader: Reader | None = None


def start(*arguments: Any) -> None:
    global reader
    cli.quiet_worker()
    reader = Reader(*arguments)


@dataclass(frozen=True)
class Task:
    """A page and how it is looked at, or what is searched for."""

    name: str
    looks: tuple[tuple[int, str], ...] = ()  # none: a search
    judged: bool = False
    whole: bool = False


def visit(task: Task) -> tuple[Seen, float]:
    assert reader is not None
    started = time.monotonic()
    try:
        if task.whole:
            seen = reader.whole(task.name)
        elif task.looks:
            seen = reader.some(task.name, task.looks, task.judged)
        else:
            seen = reader.search(task.name, task.judged)
    except Exception as error:  # one page's failure is that page's complaint
        seen = Seen([f"{task.name}: {type(error).__name__}: {error}"])
    return seen, time.monotonic() - started


def chosen(name: str, one_in: int) -> bool:
    """Whether a page of this name is one of the sample: always, or never."""
    return zlib.crc32(name.encode()) % one_in == 0


def tasks(html: Path, every: bool) -> list[Task]:
    """Long pages first, so that both workers end together."""
    pages = sorted(html.rglob("*.html"), key=lambda path: -path.stat().st_size)
    names = [path.relative_to(html).as_posix() for path in pages]
    words = (*ENGLISH, *CHINESE, *NUMBERS) if "search.html" in names else ()
    out = [Task(word, judged=every or word in CHINESE[1:2]) for word in words]
    for name in names:
        more = every or chosen(name, 20)
        if name.startswith(("source/", "api/")) and not (more or chosen(name, 4) or name.endswith("/index.html")):
            continue
        if name.startswith("source/"):  # they differ in nothing but the code that they show
            judged = name == "source/index.html" or chosen(name, 12)
        elif name.startswith("api/"):
            judged = more
        else:
            judged = more or name == "index.html" or chosen(name, 4)
        by_hand = not name.startswith(("source/", "api/")) and name not in {"genindex.html", "search.html"}
        out.append(Task(name, tuple(APART if more else FIRST), judged, by_hand and more))
    return sorted(out, key=lambda task: not task.whole)


def check(
    html: Path, out: Path | None, chromium: str, jobs: int, every: bool = False, only: str = "", timing: bool = False
) -> Seen:
    """The pages whose name holds `only`; complaints are printed as they come."""
    seen = Seen()
    todo = [task for task in tasks(html, every or only != "") if only in task.name]
    with (
        served(html) as address,
        ProcessPoolExecutor(jobs, initializer=start, initargs=(html, out, address, chromium)) as pool,
    ):
        for task, (one, seconds) in zip(todo, pool.map(visit, todo), strict=True):
            seen.add(one)
            seen.counts["pages"] += bool(task.looks)
            seen.counts["in every way"] += task.whole
            for line in one.complaints:
                print(line, flush=True)
            if timing:
                print(f"{seconds:6.1f} s {task.name}: {dict(one.counts)}", flush=True)
    return seen


def main() -> int:
    parser = argparse.ArgumentParser(description="look at the rendered book in Chromium")
    parser.add_argument("--html", type=Path, default=Path("build/book/html"), help="the rendered book")
    parser.add_argument("--out", type=Path, help="folder for screenshots; without it none is taken")
    parser.add_argument("--chromium", required=True, help="the browser's program")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="pages at once")
    parser.add_argument("--all", action="store_true", help="look at every page in every way, not at one in twenty")
    parser.add_argument("--only", default="", metavar="TEXT", help="pages whose name holds TEXT, in every way")
    parser.add_argument("--timing", action="store_true", help="say how long each page takes")
    options = parser.parse_args()
    started = time.monotonic()
    seen = check(
        options.html.resolve(), options.out and options.out.resolve(), options.chromium, options.jobs,
        options.all, options.only, options.timing,
    )
    counts = ", ".join(f"{number} {what}" for what, number in seen.counts.items())
    print(f"browser: {counts}; {len(seen.complaints)} complaints; {time.monotonic() - started:.0f} s")
    return 1 if seen.complaints or not seen.counts["looks"] else 0


if __name__ == "__main__":
    cli.run(main)
