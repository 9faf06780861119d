"""`./dev demo`: the whole of it, and that it says so when something is wrong and
leaves nothing behind."""

import os
import pathlib
import signal
import subprocess
import unittest

from harness import places
from harness.case import EmptyCase
from harness.waiting import eventually

DEMO = places.SOURCE / "tests" / "e2e" / "demo"
SECONDS = 250  # of the 300 that CTest gives


class Demo(EmptyCase):

    def start(self, *words, plugins=places.PLUGINS):
        """In a process group of its own, as on a terminal."""
        demo = subprocess.Popen(
            [str(DEMO), *words], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True, env=places.clean_environment(
                ACTORD_BIN_DIR=str(places.ACTORD.parent),
                ACTORD_PLUGIN_DIR=str(plugins), TMPDIR=str(self.directory)))
        self.addCleanup(self.assert_nothing_is_left, demo)
        return demo

    def assert_nothing_is_left(self, demo):
        demo.terminate()  # of no effect unless the test has failed
        demo.wait()
        demo.stdout.close()
        demo.stderr.close()
        self.assertEqual(list(self.directory.iterdir()), [])
        eventually(lambda: not group_members(demo.pid),
                   f"processes to end: {group_members(demo.pid)}")

    def test_whole_of_it(self):
        demo = self.start("5000", "17")
        output, complaints = demo.communicate(timeout=SECONDS)
        self.assertEqual(demo.returncode, 0, output + complaints)
        for part in ("SERVING", "have the same counts in the same order",
                     '"status":"charged"', '"status":"compensated"',
                     "└─ C-5: order",
                     "the supervisor has stopped its order, and ended",
                     "workers are killed by the seed 17",
                     "300 orders, 300 results, and in the ledger 300 charges: "
                     "each order once",
                     "SUPERSEDED, and dropped",
                     "each of the 5000 ended with its own input as its result",
                     "each run once",
                     "each of the 300 orders ended once, and was paid for once",
                     "actord ended with exit status 0",
                     "Every answer was checked and right."):
            self.assertIn(part, output)
        self.assertRegex(output, "State: +SERVING")
        self.assertEqual(output.count("kill -KILL worker"), 6)
        self.assertIn("succeeded 5,000, failed 0", complaints)

    def test_failure_is_told(self):
        (self.directory / "no_plugins").mkdir()
        demo = self.start("10", plugins=self.directory / "no_plugins")
        _, complaints = demo.communicate(timeout=SECONDS)
        (self.directory / "no_plugins").rmdir()
        self.assertEqual(demo.returncode, 1)
        self.assertIn('no plugin has the process type "wordcount"', complaints)
        self.assertIn("demo: wordcount failed", complaints)

    def test_seed_is_a_number(self):
        demo = self.start("10", "lucky")
        _, complaints = demo.communicate(timeout=SECONDS)
        self.assertEqual(demo.returncode, 1)
        self.assertIn("PROCESSES and SEED are numbers: 10 lucky", complaints)

    def test_daemon_that_does_not_start_is_told(self):
        demo = self.start("10", plugins=places.TEST_PLUGINS)
        _, complaints = demo.communicate(timeout=SECONDS)
        self.assertEqual(demo.returncode, 1)
        self.assertIn("demo: actord does not start", complaints)
        self.assertIn("error ", complaints)  # the daemon's own words

    def read_until(self, demo, words):
        line = ""
        while words not in line:
            line = demo.stdout.readline()
            if not line:
                self.fail(f"the demo ended early: {demo.communicate()}")

    def test_payments_without_a_daemon_name_its_address(self):
        done = subprocess.run(
            ["/usr/bin/python3", str(DEMO.with_name("demo_payments")),
             "127.0.0.1:1", "1.1.1.1", "10", "17", str(self.directory)],
            capture_output=True, text=True, timeout=SECONDS, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, "^demo: the daemon at 127.0.0.1:1: "
                                      "UNAVAILABLE: [^\n]*\n$")

    def test_end_among_killed_workers_leaves_nothing_behind(self):
        demo = self.start("10")
        self.read_until(demo, "kill -KILL worker")
        demo.send_signal(signal.SIGTERM)  # not to its children
        _, complaints = demo.communicate(timeout=SECONDS)
        self.assertEqual(demo.returncode, 143, complaints)
        self.assertIn("demo: terminated", complaints)

    def test_interruption_leaves_nothing_behind(self):
        demo = self.start("2000000")  # takes longer than anybody waits
        self.read_until(demo, "in bulk")
        os.killpg(demo.pid, signal.SIGINT)
        _, complaints = demo.communicate(timeout=SECONDS)
        self.assertEqual(demo.returncode, 130, complaints)
        self.assertIn("demo: interrupted", complaints)


def group_members(group):
    """PIDs of the living processes of a process group."""
    members = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, pgrp = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue  # it has ended meanwhile
        if int(pgrp) == group and state != "Z":
            members.append(int(stat.parent.name))
    return members


if __name__ == "__main__":
    unittest.main()
