"""Describes the machine on which times were measured."""

import os
import platform
from contextlib import suppress
from pathlib import Path

WIDEST = {"avx512f": "AVX-512", "avx2": "AVX2", "asimd": "NEON"}  # the first that it has


def processor() -> str:
    """The processor's name; its family and model, because one name can stand for several kinds; and
    its widest vector instructions."""
    fields: dict[str, str] = {}
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines():
            name, _, value = line.partition(":")
            fields[name.strip()] = value.strip()
    parts = [fields.get("model name", platform.machine())]
    if "cpu family" in fields:
        parts.append(f"family {fields['cpu family']} model {fields.get('model', '?')}")
    flags = fields.get("flags", fields.get("Features", "")).split()
    parts += [name for flag, name in WIDEST.items() if flag in flags][:1]
    return ", ".join(parts)


def describe_machine() -> dict[str, object]:
    system = platform.system()
    with suppress(OSError):
        system = platform.freedesktop_os_release().get("PRETTY_NAME", system)
    return {
        "processor": processor(),
        "threads": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{system}, {platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }
