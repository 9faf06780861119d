"""A client that asks for large answers, and reads none of them."""

import time
import unittest

from actord.v1 import outcome_pb2
from harness.attack_case import ENDS_SOON, FULL, MIB, AttackCase
from harness.connection import Connection
from harness.raw_client import RawClient
from harness.waiting import eventually

CALLS = 900 if FULL else 200
RESULT_BYTES = 1_000_000
# 16 MiB of answers, and what 900 open calls take.
HELD_BYTES = 64 * MIB


class UnreadAnswers(AttackCase):

    OPTIONS = ENDS_SOON

    def address(self):
        return self.daemon.address

    def start_attack(self, pid):
        """Awaits the process many times with a closed window."""
        client = RawClient(self.address(), window=0)
        self.addCleanup(client.close)
        for _ in range(CALLS):
            client.ask("Await", outcome_pb2.AwaitRequest(pid=pid))
        client.wait_until_read()
        return client

    def large_result(self):
        pid = self.actor.submit("echo", b"x" * RESULT_BYTES)
        self.assertEqual(len(self.actor.wait(pid).result.data), RESULT_BYTES)
        return pid

    def test_answers_that_nobody_reads_are_bounded(self):
        self.check_bound()

    def check_bound(self):
        pid = self.large_result()
        before = self.daemon.resident_bytes()
        client = self.start_attack(pid)
        eventually(lambda: self.refused() >= CALLS - 17, "the refusals")
        self.assertLessEqual(self.refused(), CALLS - 16)
        held = self.daemon.resident_bytes() - before
        self.assertLess(held, HELD_BYTES)
        # Other connections get their answers.
        other = Connection(self.address())
        self.addCleanup(other.close)
        self.assertEqual(len(other.wait(pid).result.data), RESULT_BYTES)
        client.close()
        started = time.monotonic()
        eventually(lambda: self.daemon.resident_bytes() - before < HELD_BYTES / 2,
                   "the memory", 10 * self.factor)
        self.record(f"{CALLS} answers of 1 MB: {self.refused()} refused, "
                    f"{held / MIB:.0f} MiB held; given back after "
                    f"{time.monotonic() - started:.2f} s")

    def test_end_among_answers_that_nobody_reads(self):
        self.start_attack(self.large_result())
        eventually(lambda: self.refused() >= CALLS - 17, "the refusals")
        self.assert_ends_in_time()

    def refused(self):
        return self.counters().unread_answers_limit_total


class UnreadAnswersOverAUnixSocket(UnreadAnswers):

    def test_answers_that_nobody_reads_are_bounded(self):
        self.check_bound()

    def start_daemon(self, *options, **more):
        return super().start_daemon(*options, "--listen", self.address(), **more)

    def address(self):
        return f"unix:{self.directory / 's'}"


if __name__ == "__main__":
    unittest.main()
