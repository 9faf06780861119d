"""Counts of ctest_report.py, from reports as CTest writes them."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from xml.sax.saxutils import escape

import ctest_report

GOOGLETEST_GOOD = """[==========] 12 tests from 3 test suites ran. (80 ms total)
[  PASSED  ] 11 tests.
[  SKIPPED ] 1 test.
"""
GOOGLETEST_BAD = """queue_test.cc:7: Failure
Expected: 1
[  FAILED  ] Queue.Order (0 ms)
""" + "noise\n" * 100 + """[==========] 5 tests from 2 test suites ran. (80 ms total)
[  PASSED  ] 4 tests.
"""
UNITTEST_GOOD = "Ran 7 tests in 3.012s\n\nOK (skipped=2)\n"
UNITTEST_BAD = "Ran 7 tests in 3.0s\n\nFAILED (failures=1, errors=2, skipped=1)\n"


def report(*tests):
    cases = "".join(
        f'<testcase name="{name}" status="{status}">'
        f"<system-out>{escape(output)}</system-out></testcase>"
        for name, status, output in tests)
    return f"<testsuite>{cases}</testsuite>"


class Report(unittest.TestCase):

    def printed(self, *tests):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "report.xml"
            path.write_text(report(*tests))
            output = io.StringIO()
            arguments, sys.argv = sys.argv, ["ctest_report.py", "asan", str(path)]
            try:
                with contextlib.redirect_stdout(output):
                    ctest_report.main()
            finally:
                sys.argv = arguments
        return output.getvalue().splitlines()

    def test_counts_the_cases_of_programs(self):
        self.assertEqual(
            self.printed(("a", "run", GOOGLETEST_GOOD), ("b", "run", UNITTEST_GOOD),
                         ("c", "run", "some text")),
            ["17 passed, 0 failed, 3 skipped"])

    def test_counts_each_failed_case(self):
        lines = self.printed(("a", "fail", GOOGLETEST_BAD),
                             ("b", "fail", UNITTEST_BAD), ("c", "fail", ""))
        self.assertEqual(lines[-1], "7 passed, 5 failed, 1 skipped")
        self.assertIn("failed in suite asan: c", lines)

    def test_a_program_that_fails_behind_its_cases_has_failed(self):
        for output in (GOOGLETEST_GOOD, UNITTEST_GOOD):
            self.assertIn(" 1 failed", self.printed(("a", "fail", output))[-1])

    def test_a_program_that_dies_has_failed(self):
        self.assertEqual(
            self.printed(("a", "fail", "Segmentation fault"))[-1],
            "0 passed, 1 failed, 0 skipped")

    def test_a_test_that_did_not_run_has_not_passed(self):
        self.assertEqual(self.printed(("a", "notrun", ""))[-1],
                         "0 passed, 0 failed, 1 skipped")

    def test_shows_the_failure_before_the_noise(self):
        lines = self.printed(("a", "fail", GOOGLETEST_BAD))
        self.assertIn("  | queue_test.cc:7: Failure", lines)
        self.assertIn("  | [62 lines]", lines)


if __name__ == "__main__":
    unittest.main()
