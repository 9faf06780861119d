"""A store that an earlier build has made: what it holds stays the same, it goes on,
and no changed byte of it passes for another content. The same for the bytes of a
journal with groups, and for both copies of META.

ACTORD_STORE_GOLDEN=write makes the store anew (only for a new format).
ACTORD_STORE_FLIPS=all changes a byte in every block of 4 KiB of every file of the
golden store, and three bytes in every group of the journal, and starts the daemon
on each such store.
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
# Of a group of the journal: its magic, and where the header has the number of bytes
# of its records, which follow the header.
GROUP, GROUP_BYTES, GROUP_HEADER = b"ADJG", 56, 88
META_USED = 100  # bytes of META, with its CRC


def tries_all():
    return bool(os.environ.get("ACTORD_STORE_FLIPS"))


class FlippedStores(StoreCase):
    """The effect of a changed byte of a store."""

    def setUp(self):
        super().setUp()
        self.start_with = ("--store-segment-bytes", "1MiB", *EXTERNAL)

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

    def flip(self, number, *places):
        """Whether the tools refuse a copy in which these bytes, each a file and an
        offset, are changed. If not, the copy must hold what the store holds."""
        copy = self.directory / f"flipped-{number}"
        shutil.copytree(self.store, copy)
        for name, offset in places:
            data = bytearray((copy / name).read_bytes())
            data[offset] ^= 0x10
            (copy / name).write_bytes(data)
        try:
            done = self.export(copy, status=None)
            found = done.returncode == 78
            self.assertIn(done.returncode, (0, 78), f"{places}: {done}")
            if not found:
                self.assertEqual(done.stdout, self.exported, f"{places}")
            if tries_all():
                self.check_start(copy, found, f"{places}")
            return found
        finally:
            shutil.rmtree(copy)

    def flip_each(self, places):
        """The places, and whether a changed byte there was found."""
        places = list(places)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            flips = [pool.submit(self.flip, number, place)
                     for number, place in enumerate(places)]
            return [(place, flip.result()) for place, flip in zip(places, flips)]

    def check_start(self, store, found, where):
        """The daemon refuses what the tools have found, and serves otherwise."""
        log = store.with_suffix(".log")
        with open(log, "wb") as out, subprocess.Popen(
                [str(places.ACTORD), "--listen", f"unix:{store}.socket", "--store",
                 str(store), "--plugin-dir", str(places.PLUGINS), *self.start_with],
                stderr=out, env=places.clean_environment()) as daemon:
            eventually(lambda: daemon.poll() is not None or
                       b"serves on" in log.read_bytes(), f"the start: {where}")
            daemon.terminate()
            status = daemon.wait(CLI_SECONDS)
        text = log.read_text(errors="replace")
        self.assertEqual(status, 78 if found else 0, f"{where}: {text[-500:]}")
        self.assertEqual("serves on" in text, not found, where)

    def stop(self):
        self.actor.close()
        self.daemon.signal(signal.SIGTERM)
        self.daemon.wait()
        self.daemon = None


class GoldenStores(FlippedStores):

    FORMAT = "format_2"

    def setUp(self):
        super().setUp()
        if os.environ.get("ACTORD_STORE_GOLDEN") == "write":
            self.make()
        with tarfile.open(GOLDEN / f"{self.FORMAT}.tar.xz") as archive:
            archive.extractall(self.directory)
        self.exported = (GOLDEN / f"{self.FORMAT}.jsonl").read_text()

    def make(self):
        self.start()
        self.fill()
        self.stop()
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
            step = BLOCK if tries_all() else max(BLOCK, size)
            for block in range(0, size, step):
                yield name, block + min(size - block, BLOCK) // 2

    def test_changed_byte_is_found_or_has_no_effect(self):
        results = self.flip_each(self.places())
        self.assertTrue(any(name.suffix == ".sst" for (name, _), _ in results))
        for (name, offset), found in results:
            if name.name == "CURRENT" or name.suffix == ".sst":
                self.assertTrue(found, f"{name}, {offset}")

    def test_damaged_meta_is_replaced_by_the_other_copy_or_refused(self):
        copies = (pathlib.Path("META-0"), pathlib.Path("META-1"))
        offsets = range(8, META_USED, 8 if tries_all() else 16)
        for place, found in self.flip_each(
                (copy, offset) for copy in copies for offset in offsets):
            # The export is the same: the other copy is whole.
            self.assertFalse(found, place)
        for offset in offsets:
            self.assertTrue(self.flip("both", *((copy, offset) for copy in copies)),
                            offset)


class Groups(FlippedStores):
    """A journal whose groups a start reads again."""

    def setUp(self):
        super().setUp()
        self.start()
        self.fill()
        # A clean stop seals the last group with records.
        self.stop()
        self.exported = self.export(self.store).stdout

    def groups(self):
        """The file, the offset and the length of each group, in the order of the
        journal."""
        for path in sorted((self.store / "journal").glob("*.seg")):
            data = path.read_bytes()
            for offset in range(BLOCK, len(data), BLOCK):
                if data[offset:offset + len(GROUP)] == GROUP:
                    at = offset + GROUP_BYTES
                    records = int.from_bytes(data[at:at + 4], "little")
                    yield path.relative_to(self.store), offset, GROUP_HEADER + records

    def test_changed_byte_of_a_group_is_found(self):
        *groups, (file, end, length) = self.groups()
        self.assertGreater(len(groups), 10)
        self.assertEqual(length, GROUP_HEADER, "the last group is a seal")
        if not tries_all():
            groups = groups[::len(groups) // 6]
        inside = [(name, offset + at) for name, offset, length in groups
                  for at in (GROUP_HEADER // 2, (GROUP_HEADER + length) // 2,
                             length - 1)]
        for place, found in self.flip_each(inside):
            self.assertTrue(found, place)
        # Nothing rests on the zeros behind a group, on a seal that nothing follows,
        # and on the rest of the file.
        behind = [(name, offset + length + 1) for name, offset, length in groups
                  if (offset + length) % BLOCK not in (0, BLOCK - 1)]
        for place, found in self.flip_each(
                [*behind, (file, end + GROUP_HEADER // 2), (file, end + BLOCK + 7)]):
            self.assertFalse(found, place)


if __name__ == "__main__":
    unittest.main()
