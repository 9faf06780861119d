#!/usr/bin/python3
"""Prints what failed of a CTest run: each test's name and the end of its output.

Usage: failed_tests.py SUITE REPORT

SUITE is printed before each name; REPORT is what `ctest --output-junit` wrote.
"""

import sys
import xml.etree.ElementTree as ElementTree

# The limits of the output of one test.
MAX_LINES = 30
MAX_LINE_LENGTH = 300


def end_of(text):
    lines = text.rstrip().splitlines()
    if len(lines) > MAX_LINES:
        lines = ["[%d lines before]" % (len(lines) - MAX_LINES)] + lines[-MAX_LINES:]
    return [line[:MAX_LINE_LENGTH] for line in lines]


def failed_tests(report):
    """(name, output) of each test that neither passed nor was skipped."""
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        skipped = case.find("skipped")
        could_not_run = skipped is not None and skipped.get(
            "message", "").startswith("Unable to find")
        if case.get("status") == "fail" or could_not_run:
            yield case.get("name"), case.findtext("system-out") or ""


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    suite, report = sys.argv[1:]
    for name, output in failed_tests(report):
        print("failed in suite %s: %s" % (suite, name))
        for line in end_of(output):
            print("  | " + line)


if __name__ == "__main__":
    main()
