"""actorctl store: what it says of a store, and that it changes nothing."""

import hashlib
import json
import signal
import unittest

from harness.case import StoreCase


class StoreTools(StoreCase):

    def fill(self):
        self.start(exit_status=-signal.SIGKILL)
        pid = self.counter(5, name="visits")
        for _ in range(5):
            self.actor.send(pid, "add", b"1")
        return pid

    def files(self):
        """Each file of the store with its bytes and times."""
        return {path: (path.stat().st_mtime_ns,
                       hashlib.sha256(path.read_bytes()).hexdigest()
                       if path.is_file() else "")
                for path in sorted(self.store.rglob("*"))}

    def test_verify_and_stat_read_a_store_and_change_nothing(self):
        self.fill()
        used = self.actorctl("store", "verify", self.store, status=1)
        self.assertIn("is in use by another program", used.stderr)
        self.kill()
        before = self.files()
        verdict = self.actorctl("store", "verify", self.store)
        self.assertRegex(verdict.stdout, "(?s)store: intact\n.* 1 processes")
        report = json.loads(
            self.actorctl("store", "stat", self.store, "-o", "json").stdout)
        self.assertTrue(report["intact"])
        self.assertEqual(report["journal"]["incarnation"], 1)
        self.assertEqual(report["state"]["names"], 1)
        self.assertEqual(report["state"]["types"], [
            {"process_type": "counter", "durability": "image", "processes": 1}])
        table = self.actorctl("store", "stat", self.store).stdout
        self.assertRegex(table, r"counter +image +1\n")
        self.assertEqual(self.files(), before)

    def test_damage_is_named_with_file_offset_and_advice(self):
        self.fill()
        self.kill()
        [segment, *_] = sorted((self.store / "journal").glob("*.seg"))
        data = bytearray(segment.read_bytes())
        data[4096 + 100] ^= 1
        segment.write_bytes(data)
        verdict = self.actorctl("store", "verify", self.store, status=78)
        self.assertRegex(verdict.stdout, "(?s)store: damaged; actord refuses"
                         ".*damage: .*0000.seg, offset 4096: .*restore")
        stat = self.actorctl("store", "stat", self.store, status=78)
        self.assertIn("offset 4096", stat.stderr)

    def test_what_is_no_store(self):
        self.store.mkdir()
        none = self.actorctl("store", "verify", self.store, status=3)
        self.assertIn("is no store of actord", none.stderr)
        self.assertEqual(list(self.store.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
