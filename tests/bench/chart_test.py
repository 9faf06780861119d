#!/usr/bin/python3
"""Tests that charts are well-formed SVG and show their data."""

import json
import pathlib
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

from report.chart import (Chart, HEIGHT, WIDTH, linear_ticks, logarithmic_ticks,
                          number, svg)
from report.charts import (peers_chart, read_peers, read_scale, read_scaling,
                           scale_chart, scaling_chart)

ROOT = pathlib.Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"
ABOUT = {"date": "2026-01-02", "command": "run it", "machine": {
    "cpu": "Fast & <Loose>", "cpus": 2, "system": "Linux"}}


def chart_of(**changes):
    return Chart(**{"title": "title", "unit": "ns", "source": "source",
                    "groups": ["a", "b"],
                    "series": {"one": [10, 20], "two": [30, 40]}, **changes})


def elements(text, name):
    return list(ElementTree.fromstring(text).iter(SVG + name))


def words(text):
    return [element.text for element in elements(text, "text")]


def heights(text, fill):
    """Heights of the bars of a colour, without the square of the legend."""
    return [float(rect.get("height")) for rect in elements(text, "rect")
            if rect.get("fill") == fill][1:]


def fills(text):
    return list(dict.fromkeys(rect.get("fill")
                              for rect in elements(text, "rect")))


class TicksTest(unittest.TestCase):

    def test_linear_ones_start_at_nothing_and_pass_the_largest(self):
        for largest in (0.03, 1, 6, 9.99, 10, 127, 4321):
            ticks = linear_ticks(largest)
            self.assertEqual(ticks[0], 0)
            self.assertGreater(ticks[-1], largest)
            self.assertTrue(3 <= len(ticks) <= 8, (largest, ticks))

    def test_logarithmic_ones_are_powers_around_all_values(self):
        self.assertEqual(logarithmic_ticks(38, 17902),
                         [10, 100, 1000, 10000, 100000])
        self.assertEqual(logarithmic_ticks(10, 10), [10, 100])

    def test_numbers_are_short(self):
        self.assertEqual([number(value) for value in (0.5, 2.53, 44.1, 17902)],
                         ["0.5", "2.5", "44", "17.9k"])


class SvgTest(unittest.TestCase):

    def test_says_title_unit_source_groups_series_and_values(self):
        shown = words(svg(chart_of()))
        for text in ("title", "ns (linear)", "source", "a", "b", "one", "two",
                     "10", "20", "30", "40"):
            self.assertIn(text, shown)

    def test_linear_bars_are_as_high_as_their_values(self):
        text = svg(chart_of())
        low, high = heights(text, fills(text)[0])
        self.assertAlmostEqual(high / low, 2, delta=0.01)

    def test_logarithmic_bars_grow_alike_with_each_factor(self):
        text = svg(chart_of(series={"one": [20, 200], "two": [2000, None]},
                            logarithmic=True))
        self.assertIn("ns (logarithmic)", words(text))
        (first, second), (third,) = (heights(text, fill)
                                     for fill in fills(text))
        self.assertAlmostEqual(second - first, third - second, delta=0.2)

    def test_missing_figure_has_no_bar(self):
        text = svg(chart_of(series={"one": [10, None]}))
        self.assertEqual(len(heights(text, fills(text)[0])), 1)

    def test_a_limit_lies_at_its_value(self):
        text = svg(chart_of(series={"one": [10, 20]}, limit=("bar", 20)))
        (limit,) = [line for line in elements(text, "line")
                    if line.get("class") == "limit"]
        tops = [float(rect.get("y")) for rect in elements(text, "rect")]
        self.assertEqual(float(limit.get("y1")), tops[-1])
        self.assertIn("bar", words(text))

    def test_nothing_lies_outside(self):
        text = svg(chart_of(limit=("bar", 500)))
        for rect in elements(text, "rect"):
            x, y, width, height = (float(rect.get(name)) for name in
                                   ("x", "y", "width", "height"))
            self.assertTrue(0 <= x and x + width <= WIDTH, rect.attrib)
            self.assertTrue(0 <= y and y + height <= HEIGHT, rect.attrib)

    def test_text_is_escaped(self):
        text = svg(chart_of(title="a < b & c", groups=["<x>", "y"]))
        self.assertIn("a < b & c", words(text))
        self.assertIn("<x>", words(text))

    def test_has_colours_for_dark_pages(self):
        (style,) = elements(svg(chart_of()), "style")
        self.assertIn("prefers-color-scheme: dark", style.text)

    def test_more_series_than_colours_are_refused(self):
        with self.assertRaisesRegex(ValueError, "series 7"):
            svg(chart_of(series={str(i): [1, 1] for i in range(7)}))


