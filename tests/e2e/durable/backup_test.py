"""actorctl backup and actord --restore: a copy of a store that is used."""

import json
import signal
import threading
import unittest

import grpc
from actord.v1 import backup_pb2, process_pb2
from harness.case import StoreCase
from harness.connection import CALL_SECONDS
from harness.waiting import eventually


class Backup(StoreCase):

    def setUp(self):
        super().setUp()
        self.backup = self.directory / "backup"
        self.restored = self.directory / "restored"

    def restore(self):
        self.store = self.restored
        self.start_with = ("--restore", self.backup)
        return self.start()

    def test_backup_under_load_has_all_that_was_acknowledged_before(self):
        self.start(exit_status=-signal.SIGKILL)
        pids = [self.counter(name=f"counter{i}") for i in range(4)]
        acknowledged = [0] * len(pids)
        stop = threading.Event()

        def load(i, actor):
            request = process_pb2.SendRequest(pid=pids[i], topic="add")
            while not stop.is_set():
                actor.stub.Send(request, timeout=CALL_SECONDS)
                acknowledged[i] += 1

        clients = [threading.Thread(
            target=load, args=(i, self.connect(self.daemon)))
            for i in range(len(pids))]
        for client in clients:
            client.start()
        eventually(lambda: min(acknowledged) >= 20, "messages from all clients")
        before = list(acknowledged)
        made = json.loads(self.actorctl("backup", self.backup, "-o",
                                        "json").stdout)
        after = [count + 1 for count in acknowledged]
        stop.set()
        for client in clients:
            client.join()
        self.assertEqual(made["directory"], str(self.backup))
        self.assertFalse((self.store / "backup").exists())
        self.kill()
        self.assertEqual(self.backup.stat().st_mode & 0o777, 0o700)
        self.actorctl("store", "verify", self.backup)
        self.restore()
        for i, pid in enumerate(pids):
            value = self.value(pid)
            self.assertGreaterEqual(value, before[i])
            self.assertLessEqual(value, after[i])
        self.daemon.wait_for_match("created the store in .* from the backup")
        # It is a store like any other, and its PIDs are new.
        incarnation = json.loads(self.actorctl(
            "ps", "-o", "json").stdout)[0]["pid"].split(".")[1]
        fresh = self.counter()
        self.assertNotEqual(fresh.split(".")[1], incarnation)

    def test_backup_of_a_damaged_store_says_so(self):
        self.start_with = ("--store-checkpoint-interval", "1s")
        self.start()
        pids = [self.counter(i) for i in range(300)]
        # The last of them has a block with the image of each counter.
        eventually(lambda: sum(path.stat().st_size for path in self.data_files())
                   > 20_000, "files of the state")
        self.assertEqual(self.daemon.stop(), 0)
        largest = max(self.data_files(), key=lambda path: path.stat().st_size)
        # RocksDB may have to rewrite the damaged block, which ends the daemon.
        self.start_with = ()
        for share in range(40, 95, 5):
            place = largest.stat().st_size * share // 100
            self.flip(largest, place)
            try:
                self.start(exit_status=None)
                break
            except RuntimeError as error:
                # Without this part no start is possible: try another one.
                self.assertIn("ended with 78", str(error))
                self.flip(largest, place)
        damaged = self.actorctl("backup", self.backup, status=78)
        self.assertIn("and so is this copy: keep older backups", damaged.stderr)
        self.assertIn(" files, ", damaged.stdout)
        # The others are served.
        served = [pid for pid in pids if self.has_value(pid)]
        self.assertGreater(len(served), 0)

    @staticmethod
    def flip(path, place):
        with open(path, "r+b") as file:
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 90]))

    def data_files(self):
        return list((self.store / "state").glob("*.sst"))

    def has_value(self, pid):
        try:
            self.value(pid)
            return True
        except grpc.RpcError as error:
            self.assertEqual(error.code(), grpc.StatusCode.FAILED_PRECONDITION)
            return False

    def test_damaged_or_interrupted_backup_is_refused(self):
        self.start()
        self.counter(5)
        self.actorctl("backup", self.backup)
        again = self.actorctl("backup", self.backup, status=2)
        self.assertIn("is not empty", again.stderr)
        self.daemon.stop()
        with self.assertRaisesRegex(RuntimeError, "(?s)ended with 78.*is a backup"):
            self.start_daemon("--store", self.backup)
        with self.assertRaisesRegex(RuntimeError, "(?s)ended with 78.* exists"):
            self.start_daemon("--store", self.store, "--restore", self.backup)
        [segment, *_] = sorted((self.backup / "journal").glob("*.seg"))
        with open(segment, "r+b") as file:
            file.seek(5000)
            byte = file.read(1)
            file.seek(5000)
            file.write(bytes([byte[0] ^ 1]))
        with self.assertRaisesRegex(RuntimeError,
                                    "(?s)ended with 78.*0.seg: .*damaged"):
            self.start_daemon("--store", self.restored, "--restore", self.backup)
        (self.backup / "BACKUP").unlink()
        with self.assertRaisesRegex(RuntimeError,
                                    "(?s)ended with 78.*not a complete backup"):
            self.start_daemon("--store", self.restored, "--restore", self.backup)
        self.assertFalse(self.restored.exists())

    def test_one_backup_at_a_time_and_a_client_that_goes(self):
        self.start()
        # More than flow control lets through to a client that does not read.
        for _ in range(16):
            self.actor.send(self.counter(), "noise", b"0" * 500_000)
        first = self.actor.stub.Backup(backup_pb2.BackupRequest())
        self.assertEqual(next(first).offset, 0)
        self.assert_refused(
            lambda: next(self.actor.stub.Backup(backup_pb2.BackupRequest())),
            code=grpc.StatusCode.FAILED_PRECONDITION, reason="BACKUP_RUNNING",
            message="runs already")
        first.cancel()
        self.actorctl_until_done()

    def actorctl_until_done(self):
        """The first backup ends as soon as its thread notices."""
        for _ in range(100):
            done = self.actorctl("backup", self.backup, status=None)
            if done.returncode == 0:
                return
            self.assertIn("BACKUP_RUNNING", done.stderr)
            self.assertFalse(self.backup.exists())
        self.fail("the backup of a client that has gone runs on")

    def test_without_a_store(self):
        self.actor = self.connect(self.start_daemon())
        self.assert_refused(
            lambda: next(self.actor.stub.Backup(backup_pb2.BackupRequest())),
            code=grpc.StatusCode.FAILED_PRECONDITION, reason="DURABILITY_OFF",
            message="has no store")


if __name__ == "__main__":
    unittest.main()
