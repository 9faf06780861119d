#!/usr/bin/python3
"""Prints what failed of a CTest run, and how many cases passed, failed and were
skipped.

Usage: ctest_report.py SUITE REPORT

SUITE is printed before the name of each failed test; REPORT is what
`ctest --output-junit` wrote. The last line is "N passed, N failed, N skipped".

A test may be a whole program of GoogleTest or unittest. Its output says how many
cases it ran, and each of them counts. Any other test counts as one case.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree

# The limits of the output of one test.
LINES_AT_THE_END = 40
LINES_BEFORE_A_FAILURE = 15
MAX_LINES = 200
MAX_LINE_LENGTH = 300

# The last lines of a program: how many cases it ran and was told to skip.
GOOGLETEST_RAN = re.compile(
    r"^\[=+\] (\d+) tests? from \d+ test suites? ran\.", re.MULTILINE)
GOOGLETEST_PASSED = re.compile(r"^\[  PASSED  \] (\d+) tests?\.", re.MULTILINE)
GOOGLETEST_SKIPPED = re.compile(r"^\[  SKIPPED \] (\d+) tests?", re.MULTILINE)
GOOGLETEST_FAILURE = "[  FAILED  ] "
UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
UNITTEST_FAILED = re.compile(
    r"^FAILED \((?:failures=(\d+))?(?:, )?(?:errors=(\d+))?", re.MULTILINE)
UNITTEST_SKIPPED = re.compile(r"^(?:OK|FAILED) \(.*?skipped=(\d+)", re.MULTILINE)


def last_number(pattern, text):
    """The sum of the groups of the last match; 0: there is no match."""
    last = None
    for last in pattern.finditer(text):
        pass
    return sum(int(group or 0) for group in last.groups()) if last else 0


def cases_of(output, failed):
    """(passed, failed, skipped) of one test that ran; `failed`: CTest's opinion."""
    if GOOGLETEST_RAN.search(output):
        ran = last_number(GOOGLETEST_RAN, output)
        skipped = last_number(GOOGLETEST_SKIPPED, output)
        failures = ran - skipped - last_number(GOOGLETEST_PASSED, output)
    elif UNITTEST_RAN.search(output):
        ran = last_number(UNITTEST_RAN, output)
        skipped = last_number(UNITTEST_SKIPPED, output)
        failures = last_number(UNITTEST_FAILED, output)
    else:
        return (0, 1, 0) if failed else (1, 0, 0)
    # A program may also fail behind its last case, and a case in several parts.
    failures = max(min(failures, ran - skipped), 1) if failed else 0
    return max(ran - skipped - failures, 0), failures, skipped


def read(report):
    """(name, output, (passed, failed, skipped)) of each test."""
    for test in ElementTree.parse(report).getroot().iter("testcase"):
        output = test.findtext("system-out") or ""
        status = test.get("status")
        skipped = test.find("skipped")
        could_not_run = skipped is not None and skipped.get(
            "message", "").startswith("Unable to find")
        if status == "fail" or could_not_run:
            counts = cases_of(output, failed=True)
        elif status == "run":
            counts = cases_of(output, failed=False)
        else:
            counts = (0, 0, 1)
        yield test.get("name"), output, counts


def excerpt(text):
    """The end of the output, and the lines before each failure of GoogleTest."""
    lines = text.rstrip().splitlines()
    kept = set(range(max(len(lines) - LINES_AT_THE_END, 0), len(lines)))
    for number, line in enumerate(lines):
        if line.startswith(GOOGLETEST_FAILURE) and len(kept) < MAX_LINES:
            kept.update(range(max(number - LINES_BEFORE_A_FAILURE, 0), number + 1))
    before = -1
    for number in sorted(kept):
        if number != before + 1:
            yield "[%d lines]" % (number - before - 1)
        yield lines[number][:MAX_LINE_LENGTH]
        before = number


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    suite, report = sys.argv[1:]
    totals = [0, 0, 0]
    for name, output, counts in read(report):
        totals = [total + count for total, count in zip(totals, counts)]
        if counts[1] == 0:
            continue
        print("failed in suite %s: %s" % (suite, name))
        for line in excerpt(output):
            print("  | " + line)
    print("%d passed, %d failed, %d skipped" % tuple(totals))


if __name__ == "__main__":
    main()
