"""actorctl bench against a real daemon: its figures add up, and it ends what it starts."""

import json
import os
import pty
import signal
import subprocess
import unittest

from harness import places
from harness.cli import INTERRUPTED, CliCase
from harness.waiting import WAIT_SECONDS, eventually


class Bench(CliCase):

    def counters(self):
        return self.actor.status().counters

    def measure(self, *words):
        measured = self.json("bench", *words)
        self.assert_adds_up(measured)
        self.assertEqual(measured["errors_by_reason"], [])
        return measured

    def assert_adds_up(self, measured):
        by_reason = sum(one["count"] for one in measured["errors_by_reason"])
        self.assertEqual(measured["errors"], by_reason)
        self.assertEqual(measured["requests"],
                         measured["answered"] + measured["errors"])
        self.assertEqual(measured["answered"],
                         sum(bar["count"] for bar in measured["histogram"]))
        self.assertAlmostEqual(
            measured["answered_per_second"] * measured["elapsed_seconds"],
            measured["answered"], delta=0.01 * measured["answered"] + 0.01)
        if latency := measured["latency_seconds"]:
            ordered = [latency[key] for key in
                       ("min", "p50", "p90", "p99", "p99_9", "max")]
            self.assertEqual(ordered, sorted(ordered))
            self.assertGreater(latency["min"], 0)

    def start(self, *words, **more):
        return subprocess.Popen(
            [places.ACTORCTL, "bench", *words], text=True,
            env=places.clean_environment(ACTORD_ADDRESS=self.daemon.address,
                                         TERM="xterm"), **more)

    def interrupt(self, client):
        client.send_signal(signal.SIGINT)
        out, err = client.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(client.returncode, INTERRUPTED, err)
        return json.loads(out)

    def test_calls_over_several_connections(self):
        measured = self.measure("call", "--duration", "300ms", "--processes", "5",
                                "--connections", "2", "--in-flight", "6",
                                "--payload-size", "100")
        self.assertGreater(measured["answered"], 10)
        self.assertEqual(self.counters().processes_started_total, 5)
        self.assertEqual(self.counters().processes_live, 0)

    def test_every_submission_is_a_process_that_has_ended(self):
        measured = self.measure("submit", "--duration", "300ms")
        counters = self.counters()
        # One process is started before the measurement.
        self.assertEqual(counters.processes_started_total, measured["requests"] + 1)
        self.assertEqual(counters.processes_live, 0)

    def test_open_load_keeps_its_rate(self):
        measured = self.measure("send", "--duration", "1s", "--rate", "200")
        # Requests are due at 0, 5, ... 995 ms.
        self.assertEqual(measured["requests"] + measured["not_begun"], 200)
        self.assertGreater(measured["requests"], 150)
        self.assertGreater(measured["elapsed_seconds"], 0.9)
        self.assertLess(measured["elapsed_seconds"], 3)

    def test_a_table_for_people(self):
        table = self.output("bench", "--duration", "100ms", "--processes", "2")
        for words in (r"Load: +closed, 64 in flight, 1 connection, payload of 0 B",
                      r"Processes: +2 of type counter, volatile",
                      r"Answered: +[\d,]+ \([\d,.]+/s\)", r"Errors: +0",
                      r"  p99\.9: +[\d.]+ (us|ms|s)", r"  up to .+ +[\d,]+  #+"):
            self.assertRegex(table, words)

    def test_an_interruption_prints_what_was_measured(self):
        client = self.start("--duration", "1h", "-o", "json",
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        eventually(lambda: self.counters().steps_total > 200, "some calls")
        measured = self.interrupt(client)
        self.assert_adds_up(measured)
        self.assertGreater(measured["answered"], 100)
        self.assertEqual(measured["errors"], 0)
        self.assertEqual(self.counters().processes_live, 0)

    def test_processes_that_do_not_end_by_themselves_are_cancelled(self):
        # A cancelled counter ends with a result, which is no answer to a request.
        client = self.start("submit", "--type", "counter", "--in-flight", "4",
                            "--duration", "1h", "-o", "json",
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        eventually(lambda: self.counters().processes_live == 5, "its processes")
        measured = self.interrupt(client)
        self.assert_adds_up(measured)
        self.assertEqual(measured["errors_by_reason"],
                         [{"reason": "CANCELLED", "count": 4}])
        self.assertEqual(self.counters().processes_live, 0)

    def test_progress_is_shown_on_a_terminal(self):
        screen, terminal = pty.openpty()
        client = self.start("--duration", "400ms", stdout=subprocess.PIPE,
                            stderr=terminal)
        os.close(terminal)
        shown = b""
        try:
            while piece := os.read(screen, 4096):
                shown += piece
        except OSError:  # how Linux says that the other end is closed
            pass
        os.close(screen)
        out, _ = client.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(client.returncode, 0, shown)
        self.assertRegex(shown, rb"\[#*-*\] \d+%")
        self.assertNotIn("%", out)


if __name__ == "__main__":
    unittest.main()
