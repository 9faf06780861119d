"""New versions of plugins with durable processes: over a restart, and while the
daemon runs."""

import hashlib
import shutil
import signal
import unittest

from harness import places
from harness.case import DURABLE, EmptyCase
from harness.cli import CliCase
from harness.waiting import eventually


class Versions(CliCase):

    def setUp(self):
        EmptyCase.setUp(self)
        self.plugins = self.directory / "plugins"
        self.plugins.mkdir()
        self.store = self.directory / "store"

    def install(self, version):
        """Puts a version into the directory in place of the former one."""
        fresh = self.plugins / "fresh"
        shutil.copyfile(places.TEST_PLUGINS / f"books_{version}.so", fresh)
        fresh.rename(self.plugins / "books.so")

    def start(self, version, *options, **others):
        """Starts with this version in the directory; None: with no plugin."""
        if version is None:
            (self.plugins / "books.so").unlink()
        else:
            self.install(version)
        self.daemon = self.start_daemon(
            "--store", self.store, "--plugin-dir", self.plugins, *options,
            plugins=False, **others)
        self.actor = self.connect(self.daemon)

    def restart(self, version, *options):
        self.assertEqual(self.daemon.stop(), 0)
        self.start(version, *options)

    def kept(self, version):
        """The file that the store keeps of a version."""
        content = (places.TEST_PLUGINS / f"books_{version}.so").read_bytes()
        return self.store / "plugins" / f"{hashlib.sha256(content).hexdigest()}.so"

    def begin(self):
        """A page and a story of version 1, each with the message that it has sent
        itself."""
        pids = [self.actor.submit(type_, durability=DURABLE)
                for type_ in ("page", "story")]
        for pid in pids:
            self.actor.send(pid, "ask", b"hello")
            eventually(lambda pid=pid: "by 1" in self.notes(pid), "the echo")
        return pids

    def notes(self, pid):
        """The version of a process, and its notes."""
        return self.actor.call(pid, "get").result.data.decode()

    def version(self, number):
        return {each.plugin.version: each
                for each in self.actor.plugins("books")}[number]

    def test_restart_with_a_new_version_goes_on_with_all_processes(self):
        self.start("1")
        page, story = self.begin()
        self.assertEqual(self.kept("1").read_bytes(),
                         (places.TEST_PLUGINS / "books_1.so").read_bytes())
        self.restart("2")
        for pid in (page, story):
            self.actor.send(pid, "note", b"more")
            self.assertEqual(self.notes(pid), "2|1:hello 1:by 1 2:more ")
        former = self.version("1")
        self.assertFalse(former.in_force)
        self.assertEqual(former.plugin.path, str(self.kept("1")))
        self.assertEqual(sum(each.upgrades_total
                             for each in self.version("2").process_types), 2)
        self.assertRegex(self.output("history", story), "books 1 to books 2")
        # Nobody needs version 1 any more.
        self.restart("2", "--store-keep-plugins", "0")
        self.assertFalse(self.kept("1").exists())
        self.daemon.wait_for_match("removed the file of plugin books 1")
        self.assertTrue(self.kept("2").exists())
        self.assertEqual(self.notes(page), "2|1:hello 1:by 1 2:more ")
        self.assertEqual(self.notes(story), "2|1:hello 1:by 1 2:more ")

    def test_live_upgrade_lasts(self):
        self.start("1", exit_status=-signal.SIGKILL)
        pids = self.begin()
        self.install("2")
        loaded = self.actor.load_plugin("books.so")
        self.assertEqual(loaded.processes_told, 2)
        for pid in pids:
            eventually(lambda pid=pid: self.notes(pid).startswith("2|"),
                       "version 2")
            self.actor.send(pid, "ask", b"again")
            eventually(lambda pid=pid: "by 2" in self.notes(pid), "the echo")
        self.daemon.signal(signal.SIGKILL)
        self.daemon.wait()
        self.kept("1").unlink()
        self.start("2")
        for pid in pids:
            self.assertEqual(self.notes(pid),
                             "2|1:hello 1:by 1 2:again 2:by 2 ")

    def test_live_load_brings_the_code_of_old_versions_back(self):
        self.start("1")
        pids = self.begin()
        self.restart(None)
        eventually(lambda: len(self.json("quarantine", "list")) == 2,
                   "the quarantine")
        self.assertNotIn("loaded from", self.daemon.log())
        self.install("2")
        self.actor.load_plugin("books.so")
        self.daemon.wait_for_line(
            f"plugin books 1 loaded from {self.kept('1')}, because processes of "
            "the store are of this version")
        eventually(lambda: not self.json("quarantine", "list"), "their return")
        for pid in pids:
            self.actor.send(pid, "note", b"more")
            self.assertEqual(self.notes(pid), "2|1:hello 1:by 1 2:more ")

    def test_processes_stay_in_their_version_if_the_new_one_refuses_them(self):
        self.start("1")
        pids = self.begin()
        for _ in range(2):
            self.restart("3")
            for pid in pids:
                self.assertEqual(self.notes(pid), "1|1:hello 1:by 1 ")
            self.assertRegex(
                self.daemon.log(), "a process of version 1 does not go on in "
                "version 3: .*cannot read version 1")
        self.restart("2")
        for pid in pids:
            self.assertEqual(self.notes(pid), "2|1:hello 1:by 1 ")

    def test_damaged_file_of_a_version_is_not_loaded(self):
        self.start("1")
        page, story = self.begin()
        self.assertEqual(self.daemon.stop(), 0)
        kept = self.kept("1")
        kept.write_bytes(kept.read_bytes()[:-1] + b"!")
        verified = self.actorctl("store", "verify", self.store, status=78)
        self.assertRegex(verified.stdout, f"{kept.name} is damaged")
        self.start("2")
        self.daemon.wait_for_match(f"(?s)version 1 of plugin books is not loaded from {kept}: "
                                   "the file is damaged.*go on with the version in force")
        # An image is enough for the new version; a history is not.
        self.assertEqual(self.notes(page), "2|1:hello 1:by 1 ")
        self.actor.send(story, "note", b"more")
        eventually(lambda: self.json("quarantine", "list"), "the quarantine")
        self.assertEqual(self.json("quarantine", "list")[0]["pid"], story)
        # Version 1 mends the file of the store, and takes the message.
        self.restart("1")
        self.restart("2")
        self.assertEqual(self.notes(story), "2|1:hello 1:by 1 1:more ")


if __name__ == "__main__":
    unittest.main()
