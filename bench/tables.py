"""The tables that ./book bench prints."""

from __future__ import annotations

from works import OURS, PEERS


def table(rows: list[list[str]]) -> str:
    """Columns as wide as their contents; the first is aligned to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def number(value: float) -> str:
    """At least three significant digits, or two decimals."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def mark(entry: dict) -> str:
    return "disturbed" if entry["noise"]["disturbed"] else ""


def works_table(entries: list[dict]) -> str:
    peers = [p for p in PEERS if any(p in e.get("ratios", {}) for e in entries)]
    memory = ["ours MiB", *(f"mem {p}" for p in peers)]
    rows = [["work", "threads", "ours ms", "spread", *peers, *memory, "floor ms", "x floor", ""]]
    for e in entries:
        ours = e["systems"].get(OURS)
        row = [e["work"], str(e["threads"])]
        row += [number(ours["ms"]["median"])] if ours else ["-"]
        row += [f"{number(ours['ms']['low'])}-{number(ours['ms']['high'])}"] if ours else ["-"]
        ratios = e.get("ratios", {})
        row += [number(ratios[p]["time"]["median"]) if p in ratios else "-" for p in peers]
        row += [f"{ours['peak_kb'] / 1024:.0f}"] if ours else ["-"]
        row += [number(ratios[p]["memory"]) if p in ratios else "-" for p in peers]
        least = e.get("floor")
        row += [number(least["floor_ms"])] if least else ["-"]
        row += [number(ours["ms"]["median"] / least["floor_ms"])] if least and ours else ["-"]
        rows.append([*row, mark(e)])
    return table(rows)


def operations_table(operations: list[dict]) -> str:
    rows = [["operation", "threads", "ms", "GB/s", "GFLOP/s", "x floor", ""]]
    for o in operations:
        rates = [
            number(o[rate] / 1e9) if rate in o else "-"
            for rate in ("bytes_per_second", "flops_per_second")
        ]
        away = number(o["ms"] / o["floor_ms"]) if o["floor_ms"] else "-"
        rows.append([o["name"], str(o["threads"]), number(o["ms"]), *rates, away, mark(o)])
    return table(rows)


def report(results: dict, with_operations: bool) -> str:
    machine = results["machine"]
    lines = [f"{machine['processor']}, {machine['threads']} threads, {machine['system']}"]
    for threads, limit in results["limits"].items():
        rates = {name: number(value / 1e9) for name, value in limit.items()}
        lines.append(
            f"{threads} threads: reads {rates['read']}, copies {rates['copy']}, updates "
            f"{rates['update']} GB/s; best product {rates['product']} GFLOP/s"
        )
    versions = {
        system["version"]: None for e in results["works"] for system in e["systems"].values()
    }
    lines += [f"measured: {version}" for version in versions]
    works = [e for e in results["works"] if not e["family"]]
    if works:
        lines += [
            "",
            f"Medians of {results['rounds']} rounds. Under a peer's name: its time divided by",
            "ours; under mem: its peak memory divided by ours. Floor: memory traffic or",
            "products, whichever takes longer.",
            "",
            works_table(works),
        ]
    growth = [e for e in results["works"] if e["family"] == "growth"]
    if growth:
        lines += ["", "The small model's training step as length and batch grow.", ""]
        lines.append(works_table(growth))
    attention = [e for e in results["works"] if e["family"] == "attention"]
    if attention:
        lines += ["", "Attention with 8 heads of 64 columns, forward and backward.", ""]
        lines.append(works_table(attention))
    if with_operations:
        lines += [
            "",
            "Single operations. Those whose data fit into a cache can be faster than the floor.",
            "",
        ]
        lines.append(operations_table(results["operations"]))
    disturbed = [x for x in [*results["works"], *results["operations"]] if mark(x)]
    if disturbed:
        lines += [
            "",
            f"Disturbed, even when repeated: {len(disturbed)}. Other programs used more than",
            "10 % of the processors, or the quartiles are more than 30 % of the median apart.",
            "Draw no conclusions from disturbed measurements.",
        ]
    return "\n".join(lines)
