"""A client that asks for large answers, and reads none of them."""

import time
import unittest

from actord.v1 import outcome_pb2
from harness.attack_case import ENDS_SOON, FULL, MIB, AttackCase
from harness.connection import Connection
from harness.raw_client import RawClient
from harness.waiting import eventually

CALLS = 1000 if FULL else 200
READERS = 20
CALLS_OF_EACH = 200 if FULL else 20
RESULT_BYTES = 1_000_000
# Answers of 16 MiB, and 1,000 open calls.
HELD_BYTES = 64 * MIB
# Twenty clients that hold answers of 4 MiB each.
SMALL_BOUND = "4MiB"


class UnreadAnswers(AttackCase):

    OPTIONS = ENDS_SOON

    def address(self):
        return self.daemon.address

    def start_attack(self, pid, calls=CALLS):
        """Awaits the process many times with a closed window."""
        client = RawClient(self.address(), window=0)
        self.addCleanup(client.close)
        for _ in range(calls):
            client.ask("Await", outcome_pb2.AwaitRequest(pid=pid))
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
        # The client sees why: RESOURCE_EXHAUSTED, with its reason.
        seen = client.read_until(CALLS - 17, b"UNREAD_ANSWERS")
        self.assertIn(b"grpc-status\x018", seen)
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

    def test_many_clients_that_do_not_read(self):
        self.daemon.stop()
        self.daemon = self.start_daemon("--max-unread-bytes", SMALL_BOUND,
                                        *self.OPTIONS)
        self.actor = self.connect(self.daemon)
        pid = self.large_result()
        before = self.daemon.resident_bytes()
        clients = [self.start_attack(pid, CALLS_OF_EACH) for _ in range(READERS)]
        refused = READERS * (CALLS_OF_EACH - 4)
        eventually(lambda: self.refused() >= refused - READERS, "the refusals")
        self.assertLessEqual(self.refused(), refused)
        held = self.daemon.resident_bytes() - before
        self.assertLess(held, READERS * 4 * MIB + HELD_BYTES)
        other = self.connect(self.daemon)
        started = time.monotonic()
        self.assertEqual(len(other.wait(pid).result.data), RESULT_BYTES)
        self.assertLess(time.monotonic() - started, 1 * self.factor)
        for client in clients:
            client.close()
        eventually(lambda: self.daemon.resident_bytes() - before < HELD_BYTES / 2,
                   "the memory", 10 * self.factor)
        self.record(f"{READERS} clients: {self.refused()} of "
                    f"{READERS * CALLS_OF_EACH} answers refused, "
                    f"{held / MIB:.0f} MiB held")

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
