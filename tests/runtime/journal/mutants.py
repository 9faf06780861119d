#!/usr/bin/python3
"""Takes one precaution after another out of the journal, and runs the test that
must notice.

Usage: mutants.py ROOT SCRATCH [NAME...]
       mutants.py --check [ROOT]

Compiles the journal and its tests in SCRATCH, which is kept and reused. Prints a
row for each mutant, and exits with 1 if one was not noticed.

--check builds nothing: it prints each mutant whose text does not occur exactly
once in its file, or whose test does not exist, and exits with 1 if there is one.
"""

import argparse
import hashlib
import pathlib
import re
import subprocess
import sys

from mutant_table import MUTANTS

SOURCES = ["runtime/files/*.cc", "runtime/journal/*.cc",
           *(f"runtime/system/{name}.cc" for name in (
               "assert", "clock", "fresh_memory", "parker", "random")),
           "tests/support/simulated_disk*.cc"]
TESTS = ["crash_script", "crash_test", "journal_test", "recovery_test"]
FLAGS = ["-std=c++20", "-O1", "-g0", "-DACTORD_ASSERT_HOT_ON"]
LIBRARIES = ["-lisal", "-lgmock", "-lgtest_main", "-lgtest", "-labsl_status",
             "-labsl_statusor", "-labsl_strings", "-labsl_str_format_internal",
             "-labsl_cord", "-labsl_raw_logging_internal", "-lpthread"]
TIMEOUT_SECONDS = 300


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def compiled(root, source, text, scratch):
    """The object of a source with this text; made once for each text."""
    name = source.replace("/", "_")
    if source.startswith("runtime/journal/"):
        key = hashlib.sha256(text.encode()).hexdigest()[:12]
    else:
        key = "same"
    target = scratch / f"{name}.{key}.o"
    if key == "same" and target.exists() and (
            target.stat().st_mtime < (root / source).stat().st_mtime):
        target.unlink()
    if not target.exists():
        changed = scratch / f"{name}.{key}.cc"
        changed.write_text(text)
        result = run(["g++", *FLAGS, f"-I{root}", "-c", changed, "-o", target])
        if result.returncode != 0:
            sys.exit(f"{source}: {result.stderr[:2000]}")
    return target


def build(root, scratch, mutated_file=None, mutated_text=None):
    files = [str(path.relative_to(root)) for pattern in SOURCES
             for path in sorted(root.glob(pattern))]
    files += [f"tests/runtime/journal/{name}.cc" for name in TESTS]
    objects = []
    for source in files:
        text = mutated_text if source == mutated_file else (root / source).read_text()
        objects.append(compiled(root, source, text, scratch))
    program = scratch / "journal_mutant_test"
    result = run(["g++", "-o", program, *objects, *LIBRARIES])
    if result.returncode != 0:
        sys.exit(result.stderr[:3000])
    return program


def passes(program, test):
    try:
        result = run([program, f"--gtest_filter={test}"], timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    if "Running 0 tests" in result.stdout:
        sys.exit(f"there is no test {test}")
    return result.returncode == 0


def check(root):
    tests = "".join(path.read_text() for path in
                    (root / "tests/runtime/journal").glob("*_test.cc"))
    problems = []
    for name, (file, text, _, _, test) in MUTANTS.items():
        times = (root / file).read_text().count(text)
        if times != 1:
            problems.append(f"{name}: {file}: occurs {times} times, not once: {text!r}")
        suite, case = re.sub(r"^\w+/(?=\w+\.)|/\d+$", "", test).split(".")
        if not re.search(rf"TEST(_F|_P)?\(\s*{suite},\s*{case}\)", tests):
            problems.append(f"{name}: there is no test {suite}.{case}")
    for line in problems:
        print(line)
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path, nargs="?",
                        default=pathlib.Path(__file__).resolve().parents[3])
    parser.add_argument("scratch", type=pathlib.Path, nargs="?")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_intermixed_args()
    if arguments.check:
        return check(arguments.root)
    if arguments.scratch is None:
        parser.error("needs ROOT and SCRATCH, or --check")
    root = arguments.root.resolve()
    arguments.scratch.mkdir(parents=True, exist_ok=True)
    program = build(root, arguments.scratch)
    missed = 0
    for name in arguments.names or MUTANTS:
        file, text, replacement, what, test = MUTANTS[name]
        original = (root / file).read_text()
        if original.count(text) != 1:
            sys.exit(f"{name}: the text does not occur once in {file}")
        program = build(root, arguments.scratch)
        if not passes(program, test):
            sys.exit(f"{test} fails without a mutant")
        program = build(root, arguments.scratch, file,
                        original.replace(text, replacement))
        noticed = not passes(program, test)
        missed += not noticed
        print(f"| `{name}` | {what} | {test} | {'noticed' if noticed else 'MISSED'} |",
              flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
