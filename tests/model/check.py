#!/usr/bin/python3
"""Checks one Spin model to exhaustion, and that each of its mutants is refuted.

usage: check.py MODEL.pml [--define NAME[=VALUE] ...] [--mutant NAME]

Without --mutant the model must hold in every reachable state. With it, Spin
must find a violation. An incomplete search is an error in both cases.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

# More than the largest model needs. A search that would go deeper is an error.
DEPTH = 1_000_000
TIMEOUT_SECONDS = 600


def search(model, defines):
    """Returns (violations, states, output) of an exhaustive search."""
    with tempfile.TemporaryDirectory() as folder:
        flags = [f"-D{define}" for define in defines]
        subprocess.run(["spin", *flags, "-a", str(model.resolve())], cwd=folder,
                       check=True, capture_output=True, text=True)
        compile_flags = ["-O2", "-w", "-DSAFETY", "-DVECTORSZ=2048"]
        subprocess.run(["gcc", *compile_flags, "-o", "pan", "pan.c"],
                       cwd=folder, check=True, capture_output=True, text=True)
        claim = "never {" in model.read_text()
        # If a claim defines the bad ends, ending in any other state is not an
        # error.
        options = ["-E"] if claim else []
        run = subprocess.run(["./pan", f"-m{DEPTH}", *options], cwd=folder,
                             check=True, capture_output=True, text=True,
                             timeout=TIMEOUT_SECONDS)
    output = run.stdout + run.stderr
    result = re.search(r"errors: (\d+)", output)
    states = re.search(r"(\d+) states, stored", output)
    if not result or not states or "max search depth too small" in output:
        sys.exit(f"{model.name}: the search did not reach its end\n{output}")
    return int(result.group(1)), int(states.group(1)), output


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--define", action="append", default=[])
    parser.add_argument("--mutant")
    arguments = parser.parse_args()
    defines = arguments.define + ([arguments.mutant] if arguments.mutant else [])
    if arguments.mutant and not re.search(
            rf"\b(ifdef|ifndef) {arguments.mutant}\b",
            arguments.model.read_text()):
        sys.exit(f"{arguments.model.name} has no mutant {arguments.mutant}")
    violations, states, output = search(arguments.model, defines)
    name = " ".join([arguments.model.name, *defines])
    if arguments.mutant:
        if violations == 0:
            sys.exit(f"{name}: not refuted in {states} states")
        print(f"{name}: refuted")
    elif violations != 0:
        sys.exit(f"{name}: violated\n{output}")
    else:
        print(f"{name}: holds in all {states} states")


if __name__ == "__main__":
    main()
