"""Whether memory, descriptors and threads stay as they are from one quiet point to
the next."""

import dataclasses
from statistics import median

MIB = 1 << 20


@dataclasses.dataclass(frozen=True)
class Sample:
    """The daemon at a quiet point."""
    minute: float  # since the start
    resident_bytes: int
    descriptors: int
    threads: int


@dataclasses.dataclass(frozen=True)
class Bounds:
    # Resident memory may grow by `mib_per_minute` for each minute that was measured,
    # and by `mib` besides: a page that is used once is no leak.
    mib_per_minute: float = 0.25
    mib: float = 8
    descriptors: int = 4
    threads: int = 4


def slope(points):
    """The median of the slopes of all pairs of points (Theil and Sen), which single
    outliers do not move; 0 for fewer than two points."""
    slopes = [(y2 - y1) / (x2 - x1) for i, (x1, y1) in enumerate(points)
              for x2, y2 in points[i + 1:] if x2 > x1]
    return median(slopes) if slopes else 0.0


def growth(samples):
    """By how much the samples grew by their slopes: {name: (a minute, in all)}."""
    minutes = samples[-1].minute - samples[0].minute if samples else 0
    rates = {name: slope([(each.minute, getattr(each, name)) for each in samples])
             for name in ("resident_bytes", "descriptors", "threads")}
    return {name: (rate, rate * minutes) for name, rate in rates.items()}


def check(samples, bounds=Bounds()):
    """The bounds that are exceeded, as lines of text. `samples`: those after the
    warm-up."""
    if len(samples) < 2:
        return [f"{len(samples)} samples after the warm-up are too few to see growth"]
    minutes = samples[-1].minute - samples[0].minute
    grown = growth(samples)
    allowed = {
        "resident_bytes": (bounds.mib_per_minute * minutes + bounds.mib) * MIB,
        "descriptors": bounds.descriptors, "threads": bounds.threads}
    return [f"{name} grew by {grown[name][1]:.0f} in {minutes:.1f} minutes; "
            f"{allowed[name]:.0f} are allowed"
            for name in allowed if grown[name][1] > allowed[name]]
