"""Runs workloads in turn, with a calibration before and after each."""

import json
import re
import subprocess

from report.figures import MOST_ROUNDS
from report.judgement import Run

# More than the slowest workload takes on a busy machine.
TIMEOUT_SECONDS = 300


class RunFailed(Exception):
    """A program could not be run, or did not print its figures."""


def _output_of(command):
    try:
        done = subprocess.run(command, check=True, capture_output=True,
                              text=True, timeout=TIMEOUT_SECONDS)
    except subprocess.CalledProcessError as error:
        raise RunFailed(f"{' '.join(command)} ended with "
                        f"{error.returncode}: {error.stderr.strip()}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunFailed(str(error)) from error
    return done.stdout


def run_workload(program, workload):
    """The JSON object that actord_bench prints."""
    lines = _output_of([program, workload, "--json"]).strip().splitlines()
    try:
        return json.loads(lines[-1])
    except (IndexError, ValueError) as error:
        raise RunFailed(f"{program} {workload} printed no figures") from error


def run_peer(program, workload):
    """Nanoseconds an operation, from a program that prints ns/op=NUMBER."""
    match = re.search(r"ns/op=([0-9.]+)", _output_of([program, workload]))
    if not match:
        raise RunFailed(f"{program} {workload} printed no ns/op=")
    return float(match.group(1))


def _mean(before, after, name):
    return (before[name] + after[name]) / 2


def measure(workloads, rounds, run, peer=None, say=lambda text: None):
    """The runs of `rounds` rounds. `run(workload)` returns an object of
    figures. `peer(workload)` returns the peer's nanoseconds, or None if it has
    none."""
    runs = []
    before = run("calibrate")
    for number in range(rounds):
        for workload in workloads:
            if number >= MOST_ROUNDS.get(workload, rounds):
                continue
            say(f"round {number + 1} of {rounds}: {workload}")
            output = run(workload)
            after = run("calibrate")
            go_ns = peer(workload) if peer else None
            runs.append(Run(workload, output, _mean(before, after, "ns_per_op"),
                            _mean(before, after, "exchange_ns"), go_ns))
            # After a run of the peer, the previous calibration is too old.
            before = after if go_ns is None else run("calibrate")
    return runs
