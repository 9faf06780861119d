"""Schedules: what they run over restarts of the daemon, and the commands for them."""

import json
import os
import random
import signal
import struct
import time
import unittest

from harness.case import DaemonCase, StoreCase
from harness.tokens import TokenCase
from harness.waiting import SANITIZED, eventually

MINUTE = 60
HOUR = 3600


class Schedules(StoreCase):
    """The test sets the time of day. A schedule that is asked looks at it at once."""

    actorctl = DaemonCase.actorctl

    def setUp(self):
        super().setUp()
        self.clock = self.directory / "clock"
        self.ahead = 0
        # 10 minutes before a full hour, so that the minutes that pass in the test
        # are the times that it jumps over.
        self.jump(HOUR - time.time() % HOUR - 10 * MINUTE)

    def jump(self, seconds):
        """The time of day is later by so much from now on."""
        self.ahead += seconds
        # In place: the daemon has mapped the file.
        with open(self.clock, "r+b" if self.clock.exists() else "wb") as file:
            file.write(struct.pack("<q", int(self.ahead * 1e9)))

    def start(self, *options, exit_status=-signal.SIGKILL):
        self.daemon = self.start_daemon(
            "--store", self.store, *options, exit_status=exit_status,
            environment={"LD_PRELOAD": os.environ["ACTORD_E2E_JUMPING_CLOCK"],
                         "ACTORD_TEST_CLOCK": str(self.clock)})
        self.actor = self.connect(self.daemon)

    def schedule(self, *words, **more):
        return json.loads(
            self.actorctl("schedule", *words, "-o", "json", **more).stdout)

    def add(self, name, when, *more):
        """A schedule that adds 1 to a counter of its own."""
        self.counter(name=f"count/{name}")
        return self.schedule("add", name, "--cron", when, "--send-to",
                             f"@count/{name}", "--topic", "add", *more)

    def test_missed_times_are_caught_up_with_once(self):
        self.start()
        for catch_up in ("skip", "once", "all"):
            added = self.add(catch_up, "0 * * * *", "--catch-up", catch_up)
            self.assertEqual(added["durability"], "DURABLE")
            self.assertEqual(added["state"], "active")
        self.kill()
        # Four hours begin, the last one 20 minutes ago.
        self.jump(3 * HOUR + 30 * MINUTE)
        self.start()
        expected = {"skip": (0, 4), "once": (1, 3), "all": (4, 0)}
        for _ in range(2):
            for name, (runs, missed) in expected.items():
                eventually(lambda: self.schedule("show", name)["runs"] == runs,
                           name)
                state = self.schedule("show", name)
                self.assertEqual((state["missed"], state["failures"]),
                                 (missed, 0), state)
                eventually(lambda: self.value(f"@count/{name}") == runs, name)
            self.kill()
            self.start()
        self.kill()

    def test_catches_up_with_more_than_a_record_holds(self):
        # A record has at most 256 KiB then, and the missed runs have 800.
        options = ("--store-segment-bytes", "1MiB")
        self.start(*options)
        self.schedule("add", "large", "--cron", "* * * * *", "--catch-up", "all",
                      "--submit", "echo", "--input", "x" * 20480)
        self.kill()
        self.jump(40 * MINUTE)
        self.start(*options)
        eventually(lambda: self.schedule("show", "large")["runs"] >= 40, "all runs")
        self.assertEqual(self.schedule("show", "large")["failures"], 0)
        self.kill()

    def test_each_due_time_is_run_once_over_kills(self):
        random.seed(3)
        self.start()
        self.add("beat", "* * * * *", "--catch-up", "all")
        minutes = 0
        for _ in range(2 if SANITIZED else 4):
            self.jump(100 * MINUTE)
            minutes += 100
            if random.random() < 0.5:
                self.kill()
                self.start()
            # In the middle of what it catches up with, or thereabouts.
            self.actor.send("@schedule/beat", "show")
            time.sleep(random.random() * 0.05)
            self.kill()
            self.start()
        self.actor.send("@schedule/beat", "show")
        eventually(lambda: self.value("@count/beat") >= minutes, "all minutes")
        state = self.schedule("show", "beat")
        self.assertEqual(self.value("@count/beat"), state["runs"])
        # The test itself may take a minute.
        self.assertLess(state["runs"], minutes + 5)
        self.assertEqual(state["missed"], 0)
        self.kill()

    def test_submits_and_says_what_failed(self):
        self.start(exit_status=0)
        added = self.schedule(
            "add", "nightly", "--cron", "*/5 * * * *", "--submit", "counter",
            "--input", "41", "--name", "report", "--durable")
        self.assertEqual(added["what"], "submit counter")
        self.jump(5 * MINUTE)
        self.schedule("show", "nightly")
        eventually(lambda: "last_pid" in self.schedule("show", "nightly"),
                   "a run")
        self.assertEqual(self.value("@report"), 41)
        self.jump(5 * MINUTE)
        eventually(lambda: self.schedule("show", "nightly")["failures"] == 1,
                   "the name that is taken")
        [listed] = self.schedule("list")
        self.assertEqual((listed["name"], listed["runs"]), ("nightly", 2))
        self.assertIn("ALREADY_EXISTS", listed["last_error"])
        table = self.actorctl("schedule", "list").stdout
        self.assertRegex(table, r"nightly +active +\*/5 \* \* \* \* +submit counter")
        eventually(lambda: "a run has failed" in self.daemon.log(), "the line")
        self.assertRegex(
            self.daemon.log(),
            r"process \S+ \(schedule @schedule/nightly\): schedule "
            r"\(\*/5 \* \* \* \*, submit counter\): a run has failed: "
            r"ALREADY_EXISTS")

    def test_pause_resume_remove(self):
        self.start()
        self.add("beat", "* * * * *", "--catch-up", "all", "--paused")
        self.jump(10 * MINUTE)
        self.kill()
        self.start(exit_status=0)
        self.assertEqual(self.schedule("show", "beat")["state"], "paused")
        self.assertEqual(self.schedule("resume", "beat")["runs"], 0)
        self.jump(MINUTE)
        self.schedule("show", "beat")
        eventually(lambda: self.value("@count/beat") >= 1, "a beat")
        paused = self.schedule("pause", "beat")
        self.assertNotIn("next", paused)
        removed = self.schedule("remove", "beat")
        self.assertEqual((removed["runs"], removed["state"]),
                         (paused["runs"], "removed"))
        self.assertEqual(self.schedule("list"), [])
        self.assertIn("no process", self.actorctl(
            "schedule", "show", "beat", status=3).stderr)

    def test_clock_that_is_set_back_runs_nothing_again(self):
        self.start(exit_status=0)
        self.add("beat", "0 * * * *", "--catch-up", "once")
        self.jump(HOUR)
        first = self.schedule("show", "beat")
        self.assertEqual(first["runs"], 1)
        self.jump(-2 * HOUR)
        self.assertEqual(self.schedule("show", "beat")["next"], first["next"])
        self.jump(2 * HOUR)
        self.assertEqual(self.schedule("show", "beat")["runs"], 1)

    def test_refusals(self):
        self.start(exit_status=0)
        for words, status, why in (
                (["a", "--submit", "t"], 2, "either --every or --cron"),
                (["a", "--every", "5m"], 2, "either --submit or --send-to"),
                (["a b", "--every", "5m", "--submit", "t"], 2, 'NAME is "a b"'),
                (["a", "--every", "5", "--submit", "t"], 2, "--every"),
                (["a", "--every", "5m", "--submit", "t", "--topic", "x"], 2,
                 "--topic requires --send-to"),
                (["a", "--every", "5m", "--cron", "* * * * *"], 2, "excludes"),
                (["a", "--every", "1ms", "--submit", "t"], 2, "--every: 1ms is not from 1s"),
                (["a", "--cron", "0 0 30 2 *", "--submit", "t"], 1,
                 "names no date"),
                (["a", "--every", "5m", "--send-to", "nobody"], 1, "send.to")):
            with self.subTest(words=words):
                done = self.actorctl("schedule", "add", *words, status=status)
                self.assertIn(why, done.stderr)
        self.add("taken", "* * * * *")
        done = self.actorctl("schedule", "add", "taken", "--every", "1h",
                             "--submit", "counter", status=1)
        self.assertIn("NAME_TAKEN", done.stderr)


