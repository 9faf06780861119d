"""A thousand clients that vanish without a word: accepted work is carried out,
once, and the daemon gets back all that it held for them."""

import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import time
import unittest

from actord.v1 import (outcome_pb2, payload_pb2, process_pb2, stream_pb2,
                       watch_pb2, work_pb2)
from harness import places
from harness.bulk import SendStream, SubmitStream, send_item, submit_item
from harness.case import DaemonCase
from harness.daemon import MEASURED
from harness.raw_client import RawClient
from harness.waiting import SANITIZED, WAIT_SECONDS, eventually
from harness.work import RemoteWorker

# Connections of one round.
EACH = 120  # of each of seven kinds
GRPC = 160  # of programs that are killed
TOTAL = 7 * EACH + GRPC
SLOWEST_ANSWER_SECONDS = 30 if SANITIZED else 10


class Vanishing(DaemonCase):

    # No lease ends by its time here.
    OPTIONS = ("--workers", "2", "--command-policy", "manual.* lease=10m")
    ENVIRONMENT = MEASURED

    def setUp(self):
        super().setUp()
        self.clients, self.programs = [], []
        self.addCleanup(self.vanish)
        self.round = 0
        self.slowest = 0

    def counters(self):
        began = time.monotonic()
        counters = self.actor.status().counters
        self.slowest = max(self.slowest, time.monotonic() - began)
        return counters

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.daemon.process.pid}/fd"))

    def client(self):
        client = RawClient(self.daemon.address)
        self.clients.append(client)
        return client

    def vanish(self):
        """Half of them break off, half close their sockets; programs are
        killed."""
        for program in self.programs:
            program.kill()
        for number, client in enumerate(self.clients):
            if number % 2:
                client.reset()
            else:
                client.close()
        for program in self.programs:
            program.wait()
            program.stdout.close()
        self.clients, self.programs = [], []

    # The acts of the clients.

    def wait_for_what_never_comes(self):
        """Awaits, calls and watches."""
        asked = self.actor.submit("probe", method="answer")
        for _ in range(EACH):
            self.client().ask("Await", outcome_pb2.AwaitRequest(pid=asked))
            self.client().ask("Call", process_pb2.CallRequest(pid=asked,
                                                              topic="never"))
            self.client().ask("WatchProcesses",
                              watch_pb2.WatchProcessesRequest())
        return asked

    def kill_programs(self, asked):
        for _ in range(4):
            program = subprocess.Popen(
                [sys.executable, str(pathlib.Path(__file__).parent /
                                     "many_clients"),
                 self.daemon.address, str(GRPC // 4), asked],
                stdout=subprocess.PIPE, text=True,
                env=places.clean_environment())
            self.programs.append(program)
        for program in self.programs:
            # It writes nothing but this line.
            self.assertTrue(select.select([program.stdout], [], [],
                                          WAIT_SECONDS)[0], "it is not ready")
            self.assertEqual(program.stdout.readline(), "ready\n")

    def take_tasks(self):
        """Tasks that their workers will not do."""
        for _ in range(EACH):
            self.client().open("Work", work_pb2.WorkRequest(
                subscribe=work_pb2.Subscribe(commands=["manual.*"]),
                add_credits=1))
        eventually(lambda: self.counters().remote_workers == EACH + GRPC,
                   "the workers")
        order = json.dumps({"command": "manual.do"}).encode()
        pids = [self.actor.submit("probe", order, method="yield")
                for _ in range(EACH + GRPC)]
        eventually(lambda: self.counters().tasks_leased == EACH + GRPC,
                   "their tasks")
        return pids

    def submissions(self, number):
        return [submit_item("probe", b"100", method="sleep",
                            request_id=f"{self.round}-{number}-{i}")
                for i in range(5)]

    def submit_in_bulk(self):
        for number in range(EACH):
            self.client().open("SubmitStream", stream_pb2.SubmitStreamRequest(
                submissions=self.submissions(number), await_outcomes=True))

    def messages(self, pid, number):
        return [send_item(pid, str(number), b"%d" % i,
                          message_id=f"{self.round}-{number}-{i}")
                for i in range(5)]

    def send_in_bulk(self, receivers):
        for number in range(EACH):
            pid = receivers[number % len(receivers)]
            self.client().open("SendStream", stream_pb2.SendStreamRequest(
                sends=self.messages(pid, number)))

    def break_off(self):
        """Requests of which the end is missing, from one byte to nearly all."""
        submit = process_pb2.SubmitRequest(
            process_type="echo", input=payload_pb2.Payload(data=b"x" * 5000))
        for number in range(EACH):
            client = self.client()
            if number % 4 == 0:
                client.open("Submit", submit, part=1 + number * 40)
            elif number % 4 == 1:
                client.open("SubmitStream", stream_pb2.SubmitStreamRequest(
                    submissions=[submit]), part=1 + number * 40)
            elif number % 4 == 2:
                client.send(b"\x00\x40\x00\x00")  # of a frame's head
            else:
                client.open("Submit")  # and no word more

    # The state of it.

    def check_submissions(self):
        """Each one runs, once: with the same ids nothing more is started."""
        stream = SubmitStream(self.actor.stub)
        self.addCleanup(stream.cancel)
        for number in range(EACH):
            stream.submit(*self.submissions(number), await_outcomes=True)
        self.assertIsNone(stream.finish())
        self.assertEqual(len(stream.outcomes), 5 * EACH, stream.refused)
        self.assertEqual({one.duplicate
                          for one in stream.submitted.values()}, {True})
        self.assertEqual({one.WhichOneof("end")
                          for one in stream.outcomes.values()}, {"result"})

    def check_messages(self, receivers):
        """Each one has arrived once; sent again it does not once more."""
        stream = SendStream(self.actor.stub)
        self.addCleanup(stream.cancel)
        for number in range(EACH):
            pid = receivers[number % len(receivers)]
            stream.send(*self.messages(pid, number))
        self.assertIsNone(stream.finish())
        self.assertEqual((stream.acked, stream.refused), (5 * EACH, {}))
        self.assertEqual(len(stream.duplicates), 5 * EACH)
        for pid in receivers:
            self.actor.send(pid, "stop")
        got = [(one["topic"], one["payload"]) for pid in receivers
               for one in self.answer(self.actor.wait(pid))]
        self.assertEqual(sorted(got), sorted((str(number), str(i))
                                             for number in range(EACH)
                                             for i in range(5)))

    def check_tasks(self, pids):
        """Another worker has them at once, and each is completed once."""
        worker = RemoteWorker(self.actor.stub, "manual.*", credits=len(pids))
        self.addCleanup(worker.close)
        # Not because their leases were over.
        tasks = [worker.task(WAIT_SECONDS) for _ in pids]
        self.assertEqual({task.pid for task in tasks}, set(pids))
        for task in tasks:
            self.assertEqual(worker.complete(task, b"done"), "ACCEPTED")
        for pid in pids:
            self.assertEqual(self.answer(self.actor.wait(pid))["payload"],
                             "done")
        worker.leave()

    def check_nothing_is_left(self, descriptors):
        eventually(lambda: self.counters().streams_open == 0, "their streams")
        counters = self.counters()
        self.assertEqual((counters.remote_workers, counters.watches_open,
                          counters.tasks_leased), (0, 0, 0))
        eventually(lambda: self.descriptors() <= descriptors + 5,
                   f"{descriptors} descriptors")

    def come_and_go(self):
        self.round += 1
        descriptors = self.descriptors()
        before = self.counters()
        asked = self.wait_for_what_never_comes()
        self.kill_programs(asked)
        tasks = self.take_tasks()
        receivers = [self.actor.submit("probe", method="collect")
                     for _ in range(8)]
        self.submit_in_bulk()
        self.send_in_bulk(receivers)
        self.break_off()
        self.assertEqual(len(self.clients) + GRPC, TOTAL)
        # These are accepted; the process that is asked has been asked by all.
        eventually(lambda: self.counters().processes_started_total
                   - before.processes_started_total
                   == 5 * EACH + len(tasks) + 9, "all submissions")
        eventually(lambda: self.counters().messages_total
                   - before.messages_total >= 5 * EACH + EACH + GRPC,
                   "all messages")
        eventually(lambda: self.counters().watches_open == EACH + GRPC,
                   "all watches")
        eventually(lambda: self.descriptors() > TOTAL, "all connections")
        self.vanish()
        self.check_tasks(tasks)
        self.check_submissions()
        self.check_messages(receivers)
        self.check_nothing_is_left(descriptors)
        self.assert_serves()
        # Nothing but it lives, and it was asked by those who are gone.
        self.assertEqual(self.counters().processes_live, 1)
        self.actor.terminate(asked)
        self.assertLess(self.slowest, SLOWEST_ANSWER_SECONDS)

    def test_a_thousand_clients(self):
        self.come_and_go()
        before = self.daemon.resident_bytes()
        self.come_and_go()
        # The second thousand has left nothing except ids and results.
        self.assertLess(self.daemon.grown_bytes(before), 24 << 20)
        self.daemon.signal(signal.SIGTERM)
        self.assertEqual(self.daemon.wait(), 0)

    def test_a_drain_while_they_vanish(self):
        asked = self.wait_for_what_never_comes()
        self.kill_programs(asked)
        self.break_off()
        eventually(lambda: self.counters().watches_open == EACH + GRPC,
                   "all watches")
        self.daemon.signal(signal.SIGTERM)
        self.vanish()
        self.assertEqual(self.daemon.wait(), 0)


if __name__ == "__main__":
    unittest.main()
