#!/usr/bin/python3
"""Tests which figures count as met, missed and worse."""

import unittest

from report.figures import (BAR, FIGURES, PLAIN, Figure, can_be_measured,
                            workloads_of)
from report.judgement import (Run, bar_of, baseline_from, judge,
                              on_the_same_machine, spread_of, table)

TIME = Figure("time", "w", ("ns",), "ns", 100)
BYTES = Figure("bytes", "w", ("ns",), "B", 100, PLAIN)
TINY = Figure("tiny", "w", ("ns",), "ms", 100, BAR)
SHARED = Figure("shared", "w", ("ns",), "ns", 100, shared=True)
BESIDE_GO = Figure("go", "w", ("ns",), "ns", None, share_of_go=0.5)


def runs_of(*values, calibration_ns=100, exchange_ns=50, go_ns=None):
    return [Run("w", {"ns": value}, calibration_ns, exchange_ns, go_ns)
            for value in values]


def only_row(figure, runs, baseline_runs=None, recorded_go=None):
    baseline = None
    if baseline_runs is not None:
        baseline = baseline_from(baseline_runs,
                                 judge(baseline_runs, figures=[figure]))
    (row,) = judge(runs, baseline, recorded_go, [figure])
    return row


class MediansTest(unittest.TestCase):

    def test_one_bad_round_moves_nothing(self):
        row = only_row(TIME, runs_of(50, 51, 900, 49, 50))
        self.assertEqual(row.measured, 50)
        self.assertEqual(row.ratio, 0.5)
        self.assertEqual(row.rounds, 5)

    def test_ratio_is_of_each_round_before_the_median(self):
        runs = runs_of(100, calibration_ns=100) + runs_of(
            120, calibration_ns=120) + runs_of(110, calibration_ns=110)
        self.assertEqual(only_row(TIME, runs).ratio, 1)
        self.assertEqual(only_row(TIME, runs).spread, 0)

    def test_one_bad_round_is_not_worse(self):
        row = only_row(TIME, runs_of(50, 51, 900, 49, 50), runs_of(50))
        self.assertFalse(row.worse)

    def test_spread_is_of_the_middle_half(self):
        self.assertEqual(spread_of([90, 100, 110, 100, 5000]), 0.1)
        self.assertEqual(spread_of([7]), 0)
        self.assertEqual(spread_of([0, 0, 0]), 0)

    def test_workloads_that_did_not_run_have_no_row(self):
        other = Figure("other", "another", ("ns",), "ns", 1)
        self.assertEqual(judge(runs_of(1), figures=[other]), [])


class SameMachineTest(unittest.TestCase):

    def test_rounds_with_cores_far_apart_are_left_out(self):
        runs = runs_of(50, 50, 50) + runs_of(900, 900, exchange_ns=230)
        row = only_row(SHARED, runs)
        self.assertEqual((row.measured, row.used, row.rounds), (50, 3, 5))
        self.assertEqual(
            baseline_from(runs, [row])["figures"]["shared"]["rounds"], 3)

    def test_single_thread_figure_counts_with_every_core_distance(self):
        runs = runs_of(50, 50, 50) + runs_of(60, 60, exchange_ns=230)
        self.assertEqual(only_row(TIME, runs).used, 5)

    def test_close_hand_overs_are_of_one_machine(self):
        same = (runs_of(1, exchange_ns=50) + runs_of(2, exchange_ns=34)
                + runs_of(3, exchange_ns=74))
        other = runs_of(4, exchange_ns=76) + runs_of(5, exchange_ns=33)
        self.assertEqual(on_the_same_machine(same + other, 50), same)

    def test_one_core_is_one_machine(self):
        runs = runs_of(1, exchange_ns=0)
        self.assertEqual(on_the_same_machine(runs, 0), runs)
        self.assertEqual(on_the_same_machine(runs, 50), [])

    def test_three_rounds_like_the_baseline_are_enough(self):
        runs = runs_of(50, 50, 50) + runs_of(*[900] * 9, exchange_ns=230)
        row = only_row(SHARED, runs, runs_of(50))
        self.assertEqual((row.used, row.comparable, row.worse),
                         (3, True, False))

    def test_on_another_machine_nothing_is_compared(self):
        runs = runs_of(50, 50) + runs_of(*[900] * 9, exchange_ns=230)
        row = only_row(SHARED, runs, runs_of(50))
        self.assertEqual((row.used, row.comparable, row.worse),
                         (11, False, False))
        self.assertIn("not comparable", table([row]))
        self.assertTrue(only_row(TIME, runs, runs_of(50)).worse)

    def test_without_a_baseline_nothing_is_said_about_it(self):
        runs = runs_of(50, 50) + runs_of(50, 50, exchange_ns=230)
        self.assertTrue(only_row(SHARED, runs).comparable)


