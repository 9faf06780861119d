"""Limits on a process's life and on how many there are of a type, and a mailbox
that 64 senders flood at once."""

import concurrent.futures
import json
import threading
import unittest

import grpc
from admin.pages import admin_port, get
from harness.case import DaemonCase
from harness.cli import CliCase
from harness.connection import failure_name, refusal_of
from harness.daemon import MEASURED
from harness.waiting import eventually

EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED
SENDERS = 64
DEAF = json.dumps({"order": "17", "amount_cents": 1, "hold_ms": 600_000}).encode()


class Seen(CliCase):
    """A limit that is reached is seen in the log, by actorctl and on /readyz."""

    OPTIONS = ("--max-processes", "2", "--admin-listen", "127.0.0.1:0")

    def use(self, name):
        return next(one for one in self.json("status")["limit_use"]
                    if one["name"] == name)

    def readiness(self):
        status, _, text = get(admin_port(self.daemon), "/readyz",
                              headers={"Accept": "application/json"})
        return status, json.loads(text)["notes"]

    def test_a_full_daemon_says_so(self):
        before = self.use("processes")
        self.assertEqual((before["used"], before["max"], before["refused_total"]),
                         (0, 2, 0))
        self.assertEqual(self.readiness(), (200, []))
        pids = [self.actor.submit("probe", method="idle") for _ in range(2)]
        for _ in range(5):
            self.assert_refused(lambda: self.actor.submit("probe", method="idle"),
                                code=EXHAUSTED, reason="PROCESS_LIMIT",
                                message="2 processes")
        eventually(lambda: "full_since" in self.use("processes"), "the limit")
        full = self.use("processes")
        self.assertEqual((full["used"], full["max"], full["refused_total"],
                          full["setting"]),
                         (2, 2, 5, "limits.max_processes or store.max_processes"))
        self.assertRegex(self.output("status"),
                         r"processes +2 +2 +100 % +REACHED for \S+ +5 +limits\.")
        status, notes = self.readiness()
        self.assertEqual(status, 200, "clients must be able to make room")
        self.assertRegex(notes[0], "limit of processes is reached: 2 of 2 processes; "
                                   "new processes are refused with PROCESS_LIMIT")
        line = "the limit of processes is reached"
        eventually(lambda: line in self.daemon.log(), "the line of the log")
        self.assertEqual(self.daemon.log().count(line), 1)
        for pid in pids:
            self.actor.terminate(pid)
            self.actor.wait(pid)
        eventually(lambda: self.use("processes")["used"] == 0, "the ends")

    def test_status_shows_memory_and_processors(self):
        resources = self.json("status")["resources"]
        self.assertGreater(resources["resident_bytes"], 1 << 20)
        self.assertGreater(resources["cpus"], 0)
        text = self.output("status")
        self.assertRegex(text, r"Memory: +[\d.]+ MiB resident; ")
        self.assertRegex(text, r"Processors: +\d+\.\d\d of \d+ processors busy with "
                               r"actord in the last second \(\d+ %\), ")
        self.assertGreater(resources["machine_load"], -1)
        self.assertGreater(resources["machine_memory_available_bytes"], 1 << 20)
        self.assertLess(resources["machine_memory_available_bytes"],
                        resources["machine_memory_bytes"])
        self.assertRegex(text, r"Machine: +load \d+\.\d\d on \d+ processors .* of "
                               r"[\d.]+ GiB of memory available")


class LifeLimits(DaemonCase):

    # Longer than any test but that of it takes.
    OPTIONS = ("--max-steps", "20", "--max-lifetime", "1h",
               "--max-processes-per-type", "counter 2")

    def test_steps(self):
        outcome = self.actor.run("probe", b"1000", "continue")
        self.assertEqual(failure_name(outcome), "LIMIT_REACHED")
        self.assertEqual(outcome.failure.code, EXHAUSTED.value[0])
        self.assertRegex(outcome.failure.message, "20 steps")
        self.assertEqual(outcome.steps, 20)
        self.assertEqual(self.actor.run("probe", b"5", "continue").steps, 6)
        self.assertEqual(self.actor.status().counters.step_limit_total, 1)

    def test_lifetime(self):
        actor = self.connect(self.start_daemon("--max-lifetime", "1s"))
        pid = actor.submit("probe", method="idle")
        outcome = actor.wait(pid)
        self.assertEqual(failure_name(outcome), "LIMIT_REACHED")
        self.assertEqual(outcome.failure.code, EXHAUSTED.value[0])
        self.assertRegex(outcome.failure.message, "lived for 1")
        lived_ms = (outcome.end_time.ToNanoseconds()
                    - outcome.create_time.ToNanoseconds()) / 1e6
        self.assertGreaterEqual(lived_ms, 1000)
        self.assertEqual(actor.status().counters.lifetime_limit_total, 1)

    def test_processes_of_a_type(self):
        pids = [self.actor.submit("counter") for _ in range(2)]
        self.assert_refused(
            lambda: self.actor.submit("counter"), code=EXHAUSTED,
            reason="PROCESS_LIMIT", message="2 processes of type counter")
        self.actor.submit("probe", method="idle")
        # A spawn by a command is told.
        done = self.answer(self.actor.run(
            "probe", json.dumps({"type": "counter"}).encode(), "spawn"))
        self.assertEqual(done["code"], "RESOURCE_EXHAUSTED", done)
        self.actor.terminate(pids[0])
        self.actor.wait(pids[0])
        self.actor.submit("counter")
        status = self.actor.status()
        self.assertGreaterEqual(status.counters.process_type_limit_total, 2)
        use = next(one for one in status.limit_use
                   if one.name == "processes of type counter")
        self.assertEqual((use.used, use.max, use.refused_total),
                         (2, 2, status.counters.process_type_limit_total))

    def test_the_status_tells_them(self):
        limits = self.actor.status().limits
        self.assertEqual(limits.max_steps_per_process, 20)
        self.assertEqual(limits.max_lifetime.ToSeconds(), 3600)
        self.assertEqual([(one.process_type, one.max_processes)
                          for one in limits.process_type_limits],
                         [("counter", 2)])


