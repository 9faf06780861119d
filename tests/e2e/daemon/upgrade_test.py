"""New versions of plugins while the daemon runs: what goes on in them, and what
stays as it is."""

import hashlib
import shutil
import signal
import subprocess
import threading
import time

import grpc
from actord.v1 import plugin_pb2
from harness import places
from harness.bulk import SendStream, send_item
from harness.cli import DEADLINE, FAILED, NOT_FOUND
from harness.upgrade_case import UpgradeCase
from harness.waiting import WAIT_SECONDS, eventually

MESSAGES = 10_000
SENDERS = 4


class Upgrades(UpgradeCase):

    def test_a_load_says_what_it_did_and_so_does_the_status(self):
        path = self.install("versions_2")
        loaded = self.actor.load_plugin("versions_2.so")
        self.assertEqual(loaded.plugin.name, "versions")
        self.assertEqual(loaded.plugin.version, "2")
        self.assertEqual(loaded.plugin.path, str(path))
        self.assertEqual(loaded.replaced_version, "1")
        self.assertEqual(list(loaded.process_types), ["ledger"])
        self.assertEqual(list(loaded.commands), ["versions.which"])
        self.assertEqual(loaded.processes_told, 0)
        status = self.actor.status()
        self.assertEqual([(each.name, each.version) for each in status.plugins
                          if each.name == "versions"], [("versions", "2")])
        self.assertEqual([each.plugin for each in status.process_types
                          if each.name == "ledger"], ["versions"])
        pid = self.actor.submit("ledger")
        self.assertEqual(self.state(pid)["version"], "2")

    def test_processes_go_on_without_waiting_for_a_message(self):
        pids = [self.actor.submit("ledger") for _ in range(100)]
        for pid in pids:
            self.actor.send(pid, "add", b"a 1")
        # A process with a message left would upgrade in its turn, without being
        # told.
        for pid in pids:
            self.state(pid)
        busy = pids[0]
        self.actor.send(busy, "busy")
        self.state(busy)
        self.install("versions_2")
        loaded = self.actor.load_plugin("versions_2.so")
        self.assertEqual(loaded.processes_told, 100)

        def look():
            live = self.version("2")[1].processes_live
            return live == 99
        eventually(look, "99 processes in version 2")
        listed, one = self.version("2")
        self.assertTrue(listed.in_force)
        self.assertTrue(one.in_force)
        self.assertEqual(one.upgrades_total, 99)
        self.assertEqual(one.processes_to_come, 1)
        former, old = self.version("1")
        self.assertFalse(former.in_force)
        self.assertFalse(old.in_force)
        self.assertEqual(old.processes_live, 1)
        self.assertEqual(self.actor.status().counters.upgrades_total, 99)
        # In the middle of something until now.
        self.actor.send(busy, "idle")
        state = self.goes_on_in(busy, "2")
        self.assertEqual((state["count"], state["errors"]), (1, 0))
        # Each version of the plugin has its own static variables.
        self.assertEqual(state["begun"], 100)
        self.assertEqual(self.version("2")[1].processes_to_come, 0)

    def test_messages_are_processed_once_and_in_order_meanwhile(self):
        pid = self.actor.submit("ledger", name="the/ledger")
        self.install("versions_2")
        part = MESSAGES // SENDERS

        def send(sender):
            stream = SendStream(self.connect(self.daemon).stub)
            for first in range(1, part + 1, 100):
                stream.send(*(send_item(pid, "add", f"{sender} {i}".encode())
                              for i in range(first, first + 100)))
            stream.finish()
            if stream.error is not None:
                errors.append(stream.error)
        errors = []
        threads = [threading.Thread(target=send, args=(f"s{i}",))
                   for i in range(SENDERS)]
        for thread in threads:
            thread.start()
        versions = ["versions_2", "versions_1"] * 5
        for i, name in enumerate(versions):
            time.sleep(0.02)
            self.actor.load_plugin(self.install(name, f"again{i}").name)
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        state = self.goes_on_in(pid, "1")
        self.assertEqual((state["count"], state["errors"]), (MESSAGES, 0))
        self.assertGreater(self.actor.status().counters.upgrades_total, 0)
        # It is the same process, by its name too.
        self.assertEqual(self.actor.process("@the/ledger").pid, pid)
        self.assertEqual(self.actor.status().counters.dead_letters_total, 0)

    def test_a_yield_of_the_old_version_is_taken_back(self):
        pid = self.actor.submit("ledger")
        self.actor.send(pid, "pay")
        waiting, = eventually(self.actor.yields, "the yield")
        self.install("versions_2")
        self.actor.load_plugin("versions_2.so")
        self.goes_on_in(pid, "2")
        self.assertEqual(self.actor.yields(), [])
        self.assertEqual(self.actor.complete(waiting.token, b"paid"), "EXPIRED")
        state = self.state(pid)
        self.assertEqual((state["paid"], state["errors"]), ("", 0))

    def test_a_yield_that_the_new_version_takes_over_completes_there(self):
        pid = self.actor.submit("ledger")
        self.actor.send(pid, "adopt")
        self.actor.send(pid, "pay")
        waiting, = eventually(self.actor.yields, "the yield")
        self.install("versions_2")
        self.actor.load_plugin("versions_2.so")
        self.goes_on_in(pid, "2")
        self.assertEqual([each.token for each in self.actor.yields()],
                         [waiting.token])
        self.assertEqual(self.actor.complete(waiting.token, b"paid"), "ACCEPTED")
        state = eventually(
            lambda: self.state(pid)["paid"] and self.state(pid), "the payment")
        self.assertEqual((state["paid"], state["errors"]), ("paid", 0))

    def test_commands_go_to_the_handler_in_force(self):
        pid = self.actor.submit("ledger")
        for version in ("1", "2", "1"):
            if version != self.state(pid)["version"]:
                path = self.install(f"versions_{version}", f"v{time.time_ns()}")
                self.actor.load_plugin(path)
            self.goes_on_in(pid, version)
            self.actor.send(pid, "which")
            eventually(lambda: self.state(pid)["which"] == version,
                       "the handler's answer")

    def test_new_processes_only(self):
        old = self.actor.submit("ledger")
        self.install("versions_2")
        loaded = self.actor.load_plugin("versions_2.so", new_processes_only=True)
        self.assertEqual(loaded.processes_told, 0)
        new = self.actor.submit("ledger")
        self.actor.send(old, "add", b"a 1")
        self.assertEqual(self.state(old)["version"], "1")
        self.assertEqual(self.state(new)["version"], "2")
        self.assertEqual(self.version("2")[1].processes_to_come, 0)

    def test_a_file_that_is_renamed_over_the_old_one_and_the_way_back(self):
        pid = self.actor.submit("ledger")
        old = self.plugins / "old.so"
        (self.plugins / "versions_1.so").rename(old)
        self.install("versions_2", "versions_1")
        self.assertEqual(
            self.actor.load_plugin("versions_1.so").plugin.version, "2")
        self.goes_on_in(pid, "2")
        # The very file of the start, by its new name.
        back = self.actor.load_plugin("old.so")
        self.assertEqual((back.plugin.version, back.plugin.path),
                         ("1", str(old)))
        self.assertEqual(back.replaced_version, "2")
        self.goes_on_in(pid, "1")
        self.assertEqual(
            [(each.plugin.version, each.in_force)
             for each in self.actor.plugins("versions")],
            [("1", False), ("2", False), ("1", True)])

    def test_an_addition_is_loaded_too(self):
        self.assertEqual(self.actor.plugins("counter"), [])
        shutil.copyfile(places.PLUGINS / "counter.so",
                        self.plugins / "counter.so")
        loaded = self.actor.load_plugin("counter.so")
        self.assertEqual(loaded.replaced_version, "")
        pid = self.actor.submit("counter")
        self.actor.send(pid, "stop")
        self.assertEqual(self.actor.wait(pid).result.data, b"0")


