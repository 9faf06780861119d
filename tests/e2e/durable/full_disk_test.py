"""A store on a disk that fills up: nothing that was acknowledged is lost, and the
daemon goes on by itself when there is room."""

import errno
import json
import os
import signal
import subprocess
import threading
import unittest

import grpc
from actord.v1 import payload_pb2, process_pb2
from admin.pages import admin_port, get
from harness.case import StoreCase
from harness.connection import CALL_SECONDS, refusal_of
from harness.waiting import eventually

MIB = 1 << 20
DISK_BYTES = 64 * MIB
RESERVE_BYTES = 8 * MIB
CLIENTS = 4


def can_mount(directory):
    if os.geteuid() != 0:
        return False
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "actord-test",
         directory], check=False, capture_output=True)
    return done.returncode == 0


class FullDisk(StoreCase):

    def setUp(self):
        super().setUp()
        self.disk = self.directory / "disk"
        self.disk.mkdir()
        if not can_mount(self.disk):
            self.skipTest("only root mounts file systems")
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)
        self.store = self.disk / "store"
        self.start_with = ("--store-segment-bytes", "1MiB",
                           "--store-disk-reserve", str(RESERVE_BYTES),
                           "--admin-listen", "127.0.0.1:0")

    def leave(self, count):
        """Fills the disk up to `count` bytes."""
        with open(self.disk / "filler", "wb") as file:
            while True:
                space = os.statvfs(self.disk)
                try:
                    os.posix_fallocate(
                        file.fileno(), 0,
                        max(1, space.f_bavail * space.f_frsize - count))
                    return
                except OSError as error:
                    # The daemon has taken some of it meanwhile.
                    if error.errno != errno.ENOSPC:
                        raise

    def make_room(self):
        (self.disk / "filler").unlink()

    def ready(self):
        """What /readyz says: the status, and its notes."""
        status, _, text = get(admin_port(self.daemon), "/readyz",
                              headers={"Accept": "application/json"})
        return status, json.loads(text)["notes"]

    def refusal(self, pid):
        """Why a message is refused; None: it is not."""
        try:
            self.actor.send(pid, "add", b"1")
            self.sent += 1
            return None
        except grpc.RpcError as error:
            return refusal_of(error)

    def test_below_the_reserve_new_work_is_refused_and_the_rest_goes_on(self):
        self.start()
        self.sent = 0
        pid = self.counter(0)
        self.leave(RESERVE_BYTES - MIB)
        refusal = eventually(lambda: self.refusal(pid), "a refusal")
        self.assertEqual(refusal.code, grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertEqual(refusal.reason, "STORE_FULL")
        self.assertEqual(refusal.retry_seconds, 5)
        self.assert_refused(
            self.counter, code=grpc.StatusCode.RESOURCE_EXHAUSTED,
            reason="STORE_FULL", message="store.disk_reserve")
        self.assertGreaterEqual(
            self.actor.status().counters.store_full_limit_total, 2)
        self.assertEqual(self.value(pid), self.sent)
        volatile = self.actor.submit("counter", b"3",
                                     durability=process_pb2.DURABILITY_VOLATILE)
        self.assertEqual(self.value(volatile), 3)
        eventually(lambda: "STORE_FULL" in self.daemon.log(), "a line in the log")
        # Clients stay: what they complete and read goes on.
        status, [note] = self.ready()
        self.assertEqual(status, 200)
        self.assertRegex(note, "the disk of the store is full: .*STORE_FULL")
        self.make_room()
        eventually(lambda: self.refusal(pid) is None, "room")
        eventually(lambda: self.ready() == (200, []), "no note")
        self.assertEqual(self.value(pid), self.sent)

    def send_all(self, pids, acknowledged, unknown, stop):
        """Clients send until `stop`. Returns their threads."""

        def send(i, actor):
            request = process_pb2.SendRequest(
                pid=pids[i], topic="add",
                payload=payload_pb2.Payload(data=b"1"))
            while not stop.is_set():
                try:
                    actor.stub.Send(request, timeout=CALL_SECONDS)
                    acknowledged[i] += 1
                except grpc.RpcError as error:
                    if refusal_of(error).reason not in ("STORE_FULL",
                                                        "JOURNAL_BEHIND"):
                        unknown[i] += 1
                        return
                    stop.wait(0.01)

        threads = [threading.Thread(target=send,
                                    args=(i, self.connect(self.daemon)))
                   for i in range(len(pids))]
        for thread in threads:
            thread.start()
        return threads

    def test_disk_that_fills_up_under_load_loses_nothing(self):
        self.start(exit_status=-signal.SIGKILL)
        pids = [self.counter(name=f"counter{i}") for i in range(CLIENTS)]
        acknowledged, unknown = [0] * CLIENTS, [0] * CLIENTS
        stop = threading.Event()
        threads = self.send_all(pids, acknowledged, unknown, stop)
        eventually(lambda: sum(acknowledged) > 200, "load")
        self.leave(0)
        eventually(lambda: "STORE_FULL" in self.daemon.log(), "a full disk")
        self.assertEqual(self.actor.status().counters.processes_live, CLIENTS)
        self.make_room()
        eventually(lambda: "has room again" in self.daemon.log(), "room")
        before = sum(acknowledged)
        eventually(lambda: sum(acknowledged) > before + 100, "load again")
        self.leave(0)
        self.kill()
        stop.set()
        for thread in threads:
            thread.join()
        self.make_room()
        self.start()
        for i, pid in enumerate(pids):
            value = self.value(pid)
            self.assertGreaterEqual(value, acknowledged[i])
            self.assertLessEqual(value, acknowledged[i] + unknown[i])

    def test_stop_with_a_full_disk_is_clean(self):
        self.start()
        pids = [self.counter(name=f"counter{i}") for i in range(CLIENTS)]
        acknowledged, unknown = [0] * CLIENTS, [0] * CLIENTS
        stop = threading.Event()
        threads = self.send_all(pids, acknowledged, unknown, stop)
        eventually(lambda: sum(acknowledged) > 100, "load")
        self.leave(0)
        eventually(lambda: "STORE_FULL" in self.daemon.log(), "a full disk")
        self.assertEqual(self.daemon.stop(), 0)
        stop.set()
        for thread in threads:
            thread.join()
        self.make_room()
        self.start()
        for i, pid in enumerate(pids):
            self.assertGreaterEqual(self.value(pid), acknowledged[i])


if __name__ == "__main__":
    unittest.main()
