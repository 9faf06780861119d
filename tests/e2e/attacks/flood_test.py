"""Floods below every handler: the daemon cuts them, and serves all others."""

import unittest
from statistics import median, quantiles

from actord.v1 import outcome_pb2
from harness.attack_case import ENDS_SOON, FULL, MIB, AttackCase
from harness.certificates import Authority
from harness.connection import CALL_SECONDS
from harness.waiting import eventually

PEAK_BYTES = 256 * MIB
LEFT_BYTES = 64 * MIB
GIVEN_BACK_SECONDS = 10
UPLOAD_BYTES = 3 * MIB
CALLS = 1000
# Of each connection, and of nine in ten.
SLOWEST_CUT_SECONDS, CUT_SECONDS = 5, 0.5
RESETS = "more calls than the daemon can read"


class FloodCase(AttackCase):
    """Floods from the same address as that of the honest clients."""

    OPTIONS = ("--max-payload-bytes", "4MiB", "--max-mailbox-bytes", "16MiB",
               *ENDS_SOON)

    def check_end(self, kind, **more):
        self.flood(kind, 10 * self.factor, again=True, **more)
        eventually(lambda: self.cut_total() > 0, "a cut")
        self.assert_ends_in_time()

    def check_one(self, kind, reason, cut_seconds, **more):
        honest = self.honest()
        processor = self.processor_seconds()
        [cut] = self.flood(kind, 3 * self.factor, **more).cuts()
        processor = self.processor_seconds() - processor
        honest.end()
        self.record(f"cut after {cut} s; {processor:.2f} s of processor time; "
                    f"{self.peak() / MIB:.0f} MiB at most; "
                    f"others' slowest call {honest.longest:.3f} s")
        self.assertIsNotNone(cut, "the connection was not cut")
        self.assertLess(cut, cut_seconds * self.factor)
        self.assertLess(honest.longest, 1 * self.factor)
        self.assertEqual(self.cut_total(), 1)
        self.assertEqual(self.daemon.log().count(" cut: "), 1)
        self.daemon.wait_for_line(reason)
        self.assertLess(self.peak(), PEAK_BYTES)
        self.check_memory_comes_back()
        return processor

    def check_many(self, connections, seconds, **more):
        honest = self.honest()
        program = self.flood("rapid_reset", seconds, connections=connections,
                             again=True, longer=SLOWEST_CUT_SECONDS * self.factor,
                             **more)
        answered = self.upload_until(program)
        cuts = program.cuts()
        honest.end()
        peak = self.peak()
        self.assertGreater(len(cuts), connections // 2)
        self.assertGreater(honest.calls, 0)
        self.assertGreater(answered, 0)
        self.check_memory_comes_back()
        seconds_to_cut = [cut for cut in cuts if cut is not None]
        nine_tenths = quantiles(seconds_to_cut, n=10)[-1]
        self.record(
            f"{connections} connections, {len(cuts)} in all, in {seconds} s: "
            f"half of them cut within {median(seconds_to_cut):.2f} s, nine tenths "
            f"within {nine_tenths:.2f} s, the slowest "
            f"after {max(seconds_to_cut):.2f} s, {cuts.count(None)} not yet cut; "
            f"{peak / MIB:.0f} MiB at most, {self.grown() / MIB:.0f} MiB left; "
            f"{honest.calls} calls of another client, the slowest took "
            f"{honest.longest:.3f} s; {answered} uploads of 3 MiB")
        self.assertNotIn(None, cuts, "a connection was not cut")
        self.assertLess(nine_tenths, CUT_SECONDS * self.factor)
        self.assertLess(peak, PEAK_BYTES)
        self.assertLess(honest.longest, 1 * self.factor)

    def upload_until(self, program):
        """Sends large messages. Returns how many were sent; none may fail."""
        pid = self.actor.submit("probe", method="collect")
        uploads = 0
        while program.process.poll() is None:
            # The mailbox is bounded.
            if uploads and uploads % 4 == 0:
                self.actor.terminate(pid)
                pid = self.actor.submit("probe", method="collect")
            self.actor.send(pid, payload=b"x" * UPLOAD_BYTES)
            uploads += 1
        self.actor.terminate(pid)
        return uploads

    def check_memory_comes_back(self):
        eventually(lambda: self.grown() < LEFT_BYTES, "the memory",
                   GIVEN_BACK_SECONDS * self.factor)


class Floods(FloodCase):

    def test_rapid_reset_is_cut(self):
        self.check_one("rapid_reset", RESETS, 0.5)

    def test_endless_header_is_cut(self):
        processor = self.check_one(
            "endless_header", "bytes that are neither a call nor a message", 2)
        self.assertLess(processor, 1 * self.factor)

    def test_rapid_reset_comes_again(self):
        """Each connection that is cut is replaced at once."""
        self.check_many(20 if FULL else 4, 5 if FULL else 2)

    def test_rapid_reset_on_many_connections(self):
        self.check_many(2000 if FULL else 100, 5 if FULL else 2)

    def test_a_thousand_calls_at_once_are_served_beside_a_flood(self):
        client = self.connect(self.daemon)
        pid = self.actor.submit("counter", b"7")
        request = outcome_pb2.AwaitRequest(pid=pid)
        self.flood("rapid_reset", 10 * self.factor,
                   connections=2000 if FULL else 100, again=True)
        eventually(lambda: self.cut_total() > 100, "cuts")
        calls = [client.stub.Await.future(request) for _ in range(CALLS)]
        self.actor.send(pid, "stop")
        for call in calls:
            self.assertEqual(call.result(CALL_SECONDS).outcome.result.data, b"7")


class FloodsOverTls(FloodCase):
    """The daemon cannot look into the bytes, and counts the calls."""

    def start_daemon(self, *options, **more):
        self.authority = Authority(self.directory)
        server = self.authority.issue("actord")
        return super().start_daemon(*options, "--tls-certificate",
                                    server.certificate, "--tls-key", server.key,
                                    **more)

    def connect(self, daemon, options=(), credentials=None):
        return super().connect(daemon, options, self.authority.channel_credentials())

    def test_rapid_reset_is_cut(self):
        self.check_one("rapid_reset", RESETS, 2,
                       tls_ca=self.authority.certificate)

    def test_rapid_reset_comes_again(self):
        self.check_many(20 if FULL else 8, 5 if FULL else 2,
                        tls_ca=self.authority.certificate)

    def test_a_thousand_calls_at_once_are_served_beside_a_flood(self):
        """The flood comes from other addresses. The connection has just been made, so
        it has earned nothing."""
        client = self.connect(self.daemon)
        pid = self.actor.submit("counter", b"7")
        request = outcome_pb2.AwaitRequest(pid=pid)
        self.flood("rapid_reset", 10 * self.factor, connections=20 if FULL else 8,
                   again=True, sources=2, first_source=2,
                   tls_ca=self.authority.certificate)
        eventually(lambda: self.cut_total() > 20, "cuts")
        calls = [client.stub.Await.future(request) for _ in range(CALLS)]
        self.actor.send(pid, "stop")
        for call in calls:
            self.assertEqual(call.result(CALL_SECONDS).outcome.result.data, b"7")

    def test_end_in_rapid_resets(self):
        self.check_end("rapid_reset", connections=4,
                       tls_ca=self.authority.certificate)


class FloodsOverAUnixSocket(FloodCase):
    """The daemon knows the calls of each connection, and not its bytes."""

    def start_daemon(self, *options, **more):
        self.address = f"unix:{self.directory / 's'}"
        return super().start_daemon(*options, "--listen", self.address, **more)

    def test_rapid_reset_is_cut(self):
        self.check_one("rapid_reset", RESETS, 0.5, address=self.address)

    def test_end_in_rapid_resets(self):
        self.check_end("rapid_reset", connections=4, address=self.address)

    def test_rapid_reset_on_many_connections(self):
        honest = self.honest()
        connections = 20 if FULL else 4
        cuts = self.flood("rapid_reset", 2, connections=connections, again=True,
                          address=self.address).cuts()
        honest.end()
        self.record(f"{len(cuts)} connections, {cuts.count(None)} not yet cut; "
                    f"{self.peak() / MIB:.0f} MiB at most; others' slowest call "
                    f"{honest.longest:.3f} s")
        self.assertGreater(len(cuts), connections)
        self.assertLess(self.peak(), PEAK_BYTES)
        self.assertLess(honest.longest, 1 * self.factor)
        self.check_memory_comes_back()


class Ends(FloodCase):
    """SIGTERM in the middle of an attack."""

    def test_in_rapid_resets(self):
        self.check_end("rapid_reset", connections=20 if FULL else 4)

    def test_in_endless_headers(self):
        self.check_end("endless_header", connections=4)


if __name__ == "__main__":
    unittest.main()
