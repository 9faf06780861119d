"""SIGKILL at named calls: of a commit, of a new segment, of a checkpoint, of a trim
and of a recovery. Nothing acknowledged is lost, and nothing comes twice."""

import signal
import threading
import time
import unittest

import grpc
from actord.v1 import payload_pb2, process_pb2
from durable.failing_disk import (FDATASYNC, KILL_AFTER, KILL_BEFORE, PWRITE,
                                  RENAME, FailingDisk)
from harness.case import StoreCase
from harness.connection import CALL_SECONDS
from harness.waiting import SANITIZED, WAIT_SECONDS

CLIENTS = 3
# One, with so many zeros that a file of the journal is full after some 60 of them.
ONE = b"1".rjust(16 << 10, b"0")

# The call, a part of the path, and which call it is.
WORK = {
    "write of a group": (PWRITE, ".seg", 5),
    "sync of a group": (FDATASYNC, ".seg", 5),
    "header of a new segment": (PWRITE, ".seg.new", 2),
    "rename of a new segment": (RENAME, ".seg", 2),
    "rename of an old segment": (RENAME, ".seg.new", 1),
    "write of META": (PWRITE, "META-", 1),
    "sync of META": (FDATASYNC, "META-", 1),
    "sync of the state store": (FDATASYNC, "/state/", 2),
}
RECOVERY = {
    "repair of the last group": (PWRITE, ".seg", 1),
    "sync of the last group": (FDATASYNC, ".seg", 1),
    "write of META": (PWRITE, "META-", 1),
    "sync of META": (FDATASYNC, "META-", 1),
    "manifest of the state store": (RENAME, "/state/", 1),
    "sync of the state store": (FDATASYNC, "/state/", 1),
}


def points(table):
    """Each point with a kill before and after the call; only one of the two with
    sanitizers, which are slow."""
    for i, (name, (call, path, at)) in enumerate(table.items()):
        kills = (KILL_BEFORE, KILL_AFTER)
        for when in kills[i % 2:][:1] if SANITIZED else kills:
            yield name, call, path, at, when


class KillPoints(StoreCase):

    def setUp(self):
        super().setUp()
        self.disk = FailingDisk(self.directory)
        self.addCleanup(self.disk.close)
        self.start_with = ("--store-segment-bytes", "1MiB",
                           "--store-checkpoint-bytes", "1MiB",
                           "--store-checkpoint-interval", "1s",
                           # No kill is the fault of a process.
                           "--store-max-crashes", "1000")
        self.acknowledged, self.unknown = [0] * CLIENTS, [0] * CLIENTS
        self.pids = []

    def start(self, exit_status=-signal.SIGKILL):
        self.daemon = self.start_daemon(
            "--store", self.store, *self.start_with, exit_status=exit_status,
            environment=self.disk.environment)
        self.actor = self.connect(self.daemon)
        if not self.pids:
            self.pids = [self.counter() for _ in range(CLIENTS)]

    def send_until_killed(self, call, path, when, at):
        """Clients send until the daemon has gone, at that call of the disk."""

        def send(i, actor):
            request = process_pb2.SendRequest(
                pid=self.pids[i], topic="add",
                payload=payload_pb2.Payload(data=ONE))
            try:
                while time.monotonic() < until:
                    actor.stub.Send(request, timeout=CALL_SECONDS)
                    self.acknowledged[i] += 1
            except grpc.RpcError:
                self.unknown[i] += 1

        until = time.monotonic() + WAIT_SECONDS
        # The daemon may come to the call without a message.
        connections = [self.connect(self.daemon) for _ in range(CLIENTS)]
        threads = [threading.Thread(target=send, args=pair)
                   for pair in enumerate(connections)]
        self.disk.fail(call, path, when, at)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.daemon.running() and not self.disk.hits():
            self.daemon.signal(signal.SIGKILL)
            self.fail(f"never came there: {sum(self.acknowledged)} messages")
        self.assertEqual(self.daemon.wait(), -signal.SIGKILL)
        self.disk.heal()

    def assert_nothing_lost(self):
        for i, pid in enumerate(self.pids):
            value = self.value(pid)
            self.assertGreaterEqual(value, self.acknowledged[i])
            self.assertLessEqual(value, self.acknowledged[i] + self.unknown[i])
            self.acknowledged[i], self.unknown[i] = value, 0

    def test_kills_at_work(self):
        for name, call, path, at, when in points(WORK):
            with self.subTest(name, when=when):
                self.start()
                self.assert_nothing_lost()
                self.send_until_killed(call, path, when, at)
        self.start(exit_status=0)
        self.assert_nothing_lost()

    def test_kills_while_it_recovers(self):
        for name, call, path, at, when in points(RECOVERY):
            with self.subTest(name, when=when):
                self.start()
                self.assert_nothing_lost()
                self.send_until_killed(PWRITE, ".seg", KILL_AFTER, 10)
                self.disk.fail(call, path, when, at)
                with self.assertRaisesRegex(RuntimeError,
                                            "actord ended with -9"):
                    self.start()
                self.disk.heal()
        self.start(exit_status=0)
        self.assert_nothing_lost()


if __name__ == "__main__":
    unittest.main()