class BarTest(unittest.TestCase):

    def test_is_met_up_to_itself(self):
        self.assertIs(only_row(TIME, runs_of(100)).meets_bar, True)
        self.assertIs(only_row(TIME, runs_of(100.1)).meets_bar, False)

    def test_is_half_of_go_of_the_same_rounds(self):
        runs = runs_of(1, go_ns=80) + runs_of(1, go_ns=100) + runs_of(
            1, go_ns=300)
        self.assertEqual(bar_of(BESIDE_GO, runs, {"w": 10}), 50)

    def test_is_half_of_the_recorded_go_without_one_in_the_run(self):
        self.assertEqual(bar_of(BESIDE_GO, runs_of(1), {"w": 10}), 5)

    def test_is_none_where_nobody_measured_go(self):
        row = only_row(BESIDE_GO, runs_of(1))
        self.assertIsNone(row.bar)
        self.assertIsNone(row.meets_bar)


class BaselineTest(unittest.TestCase):

    def test_a_time_that_grew_with_the_calibration_is_not_worse(self):
        row = only_row(TIME, runs_of(200, calibration_ns=200), runs_of(100))
        self.assertEqual(row.worse_by, 0)
        self.assertFalse(row.worse)

    def test_the_same_time_on_a_faster_machine_is_worse(self):
        row = only_row(TIME, runs_of(100, calibration_ns=50), runs_of(100))
        self.assertEqual(row.worse_by, 1)
        self.assertTrue(row.worse)

    def test_tolerance_is_fifteen_per_cent(self):
        self.assertFalse(only_row(TIME, runs_of(114), runs_of(100)).worse)
        self.assertTrue(only_row(TIME, runs_of(116), runs_of(100)).worse)

    def test_less_is_never_worse(self):
        row = only_row(TIME, runs_of(10), runs_of(100))
        self.assertAlmostEqual(row.worse_by, -0.9)
        self.assertFalse(row.worse)

    def test_bytes_are_compared_as_they_are(self):
        fine = only_row(BYTES, runs_of(114, calibration_ns=1), runs_of(100))
        self.assertFalse(fine.worse)
        worse = only_row(BYTES, runs_of(116, calibration_ns=900), runs_of(100))
        self.assertTrue(worse.worse)

    def test_figure_held_to_its_bar_may_grow_up_to_it(self):
        self.assertFalse(only_row(TINY, runs_of(99), runs_of(1)).worse)
        self.assertTrue(only_row(TINY, runs_of(101), runs_of(1)).worse)

    def test_figure_that_missed_its_bar_in_the_baseline_is_not_worse(self):
        self.assertFalse(only_row(TINY, runs_of(900), runs_of(101)).worse)

    def test_a_figure_that_the_baseline_lacks_is_not_worse(self):
        (row,) = judge(runs_of(900), {"figures": {}}, figures=[TIME])
        self.assertIsNone(row.worse_by)
        self.assertFalse(row.worse)

    def test_holds_every_figure(self):
        runs = runs_of(1, 2, 3)
        recorded = baseline_from(runs, judge(runs, figures=[TIME, BYTES]))
        self.assertEqual(recorded["calibration_ns"], 100)
        self.assertEqual(recorded["exchange_ns"], 50)
        self.assertEqual(recorded["figures"]["time"], {
            "measured": 2, "unit": "ns", "ratio": 0.02, "spread": 0.5,
            "rounds": 3})
        self.assertIn("bytes", recorded["figures"])


class TableTest(unittest.TestCase):

    def line(self, row):
        return table([row]).splitlines()[1]

    def test_says_what_is_met_and_what_is_worse(self):
        self.assertIn("meets bar, +0% to baseline",
                      self.line(only_row(TIME, runs_of(100), runs_of(100))))
        self.assertIn("misses bar, WORSE: +50% to baseline",
                      self.line(only_row(TIME, runs_of(150), runs_of(100))))
        self.assertIn("WORSE: met it in the baseline",
                      self.line(only_row(TINY, runs_of(150), runs_of(100))))
        self.assertIn("no bar, no baseline",
                      self.line(only_row(BESIDE_GO, runs_of(1))))

    def test_columns_are_aligned(self):
        rows = judge(runs_of(123456), figures=[TIME, BYTES, TINY])
        lines = table(rows).splitlines()
        end = lines[0].index("measured") + len("measured")
        for line in lines[1:]:
            self.assertTrue(line[:end].endswith("123,456"), line)


class FiguresTest(unittest.TestCase):

    def test_each_has_a_name_of_its_own_and_a_bar(self):
        self.assertEqual(len({figure.name for figure in FIGURES}), len(FIGURES))
        for figure in FIGURES:
            self.assertNotEqual(figure.bar is None, figure.share_of_go is None,
                                figure.name)

    def test_a_workload_with_several_figures_runs_once(self):
        self.assertEqual(workloads_of(FIGURES).count("send"), 1)


class DeviceTest(unittest.TestCase):

    def test_a_figure_needs_its_device(self):
        def figure(device):
            return Figure("a", "a", ("p50_us",), "us", 1, BAR, device=device)

        self.assertTrue(can_be_measured(figure(None)))
        self.assertTrue(can_be_measured(figure("/dev/null")))
        self.assertFalse(can_be_measured(figure("/nowhere/device")))


if __name__ == "__main__":
    unittest.main()
