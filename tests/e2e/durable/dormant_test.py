"""Durable processes that are in the store alone while they wait for a message."""

import json
import signal
import time

import grpc
from actord.v1 import process_pb2
from harness.case import EXTERNAL, DaemonCase, StoreCase
from harness.connection import refusal_of
from harness.waiting import eventually

DORMANT = process_pb2.PROCESS_STATE_DORMANT
DURABLE = process_pb2.DURABILITY_DURABLE


class Dormant(StoreCase):

    def setUp(self):
        super().setUp()
        self.start_with = ("--store-passivate-after", "1s")

    def state(self, pid):
        return self.actor.process(pid).state

    def rounds(self, start, **fields):
        return self.actor.submit("probe.rounds", b"%d" % start,
                                 durability=DURABLE, **fields)

    def await_dormant(self, *pids):
        for pid in pids:
            eventually(lambda pid=pid: self.state(pid) == DORMANT,
                       f"process {pid} to leave the memory")

    def test_leaves_the_memory_and_comes_back(self):
        self.start(exit_status=-signal.SIGKILL)
        pid = self.counter(5, name="visits")
        self.await_dormant(pid)
        counters = self.actor.status().counters
        self.assertEqual((counters.processes_live, counters.processes_dormant),
                         (1, 1))
        shown = self.actorctl("ps", "--state", "dormant").stdout
        self.assertIn(pid, shown)
        # Neither lists nor names have woken it.
        self.assertEqual(self.state("@visits"), DORMANT)
        self.actor.send("@visits", "add", b"7")
        self.assertEqual(self.value(pid), 12)
        self.assertNotEqual(self.state(pid), DORMANT)
        self.await_dormant(pid)
        self.kill()
        self.start()
        self.assertEqual(self.state(pid), DORMANT)
        self.assertEqual(self.value("@visits"), 12)
        self.await_dormant(pid)
        self.actor.terminate(pid)
        eventually(lambda: self.actor.status().counters.processes_live == 0,
                   "the end of a dormant process")

    def test_more_processes_than_memory_has_room_for(self):
        self.start_with += ("--max-processes", "20")
        self.start(exit_status=-signal.SIGKILL)
        pids = []
        while len(pids) < 60:
            try:
                start = len(pids)
                pids.append(self.counter(start) if start % 2 == 0
                            else self.rounds(start))
            except grpc.RpcError as error:
                self.assertEqual(refusal_of(error).reason, "PROCESS_LIMIT")
        for number, pid in enumerate(pids):
            self.assertEqual(self.value(pid), number)
        self.kill()
        self.start()
        self.assertEqual(self.actor.status().counters.processes_live, 60)
        for number, pid in enumerate(pids):
            self.assertEqual(self.value(pid), number)

    def test_timer_brings_a_process_back(self):
        # An order holds the goods for a time, and then asks for its payment.
        hold_seconds = 8
        self.start_with += EXTERNAL
        self.start(exit_status=-signal.SIGKILL)
        begin = time.monotonic()
        orders = [self.actor.submit("order", json.dumps(
            {"order": str(number), "amount_cents": 100,
             "hold_ms": hold_seconds * 1000,
             "payment_timeout_ms": 3_600_000}).encode(), durability=DURABLE)
            for number in range(2)]

        def payments():
            return self.actor.status().counters.yields_external_waiting

        self.await_dormant(*orders)
        self.kill()
        self.start(exit_status=-signal.SIGKILL)
        self.assertEqual(payments(), 0)
        eventually(lambda: payments() == 2, "both payments")
        self.assertGreaterEqual(time.monotonic() - begin, hold_seconds)
        self.kill()
        self.start()
        # The timers do not fire again.
        time.sleep(2)
        self.assertEqual(payments(), 2)
        for pid in orders:
            self.actor.terminate(pid)

    def test_schedule_is_dormant_between_its_runs(self):
        self.start()
        counter = self.counter(0, name="count")
        schedule = json.loads(self.actorctl(
            "schedule", "add", "beat", "--every", "5s", "--send-to", "@count",
            "--topic", "add", "-o", "json").stdout)
        for _ in range(2):
            self.await_dormant(schedule["pid"], counter)
            eventually(lambda: self.state(counter) != DORMANT, "the next run")
        self.assertGreaterEqual(self.value(counter), 2)

    def test_coroutine_comes_back_by_its_history(self):
        self.start(exit_status=-signal.SIGKILL)
        pid = self.rounds(1000, name="rounds")
        self.actor.send(pid, "add", b"1")
        self.actor.send(pid, "add", b"2")
        self.await_dormant(pid)
        self.assertEqual(self.value(pid), 1003)
        # It begins again with its fifth number.
        for number in (b"3", b"4", b"5", b"6"):
            self.actor.send("@rounds", "add", number)
        self.await_dormant(pid)
        self.kill()
        self.start(exit_status=-signal.SIGKILL)
        self.assertEqual(self.state(pid), DORMANT)
        # It comes back, and the daemon is killed before it is dormant again.
        self.actor.send(pid, "add", b"7")
        self.kill()
        self.start()
        self.assertEqual(self.value(pid), 1028)
        self.await_dormant(pid)
        self.assertEqual(self.value("@rounds"), 1028)
        self.assertNotIn("quarantine", self.daemon.log())
