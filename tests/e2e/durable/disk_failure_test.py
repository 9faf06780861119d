"""A disk of the store that fails, is slow or hangs. The daemon ends with 74 rather
than acknowledge what may not be there."""

import errno
import json
import threading
import time
import unittest

import grpc
from actord.v1 import payload_pb2, process_pb2
from admin.pages import admin_port, get
from durable.failing_disk import FDATASYNC, PWRITE, RENAME, FailingDisk
from harness.bulk import SendStream, send_item
from harness.case import StoreCase
from harness.connection import CALL_SECONDS
from harness.waiting import WAIT_SECONDS, eventually

STORAGE_FAILED = 74
FOREVER_MS = 3_600_000
# The daemon reports a sync that has not returned for 10 s.
HANG_SECONDS = 10
# The number one with leading zeros: some 60 such messages fill a small file of the
# journal.
ONE = b"1".rjust(16 << 10, b"0")
SMALL_FILES = ("--store-segment-bytes", "1MiB", "--store-checkpoint-bytes", "1MiB",
               "--store-checkpoint-interval", "1s")

# Calls beside the groups of the journal: the call, a part of the path, which call it
# is, and the file in the log.
OTHER_FILES = {
    "sync of the state store": (FDATASYNC, "/state/", 1, r"/state/\d+\.\w+"),
    "write of META": (PWRITE, "META-", 1, r"/META-[01]\S*"),
    "header of a new segment": (PWRITE, ".seg.new", 2, r"/journal/\S+\.seg\.new"),
    "rename of a segment": (RENAME, ".seg", 2, r"/journal/\S+\.seg\S*"),
}


class DiskFailure(StoreCase):

    def setUp(self):
        super().setUp()
        self.disk = FailingDisk(self.directory)
        self.addCleanup(self.disk.close)

    def start(self, exit_status=0):
        self.daemon = self.start_daemon(
            "--store", self.store, "--admin-listen", "127.0.0.1:0",
            *self.start_with, exit_status=exit_status,
            environment=self.disk.environment)
        self.actor = self.connect(self.daemon)

    def send(self, pid, payload=b"1"):
        self.actor.stub.Send(
            process_pb2.SendRequest(pid=pid, topic="add",
                                    payload=payload_pb2.Payload(data=payload)),
            timeout=CALL_SECONDS)

    def assert_ends(self, call, error, line):
        """The daemon ends, and has acknowledged nothing that is not there."""
        self.start(exit_status=STORAGE_FAILED)
        pid = self.counter()
        for _ in range(10):
            self.send(pid)
        self.disk.fail(call, ".seg", error)
        with self.assertRaises(grpc.RpcError):
            self.send(pid, b"100")
        self.assertEqual(self.daemon.wait(), STORAGE_FAILED)
        # The call that has failed is not repeated.
        self.assertEqual(self.disk.hits(), 1)
        self.assertRegex(
            self.daemon.log(),
            "the store has failed, so the daemon ends: " + line +
            ". Everything that was acknowledged is on the disk. Check the disk")
        self.disk.heal()
        self.start()
        self.assertIn(self.value(pid), (10, 110))

    def test_sync_that_fails_ends_the_daemon(self):
        self.assert_ends(FDATASYNC, errno.EIO,
                         r"fdatasync \S+\.seg: Input/output error")

    def test_write_that_fails_ends_the_daemon(self):
        self.assert_ends(PWRITE, errno.EIO,
                         r"pwrite at \d+ of \S+\.seg: Input/output error")

    def test_write_without_room_ends_the_daemon(self):
        # The file has its room before it is written.
        self.assert_ends(PWRITE, errno.ENOSPC,
                         r"pwrite at \d+ of \S+\.seg: No space left on device")

    def test_other_files_that_fail_end_the_daemon(self):
        self.start_with = SMALL_FILES
        pid, acknowledged = None, 0
        for name, (call, path, at, file) in OTHER_FILES.items():
            with self.subTest(name):
                self.start(exit_status=STORAGE_FAILED)
                pid = pid or self.counter()
                self.disk.fail(call, path, errno.EIO, at)
                until = time.monotonic() + WAIT_SECONDS
                with self.assertRaises(grpc.RpcError):
                    while time.monotonic() < until:
                        self.send(pid, ONE)
                        acknowledged += 1
                self.assertEqual(self.daemon.wait(), STORAGE_FAILED)
                self.assertRegex(
                    self.daemon.log(),
                    "the store has failed, so the daemon ends: .*" + file +
                    r".*: Input/output error.*Check the disk")
                self.disk.heal()
                self.start()
                # One message may be on the disk without its acknowledgement.
                value = self.value(pid)
                self.assertIn(value, (acknowledged, acknowledged + 1))
                acknowledged = value
                self.assertEqual(self.daemon.stop(), 0)

    def test_slow_syncs_keep_the_order(self):
        self.start()
        self.disk.delay(100)
        pids = [self.counter() for _ in range(4)]
        streams = [SendStream(self.actor.stub) for _ in pids]
        for first in range(0, 150, 50):
            for pid, stream in zip(pids, streams):
                stream.send(*(send_item(pid, "add", b"%d" % number)
                              for number in range(first, first + 50)))
        for pid, stream in zip(pids, streams):
            self.assertIsNone(stream.finish())
            self.assertEqual((stream.acked, stream.refused), (150, {}))
            self.assertEqual(self.value(pid), sum(range(150)))
            history = json.loads(
                self.actorctl("history", pid, "-o", "json").stdout)
            self.assertEqual([line["payload"]["json"] for line in history
                              if line["kind"] == "MESSAGE"], list(range(150)))

    def test_sync_that_hangs_is_reported(self):
        self.start()
        pid = self.counter()
        self.disk.delay(FOREVER_MS)
        sender = threading.Thread(target=self.send, args=(pid,))
        sender.start()
        seconds = WAIT_SECONDS + HANG_SECONDS
        eventually(lambda: "the disk of the store hangs" in self.daemon.log(),
                   "a line in the log", seconds)
        health = ("health",)
        self.assertIn("NOT_SERVING",
                      self.actorctl(*health, status=None).stdout)
        port = admin_port(self.daemon)
        status, _, text = get(port, "/readyz")
        self.assertEqual(status, 503)
        self.assertIn("the disk of the store hangs", text)
        self.assertTrue(sender.is_alive())
        self.disk.delay(0)
        sender.join()
        eventually(lambda: "hangs no longer" in self.daemon.log(),
                   "the end of it")
        self.actorctl(*health)
        self.assertEqual(get(port, "/readyz")[::2], (200, "ok\n"))
        self.assertEqual(self.value(pid), 1)


if __name__ == "__main__":
    unittest.main()
