"""What a run says: a table for people, `latest.json` for whoever judges it, a chart, and a line in the history."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date
from html import escape
from pathlib import Path

from loadtests.bench.stage import Figures
from loadtests.bench.table import BY_KEY, TARGETS, Measured, Outcome, Target, meets

RESULTS = Path(__file__).parent.parent / "results"
PAGE = Path(__file__).parent.parent.parent / "docs" / "performance.md"
README = Path(__file__).parent.parent.parent / "README.md"
_HISTORY = ("<!-- history starts -->", "<!-- history ends -->")
_HEADLINE = ("<!-- headline starts -->", "<!-- headline ends -->")
_HEADLINE_ROWS = (
    *("single_vs_null", "single_vs_row_lock", "batch_500", "decide", "many_holders"),
    *("ingest_vs_peak", "closing_vs_stream", "rebuild", "overload_goodput"),
)
_LAST = ("<!-- last run starts -->", "<!-- last run ends -->")


def as_mapping(
    outcomes: Sequence[Outcome],
    figures: Figures,
    *,
    tier: str,
    day: date,
    commit: str,
    machine: Mapping[str, object],
    notes: Sequence[str] = (),
) -> dict[str, object]:
    """A run as `latest.json` holds it. Whether a row meets its floor is for the reader to compute."""
    return {
        "format": 1,
        "day": day.isoformat(),
        "commit": commit,
        "tier": tier,
        "machine": dict(machine),
        "rows": [_row(outcome) for outcome in outcomes if isinstance(outcome, Measured)],
        "not_measured": {
            outcome.key: outcome.why for outcome in outcomes if not isinstance(outcome, Measured)
        },
        "figures": [
            {
                "name": name,
                "unit": figures.units[name],
                "samples": [_rounded(v) for v in samples if math.isfinite(v)],
            }
            for name, samples in figures.samples.items()
        ],
        "notes": list(notes),
    }


def _row(outcome: Measured) -> dict[str, object]:
    target = BY_KEY[outcome.key]
    return {
        "key": target.key,
        "name": target.name,
        "value": _rounded(outcome.value),
        "unit": target.unit,
        "floor": target.floor,
        "goal": target.goal,
        "spread": [_rounded(value) for value in outcome.spread],
        "samples": len(outcome.samples),
        "higher_is_better": target.higher_is_better,
        "note": outcome.note,
    }


def _rounded(value: float) -> float:
    """Four digits that mean something."""
    if value == 0 or not math.isfinite(value):
        return 0.0 if value == 0 else math.nan
    return round(value, max(0, 3 - math.floor(math.log10(abs(value)))))


def shown(value: float) -> str:
    """A value for people."""
    if abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def table(outcomes: Sequence[Outcome]) -> str:
    """The target table in Markdown, with the spread (least - median - greatest)."""
    found = {outcome.key: outcome for outcome in outcomes}
    lines = ["| what | unit | least - median - greatest | floor | goal | |", "|---|---|---|---|---|---|"]
    lines += [_line(target, found[target.key]) for target in TARGETS if target.key in found]
    return "\n".join(lines)


def _line(target: Target, outcome: Outcome) -> str:
    sign = "" if target.higher_is_better else "<= "
    limits = f"{sign}{shown(target.floor)} | {sign}{shown(target.goal)}"
    if not isinstance(outcome, Measured):
        return f"| {target.name} | {target.unit} | {outcome.why} | {limits} | |"
    spread = " - ".join(shown(value) for value in outcome.spread)
    verdict = "below the floor"
    if meets(target, outcome.value, target.goal):
        verdict = "goal"
    elif meets(target, outcome.value, target.floor):
        verdict = "floor"
    note = f" ({outcome.note})" if outcome.note else ""
    return f"| {target.name}{note} | {target.unit} | {spread} | {limits} | {verdict} |"


def figure_table(figures: Figures) -> str:
    """The absolute figures in Markdown."""
    lines = ["| figure | unit | least - median - greatest |", "|---|---|---|"]
    for name, samples in figures.samples.items():
        ordered = sorted(samples)
        spread = (ordered[0], ordered[len(ordered) // 2], ordered[-1])
        lines.append(f"| {name} | {figures.units[name]} | {' - '.join(shown(value) for value in spread)} |")
    return "\n".join(lines)


def machine_line(machine: Mapping[str, object]) -> str:
    """The machine in one sentence."""
    pgo = "with" if machine["python_pgo"] else "without"
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}; "
        f"{machine['python']} {pgo} profile-guided optimisation; {machine.get('redis', 'Redis not asked')}"
    )


def write(
    results: Mapping[str, object], outcomes: Sequence[Outcome], folder: Path, *, flame: str = ""
) -> None:
    """Write `latest.json` and `latest.svg`, and `flame.svg` where a profile was taken."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, ensure_ascii=False, indent=1, allow_nan=False)
    (folder / "latest.json").write_text(text + "\n", encoding="utf-8")
    (folder / "latest.svg").write_text(chart(outcomes), encoding="utf-8")
    if flame:
        (folder / "flame.svg").write_text(flame, encoding="utf-8")


# The page


