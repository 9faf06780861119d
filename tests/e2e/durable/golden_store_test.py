"""A store that an earlier build has made: what it holds stays the same, it goes on,
and no changed byte of it passes for another content.

ACTORD_STORE_GOLDEN=write makes the store anew (only for a new format).
ACTORD_STORE_FLIPS=all changes a byte in every block of 4 KiB of every file, and
starts the daemon on each such store.
"""

import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tarfile
import unittest

from actord.v1 import payload_pb2, process_pb2
from harness import places
from harness.case import CLI_SECONDS, DURABLE, EXTERNAL, StoreCase
from harness.waiting import eventually

GOLDEN = pathlib.Path(__file__).parent / "golden"
ORDER = json.dumps({"order": "17", "amount_cents": 1, "hold_ms": 1}).encode()
DEAF = json.dumps({"order": "18", "amount_cents": 1, "hold_ms": 600_000}).encode()
BLOCK = 4096
# Files in which each changed byte must be found.
ALWAYS_FOUND = ("CURRENT", "META-0", "META-1")


class GoldenStores(StoreCase):

    FORMAT = "format_2"

    def setUp(self):
        super().setUp()
        self.start_with = ("--store-segment-bytes", "1MiB", *EXTERNAL)
        if os.environ.get("ACTORD_STORE_GOLDEN") == "write":
            self.make()
        with tarfile.open(GOLDEN / f"{self.FORMAT}.tar.xz") as archive:
            archive.extractall(self.directory)
        self.exported = (GOLDEN / f"{self.FORMAT}.jsonl").read_text()

    def make(self):
        self.start()
        self.fill()
        self.actor.close()
        self.daemon.signal(signal.SIGTERM)
        self.daemon.wait()
        self.daemon = None
        # An import writes tables, which a small store gets after a long time, and
        # has no files of plugins, which are of one machine and compiler.
        lines = self.export(self.store).stdout
        shutil.rmtree(self.store)
        self.actorctl("store", "import", self.store, "-",
                      stdin=lines)
        GOLDEN.mkdir(exist_ok=True)
        with tarfile.open(GOLDEN / f"{self.FORMAT}.tar.xz", "w:xz") as archive:
            archive.add(self.store, "store")
        (GOLDEN / f"{self.FORMAT}.jsonl").write_text(self.export(self.store).stdout)
        shutil.rmtree(self.store)

    def fill(self):
        """Something of each kind that a store holds."""
        visits = self.counter(5, name="visits")
        self.actor.stub.Call(self.call_of(visits), timeout=60)
        self.actor.stub.Submit(process_pb2.SubmitRequest(
            process_type="counter", durability=DURABLE, request_id="request",
            input=payload_pb2.Payload(data=b"1")), timeout=60)
        ended = self.counter(3)
        self.actor.send(ended, "stop")
        self.actor.wait(ended)
        # It waits for its payment.
        self.actor.submit("order", ORDER, durability=DURABLE, name="order")
        eventually(self.actor.yields, "the yield of the order")
        gone = self.actor.submit("order", DEAF, durability=DURABLE)
        self.actor.send(gone, "add", b"unseen")
        self.actor.terminate(gone)
        eventually(lambda: self.actor.dead_letters().dead_letters, "the dead letter")
        self.actorctl("schedule", "add", "beat", "--every", "24h", "--send-to",
                      "@visits", "--topic", "add")
        self.actorctl("schedule", "pause", "beat")

    @staticmethod
    def call_of(pid):
        return process_pb2.CallRequest(
            pid=pid, topic="add", payload=payload_pb2.Payload(data=b"7"),
            message_id="call")

    def export(self, store, status=0):
        return self.actorctl("store", "export", store, status=status)

    def test_holds_what_it_held(self):
        lines = [json.loads(line) for line in
                 self.export(self.store).stdout.splitlines()]
        self.assertEqual(lines, [json.loads(line)
                                 for line in self.exported.splitlines()])
        self.assertEqual({line["kind"] for line in lines},
                         {"store", "plugin", "process", "dead_letter", "result",
                          "id"})

    def test_goes_on(self):
        # (The ids have expired since.)
        self.start()
        self.assertEqual(self.value("@visits"), 12)
        self.actor.send("@visits", "add", b"30")
        eventually(lambda: self.value("@visits") == 42, "the message")
        self.assertIn("beat", self.actorctl("schedule", "list").stdout)
        self.daemon.signal(signal.SIGTERM)
        self.daemon.wait()
        self.start()
        self.assertEqual(self.value("@visits"), 42)

    def places(self):
        """The bytes to change: one of each block, or of some blocks."""
        for path in sorted(self.store.rglob("*")):
            size = path.stat().st_size if path.is_file() else 0
            name = path.relative_to(self.store)
            # Most of a segment is zeros that nobody has written yet.
            step = BLOCK if os.environ.get("ACTORD_STORE_FLIPS") else max(BLOCK, size)
            for block in range(0, size, step):
                yield name, block + min(size - block, BLOCK) // 2

    def flip(self, number, name, offset):
        """What the tools say of a copy with this byte changed."""
        copy = self.directory / f"flipped-{number}"
        shutil.copytree(self.store, copy)
        data = bytearray((copy / name).read_bytes())
        data[offset] ^= 0x10
        (copy / name).write_bytes(data)
        try:
            done = self.export(copy, status=None)
            found = done.returncode == 78
            self.assertIn(done.returncode, (0, 78), f"{name}, {offset}: {done}")
            if not found:
                self.assertEqual(done.stdout, self.exported, f"{name}, {offset}")
            if os.environ.get("ACTORD_STORE_FLIPS"):
                self.check_start(copy, found, f"{name}, {offset}")
            return name.name, found
        finally:
            shutil.rmtree(copy)

    def check_start(self, store, found, where):
        """The daemon refuses what the tools have found."""
        done = subprocess.run(
            ["timeout", "--signal=TERM", "3", str(places.ACTORD), "--listen",
             f"unix:{store}.socket", "--store", str(store), "--plugin-dir",
             str(places.PLUGINS), *self.start_with],
            capture_output=True, text=True, timeout=CLI_SECONDS,
            env=places.clean_environment())
        self.assertEqual(done.returncode, 78 if found else 124,
                         f"{where}: {done.stderr[-500:]}")

    def test_changed_byte_is_found_or_has_no_effect(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            flips = [pool.submit(self.flip, number, *place)
                     for number, place in enumerate(self.places())]
            results = [flip.result() for flip in flips]
        found = {name for name, is_found in results if is_found}
        self.assertTrue({name for name, _ in results if name.endswith(".sst")})
        for name, is_found in results:
            if name in ALWAYS_FOUND or name.endswith(".sst"):
                self.assertTrue(is_found or name.startswith("META"), name)
        self.assertTrue(found)


if __name__ == "__main__":
    unittest.main()
