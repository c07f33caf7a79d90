"""Render the book: gather results, draw figures, run Doxygen and Sphinx, check listings and links.

    python3 docs/build.py --root . --build build/book

reads the pages ROOT/docs/*.md and ROOT/chapters/*/*.md, the sources under ROOT/lib and
ROOT/chapters, the measurements in ROOT/bench/results, and the programs' output, from BUILD/runs if they were run here,
otherwise from ROOT/recorded. So it needs no compiler. It writes BUILD/results, BUILD/figures and BUILD/html, and finally
prints the path of its index.html. Every warning is an error. Nothing is done again unless its input has changed.
With --compare it ends with a table of this machine's numbers beside the recorded ones, and fails if they differ.
With ABH_NO_SOLUTIONS in the environment, exercises are rendered without their solutions.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib/program"), str(HERE / "extensions")]

import cli
import files
import headers
import record
import tools
from abh_book import weave

SOLUTIONS = not os.environ.get("ABH_NO_SOLUTIONS")
SILENT = 8  # seconds between progress lines
PHASE = re.compile(r"([a-z][a-z -]+)\.\.\. *(?:\[ *(\d+)%\])?")  # Sphinx's lines about its progress


def say(text: str) -> None:
    print(f"book: {text}", flush=True)


# What goes in -------------------------------------------------------------------------------------


def pages(root: Path) -> dict[str, Path]:
    """Every page written by hand: its file, by its place in the book."""
    found: dict[str, Path] = {}
    for path in sorted((root / "docs").rglob("*.md")):
        name = path.relative_to(root / "docs")
        if not {"extensions", "_static"} & set(name.parts):
            found[name.as_posix()] = path
    for path in sorted((root / "chapters").glob("*/*.md")):
        found[path.relative_to(root).as_posix()] = path
    return found


def fingerprint(root: Path, build: Path) -> str:
    """A hash that changes with any file that the book is made from."""
    inputs = [HERE / "requirements.txt", HERE / "references.bib", *HERE.glob("*.py"), HERE.parent / "lib/program/glosses.py"]
    inputs += [*(HERE / "extensions").rglob("*.py"), *(HERE / "extensions").rglob("*.js")]
    inputs += [p for folder in ("_static", "live/page") for p in (HERE / folder).rglob("*") if p.is_file()]
    inputs += [*(root / "recorded" / "live").glob("*"), *(build / "checkpoints").glob("grammar*-seed1.safetensors")]
    inputs += [*pages(root).values(), *(root / name for name in weave.source_names(root))]
    inputs += [*(root / "tests").glob("*.cpp"), *(root / "tests").glob("[0-9]*/*.cpp")]
    inputs += [p for p in root.glob("chapters/*/exercises/*/*") if p.suffix in {".md", ".json", ".cpp", ".txt"}]
    inputs += [p for p in (build / "results").glob("*/*/*") if p.suffix in {".txt", ".json"}]
    inputs += sorted((root / "bench" / "results").glob("*.json"))
    inputs += (build / "figures").glob("*/*.svg")
    digest = hashlib.sha256(f"{sys.version} {root} {build} {SOLUTIONS}".encode())
    for path in sorted(inputs):
        stat = path.stat()
        digest.update(f"{path} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()


# Results and figures ------------------------------------------------------------------------------

# Lists that need no compiler are printed for each build, not recorded: caption and command.
LISTS = {
    "proof/faults": ("./book mutate --list", "tests/mutate.py --list"),
    "proof/numbers": ("./book build", "docs/record.py --compare --root {root} --build {build}"),
    "proof/seeds": ("python tests/golden/toy_statistics.py summary", "tests/golden/toy_statistics.py summary"),
}


def print_lists(root: Path, build: Path) -> None:
    for key, (caption, command) in LISTS.items():
        script, *options = [word.format(root=root, build=build) for word in command.split()]
        if not (root / script).is_file():
            continue
        program = [sys.executable, str(root / script), *options]
        run = [sys.executable, str(HERE / "run.py"), str(build / "lists" / key), caption, *program]
        if subprocess.run(run, check=False).returncode:
            raise cli.Failure(f"{caption} failed; its messages are above")


def draw_figures(root: Path, build: Path, jobs: int) -> None:
    if not (root / "figures").is_dir():
        return
    command = [sys.executable, HERE.parent / "figures" / "draw.py", "--figures", root / "figures"]
    command += ["--results", build / "results", "--out", build / "figures", "--jobs", str(jobs)]
    if subprocess.run(command, check=False).returncode != 0:
        raise cli.Failure("some figures cannot be drawn; their names are above")


# The book -----------------------------------------------------------------------------------------


def stage(root: Path, build: Path) -> Path:
    """Collect all pages in one tree, BUILD/src, with the times of their originals."""
    src = build / "src"
    hand, made = pages(root), headers.pages(root)
    for name, path in hand.items():
        files.copy(path, src / name)
    for name, text in made.items():
        files.write(src / name, text)
    files.prune(src, [src / name for name in [*hand, *made]])
    return src


def remove_stale(root: Path, src: Path, html: Path) -> None:
    """Delete rendered pages whose source is gone."""
    sources = {f"source/{name}.html" for name in weave.source_names(root)}
    for path in html.rglob("*.html"):
        name = path.relative_to(html).as_posix()
        own = name in {"genindex.html", "search.html", "source/index.html"} or name in sources
        if not own and not (src / name).with_suffix(".md").is_file():
            path.unlink()


def named_as_written(text: str, src: Path, root: Path) -> str:
    """Sphinx's messages with the names of the original pages, not of the staged ones."""
    text = re.sub(rf"{re.escape(str(src))}/((?:chapters|api)/)", r"\1", text)
    text = re.sub(rf"{re.escape(str(src))}/", "docs/", text)
    return text.replace(f"{root}/", "")


