"""The tables that ./book bench prints."""

from turns import OURS
from works import PEERS

FAMILIES = {
    "": """Under a peer's name: its time divided by ours, the median of the rounds; under mem: its
peak memory divided by ours. Floor: memory traffic or products, whichever takes longer.""",
    "growth": "The small model's training step as length and batch grow.",
    "attention": "Attention with 8 heads of 64 columns, forward and backward.",
    "published": "A published model whose weights have few bits. llama.cpp multiplies them by values of 8, this book one row by values of 16.",
    "precision": "Products of 16 or 8 bits, in ours and in the peers; floors are for 32.",
}
DISTURBED = """
Disturbed, even when repeated: {}. Other programs used more than 10 % of the processors, or the
quartiles are more than 30 % of the median apart. Draw no conclusions from disturbed measurements."""


def table(rows: list[list[str]]) -> str:
    """Columns as wide as their contents; the first is aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def number(value: float | None) -> str:
    """At least three significant digits, or two decimals."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def works_table(entries: list[dict]) -> str:
    peers = [p for p in PEERS if any(p in e["ratios"] for e in entries)]
    memory = ["ours MiB", *(f"mem {p}" for p in peers)]
    rows = [["work", "threads", "ours ms", "spread", *peers, *memory, "floor ms", "x floor", ""]]
    for e in entries:
        row, ratios = [e["work"], str(e["threads"])], [e["ratios"].get(p) for p in peers]
        ours = e["systems"].get(OURS)
        ms = ours["ms"] if ours else {}
        row += [number(ms.get("median"))]
        row += [f"{number(ms['low'])}-{number(ms['high'])}" if ours else "-"]
        row += [number(r and r["time"]["median"]) for r in ratios]
        row += [f"{ours['peak_kb'] / 1024:.0f}" if ours else "-"]
        row += [number(r and r["memory"]) for r in ratios]
        floor = e["floor_ms"]
        row += [number(floor), number(ours and floor and ms["median"] / floor)]
        rows.append([*row, "disturbed" if e["noise"]["disturbed"] else ""])
    return table(rows)


def report(results: dict) -> str:
    machine = results["machine"]
    lines = [f"{machine['processor']}, {machine['threads']} threads, {machine['system']}"]
    for threads, limits in results["limits"].items():
        rates = {name: number(limits[name] / 1e9) for name in ("read", "copy", "update", "product")}
        lines.append(
            f"{threads} threads: reads {rates['read']}, copies {rates['copy']}, updates "
            f"{rates['update']} GB/s; product {rates['product']} GFLOP/s"
            f"{' (disturbed)' * limits['disturbed']}"
        )
    versions = {s["version"]: None for e in results["works"] for s in e["systems"].values()}
    lines += [f"measured: {version}" for version in versions]
    for family, text in FAMILIES.items():
        if entries := [e for e in results["works"] if e["family"] == family]:
            lines += ["", text, "", works_table(entries)]
    if disturbed := sum(e["noise"]["disturbed"] for e in results["works"]):
        lines.append(DISTURBED.format(disturbed))
    return "\n".join(lines)
