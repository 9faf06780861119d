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


def read_until_killed(process, delay, once_open):
    """All complete lines; the process is killed after `delay` seconds, which
    begin when it has opened the store, if `once_open`, or else now."""
    end = time.monotonic() + (DEADLINE_SECONDS if once_open else delay)
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
            if once_open and b"open " in output:
                once_open = False
                end = time.monotonic() + delay
            # A flood of lines must not put the kill off.
            if not killed and time.monotonic() >= end:
                process.kill()
                killed = True
    status = process.wait()
    if status != -9:
        sys.exit(f"the program has ended by itself with status {status}")
    return output[:output.rfind(b"\n") + 1].decode().splitlines()


def check(lines, acknowledged):
    """Compares the records that were found with the acknowledged ones."""
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
            once_open = turn % 4 != 0
            delay = rng.uniform(0, 0.2 if once_open else 0.03)
            process = start(program, store, turn * 10_000_000)
            lines = read_until_killed(process, delay, once_open)
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
    if opened < rounds // 2 or len(acknowledged) < opened:
        sys.exit(f"only {opened} of {rounds} programs have opened the store, and "
                 f"{len(acknowledged)} records were acknowledged")
    print(f"{rounds} kills, {len(acknowledged)} records acknowledged, all found")


if __name__ == "__main__":
    main()
