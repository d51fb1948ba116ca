"""From measurements to tables."""

import dataclasses
import json
import pathlib
import statistics

from comparison.programs import BULKHEAD, EPOLL, TITLES
from comparison.works import Row, Work

LEFT_OUT = "–"
FAILED = "failed"


@dataclasses.dataclass
class Outcome:
    """What the programs did with a work: their runs, or why there are none."""

    work: Work
    runs: dict[str, list[dict]] = dataclasses.field(default_factory=dict)
    failures: dict[str, str] = dataclasses.field(default_factory=dict)

    def values(self, program: str, row: Row) -> list[float]:
        found = [run[row.metric] for run in self.runs.get(program, []) if row.metric in run]
        return [float(value) for value in found]

    def median(self, program: str, row: Row) -> float | None:
        values = self.values(program, row)
        return statistics.median(values) if values else None

    def goal(self, row: Row) -> float | None:
        if row.goal_of_epoll is None:
            return row.goal
        yardstick = self.median(EPOLL, row)
        return None if yardstick is None else row.goal_of_epoll * yardstick


def number(value: float) -> str:
    """Three digits, and thousands told apart."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:.{digits}f}"


def met(value: float, goal: float, row: Row) -> bool:
    return value >= goal if row.better == "higher" else value <= goal


def goal_cell(outcome: Outcome, row: Row) -> str:
    goal = outcome.goal(row)
    if row.goal_of_epoll is not None:
        sign = ">=" if row.better == "higher" else "<="
        text = f"{sign} {row.goal_of_epoll:g} x epoll"
        return text if goal is None else f"{text} ({number(goal)})"
    return "" if goal is None else number(goal)


def cell(outcome: Outcome, row: Row, program: str) -> str:
    """The median; for Bulkhead whether that meets the goal, for others the ratio to Bulkhead."""
    median = outcome.median(program, row)
    if median is None:
        return FAILED if program in outcome.failures else LEFT_OUT
    text = number(median)
    if outcome.work.n_of(program) != outcome.work.n:
        text += "*"
    if program == BULKHEAD:
        goal = outcome.goal(row)
        return text if goal is None else f"{text} {'ok' if met(median, goal, row) else 'MISSED'}"
    own = outcome.median(BULKHEAD, row)
    return f"{text} ({number(median / own)}x)" if own else text


def spread_cell(outcome: Outcome, row: Row, program: str) -> str:
    values = outcome.values(program, row)
    return f"{number(min(values))} – {number(max(values))}" if values else LEFT_OUT


def columns(outcomes: list[Outcome], echo: bool) -> list[str]:
    seen = {name for outcome in outcomes for name in (*outcome.runs, *outcome.failures)
            if (outcome.work.kind == "echo") == echo}
    return [BULKHEAD, *(name for name in TITLES if name in seen and name != BULKHEAD)]


def table(outcomes: list[Outcome], programs: list[str], make_cell, with_goal: bool) -> list[list]:
    head = ["work", "unit", *(["goal"] if with_goal else []), *(TITLES[name] for name in programs)]
    lines = [head]
    for outcome in outcomes:
        for row in outcome.work.rows:
            goal = [goal_cell(outcome, row)] if with_goal else []
            cells = [make_cell(outcome, row, name) for name in programs]
            lines.append([row.label, row.unit, *goal, *cells])
    return lines


def markdown(lines: list[list[str]]) -> str:
    alignment = ["---", "---", *["---:"] * (len(lines[0]) - 2)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (lines[0], alignment, *lines[1:]))


def plain(lines: list[list[str]]) -> str:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = []
    for line in lines:
        cells = [cell.ljust(width) if i < 2 else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(line, widths))]
        text.append("  ".join(cells).rstrip())
    return "\n".join(text)


def sections(outcomes: list[Outcome]) -> list[tuple[str, list[Outcome], list[str]]]:
    found = []
    for title, echo in (("Programs", False), ("TCP echo", True)):
        chosen = [one for one in outcomes if (one.work.kind == "echo") == echo]
        if chosen:
            found.append((title, chosen, columns(outcomes, echo)))
    return found


EXPLANATION = """\
Medians of {runs} runs, in turns: every program once, then every program again. In brackets is the
ratio to Bulkhead: (2.00x) is twice Bulkhead's number, which is worse for times and memory, and
better for requests. `–`: the program does not have this work; README.md says why. `*`: a smaller
amount of work, see below. Work on one core runs on one CPU, work on two cores on two."""


def notes(outcomes: list[Outcome], missing: dict[str, str]) -> list[str]:
    found = [f"Missing: {TITLES.get(name, name)}: {why}" for name, why in missing.items()]
    for outcome in outcomes:
        found += [f"Failed: {outcome.work.name}: {TITLES[name]}: {why}"
                  for name, why in outcome.failures.items()]
        found += [f"Smaller: {outcome.work.name}: {TITLES[name]}: n = {outcome.work.n_of(name):,}"
                  for name in outcome.runs if outcome.work.n_of(name) != outcome.work.n]
    return found


def for_terminal(outcomes: list[Outcome], missing: dict[str, str]) -> str:
    parts = []
    for title, chosen, programs in sections(outcomes):
        parts.append(f"{title}\n" + plain(table(chosen, programs, cell, with_goal=True)))
    found = notes(outcomes, missing)
    return "\n\n".join(parts + (["\n".join(found)] if found else []))


def for_markdown(outcomes: list[Outcome], missing: dict[str, str], machine: dict[str, str],
                 runs: int, quick: bool) -> str:
    parts = ["# Bulkhead and its peers"]
    if quick:
        parts.append("**A quick look: a tenth of the work. Not to be quoted.**")
    parts.append("\n".join(f"- {key}: {value}" for key, value in machine.items()))
    parts.append(EXPLANATION.format(runs=runs))
    for title, chosen, programs in sections(outcomes):
        parts.append(f"## {title}")
        parts.append(markdown(table(chosen, programs, cell, with_goal=True)))
        parts.append(f"### {title}: smallest and largest")
        parts.append(markdown(table(chosen, programs, spread_cell, with_goal=False)))
    found = notes(outcomes, missing)
    if found:
        parts.append("## Notes")
        parts.append("\n".join(f"- {note}" for note in found))
    return "\n\n".join(parts) + "\n"


def write(folder: pathlib.Path, outcomes: list[Outcome], missing: dict[str, str],
          machine: dict[str, str], runs: int, quick: bool) -> list[pathlib.Path]:
    folder.mkdir(parents=True, exist_ok=True)
    # 2026-11-29T19:17:05+00:00 -> 2026-11-29-191705
    stamp = machine["date"][:19].replace(":", "").replace("T", "-")
    full, latest = folder / f"{stamp}.json", folder / "latest.md"
    works = [{**dataclasses.asdict(outcome.work), "runs": outcome.runs,
              "failures": outcome.failures} for outcome in outcomes]
    full.write_text(json.dumps({"machine": machine, "quick": quick, "missing": missing,
                                "works": works}, indent=1) + "\n", encoding="utf-8")
    latest.write_text(for_markdown(outcomes, missing, machine, runs, quick), encoding="utf-8")
    return [full, latest]
