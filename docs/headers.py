"""The API reference: what Doxygen reads in the headers, and a page for each of them."""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import cli
import files
from abh_book import weave

# What is not as Doxygen has it by default.
DOXYFILE = """\
PROJECT_NAME = abh
INPUT = {inputs} {foreign}
OUTPUT_DIRECTORY = {output}
STRIP_FROM_PATH = {root}
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
JAVADOC_AUTOBRIEF = YES
AUTOLINK_SUPPORT = NO
SEARCH_INCLUDES = NO
EXTRACT_ALL = YES
EXTRACT_STATIC = YES
QUIET = YES
WARN_IF_UNDOCUMENTED = NO
WARN_IF_INCOMPLETE_DOC = NO
"""
# What is shown, in this order; nothing private.
SECTIONS = (
    "briefdescription detaileddescription typedef enum innerclass innernamespace public-type "
    "public-attrib public-static-attrib public-func public-static-func friend related "
    "user-defined func var define"
)
# Namespaces that Doxygen must know before it accepts a specialization in them.
FOREIGN = ("CLI", "fmt", "std")


def names(root: Path) -> list[str]:
    return [name for name in weave.source_names(root) if name.endswith(".hpp")]


def with_folders(index: str, path: Path) -> str:
    """Doxygen lists files without their folders, but Breathe finds them by the names in the index."""

    def full(found: re.Match[str]) -> str:
        text = path.with_name(f"{found.group(2)}.xml").read_text(encoding="utf-8")
        place = re.search(r'<location file="([^"]+)"/>\s*</compounddef>', text)
        return f"{found.group(1)}{place.group(1) if place else found.group(3)}</name>"

    return re.sub(r'(<compound refid="(\w+)" kind="file"><name>)([^<]*)</name>', full, index)


def read(root: Path, build: Path) -> None:
    """Write XML of all headers to BUILD/xml, but only the files that have changed."""
    headers = names(root)
    digest = hashlib.sha256(DOXYFILE.encode())
    for name in headers:
        digest.update(f"{name}\n".encode() + (root / name).read_bytes())
    stamp, xml, fresh = build / "xml.stamp", build / "xml", build / "doxygen"
    if stamp.is_file() and stamp.read_text() == digest.hexdigest():
        return
    if shutil.which("doxygen") is None:
        raise cli.Failure("doxygen is not installed (apt-get install doxygen)")
    print(f"book: reading the declarations of {len(headers)} headers", flush=True)
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    foreign = fresh / "foreign.dox"
    foreign.write_text("\n".join(f"/** \\namespace {name}\n * Not ours. */" for name in FOREIGN))
    text = DOXYFILE.format(
        inputs=" ".join(f'"{root / name}"' for name in headers),
        foreign=f'"{foreign}"',
        output=f'"{fresh}"',
        root=f'"{root}"',
    )
    run = subprocess.run(["doxygen", "-"], input=text, capture_output=True, text=True, check=False)
    complaints = run.stderr.replace(f"{root}/", "").strip()
    if run.returncode != 0 or complaints:
        raise cli.Failure(f"Doxygen:\n{complaints}")
    new = sorted((fresh / "xml").iterdir())
    for path in new:
        text = path.read_text(encoding="utf-8")
        files.write(xml / path.name, with_folders(text, path) if path.name == "index.xml" else text)
    if {path.name for path in xml.iterdir()} - {path.name for path in new}:
        shutil.rmtree(build / "doctrees", ignore_errors=True)  # Breathe would remember deleted files
    files.prune(xml, [xml / path.name for path in new])
    shutil.rmtree(fresh)
    stamp.write_text(digest.hexdigest())


def short(header: str) -> str:
    """`04 attention.hpp` for a chapter's header, for the narrow list beside the pages."""
    return re.sub(r"^chapters/(\d+)_[^/]*/", r"\1 ", header)


def pages(root: Path) -> dict[str, str]:
    """A page for each header, and the list of these pages."""
    headers = names(root)
    out = {f"api/{name}.md": f'# {name}\n\n```cpp\n#include "{name}"\n```\n\n```{{doxygenfile}} {name}\n:sections: {SECTIONS}\n```\n' for name in headers}
    folders: dict[str, list[str]] = {}
    for name in headers:
        folders.setdefault(name.rpartition("/")[0], []).append(name)
    lists = "\n".join(
        f"```{{toctree}}\n:caption: {folder}\n:maxdepth: 1\n\n"
        + "".join(f"{short(name)} <{name}>\n" for name in members)
        + "```\n"
        for folder, members in sorted(folders.items(), key=lambda folder: folder[0] != "lib")
    )
    out["api/index.md"] = (
        "# API reference\n\nEvery header of the workbench and of the chapters, in namespace `abh`,\n"
        f"from the comments in the sources.\n\n{lists}"
    )
    return out
