"""actorctl store: what it says of a store, that it changes nothing, and the stores
that it makes."""

import base64
import hashlib
import json
import signal
import time
import unittest

from actord.v1 import payload_pb2, process_pb2
from harness.case import StoreCase
from harness.waiting import WAIT_SECONDS


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

    def test_damaged_state_store_is_refused_with_advice(self):
        self.fill()
        self.kill()
        (self.store / "state" / "CURRENT").write_bytes(b"MANIFEST-")
        with self.assertRaisesRegex(
                RuntimeError,
                r"(?s)actord ended with 78.*state store \S+/state: .*"
                '"actorctl store verify" lists all damage; restore a backup .*'
                'take what is intact with "actorctl store salvage"'):
            self.start_daemon("--store", self.store)
        verdict = self.actorctl("store", "verify", self.store, status=78)
        self.assertRegex(verdict.stdout,
                         r"damage: state store \S+/state: .*; restore the directory")

    def lines(self, directory, *words):
        done = self.actorctl("store", "export", directory, *words)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def counters(self, directory):
        return [line for line in self.lines(directory, "--type", "counter")
                if line["kind"] == "process"]

    def test_store_goes_on_from_an_export(self):
        pid = self.fill()
        call = process_pb2.CallRequest(
            pid=pid, topic="add", payload=payload_pb2.Payload(data=b"7"),
            message_id="call")
        self.assertEqual(self.actor.stub.Call(call, timeout=60).result.data,
                         b"17")
        ended = self.counter(3)
        self.actor.send(ended, "stop")
        self.actor.wait(ended)
        self.kill()
        before = self.files()
        exported = self.actorctl("store", "export", self.store).stdout
        self.assertEqual(self.files(), before)
        new = self.directory / "new"
        file = self.directory / "store.jsonl"
        file.write_text(exported)
        imported = self.actorctl("store", "import", new, file)
        self.assertRegex(imported.stderr, "the file of plugin .* is missing, and .* "
                                          "They need the file at this place")
        again = self.actorctl("store", "import", new, file, status=2)
        self.assertIn("is not empty", again.stderr)
        old_lines, new_lines = self.lines(self.store), self.lines(new)
        self.assertEqual(old_lines[0]["kind"], "store")
        self.assertEqual(old_lines[0]["version"], 1)
        self.assertEqual(int(new_lines[0].pop("incarnation")),
                         int(old_lines[0].pop("incarnation")) + 65536)
        self.assertEqual(new_lines, old_lines)
        self.assertEqual({line["kind"] for line in old_lines},
                         {"store", "plugin", "process", "result", "id"})
        [process] = self.counters(new)
        self.assertEqual((process["pid"], process["names"]), (pid, ["visits"]))
        self.actorctl("store", "export", new, "--pid", ended, status=3)
        self.store = new
        self.start()
        answer = self.actor.stub.Call(call, timeout=60)
        self.assertEqual((answer.result.data, answer.duplicate), (b"17", True))
        self.assertEqual(self.value("@visits"), 17)
        self.assertEqual(self.actor.wait(ended).result.data, b"3")
        self.assertNotIn(self.counter(1), (pid, ended))

    def test_import_names_line_and_field(self):
        self.fill()
        self.kill()
        lines = self.actorctl("store", "export", self.store).stdout.splitlines()
        new = self.directory / "new"
        [process] = [line for line in lines
                     if json.loads(line)["kind"] == "process"]
        for change, why in ((lambda line: line.pop("pid"), "line 2: "),
                            (lambda line: line.update(pid="x"),
                             "line 2: pid: it is not a PID"),
                            (lambda line: line.update(colour="red"),
                             "line 2: colour: there is no such field")):
            line = json.loads(process)
            change(line)
            refused = self.actorctl(
                "store", "import", new, "-", status=None,
                stdin="\n".join([lines[0], json.dumps(line)]))
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn(why, refused.stderr)
            self.assertFalse(new.exists())

    def test_salvage_of_flipped_bytes(self):
        # The records are in the journal alone.
        self.start_with = ("--store-checkpoint-interval", "1h")
        pid = self.fill()
        self.kill()
        [segment, *_] = sorted((self.store / "journal").glob("*.seg"))
        intact = segment.read_bytes()
        values = []
        for block in range(1, 10):
            data = bytearray(intact)
            data[4096 * block + 20] ^= 1
            segment.write_bytes(data)
            before = self.files()
            new = self.directory / f"salvaged-{block}"
            if block == 1:
                # The first group: the later ones rest on it.
                none = self.actorctl("store", "salvage", self.store, new, status=78)
                self.assertRegex(
                    none.stderr, r"store: nothing can be taken: .*The first loss: "
                    r"\S+/0{16}\.seg, offset 4096: .*keep it, and restore a backup.*Only if "
                    "there is no backup, begin with an empty store in another")
                self.assertNotIn("store verify", none.stderr)
                self.assertFalse(new.exists())
                self.assertEqual(self.files(), before)
                continue
            done = self.actorctl("store", "salvage", self.store, new)
            self.assertEqual(self.files(), before)
            self.actorctl("store", "verify", new)
            images = [base64.b64decode(line["image"]["data"])
                      for line in self.counters(new) if "image" in line]
            values.append(len(images) and images[0])
            self.assertRegex(done.stdout, "lost: the records from position")
            self.assertNotIn("backup", done.stdout)
        self.assertGreater(len(set(values)), 1)
        segment.write_bytes(intact)
        new = self.directory / "salvaged"
        done = self.actorctl("store", "salvage", self.store, new)
        self.assertNotIn("lost:", done.stdout)
        self.store = new
        self.start()
        self.assertEqual(self.value(pid), 10)

    def fill_until_the_journal_begins_later(self):
        self.start_with = ("--store-checkpoint-interval", "1s",
                           "--store-checkpoint-bytes", "1MiB",
                           "--store-segment-bytes", "1MiB")
        self.start(exit_status=-signal.SIGKILL)
        pids = [self.counter(start) for start in range(20)]
        first = self.store / "journal" / "0000000000000000.seg"
        deadline = time.monotonic() + WAIT_SECONDS
        while first.exists():
            self.assertLess(time.monotonic(), deadline)
            self.actor.send(pids[0], "add", b"1")
        self.kill()
        return pids

    def test_salvage_of_a_state_store_that_cannot_be_opened(self):
        pids = self.fill_until_the_journal_begins_later()
        stat = json.loads(
            self.actorctl("store", "stat", self.store, "-o", "json").stdout)
        current = self.store / "state" / "CURRENT"
        manifest = self.store / "state" / current.read_text().strip()
        for file, bytes_ in ((current, b"MANIFEST-"), (manifest, b"")):
            intact = file.read_bytes()
            file.write_bytes(bytes_)
            before = self.files()
            new = self.directory / f"new-{file.name}"
            done = self.actorctl("store", "salvage", self.store, new)
            self.assertEqual(self.files(), before)
            self.assertEqual([*self.directory.glob("*.reading")], [])
            [opened, *others] = [line for line in done.stdout.splitlines()
                                 if line.startswith("lost: ")]
            self.assertRegex(opened, r"lost: the state store could not be opened: state "
                             r"store \S+/state: .*It was repaired")
            # The records of the journal are not applied to a repaired state.
            applied, end = stat["state"]["applied"], stat["journal"]["end"]
            self.assertEqual(
                [line.partition(":")[2].strip() for line in others],
                [f"the records from position {applied} to {end}: the state that they "
                 "change cannot be read"] * (applied != end))
            self.actorctl("store", "verify", new)
            self.assertEqual({line["pid"] for line in self.counters(new)}, set(pids))
            file.write_bytes(intact)
        self.store = new
        self.start()
        self.assertEqual([self.value(pid) for pid in pids[1:]], [*range(1, 20)])

    def test_the_same_mistake_has_the_same_exit_status(self):
        self.fill()
        missing, full = self.directory / "missing", self.directory / "full"
        full.mkdir()
        (full / "file").touch()
        plain = full / "file"
        file = self.directory / "store.jsonl"
        # Of a new directory that is not empty, is a file, or has no parent.
        self.actorctl("backup", full, status=2)
        self.actorctl("backup", plain, status=2)
        self.actorctl("backup", missing / "new", status=3)
        self.kill()
        file.write_text(self.actorctl("store", "export", self.store).stdout)
        for making in (("import", "NEW", file), ("salvage", self.store, "NEW")):
            for place, status in ((full, 2), (plain, 2), (missing / "new", 3)):
                words = [place if word == "NEW" else word for word in making]
                done = self.actorctl("store", *words, status=status)
                self.assertIn(str(place), done.stderr)
        # Of a store or a file that is not there.
        for reading in (("verify",), ("stat",), ("export",),
                        ("salvage", self.directory / "new")):
            command, *more = reading
            self.actorctl("store", command, missing, *more, status=3)
            self.actorctl("store", command, plain, *more, status=3)
        done = self.actorctl("store", "import", self.directory / "new", missing,
                             status=3)
        self.assertIn(f"{missing}: No such file or directory", done.stderr)

    def test_folder_without_a_store_is_refused(self):
        self.store.mkdir()
        none = self.actorctl("store", "verify", self.store, status=3)
        self.assertIn("is not a store of actord", none.stderr)
        self.assertEqual(list(self.store.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
