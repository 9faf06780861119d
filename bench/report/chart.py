"""Bar charts as SVG text, legible on light and on dark pages."""

import dataclasses
import math
from xml.sax.saxutils import escape

WIDTH = 860
HEIGHT = 400
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 92, 66
PLOT_WIDTH = WIDTH - LEFT - RIGHT
PLOT_HEIGHT = HEIGHT - TOP - BOTTOM

# One for each series. Of medium lightness, so that they are visible on white
# and on black.
COLOURS = ["#2f81f7", "#d9822b", "#b0529c", "#4d9e56", "#c9483f", "#7f8a96"]

STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-size: 17px; font-weight: 600 }
.small { font-size: 11px }
.faint { fill: #57606a }
line { stroke: #d0d7de }
.limit { stroke: #cf222e; stroke-dasharray: 6 4 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .faint { fill: #8d96a0 }
  line { stroke: #3d444d }
  .limit { stroke: #ff7b72 }
}
"""


@dataclasses.dataclass(frozen=True)
class Chart:
    title: str
    unit: str  # of the values; shown at the axis
    source: str  # date, machine and command; shown below the chart
    groups: list  # the names along the horizontal axis
    series: dict  # name -> a value for each group, or None if there is none
    logarithmic: bool = False
    limit: tuple | None = None  # (name, value) of a horizontal line


def number(value):
    """The value as text that is short enough to stand above a narrow bar."""
    if value >= 1000:
        return f"{value / 1000:.1f}k"
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def linear_ticks(largest):
    """From 0 to above `largest`, in steps of 1, 2 or 5 times a power of 10."""
    power = 10 ** math.floor(math.log10(largest))
    step = next(power * factor for factor in (0.1, 0.2, 0.5, 1, 2)
                if largest / (power * factor) <= 6)
    count = math.floor(largest / step) + 1
    return [step * index for index in range(count + 1)]


def logarithmic_ticks(smallest, largest):
    """The powers of 10 from below `smallest` to above `largest`."""
    first = math.floor(math.log10(smallest))
    last = max(math.ceil(math.log10(largest)), first + 1)
    return [10.0 ** power for power in range(first, last + 1)]


def _text(x, y, words, anchor="middle", kind=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
            f' class="{kind}">{escape(words)}</text>')


def _line(y, kind=""):
    return (f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"'
            f' class="{kind}"/>')


class _Scale:
    """Maps values to heights."""

    def __init__(self, chart):
        values = [value for series in chart.series.values() for value in series
                  if value is not None]
        if chart.limit:
            values.append(chart.limit[1])
        self._log = chart.logarithmic
        self.ticks = (logarithmic_ticks(min(values), max(values)) if self._log
                      else linear_ticks(max(values)))

    def y(self, value):
        low, high = self.ticks[0], self.ticks[-1]
        if self._log:
            value, low, high = map(math.log10, (value, low, high))
        share = (value - low) / (high - low)
        return TOP + PLOT_HEIGHT * (1 - share)


def _axis(chart, scale):
    kind = "logarithmic" if chart.logarithmic else "linear"
    yield _text(LEFT - 50, TOP - 14, f"{chart.unit} ({kind})", "start",
                "small faint")
    for tick in scale.ticks:
        y = scale.y(tick)
        yield _line(y)
        yield _text(LEFT - 8, y + 4, f"{tick:,g}", "end", "small")


def _legend(chart):
    x = LEFT
    for colour, name in zip(COLOURS, chart.series):
        yield f'<rect x="{x}" y="44" width="12" height="12" fill="{colour}"/>'
        yield _text(x + 18, 55, name, "start")
        x += 40 + 8 * len(name)


def _bars(chart, scale):
    group_width = PLOT_WIDTH / len(chart.groups)
    # A fifth of each group is the gap to the next one.
    bar_width = min(0.8 * group_width / len(chart.series), 70)
    bottom = TOP + PLOT_HEIGHT
    for index, group in enumerate(chart.groups):
        middle = LEFT + group_width * (index + 0.5)
        yield _text(middle, bottom + 20, group)
        x = middle - bar_width * len(chart.series) / 2
        for colour, values in zip(COLOURS, chart.series.values()):
            value = values[index]
            if value is not None:
                y = scale.y(value)
                yield (f'<rect x="{x:.1f}" y="{y:.1f}"'
                       f' width="{bar_width - 2:.1f}" height="{bottom - y:.1f}"'
                       f' fill="{colour}"/>')
                yield _text(x + bar_width / 2 - 1, y - 4, number(value),
                            kind="small")
            x += bar_width


def _limit(chart, scale):
    if chart.limit:
        name, value = chart.limit
        yield _line(scale.y(value), "limit")
        yield _text(LEFT + 4, scale.y(value) - 5, name, "start", "small")


def svg(chart):
    if len(chart.series) > len(COLOURS):
        raise ValueError(f"no colour for series {len(COLOURS) + 1}")
    scale = _Scale(chart)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        f' role="img">',
        f"<title>{escape(chart.title)}</title>", f"<style>{STYLE}</style>",
        _text(LEFT - 50, 26, chart.title, "start", "title"),
        *_legend(chart), *_axis(chart, scale), *_bars(chart, scale),
        *_limit(chart, scale),
        _text(LEFT - 50, HEIGHT - 14, chart.source, "start", "small faint"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