class ChartsTest(unittest.TestCase):

    def test_peers_are_those_that_were_measured(self):
        chart = peers_chart({**ABOUT, **read_peers(
            '{"ring": {"actord": 5, "go": 9}, "fanin": {"actord": 4}}')})
        self.assertEqual(chart.groups, ["ring", "fanin"])
        self.assertEqual(chart.series, {"actord": [5, 4], "Go": [9, None]})
        self.assertIn("2026-01-02", chart.source)
        self.assertIn("2 cores of Fast & <Loose>", chart.source)

    def test_scale_is_the_median_of_its_runs(self):
        lines = "".join(json.dumps({"ns_per_op": {"1000": a, "10000": b}}) + "\n"
                        for a, b in ((50, 90), (40, 70), (45, 500)))
        chart = scale_chart({**ABOUT, **read_scale(lines)})
        self.assertEqual(chart.groups, ["1,000 processes", "10,000 processes"])
        self.assertEqual(chart.series, {"actord": [45, 90]})
        self.assertEqual(chart.limit[1], 90)

    def test_scaling_is_by_one_worker_and_of_the_shortest_steps(self):
        lines = "".join(
            json.dumps({"load": load, "step_ns": step_ns, "workers": workers,
                        "operations_per_us": rate}) + "\n"
            for load, step_ns, workers, rate in (
                ("ring", 500, 1, 1), ("ring", 500, 8, 7),
                ("ring", 50, 1, 2), ("ring", 50, 8, 4),
                ("tree", 50, 1, 4), ("tree", 50, 8, 1)))
        result = {**ABOUT, **read_scaling(lines)}
        self.assertEqual(result["speed_up"]["500"]["ring"]["8"], 7)
        chart = scaling_chart(result)
        self.assertEqual(chart.groups, ["8 workers"])
        self.assertEqual(chart.series, {"ring": [2], "tree": [0.25]})
        self.assertIn("50 ns", chart.unit)


class PlotTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def plot(self, *arguments, status=0):
        done = subprocess.run(
            [ROOT / "bench/plot", "--root", self.root, *arguments],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr)

    def test_keeps_the_result_and_draws_it(self):
        raw = self.root / "raw.json"
        raw.write_text('{"ring": {"actord": 5, "go": 9}}', encoding="utf-8")
        self.plot("peers", raw)
        result = json.loads((self.root / "bench/results/peers.json").read_text())
        self.assertEqual(result["ns_per_op"]["ring"]["go"], 9)
        self.assertRegex(result["date"], r"^\d{4}-\d\d-\d\d$")
        plot = self.root / "docs/plots/peers.svg"
        drawn = plot.read_text(encoding="utf-8")
        self.assertIn("ring", words(drawn))
        plot.unlink()
        self.plot()
        self.assertEqual(plot.read_text(encoding="utf-8"), drawn)

    def test_a_name_without_a_file_is_refused(self):
        self.plot("peers", status=2)

    def test_plots_in_docs_are_those_of_the_results(self):
        results = self.root / "bench/results"
        results.mkdir(parents=True)
        for result in (ROOT / "bench/results").glob("*.json"):
            (results / result.name).write_bytes(result.read_bytes())
        self.plot()
        drawn = sorted((self.root / "docs/plots").glob("*.svg"))
        self.assertEqual([plot.name for plot in drawn], sorted(
            plot.name for plot in (ROOT / "docs/plots").glob("*.svg")))
        for plot in drawn:
            self.assertEqual(
                plot.read_bytes(), (ROOT / "docs/plots" / plot.name).read_bytes(),
                f"{plot.name} is old: run bench/plot")


if __name__ == "__main__":
    unittest.main()
