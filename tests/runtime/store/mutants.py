#!/usr/bin/python3
"""Takes one precaution after another out of the state store, and runs the test
that must notice.

Usage: mutants.py ROOT SCRATCH [NAME...]
       mutants.py --check [ROOT]

Compiles the store and its tests in SCRATCH, which is kept and reused. Prints a
row for each mutant, and exits with 1 if one was not noticed.

--check builds nothing: it prints each mutant whose text does not occur exactly
once in its file, or whose test does not exist, and exits with 1 if there is one.
"""

import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import sys

from mutant_table import MUTANTS

SOURCES = ["runtime/files/*.cc", "runtime/journal/*.cc", "runtime/records/*.cc",
           "runtime/store/*.cc", "runtime/memory/*.cc",
           "runtime/process/pid.cc", "runtime/process/errors.cc",
           "runtime/step/record_f*.cc",
           *(f"runtime/system/{name}.cc" for name in (
               "assert", "clock", "fresh_memory", "parker", "random")),
           "tests/support/simulated_disk*.cc", "tests/runtime/store/*.cc"]
FLAGS = ["-std=c++20", "-O1", "-g0", "-DACTORD_ASSERT_HOT_ON"]
LIBRARIES = ["-lrocksdb", "-lisal", "-lgmock", "-lgtest_main", "-lgtest",
             "-labsl_status", "-labsl_statusor", "-labsl_strings",
             "-labsl_str_format_internal", "-labsl_cord", "-labsl_raw_hash_set",
             "-labsl_hash", "-labsl_city", "-labsl_low_level_hash", "-labsl_time",
             "-labsl_raw_logging_internal", "-lpthread"]
TIMEOUT_SECONDS = 300


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def compiled(root, source, text, scratch):
    """The object of a source with this text. The store's headers change with
    none of the mutants, so an object is newer than all of them or made again."""
    key = hashlib.sha256(text.encode()).hexdigest()[:12]
    target = scratch / f"{source.replace('/', '_')}.{key}.o"
    newest = max(path.stat().st_mtime for folder in ("runtime", "tests/runtime/store")
                 for path in (root / folder).rglob("*.h"))
    if target.exists() and target.stat().st_mtime < newest:
        target.unlink()
    if not target.exists():
        changed = target.with_suffix(".cc")
        changed.write_text(text)
        result = run(["g++", *FLAGS, f"-I{root}", f"-I{root}/handlers/include", "-c",
                      changed, "-o", target])
        if result.returncode != 0:
            sys.exit(f"{source}: {result.stderr[:2000]}")
    return target


def build(root, scratch, mutated_file=None, mutated_text=None):
    files = [str(path.relative_to(root)) for pattern in SOURCES
             for path in sorted(root.glob(pattern)) if path.name != "apply_rate.cc"]

    def compile_one(source):
        text = mutated_text if source == mutated_file else (root / source).read_text()
        return compiled(root, source, text, scratch)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, files))
    program = scratch / "store_mutant_test"
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
                    (root / "tests/runtime/store").glob("*_test.cc"))
    problems = []
    for name, (file, text, _, _, test) in MUTANTS.items():
        times = (root / file).read_text().count(text)
        if times != 1:
            problems.append(f"{name}: {file}: occurs {times} times, not once: {text!r}")
        suite, case = test.split(".")
        if not re.search(rf"TEST_F\(\s*{suite},\s*{case}\)", tests):
            problems.append(f"{name}: there is no test {test}")
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
    missed = 0
    for name in arguments.names or MUTANTS:
        file, text, replacement, what, test = MUTANTS[name]
        original = (root / file).read_text()
        if original.count(text) != 1:
            sys.exit(f"{name}: the text does not occur once in {file}")
        if not passes(build(root, arguments.scratch), test):
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