class Volatile(DaemonCase):

    def test_works_without_a_store_and_says_so(self):
        done = self.actorctl("schedule", "add", "beat", "--every", "1s",
                             "--submit", "echo", "--input", "x")
        self.assertIn("the daemon has no store", done.stderr)
        self.assertRegex(done.stdout, "Durability: +VOLATILE")
        self.assertNotIn("no process type", done.stderr)

        def has_run():
            [listed] = json.loads(
                self.actorctl("schedule", "list", "-o", "json").stdout)
            return listed["runs"] >= 1 and "last_pid" in listed

        eventually(has_run, "a run")
        done = self.actorctl("schedule", "add", "kept", "--every", "1h",
                             "--submit", "echo", "--durable", status=1)
        self.assertIn("DURABILITY_OFF", done.stderr)

    def test_warns_of_a_type_that_no_plugin_has(self):
        done = self.actorctl("schedule", "add", "later", "--every", "1h",
                             "--submit", "nope")
        self.assertIn('the daemon has no process type "nope"', done.stderr)


class Owners(TokenCase):

    def test_each_owner_has_names_of_its_own(self):
        tokens = {name: self.token("client", name=name)
                  for name in ("alice", "bob")}
        self.daemon = self.serve("--store", self.directory / "store")
        pids = set()
        for name, token in tokens.items():
            file = self.text_file(token, f"{name}.token")
            file.chmod(0o600)
            environment = {"ACTORD_TOKEN_FILE": str(file)}
            added = self.ctl(environment, "add", "nightly", "--cron", "@daily",
                             "--submit", "echo")
            [listed] = self.ctl(environment, "list")
            self.assertEqual(listed["pid"], added["pid"])
            pids.add(added["pid"])
        self.assertEqual(len(pids), 2)

    def ctl(self, environment, *words):
        return json.loads(DaemonCase.actorctl(
            self, "schedule", *words, "-o", "json",
            environment=environment).stdout)


if __name__ == "__main__":
    unittest.main()
