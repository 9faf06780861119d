"""SIGHUP: the daemon reads its configuration again."""

import json
import os
import signal
import threading
import unittest

import grpc
from harness.case import EmptyCase
from harness.waiting import eventually


class Level(EmptyCase):

    def test_sighup_reads_the_level_again(self):
        path = self.text_file('[log]\nlevel = "error"\n')
        daemon = self.start_daemon("--config", path)
        actor = self.connect(daemon)
        self.assertEqual(daemon.log(), "")
        path.write_text('[log]\nlevel = "debug"\n')
        daemon.signal(signal.SIGHUP)
        eventually(lambda: "configuration reloaded" in daemon.log(),
                   "the reload")
        path.write_text('[log]\nlevels = "info"\n')
        daemon.signal(signal.SIGHUP)
        eventually(lambda: f"configuration not reloaded: {path}:2: unknown key"
                   in daemon.log(), "the complaint")
        self.assertEqual(actor.run("echo", b"1").result.data, b"1")


class Reload(EmptyCase):

    def setUp(self):
        super().setUp()
        self.path = self.text_file('[limits]\nmax_payload_bytes = "2000"\n')
        self.daemon = self.start_daemon("--config", self.path,
                                        "--max-yields", "9")
        self.actor = self.connect(self.daemon)

    def reload(self, text, message):
        """Returns what the daemon logs about it; `message` is in that."""
        before = len(self.daemon.log())
        self.path.write_text(text)
        self.daemon.signal(signal.SIGHUP)
        eventually(lambda: message in self.daemon.log()[before:], message)
        return self.daemon.log()[before:]

    def assert_too_large(self, size):
        self.assert_refused(
            lambda: self.actor.submit("echo", b"x" * size),
            code=grpc.StatusCode.INVALID_ARGUMENT, reason="PAYLOAD_TOO_LARGE",
            message=f"has {size} bytes", field="input.data")

    def test_payload_limit_lowered_and_raised(self):
        self.assertEqual(self.actor.run("echo", b"x" * 2000).result.data,
                         b"x" * 2000)
        self.reload('[limits]\nmax_payload_bytes = "1000"\n',
                    'reloaded: limits.max_payload_bytes = "1000"')
        self.assert_too_large(1001)
        self.assertEqual(self.actor.status().limits.max_payload_bytes, 1000)
        self.reload('[limits]\nmax_payload_bytes = "3000"\n',
                    'reloaded: limits.max_payload_bytes = "3000"')
        self.assertEqual(self.actor.run("echo", b"x" * 3000).result.data,
                         b"x" * 3000)
        self.assert_too_large(3001)

    def test_mailbox_limit_lowered_and_raised(self):
        # An order that waits for its payment takes no messages.
        order = json.dumps({"order": "o", "amount_cents": 1, "hold_ms": 0})
        pid = self.actor.submit("order", order.encode())
        eventually(lambda: self.actor.yields(pid=pid), "the payment's command")
        for _ in range(4):
            self.actor.send(pid)
        self.reload("[limits]\nmax_mailbox_messages = 3\n",
                    "limits.max_mailbox_messages = 3")
        full = dict(code=grpc.StatusCode.RESOURCE_EXHAUSTED,
                    reason="MAILBOX_FULL")
        self.assert_refused(lambda: self.actor.send(pid),
                            message="3 messages", **full)
        self.reload("[limits]\nmax_mailbox_messages = 6\n",
                    "limits.max_mailbox_messages = 6")
        self.actor.send(pid)
        self.actor.send(pid)
        self.assert_refused(lambda: self.actor.send(pid),
                            message="6 messages", **full)
        self.actor.terminate(pid)

    def test_process_limit_raised_beyond_that_of_the_start(self):
        daemon = self.start_daemon("--config", self.path,
                                   environment={"ACTORD_LOG_LEVEL": "info"})
        actor = self.connect(daemon)
        self.path.write_text("[limits]\nmax_processes = 2\n")
        daemon.signal(signal.SIGHUP)
        eventually(lambda: "max_processes = 2" in daemon.log(), "the reload")
        for _ in range(2):
            actor.submit("counter")
        self.assert_refused(lambda: actor.submit("counter"),
                            code=grpc.StatusCode.RESOURCE_EXHAUSTED,
                            reason="PROCESS_LIMIT", message="2 processes")
        self.path.write_text("[limits]\nmax_processes = 5000000\n")
        daemon.signal(signal.SIGHUP)
        eventually(lambda: "max_processes = 5000000" in daemon.log(),
                   "the reload")
        actor.submit("counter")
        self.assertEqual(actor.status().limits.max_processes, 5000000)

    def test_bad_file_changes_nothing(self):
        log = self.reload('[limits]\nmax_mailbox_messages = 3\n'
                          'max_payload_bytes = "many"\n',
                          f"configuration not reloaded: {self.path}:3: "
                          "limits.max_payload_bytes: ")
        self.assertIn("error", log)
        self.reload("[limits]\nmax_processes = 0\n",
                    "not reloaded: ")
        limits = self.actor.status().limits
        self.assertEqual(limits.max_payload_bytes, 2000)
        self.assertEqual(limits.max_mailbox_messages, 65536)

    def test_key_that_needs_a_restart_is_named(self):
        log = self.reload('[limits]\nmax_payload_bytes = "1000"\n'
                          "[scheduler]\nblocking_queue = 3\n",
                          "restart the daemon to apply: "
                          "scheduler.blocking_queue = 3\n")
        self.assertRegex(log, "warning.*restart the daemon")
        self.assertEqual(self.actor.status().limits.max_payload_bytes, 1000)

    def test_pipe_is_read_once(self):
        path = self.directory / "pipe"
        os.mkfifo(path)
        written = threading.Thread(
            target=path.write_text, args=("[limits]\nmax_yields = 3\n",),
            daemon=True)
        written.start()
        daemon = self.start_daemon("--config", path)
        written.join()
        actor = self.connect(daemon)
        complaint = (f"configuration not reloaded: {path}: is not a regular "
                     "file\n")
        for count in (1, 2):  # the thread that receives signals goes on
            daemon.signal(signal.SIGHUP)
            eventually(lambda count=count: daemon.log().count(complaint)
                       == count, "the complaint")
        self.assertEqual(actor.status().limits.max_yields_per_process, 3)

    def test_option_goes_on_to_outweigh_the_file(self):
        self.reload("[limits]\nmax_yields = 7\nmax_processes = 100\n",
                    "limits.max_processes = 100")
        self.assertEqual(self.actor.status().limits.max_yields_per_process, 9)


if __name__ == "__main__":
    unittest.main()
