"""A page in Chromium, as its reader sees it: what is wrong with it in each window and theme, and with the search."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from chromium import AXE, FOREIGN, WCAG, launched
from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).resolve().parent
LOOK = (HERE / "look.js").read_text(encoding="utf-8")
JUDGE = (HERE / "axe.js").read_text(encoding="utf-8")
WIDTHS = {1400: 1000, 1050: 800, 390: 844}  # of the window, and its height
FIRST = [(390, "light")]  # of each page: what goes wrong does so first where there is little room
LOOKS = [*FIRST, (1400, "light"), (1400, "dark"), (1050, "light"), (390, "dark")]  # 1050: least room between the lists
RULES = {"runOnly": {"type": "tag", "values": WCAG}, "rules": {"heading-order": {"enabled": True}}}
NUMBERS = {"04.2": "#exercise-04-2"}  # what is searched for, and the place that is found first


@dataclass
class Seen:
    """What was looked at, and what was wrong with it."""

    complaints: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, other: Seen) -> None:
        self.complaints += other.complaints
        self.counts.update(other.counts)


class Reader:
    """A browser."""

    def __init__(self, html: Path, http: str, chromium: str) -> None:
        self.html, self.http = html, http
        self.file = html.as_uri() + "/"
        self.playwright = sync_playwright().start()
        self.browser = launched(self.playwright, chromium)
        self.tabs: dict[bool, Page] = {}  # with JavaScript, and without
        self.themes: dict[Page, str] = {}

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
        seen.counts["looks"] += 1
        seen.counts["boxes"] += found["boxes"]
        seen.complaints += [f"{where}: {text}" for text in found["complaints"]]

    def judge(self, page: Page, where: str, seen: Seen) -> None:
        """What axe-core says of it."""
        if not page.evaluate("typeof axe === 'object'"):
            page.evaluate(AXE)
        result = page.evaluate(JUDGE, RULES)
        seen.counts["axe"] += 1
        for rule, target, message in result:
            seen.complaints.append(f"{where}: {rule}: {target}: {message}")

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

    def whole(self, name: str) -> Seen:
        """A page written by hand: in each window and theme, and without JavaScript."""
        seen = self.some(name, LOOKS, True)
        with self.opened(self.file, name, seen) as page:
            self.show(page, 390, "light")  # as without JavaScript: a narrow page hides the heads of some tables
            words = words_of(page)
            self.preview(page, name, seen)
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

    def show(self, page: Page, width: int, theme: str) -> None:
        """In this window and theme; what is so already is not done again, which would lay the page out anew."""
        size = {"width": width, "height": WIDTHS[width]}
        if page.viewport_size != size:
            page.set_viewport_size(size)
        if theme != self.themes.get(page, "light"):
            page.emulate_media(color_scheme=theme)
            self.themes[page] = theme

    def search(self, query: str) -> Seen:
        """It finds pages; a Chinese word's have all its characters, a number's first is its own."""
        seen = Seen()
        for base in (self.file, self.http):
            where = f"search for {query} ({urlsplit(base).scheme})"
            with self.opened(base, f"search.html?q={quote(query)}", seen) as page:
                page.wait_for_function("/finished|did not match/.test(document.body.innerText)")
                page.wait_for_timeout(300)
                links = page.eval_on_selector_all("ul.search a", "all => all.map((a) => a.href)")
                self.look(page, where, seen)
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
UNFOLD = "for (const one of document.querySelectorAll('details')) one.open = true"


def words_of(page: Page) -> list[str]:
    """What the page's text says to who only looks, without its live parts."""
    page.evaluate("for (const part of document.querySelectorAll('.live')) part.style.display = 'none'")
    words = page.evaluate("(document.querySelector('article, main') ?? document.body).innerText").split()
    page.evaluate("for (const part of document.querySelectorAll('.live')) part.style.display = ''")
    return words
