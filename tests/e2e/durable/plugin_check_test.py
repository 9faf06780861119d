"""actorctl plugin check: what a version of a plugin would do to the processes of a
store, and that the check changes nothing."""

import hashlib
import json
import shutil
import unittest

from harness import places
from harness.case import DURABLE, EmptyCase
from harness.cli import FAILED, NOT_FOUND, USAGE
from harness.waiting import eventually

STORE_REFUSED = 78


def book(version):
    return places.TEST_PLUGINS / f"books_{version}.so"


def digest(version):
    return hashlib.sha256(book(version).read_bytes()).hexdigest()


def files(directory):
    """Each file with its bytes and times."""
    return {path: (path.stat().st_mtime_ns,
                   hashlib.sha256(path.read_bytes()).hexdigest()
                   if path.is_file() else "")
            for path in sorted(directory.rglob("*"))}


class PluginCheck(EmptyCase):

    def setUp(self):
        super().setUp()
        self.store = self.directory / "store"
        self.daemon = self.start_daemon(
            "--store", self.store, "--plugin", book("1"), plugins=False)
        self.actor = self.connect(self.daemon)

    def submit(self, type_, note, topic="ask"):
        """A process that has taken a message, and with "ask" its own answer."""
        pid = self.actor.submit(type_, durability=DURABLE)
        self.actor.send(pid, topic, note)
        last = b"by 1" if topic == "ask" else note
        eventually(lambda: last in self.actor.call(pid, "get").result.data,
                   "the notes")
        return pid

    def check(self, version, *words, status=0, store=None):
        """The objects of a check by their kinds, processes by their PIDs."""
        store = store or self.store
        before = files(store)
        done = self.actorctl("plugin", "check", book(version), "--store", store,
                             "-o", "json", *words, status=status)
        self.assertEqual(files(store), before)
        self.errors = done.stderr
        found = {"process": {}, "type": {}, "present": []}
        for item in json.loads(done.stdout):
            kind = item.pop("kind")
            if kind == "process":
                found[kind][item["pid"]] = item
            elif kind == "type":
                found[kind][item["process_type"]] = item
            elif kind == "present":
                found[kind].append(item)
            else:
                found[kind] = item
        self.assertEqual(found["result"]["fine"], status == 0)
        return found

    def stop(self):
        self.assertEqual(self.daemon.stop(), 0)

    def outcomes(self, found):
        return {pid: (one["outcome"], one.get("then"))
                for pid, one in found["process"].items()}

    def test_backup_of_a_running_daemon_upgrades(self):
        page, story = self.submit("page", b"a"), self.submit("story", b"b")
        unbegun = self.actorctl("plugin", "check", book("2"), status=USAGE)
        self.assertIn('Make a copy with "actorctl backup DIR"', unbegun.stderr)
        used = self.actorctl("plugin", "check", book("2"), "--store", self.store,
                             status=FAILED)
        self.assertIn("is in use", used.stderr)
        backup = self.directory / "backup"
        self.actorctl("backup", backup)
        found = self.check("2", store=backup)
        self.assertEqual(self.outcomes(found),
                         {page: ("UPGRADES", "NEW_VERSION"),
                          story: ("UPGRADES", "NEW_VERSION")})
        self.assertEqual(found["plugin"], {
            "name": "books", "version": "2", "sha256": digest("2")})
        self.assertEqual(found["present"], [{
            "name": "books", "version": "1", "sha256": digest("1"),
            "processes": 2}])
        self.assertEqual(found["result"],
                         {"fine": True, "processes": 2, "warnings": []})
        table = self.actorctl("plugin", "check", book("2"), "--store", backup)
        self.assertRegex(table.stdout, rf"Plugin: +books 2, SHA-256 {digest('2')}\n"
                         rf"Present: +books 1, SHA-256 {digest('1')}, 2 processes")
        self.assertRegex(table.stdout, r"page +image +1 +1( +0){6} +-\n")
        self.assertRegex(table.stdout, r"story +replay +1 +1( +0){6} +-\n")
        # The daemon does what the check says.
        self.stop()
        self.daemon = self.start_daemon(
            "--store", self.store, "--plugin", book("2"), plugins=False)
        self.actor = self.connect(self.daemon)
        for pid in (page, story):
            self.assertIn(b"2|", self.actor.call(pid, "get").result.data)

    def test_processes_stay_fail_and_diverge(self):
        page, story = self.submit("page", b"a"), self.submit("story", b"b")
        self.stop()
        found = self.check("1")
        self.assertEqual({one["why"] for one in found["process"].values()},
                         {"it is of this version already"})
        found = self.check("4")
        self.assertEqual(self.outcomes(found),
                         {pid: ("STAYS", "OLD_VERSION") for pid in (page, story)})
        self.assertIn("no method run", found["process"][page]["why"])
        found = self.check("3", status=FAILED)
        self.assertEqual(self.outcomes(found),
                         {pid: ("FAILS", "OLD_VERSION") for pid in (page, story)})
        self.assertRegex(found["process"][story]["why"],
                         "Restore refused: cannot read version 1")
        # The file lacks one type, and has a new type.
        found = self.check("6", status=FAILED)
        self.assertEqual(self.outcomes(found),
                         {page: ("UPGRADES", "NEW_VERSION"),
                          story: ("FAILS", "QUARANTINE")})
        self.assertEqual(found["type"]["leaflet"]["durability"], "none")
        self.assertEqual(found["type"]["story"]["durability"], "")
        table = self.actorctl("plugin", "check", book("6"), "--store", self.store,
                              status=FAILED)
        self.assertRegex(table.stdout, "leaflet .*volatile")
        self.assertRegex(table.stdout,
                         rf"\n{story} +story +books 1 +FAILS +the file has no such "
                         "process type; it would be in quarantine")
        names = self.actorctl("plugin", "check", book("6"), "--store", self.store,
                              "-o", "name", status=FAILED)
        self.assertEqual(names.stdout, f"{story}\n")
        # Without the code that has taken the steps, the new code takes them.
        (self.store / "plugins" / f"{digest('1')}.so").unlink()
        found = self.check("2", status=FAILED)
        self.assertEqual(self.outcomes(found),
                         {page: ("UPGRADES", "NEW_VERSION"),
                          story: ("DIVERGES", "QUARANTINE")})
        self.assertEqual(found["process"][story]["step"], 2)
        self.assertRegex(found["process"][story]["why"],
                         "step 2 differs from its record: ")
        self.assertRegex(self.errors, "warning: version 1 of plugin books is not "
                         f"loaded: .*{digest('1')}.so")

    def test_code_that_crashes_hangs_or_exits_does_not_end_the_check(self):
        pids = {note: self.submit("page", note.encode(), topic="note")
                for note in ("crash", "fine", "hang", "exit", "good")}
        self.stop()
        found = self.check("5", "--process-timeout", "2s", status=FAILED)
        self.assertEqual(
            {note: found["process"][pid]["outcome"] for note, pid in pids.items()},
            {"crash": "CRASHES", "fine": "UPGRADES", "hang": "TIMES_OUT",
             "exit": "CRASHES", "good": "UPGRADES"})
        whys = {note: found["process"][pid]["why"] for note, pid in pids.items()}
        self.assertEqual(whys["crash"], "SIGABRT in Restore of books 5")
        self.assertEqual(whys["hang"], "no end after 2s in Restore of books 5")
        self.assertIn("exit status 7", whys["exit"])
        self.assertEqual(found["type"]["page"], {
            "process_type": "page", "durability": "image", "processes": 5,
            "upgrade": 2, "stay": 0, "diverge": 0, "fail": 0, "crash": 2,
            "time_out": 1, "not_tried": 0})
        limited = self.actorctl(
            "plugin", "check", book("5"), "--store", self.store, "--limit", "1",
            "--process-timeout", "500ms", status=FAILED)
        self.assertRegex(limited.stdout, "\n2 more are not fine; --all shows them")

    def test_plugin_that_always_crashes_costs_a_bounded_number_of_children(self):
        for number in range(10):
            self.submit("page", f"crash {number}".encode(), topic="note")
        story = self.submit("story", b"b")
        self.stop()
        found = self.check("5", status=FAILED)
        pages = [one for one in found["process"].values()
                 if one["process_type"] == "page"]
        self.assertEqual([one["outcome"] for one in pages],
                         ["CRASHES"] * 8 + ["NOT_TRIED"] * 2)
        self.assertEqual(pages[-1]["why"],
                         "8 processes of the type have crashed or timed out")
        self.assertEqual(found["process"][story]["outcome"], "UPGRADES")
        self.assertEqual((found["type"]["page"]["crash"],
                          found["type"]["page"]["not_tried"]), (8, 2))

    def test_limits_are_those_of_the_configuration(self):
        self.stop()
        limits = self.text_file('[limits]\nmax_payload_bytes = "4MiB"\n',
                                "large.toml")
        self.daemon = self.start_daemon(
            "--store", self.store, "--plugin", book("1"), "--config", limits,
            plugins=False)
        self.actor = self.connect(self.daemon)
        pids = [self.actor.submit(type_, durability=DURABLE)
                for type_ in ("page", "story")]
        for pid in pids:
            for _ in range(2):
                self.actor.send(pid, "note", b"x" * 700_000)
            # A Snapshot of more than the default limit.
            self.assertGreater(len(self.actor.call(pid, "get").result.data),
                               1_400_000)
        self.stop()
        found = self.check("2", status=FAILED)
        self.assertEqual([found["process"][pid]["outcome"] for pid in pids],
                         ["UPGRADES", "FAILS"])
        self.assertRegex(found["process"][pids[1]]["why"],
                         "Snapshot broke a rule: .*the limit is 1048576")
        found = self.check("2", "--config", limits)
        self.assertEqual([found["process"][pid]["outcome"] for pid in pids],
                         ["UPGRADES", "UPGRADES"])
        small = self.text_file(limits.read_text() +
                               '[store]\nsegment_bytes = "4MiB"\n', "small.toml")
        found = self.check("2", "--config", small, status=FAILED)
        self.assertEqual([found["process"][pid]["outcome"] for pid in pids],
                         ["UPGRADES", "FAILS"])
        self.assertIn("does not fit into a record of 1048576 bytes",
                      found["process"][pids[1]]["why"])
        wrong = self.text_file("[limits]\nmax_payload_bytes = true\n", "wrong.toml")
        refused = self.actorctl("plugin", "check", book("2"), "--store", self.store,
                                "--config", wrong, status=USAGE)
        self.assertIn("wrong.toml:2: limits.max_payload_bytes: must be a string or "
                      "a whole number", refused.stderr)

    def test_wrong_files_and_stores_are_refused(self):
        self.submit("page", b"a")
        self.stop()

        def refused(status, message, file=book("2"), store=self.store):
            done = self.actorctl("plugin", "check", file, "--store", store,
                                 status=status)
            self.assertEqual(done.stdout, "")
            self.assertRegex(done.stderr, message)

        text = self.text_file("no plugin", "text.so")
        text.chmod(0o600)
        refused(USAGE, "text.so': .*ELF", file=text)
        refused(NOT_FOUND, "none.so: ", file=self.directory / "none.so")
        shared = self.directory / "shared.so"
        shutil.copyfile(book("2"), shared)
        shared.chmod(0o666)
        refused(4, "shared.so: .*writ", file=shared)
        empty = self.directory / "empty"
        empty.mkdir()
        refused(NOT_FOUND, "is not a store of actord", store=empty)
        [segment, *_] = sorted((self.store / "journal").glob("*.seg"))
        data = bytearray(segment.read_bytes())
        data[4096 + 100] ^= 1
        segment.write_bytes(data)
        refused(STORE_REFUSED, "offset 4096", store=self.store)


if __name__ == "__main__":
    unittest.main()