class NoLifeLimits(DaemonCase):

    def test_by_default_there_are_none(self):
        limits = self.actor.status().limits
        self.assertEqual(limits.max_steps_per_process, 0)
        self.assertFalse(limits.HasField("max_lifetime"))
        outcome = self.actor.run("probe", b"3000", "continue")
        self.assertEqual(outcome.steps, 3001)

    def test_a_type_that_no_plugin_has_is_warned_of(self):
        daemon = self.start_daemon("--max-processes-per-type", "ghost 1")
        daemon.wait_for_line('no plugin has the process type "ghost"')


class Flood(DaemonCase):
    """Of what 64 senders send at once, everything is accepted and taken, or
    refused and told; and the daemon answers meanwhile."""

    MESSAGES = 500  # that the mailbox holds
    OPTIONS = ("--max-mailbox-messages", str(MESSAGES))
    ENVIRONMENT = MEASURED

    def flood(self, pid, each, size):
        """Every sender sends its messages in order. Returns the accepted ones
        as (sender, number), and how many were refused."""
        start = threading.Barrier(SENDERS)
        padding = b"x" * size

        def send_all(sender):
            connection = connections[sender % len(connections)]
            accepted, refused = [], 0
            start.wait()
            for number in range(each):
                try:
                    connection.send(pid, f"{sender}/{number}", padding)
                    accepted.append((sender, number))
                except grpc.RpcError as error:
                    refusal = refusal_of(error)
                    self.assertEqual(refusal.reason, "MAILBOX_FULL", error)
                    self.assertGreater(refusal.retry_seconds, 0)
                    refused += 1
            return accepted, refused

        connections = [self.connect(self.daemon) for _ in range(8)]
        with concurrent.futures.ThreadPoolExecutor(SENDERS) as pool:
            futures = [pool.submit(send_all, i) for i in range(SENDERS)]
            while not all(future.done() for future in futures):
                self.assert_serves()
            done = [future.result() for future in futures]
        return ([one for accepted, _ in done for one in accepted],
                sum(refused for _, refused in done))

    def test_of_a_mailbox_that_nobody_empties(self):
        pid = self.actor.submit("order", DEAF)
        before = self.daemon.resident_bytes()
        accepted, refused = self.flood(pid, 30, 4000)
        self.assertEqual(len(accepted) + refused, SENDERS * 30)
        # The limit, which threads that look at the same moment may pass.
        self.assertGreaterEqual(len(accepted), self.MESSAGES)
        self.assertLess(len(accepted), self.MESSAGES + SENDERS)
        self.assertEqual(self.actor.process(pid).mailbox_messages, len(accepted))
        counters = self.actor.status().counters
        self.assertEqual(counters.mailbox_limit_total, refused)
        self.assertEqual(counters.dead_letters_total, 0)
        # 2 MB are in the mailbox; the rest is what gRPC needs to talk to 64.
        self.assertLess(self.daemon.grown_bytes(before), 100 << 20)

        self.actor.terminate(pid)
        eventually(lambda: self.actor.status().counters.dead_letters_total
                   == len(accepted), "what it had not taken")
        letters = self.actor.dead_letters(page_size=1000).dead_letters
        self.assertEqual(sorted(letter.topic for letter in letters),
                         sorted(f"{a}/{b}" for a, b in accepted))

    def test_of_a_process_that_takes_what_comes(self):
        pid = self.actor.submit("probe", method="collect")
        accepted, _ = self.flood(pid, 30, 10)
        while True:
            try:
                self.actor.send(pid, "stop")
                break
            except grpc.RpcError as error:
                self.assertEqual(refusal_of(error).reason, "MAILBOX_FULL")
        collected = [tuple(map(int, message["topic"].split("/")))
                     for message in self.answer(self.actor.wait(pid))]
        self.assertEqual(sorted(collected), sorted(accepted))
        for sender in range(SENDERS):
            numbers = [b for a, b in collected if a == sender]
            self.assertEqual(numbers, sorted(numbers), "order of one sender")


if __name__ == "__main__":
    unittest.main()