def unwritten(doctrees: Path, html: Path) -> list[str]:
    """Pages that were read but not written. Sphinx loses an error of a parallel writer while it starts another one
    (`ParallelTasks.add_task`), and then ends as if all were well."""
    left = []
    for tree in sorted(doctrees.rglob("*.doctree")):
        name = tree.relative_to(doctrees).with_suffix("").as_posix()
        page = html / f"{name}.html"
        if not page.is_file() or page.stat().st_mtime_ns < tree.stat().st_mtime_ns:
            left.append(name)
    return left


def follow(command: list[str], complaints: Path) -> int:
    """Run Sphinx, and print its progress every few seconds."""
    said = time.monotonic()
    with complaints.open("wb") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as sphinx:
        assert sphinx.stdout is not None
        for line in sphinx.stdout:
            if line.startswith("book: "):
                print(line, end="", flush=True)
            elif (found := PHASE.match(line)) and time.monotonic() - said > SILENT:
                said = time.monotonic()
                say(f"pages: {found.group(1)}" + (f", {found.group(2)} %" if found.group(2) else ""))
    return sphinx.returncode


def run_sphinx(root: Path, build: Path, src: Path, builder: str, jobs: int) -> None:
    doctrees, html = build / "doctrees", build / builder
    unfinished = doctrees / "unfinished"
    if unfinished.is_file():  # remains of a failed call may hide its warnings
        shutil.rmtree(doctrees)
    doctrees.mkdir(parents=True, exist_ok=True)
    unfinished.touch()
    settings = {
        "abh_root": root,
        "abh_results": build / "results",
        "abh_figures": build / "figures",
        "breathe_projects.abh": build / "xml",
        "abh_solutions": int(SOLUTIONS),
    }
    command = [sys.executable, "-m", "sphinx", "-b", builder, "-c", str(HERE), "-d", str(doctrees)]
    command += ["-W", "-n", "--keep-going", "-j", str(jobs), "--no-color"]
    for name, setting in settings.items():
        command += ["-D", f"{name}={setting}"]
    said = build / "sphinx.log"
    status = follow([*command, str(src), str(html)], said)
    complaints = named_as_written(said.read_text(encoding="utf-8"), src, root).strip()
    if status != 0:
        raise cli.Failure(f"Sphinx:\n{complaints}")
    if left := unwritten(doctrees, html):
        what = f"{complaints}\npages read but not written: {len(left)}, such as {left[0]}"
        raise cli.Failure(f"Sphinx:\n{what.lstrip()}; call ./book build again, which will read all pages anew")
    if complaints:
        print(complaints)
    unfinished.unlink()


def check_pages(root: Path, html: Path) -> None:
    """Check what must hold for the rendered pages, with all checks at once."""
    checks = {
        ("tangle.py", "--sources", str(root)): "the sources cannot be reassembled from the pages",
        ("offline.py",): "the pages would fetch something that is not stored beside them",
    }
    running = [
        (subprocess.Popen([sys.executable, str(HERE / script), str(html), *options]), complaint)
        for (script, *options), complaint in checks.items()
    ]
    wrong = [complaint for check, complaint in running if check.wait() != 0]
    if wrong:
        raise cli.Failure("; ".join(wrong))


def build_book(root: Path, build: Path, jobs: int) -> None:
    build.mkdir(parents=True, exist_ok=True)
    stamp, index = build / "book.stamp", build / "html" / "index.html"
    print_lists(root, build)
    record.gather(root, build)
    draw_figures(root, build, jobs)
    now = fingerprint(root, build)
    if stamp.is_file() and stamp.read_text() == now and index.is_file():
        say("no page has changed")
        return
    stamp.unlink(missing_ok=True)
    headers.read(root, build)
    src = stage(root, build)
    remove_stale(root, src, build / "html")
    say("rendering the pages")
    run_sphinx(root, build, src, "html", jobs)
    check_pages(root, build / "html")
    stamp.write_text(now)


def main() -> int:
    parser = argparse.ArgumentParser(description="render the book")
    parser.add_argument("--root", type=Path, default=HERE.parent, help="folder of the repository")
    parser.add_argument("--build", type=Path, default=Path("build/book"), help="build folder (default: build/book)")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes (default: 2)")
    parser.add_argument("--compare", action="store_true", help="finally compare this machine's numbers with the recorded ones")
    options = parser.parse_args()
    root, build = options.root.resolve(), options.build.resolve()
    if sys.prefix == sys.base_prefix:  # not in a virtual environment: start again in the book's own
        python = tools.install(HERE / "requirements.txt")
        os.execv(python, [str(python), *sys.argv])
    build_book(root, build, options.jobs)
    differences = record.compare(root, build) if options.compare else []
    for line in differences:
        print(f"book: {line}", file=sys.stderr)
    print(build / "html" / "index.html")
    return 1 if differences else 0


if __name__ == "__main__":
    cli.run(main)
