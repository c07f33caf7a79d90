"""How long chapter 9's page trains until a sentence and its reverse, neither of which it trains on, both come out right.

    tests/browser/run.py training [--out FILE] [--seeds 1 2 3]

Prints steps and seconds for each seed, and writes them to FILE, such as bench/results/DATE_live_training.json, whose numbers the
page shows. Exit status 1 if a seed does not get there in 1,065 steps, as many as the chapter's program takes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / folder) for folder in ("lib/program", "bench")]

import cli
from chromium import launched
from machine import describe_machine
from playwright.sync_api import Page, sync_playwright

BEGIN = """async (seed) => {
  window.part = document.querySelector("abh-train");
  await part.begin();
  part.seed.value = seed;
  [...part.querySelectorAll("button")].find((button) => button.textContent === "begin again").click();
}"""
LONGEST = 600_000  # ms


def trained(page: Page, seed: int) -> dict[str, float]:
    """Steps and seconds until both sentences are right."""
    page.evaluate(BEGIN, str(seed))
    page.wait_for_function(f"part.said.textContent.includes('seed {seed}')")
    start = time.monotonic()
    page.wait_for_function("part.both > 0 || part.losses?.length >= 1065", timeout=LONGEST)
    seconds = time.monotonic() - start
    steps = page.evaluate("part.both")
    if not steps:
        raise cli.Failure(f"seed {seed}: not both right after {seconds:.0f} s")
    print(f"seed {seed}: both right after {steps} steps, {seconds:.1f} s", flush=True)
    return {"steps": steps, "seconds": round(seconds, 1)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--html", type=Path, required=True, help="the rendered book")
    parser.add_argument("--chromium", required=True, help="the browser's program")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="random starts")
    parser.add_argument("--out", type=Path, metavar="FILE", help="JSON file to write")
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = launched(playwright, options.chromium)
        page = browser.new_page()
        page.goto((options.html.resolve() / "chapters/09_training/index.html").as_uri())
        seeds = {f"seed{seed}": trained(page, seed) for seed in options.seeds}
        result = describe_machine() | {"browser": f"Chromium {browser.version}"} | seeds
        browser.close()
    for name in ("steps", "seconds"):
        result[f"most_{name}"] = max(one[name] for one in seeds.values())
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    cli.run(main)
