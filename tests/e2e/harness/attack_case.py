"""The base of the attacks: they run against the release build, one at a time.

An attack is small by default. `./dev attack` sets ACTORD_ATTACK=full, which runs
each attack in its full size and keeps what `record` prints.
"""

import functools
import hashlib
import os
import signal
import sys
import threading
import time

from harness.case import DaemonCase
from harness.daemon import processor_seconds
from harness.flood import FloodProgram

FULL = os.environ.get("ACTORD_ATTACK") == "full"
MIB = 1 << 20
# How long a fast machine takes for _work.
_WORK_SECONDS = 0.018
# Options with which a daemon ends within END_SECONDS, no matter what its clients do.
ENDS_SOON = ("--drain-timeout", "2s", "--force-timeout", "1s")
END_SECONDS = 4


def _work():
    started = time.monotonic()
    block = bytes(1 << 20)
    for _ in range(16):
        hashlib.sha256(block).digest()
    for number in range(200_000):
        _ = number * number
    return time.monotonic() - started


@functools.cache
def machine_factor():
    """How many times slower this machine is than a fast one; at least 1."""
    return max(1.0, min(_work() for _ in range(5)) / _WORK_SECONDS)


def record(test, text):
    """Adds a line to the record of `./dev attack`."""
    name = test.id().rsplit(".", 1)[1].removeprefix("test_")
    print(f"attack {name}: {text}", file=sys.stderr)


def assert_ends_in_time(test, daemon):
    """SIGTERM in the middle of an attack on a daemon with ENDS_SOON."""
    started = time.monotonic()
    daemon.signal(signal.SIGTERM)
    test.assertEqual(daemon.wait(), 0)
    seconds = time.monotonic() - started
    record(test, f"ended {seconds:.2f} s after SIGTERM")
    test.assertLess(seconds, END_SECONDS * machine_factor())


class HonestClient:
    """Starts processes over connections of its own, one call at a time."""

    def __init__(self, actor):
        self.longest = 0
        self.calls = 0
        self.error = None
        self._actor = actor
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        try:
            while not self._over.is_set():
                started = time.monotonic()
                assert self._actor.run("echo", b"1").result.data == b"1"
                self.longest = max(self.longest, time.monotonic() - started)
                self.calls += 1
        except Exception as error:  # The test's thread raises it again.
            self.error = error

    def end(self):
        self._over.set()
        self._thread.join()
        if self.error is not None:
            raise self.error


class AttackCase(DaemonCase):

    def setUp(self):
        super().setUp()
        self.factor = machine_factor()
        self.assert_serves()
        self.before_bytes = self.daemon.resident_bytes()

    def record(self, text):
        record(self, text)

    def assert_ends_in_time(self):
        assert_ends_in_time(self, self.daemon)

    def flood(self, kind, seconds, address=None, **more):
        program = FloodProgram(kind, address or self.daemon.address, seconds,
                               **more)
        self.addCleanup(program.end)
        return program

    def honest(self):
        client = HonestClient(self.connect(self.daemon))
        self.addCleanup(client.end)
        return client

    def counters(self):
        return self.actor.status().counters

    def cut_total(self):
        return self.counters().connections_cut_total

    def processor_seconds(self):
        """The processor time that the daemon has taken so far."""
        return processor_seconds(self.daemon.process.pid)

    def grown(self):
        return self.daemon.resident_bytes() - self.before_bytes

    def peak(self):
        return self.daemon.peak_bytes() - self.before_bytes