class Declined(UpgradeCase):

    def test_a_process_that_the_new_version_cannot_read_stays(self):
        pid = self.actor.submit("ledger")
        self.actor.send(pid, "add", b"a 1")
        self.install("versions_3")
        self.actor.load_plugin("versions_3.so")
        eventually(lambda: self.version("3")[1].upgrades_declined_total == 1,
                   "the refusal")
        self.actor.send(pid, "add", b"a 2")
        state = self.state(pid)
        self.assertEqual((state["version"], state["count"], state["errors"]),
                         ("1", 2, 0))
        self.assertEqual(self.version("3")[1].processes_to_come, 0)
        self.assertEqual(
            self.actor.status().counters.upgrades_declined_total, 1)
        self.daemon.wait_for_match("ledger.*version 1.*version 3.*cannot read version 1")
        # The next one can.
        self.install("versions_2")
        self.actor.load_plugin("versions_2.so")
        self.assertEqual(self.goes_on_in(pid, "2")["count"], 2)


class Loading(UpgradeCase):

    def load(self, path, calls=3):
        """So many calls at once."""
        request = plugin_pb2.LoadPluginRequest(path=path)
        return [self.actor.stub.LoadPlugin.future(request)
                for _ in range(calls)]

    def test_other_calls_are_answered_while_a_plugin_is_opened(self):
        self.install("versions_slow")
        loads = self.load("versions_slow.so")
        self.await_opening()
        self.actor.run("echo", b"1")
        self.actor.plugins()
        self.assertFalse(any(load.done() for load in loads))
        self.go_on()
        # One of them was first, and the others find it in force.
        self.assertEqual(
            self.codes(loads), [grpc.StatusCode.ALREADY_EXISTS] * 2
            + [grpc.StatusCode.OK])

    def test_a_daemon_that_ends_answers_what_waits(self):
        self.install("versions_slow")
        first = self.load("versions_slow.so", 1)
        self.await_opening()
        loads = first + self.load("versions_slow.so", 2)
        self.actor.shutdown()
        self.go_on()
        self.assertEqual(self.daemon.wait(), 0)
        # One was under way.
        self.assertEqual(self.codes(loads), [grpc.StatusCode.OK]
                         + [grpc.StatusCode.UNAVAILABLE] * 2)

    @staticmethod
    def codes(loads):
        """What they ended with, sorted by name."""
        return sorted((load.code() for load in loads),
                      key=lambda code: code.name)


