"""Floods below every handler: the daemon cuts them, and serves all others."""

import signal
import time
import unittest

from actord.v1 import outcome_pb2, payload_pb2, process_pb2
from harness.bulk import SendStream, send_item
from harness.case import DaemonCase
from harness.connection import CALL_SECONDS
from harness.flood import FloodProgram
from harness.waiting import SANITIZED, eventually

FACTOR = 20 if SANITIZED else 1
CUT_SECONDS = 0.5 * FACTOR
ANSWER_SECONDS = 1 * FACTOR
FLOOD_SECONDS = 3 * FACTOR
# Calls that are not cleared up, and what the sanitizer or a busy machine add.
FLOOD_BYTES = 200 << 20
MIB = 1 << 20


class FloodCase(DaemonCase):

    def flood(self, kind, **more):
        program = FloodProgram(kind, self.daemon.address, FLOOD_SECONDS, **more)
        self.addCleanup(program.end)
        return program

    def serve_during(self, program):
        """Makes calls until the program ends. Returns the longest one's seconds."""
        longest = 0
        while program.process.poll() is None:
            started = time.monotonic()
            self.assert_serves()
            longest = max(longest, time.monotonic() - started)
        return longest

    def cut_total(self):
        return self.actor.status().counters.connections_cut_total


class Floods(FloodCase):

    def check(self, kind, reason, cut_seconds=CUT_SECONDS):
        before = self.daemon.resident_bytes()
        program = self.flood(kind)
        longest = self.serve_during(program)
        [cut] = program.cuts()
        self.assertIsNotNone(cut, "the connection was not cut")
        self.assertLess(cut, cut_seconds)
        self.assertLess(longest, ANSWER_SECONDS)
        self.assertEqual(self.cut_total(), 1)
        self.assertEqual(self.daemon.log().count(" cut: "), 1)
        self.assertIn(reason, self.daemon.log())
        self.assertLess(self.daemon.peak_bytes() - before, FLOOD_BYTES)

    def test_rapid_reset_is_cut(self):
        self.check("rapid_reset", "more calls than the daemon can read")

    def test_endless_header_is_cut(self):
        self.check("endless_header", "bytes that are no call and no message",
                   2 * FACTOR)

    def test_memory_of_a_flood_is_given_back(self):
        before = self.daemon.resident_bytes()
        self.flood("rapid_reset").cuts()
        eventually(lambda: self.daemon.grown_bytes(before) < 24 * MIB,
                   "the memory")

    def test_new_clients_are_served_while_floods_come_again(self):
        program = self.flood("rapid_reset", connections=4, again=True)
        while program.process.poll() is None:
            started = time.monotonic()
            actor = self.connect(self.daemon)
            self.assertEqual(actor.run("echo", b"1").result.data, b"1")
            actor.close()
            self.assertLess(time.monotonic() - started, 5 * ANSWER_SECONDS)
        self.assertGreater(len(program.cuts()), 4)

    def test_daemon_ends_in_time_in_the_middle_of_a_flood(self):
        self.flood("rapid_reset", connections=4, again=True)
        eventually(lambda: self.cut_total() > 0, "a cut")
        started = time.monotonic()
        self.daemon.signal(signal.SIGTERM)
        self.assertEqual(self.daemon.wait(), 0)
        self.assertLess(time.monotonic() - started, 4 * FACTOR)


class Honest(FloodCase):
    """Clients that send much, or hold much open, and are not cut."""

    OPTIONS = ("--max-payload-bytes", "16MiB", "--max-mailbox-bytes", "256MiB")

    def tearDown(self):
        self.assertEqual(self.cut_total(), 0)
        super().tearDown()

    def test_large_messages_at_a_time(self):
        pid = self.actor.submit("probe", method="collect")
        request = process_pb2.SendRequest(
            pid=pid, payload=payload_pb2.Payload(data=b"x" * (12 * MIB)))
        calls = [self.actor.stub.Send.future(request, timeout=CALL_SECONDS)
                 for _ in range(8)]
        for call in calls:
            call.result()
        self.actor.terminate(pid)

    def test_large_message_as_the_first(self):
        pid = self.actor.submit("probe", method="collect")
        for _ in range(5):
            self.connect(self.daemon).send(pid, payload=b"x" * (12 * MIB))
        self.actor.terminate(pid)

    def test_large_messages_in_a_stream(self):
        pid = self.actor.submit("probe", method="collect")
        stream = SendStream(self.actor.stub)
        for _ in range(10):
            stream.send(*[send_item(pid, payload=b"x" * (4 * MIB))
                          for _ in range(4)])
        stream.finish()
        self.assertEqual(stream.refused, {})
        self.actor.terminate(pid)

    def test_a_thousand_open_calls(self):
        pid = self.actor.submit("probe", method="collect")
        calls = [self.actor.stub.Await.future(
            outcome_pb2.AwaitRequest(pid=pid), timeout=CALL_SECONDS)
            for _ in range(1000)]
        self.connect(self.daemon).terminate(pid)
        for call in calls:
            self.assertEqual(call.result().outcome.WhichOneof("end"), "failure")

    def test_a_thousand_calls_that_their_client_cancels(self):
        pid = self.actor.submit("probe", method="collect")
        for _ in range(3):
            calls = [self.actor.stub.Await.future(
                outcome_pb2.AwaitRequest(pid=pid), timeout=CALL_SECONDS)
                for _ in range(900)]
            self.assert_serves()
            for call in calls:
                call.cancel()
        self.actor.terminate(pid)


if __name__ == "__main__":
    unittest.main()
