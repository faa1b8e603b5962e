"""How a measurement is reported: one line beside its target, and one table and plot of a whole run.

``say`` prints and, with a key, records; ``python -m perf.report`` makes the table and the plot of
what was recorded beside ``perf/targets.toml``. Times are reported, never gated.
"""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
OUT = HERE / "out"
RESULTS = OUT / "results.jsonl"
PLOT = OUT / "targets.png"


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def say(
    what: str,
    values: Sequence[float],
    *,
    target: str,
    unit: str = "ms",
    key: str = "",
    baseline: Sequence[float] = (),
) -> None:
    """Print p50, p95 and p99 of ``values`` beside the target; with a key, record them too."""
    p50, p95, p99 = (percentile(values, percent) for percent in (50, 95, 99))
    line = f"p50 {p50:.2f}  p95 {p95:.2f}  p99 {p99:.2f} {unit}"
    print(f"\n{what} (n={len(values)}): {line}; target {target}")
    if key:
        record(key, values, baseline)


def record(key: str, values: Sequence[float], baseline: Sequence[float] = ()) -> None:
    """Keep what was measured for the table; ``baseline`` is a bare process in the same run."""
    figures = {f"p{percent}": percentile(values, percent) for percent in (50, 95, 99)}
    figures |= {"max": max(values), "n": len(values)}
    if baseline:
        figures["ratio"] = figures["p50"] / percentile(baseline, 50)
        figures["above"] = figures["p99"] - percentile(baseline, 99)
    OUT.mkdir(exist_ok=True)
    with RESULTS.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps({"key": key, **figures}) + "\n")


class Row(NamedTuple):
    """One target beside what was measured; ``share`` is measured ÷ limit, above 1 is missed."""

    area: str
    what: str
    target: str
    figures: tuple[str, str, str]
    ratio: str
    verdict: str
    share: float | None


def rows(
    targets: Sequence[Mapping[str, Any]], found: Mapping[str, Mapping[str, float]]
) -> list[Row]:
    """A row for each target, in the order of the file."""
    return [_row(target, found.get(target["key"])) for target in targets]


def _row(target: Mapping[str, Any], found: Mapping[str, float] | None) -> Row:
    least, unit = target.get("at_least", False), target.get("unit", "ms")
    sign = "≥" if least else "≤"
    promised = f"{target['figure']} {sign} {target['limit']:,g} {unit}"
    if found is None or target["figure"] not in found:
        return Row(
            target["area"], target["what"], promised, ("-", "-", "-"), "-", "not measured", None
        )
    measured = found[target["figure"]]
    share = target["limit"] / measured if least else measured / target["limit"]
    return Row(
        target["area"],
        target["what"],
        promised,
        tuple(_short(found[name]) for name in ("p50", "p95", "p99")),  # type: ignore[arg-type]
        f"{found['ratio']:.2f}" if "ratio" in found else "-",
        "held" if share <= 1 else f"missed: {_short(measured)}",
        share,
    )


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(made: Sequence[Row]) -> Iterator[str]:
    """The lines of the table."""
    head = Row("area", "what", "target", ("p50", "p95", "p99"), "÷ bare", "verdict", None)
    for row in (head, *made):
        figures = "".join(f"{figure:>10}" for figure in row.figures)
        left = f"{row.area:<8}{row.what:<58}{row.target:<20}"
        yield f"{left}{figures}{row.ratio:>8}  {row.verdict}"


def draw(made: Sequence[Row], file: Path) -> bool:
    """A bar for each target that was measured, as a share of it; False without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    shown = [row for row in reversed(made) if row.share is not None]
    figure = Figure(figsize=(10, 1.5 + 0.28 * len(shown)), layout="constrained")
    axes = figure.subplots()
    labels = [f"{row.what}, {row.target}" for row in shown]
    shares = [row.share or 0.0 for row in shown]
    colours = ["tab:green" if share <= 1 else "tab:red" for share in shares]
    axes.barh(range(len(shown)), shares, color=colours)
    axes.set_yticks(range(len(shown)), labels, fontsize=8)
    axes.set_xscale("log")
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xlabel("measured ÷ target (left of the line is held)")
    figure.savefig(file, dpi=110)
    return True


def main() -> None:
    """Print the table of the last run, and draw it."""
    if not RESULTS.is_file():
        print("nothing was measured")
        return
    found = {one["key"]: one for one in map(json.loads, RESULTS.read_text().splitlines())}
    made = rows(tomllib.loads((HERE / "targets.toml").read_text())["target"], found)
    print(f"\nload of this machine at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print("\n".join(table(made)))
    missed = sum(row.share is not None and row.share > 1 for row in made)
    measured = sum(row.share is not None for row in made)
    print(f"{measured - missed} held, {missed} missed, {len(made) - measured} not measured")
    print(f"plot: {PLOT}" if draw(made, PLOT) else "no plot: pip install 'subcog[perf]'")


if __name__ == "__main__":
    main()