class Cli(UpgradeCase):

    def test_load_and_list(self):
        pid = self.actor.submit("ledger")
        path = self.install("versions_2")
        loaded = self.json("plugin", "load", path, "--wait")
        self.assertEqual(loaded["plugin"]["version"], "2")
        self.assertEqual((loaded["upgraded"], loaded["declined"]), (1, 0))
        self.assertEqual(loaded["processes_told"], 1)
        self.assertEqual(self.state(pid)["version"], "2")
        table = self.output("plugin", "list", "versions").splitlines()
        self.assertEqual(table[0].split(), ["PLUGIN", "VERSION", "TYPE", "IN",
                                            "FORCE", "LIVE", "TO", "COME",
                                            "UPGRADED", "DECLINED", "SHA-256"])
        digests = [hashlib.sha256((self.plugins / f"versions_{version}.so")
                                  .read_bytes()).hexdigest() for version in "12"]
        self.assertEqual(table[1].split(), ["versions", "1", "ledger", "no", "0",
                                            "0", "0", "0", digests[0][:12]])
        self.assertEqual(table[2].split(), ["versions", "2", "ledger", "yes", "1",
                                            "0", "1", "0", digests[1][:12]])
        self.assertIn(str(path), self.output("plugin", "list", "-o", "wide"))
        self.assertEqual(
            self.output("plugin", "list", "versions", "-o", "name"),
            "versions\nversions\n")
        listed = self.json("plugin", "list", "versions")
        self.assertEqual([each["in_force"] for each in listed], [False, True])
        self.assertEqual([each["plugin"]["sha256"] for each in listed], digests)

    def test_waiting_ends_with_the_time(self):
        pid = self.actor.submit("ledger")
        self.actor.send(pid, "busy")
        self.state(pid)
        self.install("versions_2")
        # Time enough for the load itself.
        self.assert_complains(
            DEADLINE, "versions 2 is in force, and 1 process has still to continue in it",
            "--timeout", "4s", "plugin", "load", "versions_2.so", "--wait")
        self.actor.send(pid, "idle")
        self.goes_on_in(pid, "2")

    def test_waiting_says_for_what(self):
        self.actor.send(pid := self.actor.submit("ledger"), "busy")
        self.state(pid)
        self.install("versions_2")
        client = subprocess.Popen(
            [places.ACTORCTL, "--address", self.daemon.address, "plugin", "load",
             "versions_2.so", "--wait"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(client.stderr.close)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        text = "versions 2 is in force, and 1 process has still to continue in it"
        self.assertIn(text, client.stderr.readline())
        client.send_signal(signal.SIGINT)
        self.assertEqual(client.wait(WAIT_SECONDS), 130)
        self.assertRegex(client.stderr.read(), text + ".*\nactorctl: interrupted")

    def test_a_declining_process_is_not_waited_for(self):
        self.actor.submit("ledger")
        self.install("versions_3")
        done = self.actorctl("plugin", "load", "versions_3.so", "--wait")
        self.assertRegex(done.stdout, r"Upgraded: +0\n")
        self.assertRegex(done.stdout, r"Declined: +1\n")
        self.assertRegex(done.stderr, r"^actorctl: 1 process stays in its old version: "
                         r"the daemon's log says why .*\n$")

    def test_processes_that_cannot_upgrade_are_counted(self):
        for _ in range(2):
            self.actor.submit("ledger")
        self.install("versions_4")
        done = self.actorctl("plugin", "load", "versions_4.so", "--wait")
        self.assertRegex(done.stdout, r"Processes told: +0\n")
        self.assertRegex(done.stderr, r"^actorctl: 2 processes stay in their old "
                         r"version: .* a Snapshot and the new type has a Restore\n$")
        self.install("versions_2")
        # The newest version takes them over.
        self.assertRegex(self.output("plugin", "load", "versions_2.so", "--wait"),
                         r"Upgraded: +2\n")

    def test_complaints(self):
        self.assert_complains(NOT_FOUND, "there is no file", "plugin", "load",
                              "none.so")
        self.assert_complains(FAILED, "version 1 of plugin versions", "plugin",
                              "load", "versions_1.so")
