"""A durable process that begins again, while the daemon is killed: each message acts
once, and the history begins with the newest life."""

import json
import random
import signal
import threading
import time
import unittest

import grpc
from harness.bulk import send_item
from harness.case import DURABLE, StoreCase
from harness.connection import CALL_SECONDS
from harness.waiting import SANITIZED, WAIT_SECONDS, eventually


class Continue(StoreCase):

    COUNT = 60 if SANITIZED else 300
    ROUNDS = 3 if SANITIZED else 5

    def send(self, pid, number):
        """Sends the number until it is acknowledged."""
        while True:
            try:
                return self.actor.stub.Send(
                    send_item(pid, "add", b"%d" % number,
                              message_id=f"add-{number}"), timeout=CALL_SECONDS)
            except (grpc.RpcError, ValueError):
                # The daemon is away, or its connection is closed.
                time.sleep(0.02)

    def test_messages_act_once_while_the_daemon_is_killed(self):
        random.seed(5)
        self.start(exit_status=-signal.SIGKILL)
        pid = self.actor.submit("probe.rounds", b"1000", durability=DURABLE,
                                name="rounds")

        def send_all():
            for number in range(1, self.COUNT + 1):
                self.send(pid, number)

        client = threading.Thread(target=send_all)
        client.start()
        for _ in range(self.ROUNDS):
            time.sleep(random.uniform(0.05, 0.4))
            self.kill()
            self.start(exit_status=-signal.SIGKILL)
        client.join(WAIT_SECONDS)
        self.assertFalse(client.is_alive(), "messages are not sent")
        expected = 1000 + self.COUNT * (self.COUNT + 1) // 2
        eventually(lambda: self.value(pid) == expected, "all messages to act")
        self.kill()
        self.start(exit_status=-signal.SIGKILL)
        self.assertEqual(self.value("@rounds"), expected)
        history = self.actorctl("history", pid).stdout
        self.assertIn("continue as run", history)
        self.assertIn(str(expected), history)
        # An export has what the newest life needs.
        self.actor.send("@rounds", "add", b"1")
        eventually(lambda: self.value(pid) == expected + 1, "the message to act")
        self.kill()
        exported = self.text_file(
            self.actorctl("store", "export", self.store).stdout, "store.jsonl")
        [process] = [line for line in exported.read_text().splitlines()
                     if '"probe.rounds"' in line]
        self.assertIn('"life_after_step"', process)
        new = self.directory / "new"
        self.actorctl("store", "import", new, exported)
        self.store = new
        self.start()
        self.assertEqual(self.value("@rounds"), expected + 1)


class Names(StoreCase):

    def test_a_replay_gets_the_recorded_holder_of_a_name(self):
        self.start(exit_status=-signal.SIGKILL)
        pid = self.actor.submit("probe.rounds", b"5", durability=DURABLE)
        self.actor.send(pid, "tell", b"desk")
        # The message is accepted before its step.
        self.assertEqual(self.value(pid), 5 + 1)
        desk = self.actor.submit("probe", b"", "collect", name="desk")
        self.actor.send(pid, "tell", b"desk")
        self.assertEqual(self.value(pid), 5 + 1 + 1000)
        self.actor.send(desk, "stop")
        told, = json.loads(self.actor.wait(desk).result.data)
        self.assertEqual((told["topic"], told["outside"]), ("told", False))
        self.kill()
        # Nobody holds the name now, and the steps are taken again.
        self.start()
        self.assertEqual(self.value(pid), 5 + 1 + 1000)
        self.actor.send(pid, "tell", b"desk")
        self.assertEqual(self.value(pid), 5 + 1 + 1000 + 1)


if __name__ == "__main__":
    unittest.main()
