"""The time of day jumps: timers and deadlines keep their pace, what must expire at a
time of day expires then, and nothing waits until the clock is right again."""

import json
import os
import signal
import struct
import time
import unittest

import grpc
from actord.v1 import process_pb2
from harness.tokens import TokenCase
from harness.waiting import eventually

HOUR = 3600
# The time that a busy machine may add to a timer.
SLACK_SECONDS = 5


class Jumps(TokenCase):

    def setUp(self):
        super().setUp()
        self.clock = self.directory / "clock"
        self.jump(0)

    def jump(self, seconds):
        """The time of day is ahead by so much from now on, or behind."""
        # In place: the daemon has mapped the file.
        with open(self.clock, "r+b" if self.clock.exists() else "wb") as file:
            file.write(struct.pack("<q", int(seconds * 1e9)))

    def start(self, *options, tokens=False, exit_status=0):
        environment = {"LD_PRELOAD": os.environ["ACTORD_E2E_JUMPING_CLOCK"],
                       "ACTORD_TEST_CLOCK": str(self.clock)}
        if tokens:
            return self.serve(*options, environment=environment)
        return self.start_daemon(*options, environment=environment,
                                 exit_status=exit_status)

    def assert_pace(self, actor, pid, began, seconds):
        self.assertEqual(actor.wait(pid).WhichOneof("end"), "result")
        took = time.monotonic() - began
        self.assertGreater(took, seconds - 0.1)
        self.assertLess(took, seconds + SLACK_SECONDS)

    def test_the_clock_of_the_daemon_jumps_at_all(self):
        actor = self.connect(self.start())
        for ahead in (0, HOUR, -HOUR):
            self.jump(ahead)
            created = actor.process(actor.submit("counter")).create_time.seconds
            self.assertAlmostEqual(created - time.time(), ahead, delta=60)

    def test_timers_keep_their_pace(self):
        actor = self.connect(self.start())
        long = actor.submit("probe", str(HOUR // 2 * 1000).encode(), "sleep")
        for ahead in (HOUR, -HOUR, 0):
            with self.subTest(ahead=ahead):
                began = time.monotonic()
                across = actor.submit("probe", b"1500", "sleep")
                lease = actor.submit("probe", json.dumps(
                    {"command": "manual.do", "payload": "", "timeout_ms": 1500}
                    ).encode(), "yield")
                time.sleep(0.3)  # both are under way when the clock jumps
                self.jump(ahead)
                later = actor.submit("probe", b"300", "sleep")
                self.assert_pace(actor, later, time.monotonic(), 0.3)
                self.assert_pace(actor, across, began, 1.5)
                outcome = actor.wait(lease)
                self.assertEqual(json.loads(outcome.result.data)["code"],
                                 "DEADLINE_EXCEEDED")
                self.assertGreater(time.monotonic() - began, 1.4)
                self.assertNotEqual(actor.process(long).state,
                                    process_pb2.PROCESS_STATE_RUNNING)
        self.assertEqual(actor.run("echo", b"1").result.data, b"1")

    def test_token_expires_by_the_time_of_day(self):
        token = self.token("client", "--expires", "30m")
        self.token("admin")
        daemon = self.start(tokens=True)
        actor = self.connect_with(daemon, token)
        self.assertEqual(actor.run("echo", b"1").result.data, b"1")
        self.jump(HOUR)
        self.assert_code(lambda: actor.submit("echo"),
                         grpc.StatusCode.UNAUTHENTICATED, "TOKEN_EXPIRED")
        self.jump(0)
        self.assertEqual(actor.run("echo", b"2").result.data, b"2")

    def test_token_is_revoked_in_time_after_the_clock_was_set_back(self):
        token = self.token("client")
        self.token("admin")
        daemon = self.start(tokens=True)
        actor = self.connect_with(daemon, token)
        actor.submit("counter")
        time.sleep(1.5)  # the thread that reads tokens waits
        self.jump(-HOUR)
        actor.submit("counter")
        self.revoke(token)

        def is_refused():
            try:
                actor.submit("counter")
                return False
            except grpc.RpcError as error:
                return error.code() == grpc.StatusCode.UNAUTHENTICATED

        eventually(is_refused, "the revoked token to be refused", 20)

    def test_drain_takes_its_time_when_the_clock_jumps_ahead(self):
        daemon = self.start("--drain-timeout", "30s", "--force-timeout", "5s")
        actor = self.connect(daemon)
        file = self.directory / "go on"
        pid = actor.submit("probe.blocking", str(file).encode(), method="until")
        eventually(lambda: actor.process(pid).state
                   == process_pb2.PROCESS_STATE_RUNNING, "the step to run")
        daemon.signal(signal.SIGTERM)
        eventually(lambda: "ending: " in daemon.log(), "the drain")
        self.jump(HOUR)
        time.sleep(1)
        self.assertTrue(daemon.running())
        file.touch()
        self.assertEqual(daemon.wait(), 0)
        self.assertNotIn("have not returned", daemon.log())

    def test_drain_ends_when_the_clock_is_set_back(self):
        daemon = self.start("--drain-timeout", "2s", "--force-timeout", "1s",
                            exit_status=75)
        actor = self.connect(daemon)
        pid = actor.submit("probe.blocking", b"3600000")
        eventually(lambda: actor.process(pid).state
                   == process_pb2.PROCESS_STATE_RUNNING, "the step to run")
        daemon.signal(signal.SIGTERM)
        eventually(lambda: "ending: " in daemon.log(), "the drain")
        self.jump(-HOUR)
        began = time.monotonic()
        self.assertEqual(daemon.wait(), 75)
        self.assertLess(time.monotonic() - began, 4 + 2 * SLACK_SECONDS)


if __name__ == "__main__":
    unittest.main()
