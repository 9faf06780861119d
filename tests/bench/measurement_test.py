#!/usr/bin/python3
"""Tests the order in which workloads run, and how their output is read."""

import pathlib
import tempfile
import unittest

from report.measurement import (RunFailed, measure, run_peer, run_workload)


class MeasureTest(unittest.TestCase):

    def setUp(self):
        self.calls = []
        self.calibrations = 0

    def run_one(self, workload):
        self.calls.append(workload)
        if workload != "calibrate":
            return {"ns_per_op": 1}
        self.calibrations += 1
        return {"ns_per_op": 10 * self.calibrations,
                "exchange_ns": 2 * self.calibrations}

    def test_each_run_stands_between_two_calibrations(self):
        runs = measure(["a", "b"], 2, self.run_one)
        self.assertEqual(self.calls, ["calibrate"] + [
            "a", "calibrate", "b", "calibrate"] * 2)
        self.assertEqual([run.workload for run in runs], ["a", "b"] * 2)
        self.assertEqual([run.calibration_ns for run in runs],
                         [15, 25, 35, 45])
        self.assertEqual([run.exchange_ns for run in runs], [3, 5, 7, 9])

    def test_slow_workloads_run_in_fewer_rounds(self):
        runs = measure(["idle", "a"], 4, self.run_one)
        self.assertEqual([run.workload for run in runs],
                         ["idle", "a", "a", "a", "a"])

    def test_the_peer_runs_in_the_same_rounds(self):
        def peer(workload):
            self.calls.append(f"peer {workload}")
            return 7.0 if workload == "a" else None
        runs = measure(["a", "b"], 1, self.run_one, peer)
        self.assertEqual(self.calls, [
            "calibrate", "a", "calibrate", "peer a", "calibrate", "b",
            "calibrate", "peer b"])
        self.assertEqual([run.go_ns for run in runs], [7.0, None])
        self.assertEqual([run.calibration_ns for run in runs], [15, 35])


class ProgramTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = pathlib.Path(folder.name) / "program"

    def program_that(self, commands):
        self.program.write_text(f"#!/bin/sh\n{commands}\n", encoding="utf-8")
        self.program.chmod(0o755)
        return str(self.program)

    def test_the_last_line_holds_the_figures(self):
        program = self.program_that("""echo words; echo "{\\"w\\": \\"$*\\"}" """)
        self.assertEqual(run_workload(program, "ring"), {"w": "ring --json"})

    def test_a_failure_says_what_the_program_said(self):
        program = self.program_that("echo broken >&2; exit 3")
        with self.assertRaisesRegex(RunFailed, "ended with 3: broken"):
            run_workload(program, "ring")

    def test_no_figures_are_a_failure(self):
        for commands in ("true", "echo none"):
            with self.assertRaisesRegex(RunFailed, "printed no figures"):
                run_workload(self.program_that(commands), "ring")

    def test_no_program_is_a_failure(self):
        with self.assertRaises(RunFailed):
            run_workload(str(self.program), "ring")

    def test_a_peer_prints_nanoseconds(self):
        program = self.program_that('echo "$1 n=1 ns/op=12.5 ok"')
        self.assertEqual(run_peer(program, "ring"), 12.5)
        with self.assertRaisesRegex(RunFailed, "no ns/op="):
            run_peer(self.program_that("echo 12.5"), "ring")


if __name__ == "__main__":
    unittest.main()
