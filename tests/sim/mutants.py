#!/usr/bin/python3
"""Takes one precaution after another out of the runtime and looks after how many
seeds the simulator notices.

Usage: mutants.py ROOT SCRATCH [--seeds N] [--store] [NAME...]
       mutants.py --check [ROOT]

Copies ROOT to SCRATCH (kept and reused, so that only what changed is built),
and prints a table row a mutant. Exits with 1 if one was missed that can be caught.
--store: only those of store_mutant_table.py, which run with `actord_sim --store`.

--check builds nothing: it prints each mutant whose text does not occur exactly once
in its file of ROOT (this checkout), and exits with 1 if there is one.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import time

import mutant_copy
from mutant_copy import build, copy, run
from mutant_table import MUTANTS as VOLATILE_MUTANTS
from store_mutant_table import STORE_MUTANTS

MUTANTS = {**VOLATILE_MUTANTS, **STORE_MUTANTS}

# These change nothing that can be seen, and those are noticed elsewhere: README.md.
EQUIVALENT = {"TIMER_TWICE", "TASK_AT_ONCE"}
TOO_SELDOM = {"UNSEEN_BATCH", "ALONE_TO_OTHERS", "DUE_TO_OTHERS", "END_AFTER_LOOK",
              "NO_TAG", "NO_GENERATION_CHAIN", "UNNUMBERED_ENDS", "UNORDERED_RELEASES",
              "STOP_COUNTS_AGAIN", "HISTORY_NOT_READ_AGAIN"}
# Where a mutant changes a second text of its file: the text, its replacement.
ALSO = {"LOOK_FIRST": ("look && scheduler_.HasWork()", "look && has_work")}


def misplaced(root, name):
    file, text = MUTANTS[name][:2]
    texts = [text, *ALSO.get(name, [])[:1]]
    return [f"{name}: {problem}" for problem in mutant_copy.misplaced(root, file, texts)]


def check(root):
    problems = [line for name in MUTANTS for line in misplaced(root, name)]
    for line in problems:
        print(line)
    return 1 if problems else 0


def try_mutant(scratch, name, seeds):
    file, text, replacement, what = MUTANTS[name]
    for problem in misplaced(scratch, name):
        return f"| `{name}` | {what} | {problem} |", False
    path = scratch / file
    original = path.read_text()
    mutated = original.replace(text, replacement)
    if name in ALSO:
        mutated = mutated.replace(*ALSO[name])
    path.write_text(mutated)
    try:
        problem = build(scratch)
        if problem:
            return f"| `{name}` | {what} | does not build: {problem} |", False
        try:
            mode = ["--store"] if name in STORE_MUTANTS else []
            result = run([scratch / "build/dev/tests/sim/actord_sim", *mode, "--seeds",
                          str(seeds)], timeout=900)
        except subprocess.TimeoutExpired:
            return f"| `{name}` | {what} | takes too long |", False
    finally:
        path.write_text(original)
    last = result.stdout.strip().splitlines()[-1] if result.stdout else ""
    match = re.match(r"seed (\d+): (.*)", last)
    if result.returncode == 0 or not match:
        return f"| `{name}` | {what} | not caught in {seeds} seeds {last} |", False
    return f"| `{name}` | {what} | {match[1]} | {match[2]} |", True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path, nargs="?",
                        default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("scratch", type=pathlib.Path, nargs="?")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--seeds", type=int, default=10000)
    parser.add_argument("--store", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_intermixed_args()
    if arguments.check:
        return check(arguments.root)
    if arguments.scratch is None:
        parser.error("needs ROOT and SCRATCH, or --check")
    copy(arguments.root.resolve(), arguments.scratch)
    run(["cmake", "--preset", "dev"], cwd=arguments.scratch, check=True)
    missed = 0
    for name in arguments.names or (STORE_MUTANTS if arguments.store else MUTANTS):
        started = time.monotonic()
        row, caught = try_mutant(arguments.scratch, name, arguments.seeds)
        print(row, f"<!-- {time.monotonic() - started:.0f} s -->", flush=True)
        missed += not caught and name not in EQUIVALENT | TOO_SELDOM
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
