"""A durable process whose step crashes the daemon, again after each start."""

import signal
import unittest

import grpc
from harness import places
from harness.case import DURABLE
from harness.crash_case import END_SECONDS, LEAVES_SIGNALS, CrashCase
from harness.daemon import run_actord


class Poison(CrashCase):

    def setUp(self):
        super().setUp()
        self.options = ("--store", self.directory / "store", "--plugin-dir",
                        places.PLUGINS)

    def crash_at_the_start(self):
        """The daemon crashes before it serves. Returns what it logs."""
        done = run_actord("--listen", "127.0.0.1:0", "--plugin", places.CRASHER,
                          *self.options, environment=LEAVES_SIGNALS,
                          seconds=END_SECONDS, cwd=self.directory)
        self.assertEqual(done.returncode, -signal.SIGSEGV, done.stderr)
        return done.stderr

    def serve_again(self):
        self.daemon = self.start_daemon("--plugin", places.CRASHER, *self.options,
                                        plugins=False, environment=LEAVES_SIGNALS)
        self.actor = self.connect(self.daemon)

    def test_fourth_start_serves_with_the_process_in_quarantine(self):
        self.serve(*self.options)
        counter = self.actor.submit("counter", b"5", durability=DURABLE)
        pid = self.actor.submit("crasher", b"null", method="later",
                                durability=DURABLE)
        try:
            self.actor.send(pid)
        except grpc.RpcError:
            pass  # it crashed before it answered
        self.report()
        self.assertRegex(
            self.crash_at_the_start(),
            f"(?s)process {pid} of type crasher: in its step 3 it has ended the "
            r"daemon 1 times \(store.max_crashes is 3\), the last time by SIGSEGV "
            "in plugin crasher 1.4.0")
        self.assertRegex(self.crash_at_the_start(), "ended the daemon 2 times")
        self.serve_again()
        self.assertEqual(
            int(self.actor.call(counter, "get").result.data), 5)
        self.assertRegex(
            self.daemon.log(),
            f"process {pid} of type crasher is in quarantine: in its step 3 it "
            "has ended the daemon 3 times")
        # A clean end begins the count anew.
        self.assertEqual(self.daemon.stop(), 0)
        self.assertNotIn("quarantine", self.crash_at_the_start())
        self.assertRegex(self.crash_at_the_start(), "ended the daemon 1 times")

    def test_handler_that_crashes_again_does_not_keep_the_daemon_from_serving(self):
        self.serve(*self.options)
        pid = self.actor.submit("crasher", b"null", method="again",
                                durability=DURABLE)
        try:
            self.actor.send(pid)
        except grpc.RpcError:
            pass  # it crashed before it answered
        self.report()
        # The first crash came when nobody knew that the command may be handled
        # again, and is not counted.
        self.assertNotIn("ended the daemon", self.crash_at_the_start())
        self.assertRegex(self.crash_at_the_start(),
                         f"process {pid} .* ended the daemon 1 times")
        self.assertRegex(self.crash_at_the_start(), "ended the daemon 2 times")
        self.serve_again()
        self.daemon.wait_for_match(f"process {pid} of type crasher is in quarantine")


if __name__ == "__main__":
    unittest.main()