def record(page: Path, run: str, outcomes: Sequence[Outcome], *, day: date, commit: str, tier: str) -> None:
    """Put a run into the page as the last one, and one line of it into the history."""
    text = page.read_text(encoding="utf-8")
    text = _between(text, _LAST, f"\n{run}\n")
    start, end = (text.index(mark) for mark in _HISTORY)
    history = text[start + len(_HISTORY[0]) : end].strip("\n").splitlines()
    keys = [target.key for target in TARGETS]
    head = [f"| day | commit | tier | {' | '.join(keys)} |", "|" + "---|" * (len(keys) + 3)]
    values = {outcome.key: shown(outcome.value) for outcome in outcomes if isinstance(outcome, Measured)}
    line = f"| {day} | {commit} | {tier} | {' | '.join(values.get(key, '') for key in keys)} |"
    body = [*(history[2:] if history else []), line]
    page.write_text(_between(text, _HISTORY, "\n" + "\n".join(head + body) + "\n"), encoding="utf-8")


def record_headline(readme: Path, outcomes: Sequence[Outcome], *, day: date, commit: str, tier: str) -> None:
    """Put the rows that most people ask for into the README, met or not."""
    found = {outcome.key: outcome for outcome in outcomes}
    rows = [found[key] for key in _HEADLINE_ROWS if isinstance(found.get(key), Measured)]
    lines = ["| what | measured | floor | |", "|---|---|---|---|"]
    lines += [_headline(row) for row in rows if isinstance(row, Measured)]
    said = f"{day:%d/%m/%Y}, commit {commit or 'unknown'}, {tier} tier:"
    text = readme.read_text(encoding="utf-8")
    content = "\n" + "\n".join([said, "", *lines]) + "\n"
    readme.write_text(_between(text, _HEADLINE, content), encoding="utf-8")


def _headline(row: Measured) -> str:
    target = BY_KEY[row.key]
    unit = "x" if target.unit == "ratio" else target.unit
    sign = "" if target.higher_is_better else "at most "
    met = "met" if meets(target, row.value, target.floor) else "missed"
    return f"| {target.name} | {shown(row.value)} {unit} | {sign}{shown(target.floor)} {unit} | {met} |"


def _between(text: str, marks: tuple[str, str], content: str) -> str:
    pattern = re.compile(re.escape(marks[0]) + ".*?" + re.escape(marks[1]), re.DOTALL)
    return pattern.sub(lambda _: marks[0] + content + marks[1], text, count=1)


# The chart

_FONT = 'font-family="sans-serif" font-size="12"'
_WIDTH, _BAR, _LEFT, _SCALE, _VALUES = 1_180, 26, 420, 190, 820
_GOAL, _FLOOR, _MISSED = "#1a7f37", "#2f6fd0", "#c4302b"


def chart(outcomes: Sequence[Outcome]) -> str:
    """Each row against its floor: the bar ends at value / floor (or floor / value), the ticks are floor and goal."""
    rows = [outcome for outcome in outcomes if isinstance(outcome, Measured)]
    height = 66 + _BAR * len(rows)
    x = _LEFT + _SCALE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" {_FONT} role="img">',
        "<title>Catraca: measured rows against floor and goal</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        '<text x="10" y="20" font-size="14">Each row against its floor, the dashed line: longer is better</text>',
        *_legend(),
        f'<line x1="{x}" y1="46" x2="{x}" y2="{height - 14}" stroke="#444" stroke-dasharray="3 3"/>',
    ]
    parts += [_bar(outcome, 50 + place * _BAR) for place, outcome in enumerate(rows)]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _legend() -> list[str]:
    parts, x = [], 10
    for colour, text in ((_GOAL, "goal met"), (_FLOOR, "floor met"), (_MISSED, "below the floor")):
        parts.append(f'<rect x="{x}" y="30" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{x + 17}" y="40">{text}</text>')
        x += 110
    parts.append(f'<line x1="{x + 10}" y1="29" x2="{x + 10}" y2="43" stroke="#111" stroke-width="2"/>')
    parts.append(f'<text x="{x + 17}" y="40">goal (bars end at twice the floor)</text>')
    parts.append(f'<text x="{_VALUES}" y="40">measured</text>')
    parts.append(f'<text x="{_VALUES + 150}" y="40" fill="#555">floor, goal</text>')
    return parts


def _bar(outcome: Measured, y: int) -> str:
    target = BY_KEY[outcome.key]
    reached = _against_floor(target, outcome.value)
    goal = _against_floor(target, target.goal)
    length = min(2.0, reached) * _SCALE
    tick = _LEFT + min(2.0, goal) * _SCALE
    fill = _GOAL if reached >= goal else _FLOOR if reached >= 1 else _MISSED
    value = escape(f"{shown(outcome.value)} {target.unit}")
    sign = "" if target.higher_is_better else "≤ "
    limits = f"{sign}{shown(target.floor)}, {sign}{shown(target.goal)}"
    return (
        f'<text x="{_LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(target.name[:64])}</text>'
        f'<rect x="{_LEFT}" y="{y + 2}" width="{length:.0f}" height="{_BAR - 8}" fill="{fill}"/>'
        f'<line x1="{tick:.0f}" y1="{y}" x2="{tick:.0f}" y2="{y + _BAR - 4}" stroke="#111" stroke-width="2"/>'
        f'<text x="{_VALUES}" y="{y + 14}">{value}</text>'
        f'<text x="{_VALUES + 150}" y="{y + 14}" fill="#555">{limits}</text>'
    )


def _against_floor(target: Target, value: float) -> float:
    if value <= 0:
        return 0.0
    return value / target.floor if target.higher_is_better else target.floor / value
