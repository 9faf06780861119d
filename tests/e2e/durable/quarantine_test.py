"""Durable processes in quarantine: listed, tried again, and ended."""

import json
import shutil
import signal
import unittest

import grpc
from harness import places
from harness.case import DURABLE, EmptyCase
from harness.cli import FAILED, CliCase
from harness.crash_case import END_SECONDS, LEAVES_SIGNALS, CrashCase
from harness.daemon import run_actord
from harness.waiting import eventually


class Quarantine(CliCase):

    def setUp(self):
        EmptyCase.setUp(self)
        self.plugins = self.directory / "plugins"
        self.plugins.mkdir()
        self.install("echo")

    def install(self, name):
        shutil.copyfile(places.PLUGINS / f"{name}.so", self.plugins / f"{name}.so")

    def start(self, *options):
        self.daemon = self.start_daemon(
            "--store", self.directory / "store", "--plugin-dir", self.plugins,
            *options, plugins=False)
        self.actor = self.connect(self.daemon)

    def listed(self, *words):
        return self.json("quarantine", "list", *words)

    def value(self, pid):
        return int(self.actor.call(pid, "get").result.data)

    def test_type_that_no_plugin_has(self):
        self.install("counter")
        self.start()
        first = self.actor.submit("counter", b"5", durability=DURABLE,
                                  name="first")
        second = self.actor.submit("counter", b"6", durability=DURABLE)
        self.assertEqual(self.daemon.stop(), 0)
        (self.plugins / "counter.so").unlink()
        self.start()
        self.daemon.wait_for_match("2 processes of the store are in quarantine: no plugin "
                                   "has process type counter; load plugin counter "
                                   r"\d+\.\d+\.\d+, which has run it")
        self.actor.send(first, "add", b"2")
        self.assert_refused(lambda: self.actor.call(first, "get"),
                            code=grpc.StatusCode.FAILED_PRECONDITION,
                            reason="PROCESS_QUARANTINED",
                            message="no plugin has process type counter")
        listed = {each["pid"]: each for each in self.listed()}
        self.assertEqual(set(listed), {first, second})
        self.assertEqual(listed[first]["cause"], "NO_TYPE")
        self.assertEqual(listed[first]["name"], "first")
        self.assertEqual(listed[first]["mailbox_messages"], 1)
        self.assertEqual(self.listed("--type", "order"), [])
        self.assertEqual(self.json("stuck"), [], "in quarantine for a minute")
        stuck = {one["pid"]: one for one in self.json("stuck", "--older-than", "0s")}
        self.assertEqual({pid: one["what"] for pid, one in stuck.items()},
                         {first: "QUARANTINE", second: "QUARANTINE"})
        self.assertRegex(stuck[first]["why"], "^is in quarantine, and 1 message waits: "
                                              "no plugin has process type counter")
        self.assertIn("since", stuck[first])
        self.assertRegex(self.output("quarantine", "list"),
                         rf"(?m)^{first} +counter +first +\d+\w+ +NO_TYPE ")
        self.assertRegex(self.output("ps"), rf"(?m)^{first} .*QUARANTINED")
        self.assertRegex(self.output("describe", first),
                         "(?s)QUARANTINED.*no plugin has process type counter")
        self.assertEqual(
            self.json("status")["counters"]["processes_quarantined"], 2)
        done = self.actorctl("quarantine", "retry", "--all", "-o", "json",
                             status=FAILED)
        self.assertEqual({each["pid"]: each["has_left"]
                          for each in json.loads(done.stdout)},
                         {first: False, second: False})
        self.actorctl("terminate", second)
        eventually(lambda: len(self.listed()) == 1, "the end of the second")

        self.install("counter")
        self.output("plugin", "load", "counter.so")
        eventually(lambda: self.listed() == [], "the end of the quarantine")
        self.assertEqual(self.value(first), 7)
        eventually(lambda: "1 processes of type counter have left the quarantine"
                   in self.daemon.log(), "the line in the log")
        self.assertEqual(self.actorctl("quarantine", "retry", first,
                                       status=FAILED).stdout, "")
        self.assertEqual(self.actor.wait(second).failure.message,
                         "it was terminated in quarantine")

    def test_answer_to_a_command_says_so(self):
        self.install("order")
        self.start("--external", "payment.*")
        pid = self.actor.submit("order", b'{"order": "A-17", "amount_cents": 5}',
                                durability=DURABLE)
        [token] = eventually(lambda: [each["token"] for each in self.json("yields")],
                             "the command")
        self.assertEqual(self.daemon.stop(), 0)
        (self.plugins / "order.so").unlink()
        self.start("--external", "payment.*")
        refused = self.actorctl("complete", token, "receipt", status=FAILED)
        self.assertRegex(refused.stderr,
                         rf"process {pid} .*no plugin has process type order.*"
                         r"\(PROCESS_QUARANTINED\)")
        self.install("order")
        self.output("plugin", "load", "order.so")
        eventually(lambda: self.listed() == [], "the end of the quarantine")
        eventually(lambda: self.json("yields"), "the command")
        self.output("complete", token, "receipt")
        self.assertEqual(json.loads(self.actor.wait(pid).result.data)["status"],
                         "charged")


class PoisonAgain(CrashCase, CliCase):

    def setUp(self):
        EmptyCase.setUp(self)

    def test_retry_counts_the_crashes_from_zero(self):
        options = ("--store", self.directory / "store", "--plugin-dir",
                   places.PLUGINS)
        self.serve(*options)
        pid = self.actor.submit("crasher", b"null", method="later",
                                durability=DURABLE)
        try:
            self.actor.send(pid)
        except grpc.RpcError:
            pass  # it crashed before it answered
        self.report()
        crash = ("--listen", "127.0.0.1:0", "--plugin", places.CRASHER, *options)
        for _ in range(2):
            self.assertEqual(
                run_actord(*crash, environment=LEAVES_SIGNALS,
                           seconds=END_SECONDS, cwd=self.directory).returncode,
                -signal.SIGSEGV)
        self.daemon = self.start_daemon(
            "--plugin", places.CRASHER, *options, plugins=False,
            environment=LEAVES_SIGNALS, exit_status=-signal.SIGSEGV,
            actord=self.without_cores())
        self.actor = self.connect(self.daemon)
        [listed] = self.json("quarantine", "list")
        self.assertEqual(
            (listed["pid"], listed["cause"], listed["signal"], listed["crashes"],
             listed["plugin"], listed["plugin_version"]),
            (pid, "CRASHED", "SIGSEGV", 3, "crasher", "1.4.0"))
        self.actorctl("quarantine", "retry", pid, status=None)
        self.daemon.wait()
        self.assertRegex(
            run_actord(*crash, environment=LEAVES_SIGNALS, seconds=END_SECONDS,
                       cwd=self.directory).stderr, "ended the daemon 1 times")


if __name__ == "__main__":
    unittest.main()
