"""Medians, and their comparison with bars and a baseline. Pure functions."""

import dataclasses
import statistics

from report.figures import BAR, FIGURES, RATIO, TOLERANCE, Figure

# On one machine, the times to transfer a line differ by less than this factor.
SAME_MACHINE = 1.5
# This many runs on the same machine are enough for a comparison.
ENOUGH = 3


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of one workload."""
    workload: str
    output: dict  # the workload's JSON object
    # The mean of the calibrations before and after.
    calibration_ns: float
    exchange_ns: float  # to transfer a line to another core
    go_ns: float | None = None  # the peer's figure in the same round


@dataclasses.dataclass(frozen=True)
class Row:
    """A figure's medians over the rounds, and the values to compare with."""
    figure: Figure
    rounds: int
    used: int  # rounds on the same machine, if they are enough; otherwise all
    comparable: bool  # with the baseline: the machine is the same
    measured: float
    ratio: float  # to the calibration
    spread: float  # interquartile range of `compared`, relative to its median
    bar: float | None
    baseline: float | None  # the baseline for `compared`
    worse_by: float | None  # 0.2: a fifth more than the baseline
    worse: bool

    @property
    def meets_bar(self):
        return None if self.bar is None else self.measured <= self.bar


def spread_of(values):
    """The interquartile range relative to the median."""
    median = statistics.median(values)
    if len(values) < 2 or median == 0:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / median


def on_the_same_machine(runs, exchange_ns):
    """The runs in which the transfer of a line took about `exchange_ns`. A host
    may place the cores far apart for a while."""
    return [run for run in runs
            if run.exchange_ns <= exchange_ns * SAME_MACHINE
            and exchange_ns <= run.exchange_ns * SAME_MACHINE]


def bar_of(figure, runs, recorded_go):
    """The bar in the figure's unit. A peer's figure of the same rounds takes
    precedence over `recorded_go` (workload -> ns)."""
    if figure.share_of_go is None:
        return figure.bar
    measured = [run.go_ns for run in runs if run.go_ns is not None]
    go_ns = (statistics.median(measured) if measured
             else recorded_go.get(figure.workload))
    return None if go_ns is None else go_ns * figure.share_of_go


def _against_baseline(figure, compared, bar, baseline):
    """Returns (the fraction by which it is worse, whether that is too much)."""
    if baseline is None:
        return None, False
    if figure.compared == BAR:
        return None, bar is not None and baseline <= bar < compared
    worse_by = compared / baseline - 1
    return worse_by, worse_by > TOLERANCE


def judge(runs, baseline=None, recorded_go=None, figures=None):
    """The rows of the figures whose workloads ran, from all of their runs.
    `baseline` is a result of baseline_from."""
    baseline = baseline or {}
    exchange_ns = baseline.get("exchange_ns", statistics.median(
        run.exchange_ns for run in runs))
    rows = []
    for figure in FIGURES if figures is None else figures:
        every = [run for run in runs if run.workload == figure.workload]
        if not every:
            continue
        same = on_the_same_machine(every, exchange_ns)
        enough = len(same) >= min(ENOUGH, len(every))
        own = same if figure.shared and enough else every
        values = [figure.value_in(run.output) for run in own]
        ratios = [value / run.calibration_ns
                  for value, run in zip(values, own)]
        by_ratio = figure.compared == RATIO
        compared = statistics.median(ratios if by_ratio else values)
        bar = bar_of(figure, own, recorded_go or {})
        before = baseline.get("figures", {}).get(figure.name, {}).get(
            "ratio" if by_ratio else "measured")
        comparable = enough or not figure.shared or before is None
        worse_by, worse = _against_baseline(
            figure, compared, bar, before if comparable else None)
        rows.append(Row(figure, len(every), len(own), comparable,
                        statistics.median(values), statistics.median(ratios),
                        spread_of(ratios if by_ratio else values), bar, before,
                        worse_by, worse))
    return rows


def baseline_from(runs, rows):
    """The values that a later run is compared with."""
    return {
        "calibration_ns": round(
            statistics.median(run.calibration_ns for run in runs), 2),
        "exchange_ns": round(
            statistics.median(run.exchange_ns for run in runs), 2),
        "figures": {
            row.figure.name: {
                "measured": round(row.measured, 3),
                "unit": row.figure.unit,
                "ratio": round(row.ratio, 4),
                "spread": round(row.spread, 3),
                "rounds": row.used,
            } for row in rows
        },
    }


def _number(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _verdict(row):
    bar = {True: "meets bar", False: "misses bar", None: "no bar"}
    words = [bar[row.meets_bar]]
    if row.worse_by is not None:
        change = f"{row.worse_by:+.0%} to baseline"
        words.append(f"WORSE: {change}" if row.worse else change)
    elif row.worse:
        words.append("WORSE: met it in the baseline")
    elif row.baseline is None:
        words.append("no baseline")
    elif not row.comparable:
        words.append("not comparable: other machine")
    return ", ".join(words)


def table(rows):
    """The rows as text, without a line break at the end."""
    lines = [("figure", "measured", "unit", "bar", "ratio", "baseline",
              "spread", "rounds", "verdict")]
    for row in rows:
        by_ratio = row.figure.compared == RATIO
        lines.append((
            row.figure.name, _number(row.measured), row.figure.unit,
            _number(row.bar), f"{row.ratio:.3f}" if by_ratio else "-",
            "-" if row.baseline is None else
            f"{row.baseline:.3f}" if by_ratio else _number(row.baseline),
            f"{row.spread:.0%}", f"{row.used}/{row.rounds}", _verdict(row)))
    widths = [max(map(len, column)) for column in zip(*lines)]
    to_the_left = {0, 2, 8}
    return "\n".join(
        "  ".join(cell.ljust(width) if index in to_the_left
                  else cell.rjust(width)
                  for index, (cell, width) in enumerate(zip(line, widths)))
        .rstrip() for line in lines)
