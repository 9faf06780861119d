#!/usr/bin/python3
"""Kills a program that appends to a journal with SIGKILL, again and again, and
checks after each start that everything it has acknowledged is there.

Usage: kill_test.py PROGRAM [ROUNDS]

Each kill comes at a random moment, also while the store is being made or
recovers. KILL_SEED in the environment sets the moments.
"""

import os
import random
import select
import subprocess
import sys
import tempfile
import time

DEADLINE_SECONDS = 60


def start(program, directory, first_number, *more):
    return subprocess.Popen([program, directory, str(first_number), *more],
                            stdout=subprocess.PIPE)


def read_until_killed(process, delay):
    """All complete lines; the process is killed `delay` seconds from now."""
    end = time.monotonic() + delay
    output = b""
    killed = False
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        if time.monotonic() > deadline:
            sys.exit("the program does not end")
        wait = 1 if killed else max(0, end - time.monotonic())
        ready, _, _ = select.select([process.stdout], [], [], wait)
        if not ready and not killed:
            process.kill()
            killed = True
        elif ready:
            piece = os.read(process.stdout.fileno(), 1 << 16)
            if not piece:
                break
            output += piece
            # A flood of lines must not put the kill off.
            if not killed and time.monotonic() >= end:
                process.kill()
                killed = True
    status = process.wait()
    if status != -9:
        sys.exit(f"the program has ended by itself with status {status}")
    return output[:output.rfind(b"\n") + 1].decode().splitlines()


def check(lines, acknowledged):
    """Compares what was found with what was acknowledged before."""
    found = {}
    positions = []
    for line in lines:
        if line.startswith("found "):
            _, position, number = line.split()
            if number in found:
                sys.exit(f"record {number} is there twice")
            found[number] = position
            positions.append(int(position))
    if positions != sorted(positions):
        sys.exit("the records are not in their order")
    for number, position in acknowledged.items():
        if found.get(number) != position:
            sys.exit(f"record {number} was acknowledged at position {position}, "
                     f"and found at {found.get(number)}")


def main():
    program = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    seed = int(os.environ.get("KILL_SEED", "1"))
    rng = random.Random(seed)
    acknowledged = {}
    opened = 0
    with tempfile.TemporaryDirectory(prefix="actord_kill_") as folder:
        store = os.path.join(folder, "store")
        for turn in range(rounds):
            # Some kills come before the store is open.
            delay = rng.uniform(0, 0.03) if turn % 4 == 0 else rng.uniform(0.05, 0.3)
            process = start(program, store, turn * 10_000_000)
            lines = read_until_killed(process, delay)
            if any(line.startswith("open ") for line in lines):
                opened += 1
                check(lines, acknowledged)
            for line in lines:
                if line.startswith("acknowledged "):
                    _, position, number = line.split()
                    acknowledged[number] = position
        last = subprocess.run([program, store, "0", "check"], text=True,
                              capture_output=True, timeout=DEADLINE_SECONDS)
        if last.returncode != 0:
            sys.exit(f"status {last.returncode}: {last.stderr}")
        check(last.stdout.splitlines(), acknowledged)
    if opened < rounds // 3 or len(acknowledged) < 10 * opened:
        sys.exit(f"only {opened} of {rounds} programs have opened the store, and "
                 f"{len(acknowledged)} records were acknowledged")
    print(f"{rounds} kills, {len(acknowledged)} records acknowledged, all found")


if __name__ == "__main__":
    main()
