#!/usr/bin/python3
"""Tests bench/table as a program, with a fake benchmark program."""

import json
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Prints 100 for every figure, or the values in WORKLOAD.values: one line for
# each run, and the last line for all further runs. In sh, because it starts at
# once.
FAKE_BENCH = r"""#!/bin/sh
folder=${0%/*}
printf . >>"$folder/$1.calls"
read -r calls <"$folder/$1.calls"
value=100
if [ -f "$folder/$1.values" ]; then
  while [ ${#calls} -gt 0 ] && read -r line; do
    value=$line
    calls=${calls#.}
  done <"$folder/$1.values"
fi
line="\"ns_per_op\": $value, \"exchange_ns\": $(cat "$folder/exchange_ns")"
for name in ns_per_op_1 ns_per_op_10 ns_per_op_1000 more_ns_per_op \
    bytes_per_process cpu_ms p50_us p99_us ratio add_ns fire_cpu_ns late_p99_us; do
  line="$line, \"$name\": $value"
done
echo "{$line}"
"""


class TableTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.bench = self.folder / "actord_bench"
        self.bench.write_text(FAKE_BENCH, encoding="utf-8")
        self.bench.chmod(0o755)
        self.prints({})
        self.hands_over_in(50)

    def hands_over_in(self, nanoseconds):
        (self.folder / "exchange_ns").write_text(str(nanoseconds))

    def prints(self, figures):
        """Sets the values from now on, from the beginning of each list."""
        for file in [*self.folder.glob("*.calls"),
                     *self.folder.glob("*.values")]:
            file.unlink()
        for workload, values in figures.items():
            (self.folder / f"{workload}.values").write_text(
                "".join(f"{value}\n" for value in values))

    def runs_of(self, workload):
        return len((self.folder / f"{workload}.calls").read_text())

    def table(self, *options, status=0):
        done = subprocess.run(
            [ROOT / "bench/table", "--bench", self.bench, "--baseline",
             self.folder / "baseline.json", "--rounds", "3", *options],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_recorded_figures_pass(self):
        self.table("--record")
        baseline = json.loads((self.folder / "baseline.json").read_text())
        self.assertEqual(baseline["rounds"], 3)
        self.assertEqual(baseline["figures"]["yield"]["ratio"], 1)
        self.assertIn("cpu", baseline["machine"])
        self.assertRegex(baseline["date"], r"^\d{4}-\d\d-\d\d$")
        self.assertIn("by more than 15%: none", self.table("--check"))

    def test_worse_figure_is_named(self):
        self.table("--record")
        self.prints({"yield": [120], "submit": [110]})
        output = self.table("--check", status=1)
        self.assertIn("by more than 15%: yield\n", output)
        self.assertIn("+10% to baseline", output)

    def test_a_machine_that_is_slower_as_a_whole_passes(self):
        self.table("--record", "--rounds", "1")
        everything = ["pingpong", "pairs", "ring", "skynet", "spawn", "fanin",
                      "submit", "yield", "send", "timers", "calibrate"]
        self.prints({workload: [200] for workload in everything})
        self.table("--check", "--rounds", "1")

    def test_noise_is_measured_again_and_passes(self):
        self.table("--record")
        self.prints({"yield": [200, 200, 200, 100]})
        output = self.table("--check")
        self.assertIn("measured again: yield", output)
        self.assertEqual(self.runs_of("yield"), 9)
        self.assertEqual(self.runs_of("submit"), 3)

    def test_cores_far_apart_are_said_and_fail_nothing(self):
        self.table("--record")
        self.hands_over_in(200)
        self.prints({"fanin": [600]})
        output = self.table("--check", "--workloads", "fanin,yield")
        self.assertRegex(output, "not comparable, .*: fanin\n")
        self.assertEqual(self.runs_of("fanin"), 3 + 6 + 6)
        self.prints({"fanin": [600], "yield": [200]})
        self.assertIn("by more than 15%: yield\n", self.table(
            "--check", "--workloads", "fanin,yield", status=1))

    def test_figure_that_stays_worse_is_measured_three_times(self):
        self.table("--record")
        self.prints({"yield": [200]})
        self.table("--check", status=1)
        self.assertEqual(self.runs_of("yield"), 3 + 6 + 6)

    def test_without_check_nothing_fails(self):
        self.table("--record")
        self.prints({"yield": [200]})
        self.assertIn("WORSE: +100% to baseline", self.table())
        self.assertEqual(self.runs_of("yield"), 3)

    def test_writes_all_that_was_measured(self):
        raw = self.folder / "raw.json"
        self.table("--json", raw, "--workloads", "yield,send")
        runs = json.loads(raw.read_text())["runs"]
        self.assertEqual([run["workload"] for run in runs],
                         ["yield", "send"] * 3)
        self.assertEqual(runs[0]["output"]["ns_per_op"], 100)
        self.assertEqual(runs[0]["calibration_ns"], 100)

    def test_refuses_senseless_options(self):
        for options in (["--workloads", "sing"], ["--rounds", "0"],
                        ["--record", "--workloads", "yield"],
                        ["--record", "--check"], ["--check"]):
            self.table(*options, status=2)

    def test_a_workload_that_fails_is_no_figure(self):
        self.bench.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
        self.assertIn("broken", self.table(status=2))


if __name__ == "__main__":
    unittest.main()
