"""The Python package's Worker: results, failures, leases, and what happens when a
worker or the daemon dies."""

import asyncio
import signal
import subprocess
import sys
import threading
import unittest

import actord
import actord.aio
import grpc
from actord.tasks import Command, Complaints, TaskBook
from actord.v1 import work_pb2
from harness import places
from harness.case import DaemonCase, EmptyCase
from harness.waiting import WAIT_SECONDS, eventually

PROGRAM = """
import sys, time
import actord

def say(line):  # at once, from several threads
    print(line + "\\n", end="", flush=True)

worker = actord.Worker(sys.argv[1], name="program")

@worker.command("manual.*", attempts=5)
def work(task):
    say(f"begin {task.attempt} {task.idempotency_key}")
    time.sleep(float(sys.argv[2]))
    say("end")
    return "by " + sys.argv[3]

worker.run()
say("left in order")
"""
POLICY = "manual.* max_attempts=3 backoff=10ms max_backoff=20ms lease=600ms"


class WorkerCase(EmptyCase):

    def connect_client(self, address):
        client = actord.Client(address, timeout=WAIT_SECONDS)
        self.addCleanup(client.close)
        return client

    def yielding(self, client, command="manual.do", **order):
        order["command"] = command
        return client.submit("probe", json=order, method="yield")

    def worker(self, client, **settings):
        worker = actord.Worker(client, **settings)
        self.addCleanup(worker.close)
        return worker

    def program(self, address, seconds, name):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, address, str(seconds), name],
            stdout=subprocess.PIPE, text=True, env=places.clean_environment())
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process


class Tasks(DaemonCase, WorkerCase):

    OPTIONS = ("--command-policy", POLICY)

    def setUp(self):
        super().setUp()
        self.client = self.connect_client(self.daemon.address)

    def outcome(self, pid):
        return self.client.await_outcome(pid).json()

    def test_results_reach_their_processes(self):
        worker = self.worker(self.client, name="w")
        tasks = []
        results = {"manual.text": "t", "manual.json": {"a": 1}, "manual.none": None,
                   "manual.bytes": b"b",
                   "manual.payload": actord.Payload(b"<a/>", "text/xml")}

        @worker.command("manual.*")
        def work(task):
            tasks.append(task)
            return results[task.command]

        pids = {command: self.yielding(self.client, command, payload="p")
                for command in results}
        with worker:
            texts = {command: self.outcome(pid)["payload"]
                     for command, pid in pids.items()}
        self.assertEqual(texts, {
            "manual.text": "t", "manual.json": '{"a":1}', "manual.none": "",
            "manual.bytes": "b", "manual.payload": "<a/>"})
        task = next(task for task in tasks if task.command == "manual.text")
        self.assertEqual(
            (task.text, task.pid, task.process_type, task.attempt,
             task.max_attempts, task.lease, task.progress, task.cancelled),
            ("p", pids["manual.text"].pid, "probe", 1, 3, 0.6, None, False))

    def test_errors_are_final_or_retried(self):
        worker = self.worker(self.client)
        attempts = []

        @worker.command("manual.refuse")
        def refuse(task):
            raise actord.Refuse("no", code=grpc.StatusCode.OUT_OF_RANGE)

        @worker.command("manual.retry")
        def retry(task):
            attempts.append(task.attempt)
            if task.attempt < 3:
                raise actord.Retry(0.01, "later")
            return "third"

        @worker.command("manual.fail")
        def fail(task):
            raise ValueError("broken")

        @worker.command("manual.once", attempts=1)
        def once(task):
            raise ValueError("broken")

        @worker.command("manual.large")
        def large(task):
            return bytes(3 << 20)

        @worker.command("manual.nothing_known")
        def nothing_known(task):
            return object()

        with self.assertLogs("actord.worker", "WARNING") as logs, worker:
            ends = {name: self.outcome(self.yielding(self.client, f"manual.{name}"))
                    for name in ("refuse", "retry", "fail", "once", "large",
                                 "nothing_known")}
        self.assertEqual(ends["refuse"], {"code": "OUT_OF_RANGE", "message": "no"})
        self.assertEqual(ends["retry"], {"code": "OK", "payload": "third"})
        self.assertEqual(attempts, [1, 2, 3])
        self.assertRegex(ends["fail"]["message"],
                         "after 3 attempts: ValueError: broken")
        self.assertRegex(ends["once"]["message"],
                         "after 1 attempts: ValueError: broken")
        self.assertEqual(ends["large"]["code"], "INVALID_ARGUMENT")
        self.assertRegex(ends["nothing_known"]["message"], "TypeError")
        failed = [line for line in logs.output if "manual.fail, attempt" in line]
        self.assertEqual(len(failed), 3)
        self.assertIn("ValueError: broken", failed[0])  # in the traceback
        self.assertFalse([line for line in logs.output
                          if "manual.refuse" in line or "manual.retry" in line])

    def test_leases_are_renewed_and_progress_is_kept(self):
        first = self.worker(self.client)
        release = threading.Event()

        @first.command("manual.long")
        def long(task):
            task.report_progress(json={"page": 7})
            release.wait(1.5)  # more than two leases
            return f"{task.attempt} {task.cancelled}"

        @first.command("manual.failing")
        def failing(task):
            if task.attempt == 1:
                task.report_progress("half")
                raise actord.Retry(0)
            return task.progress.text

        with first:
            long_pid = self.yielding(self.client, "manual.long")
            failing_pid = self.yielding(self.client, "manual.failing")
            self.assertEqual(self.outcome(failing_pid)["payload"], "half")
            self.assertEqual(self.outcome(long_pid)["payload"],
                             "1 False")

    def test_a_task_that_is_taken_back_is_cancelled(self):
        worker = self.worker(self.client)
        seen, reasons = threading.Event(), []

        @worker.command("manual.*")
        def work(task):
            if task.command == "manual.next":
                return "next"
            eventually(lambda: task.cancelled, "the cancel")
            reasons.append(task.cancel_reason)
            seen.set()

        pid = self.yielding(self.client)
        with worker:
            eventually(lambda: [
                item for item in self.client.yields(pid=pid) if item.attempts], "it")
            self.client.terminate(pid)
            self.assertTrue(seen.wait(WAIT_SECONDS))
            self.assertEqual(reasons, ["YIELD_ENDED"])
            # Its place is free again.
            pids = [self.yielding(self.client, "manual.next") for _ in range(8)]
            for pid in pids:
                self.assertEqual(self.outcome(pid)["payload"], "next")

    def test_a_task_that_arrives_after_stop_is_not_begun(self):
        book = TaskBook([Command("manual.*", print, None)], "", 1)
        book.open()
        book.stop()
        self.assertIsNone(book.start(work_pb2.Task(token="t"), 0.0, print))
        self.assertTrue(book.done)

    def test_no_more_tasks_at_a_time_than_concurrency(self):
        worker = self.worker(self.client, concurrency=3)
        lock, now, most = threading.Lock(), [0], [0]

        @worker.command("manual.*")
        def work(task):
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            threading.Event().wait(0.02)
            with lock:
                now[0] -= 1

        pids = [self.yielding(self.client) for _ in range(30)]
        with worker:
            for pid in pids:
                self.assertEqual(self.outcome(pid)["code"], "OK")
        self.assertEqual(most[0], 3)

    def test_a_refused_worker_says_so(self):
        worker = self.worker(self.client)
        worker.command("no.such")(print)
        with self.assertRaises(actord.InvalidArgument) as caught:
            worker.start()
        self.assertEqual(caught.exception.reason, "INVALID_FIELD")
        self.assertRaises(ValueError, lambda: self.worker(self.client).start())

    def test_sigterm_finishes_the_tasks_under_way(self):
        program = self.program(self.daemon.address, 1.2, "first")
        pids = [self.yielding(self.client) for _ in range(6)]
        begun = [program.stdout.readline().split()[0] for _ in range(4)]
        self.assertEqual(begun, ["begin"] * 4)
        program.send_signal(signal.SIGTERM)
        rest, _ = program.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(rest.split("\n"), ["end"] * 4 + ["left in order", ""])
        self.assertEqual(program.returncode, 0)
        second = self.worker(self.client)
        second.command("manual.*")(lambda task: f"by second {task.attempt}")
        with second:
            texts = sorted(self.outcome(pid)["payload"] for pid in pids)
        self.assertEqual(texts, ["by first"] * 4 + ["by second 1"] * 2)

    def test_another_worker_gets_the_task_of_a_killed_one(self):
        killed = self.program(self.daemon.address, WAIT_SECONDS, "killed")
        pid = self.yielding(self.client)
        _, attempt, key = killed.stdout.readline().split()
        self.assertEqual(attempt, "1")
        killed.kill()
        again = self.program(self.daemon.address, 0, "again")
        self.assertEqual(again.stdout.readline().split(), ["begin", "2", key])
        self.assertEqual(self.outcome(pid)["payload"], "by again")


class Restarts(WorkerCase):

    def test_a_worker_outlives_the_daemon(self):
        address = f"unix:{self.directory}/socket"
        options = ("--listen", address, "--store", self.directory / "store",
                   "--command-policy", POLICY)
        daemon = self.start_daemon(*options, exit_status=-signal.SIGKILL)
        client = self.connect_client(address)
        worker = self.worker(client, concurrency=1)
        begun, release = threading.Event(), threading.Event()

        @worker.command("payment.charge")
        def charge(task):
            begun.set()
            release.wait(WAIT_SECONDS)
            return "receipt"

        with worker:
            order = client.submit("order", durability="DURABLE", json={
                "order": "A", "amount_cents": 1, "hold_ms": 1})
            self.assertTrue(begun.wait(WAIT_SECONDS))
            daemon.signal(signal.SIGKILL)
            daemon.wait()
            # The result is there before the daemon is.
            release.set()
            self.start_daemon(*options)
            self.assertEqual(client.await_outcome(order).json()["payment"],
                             "receipt")
            another = client.submit("order", json={
                "order": "B", "amount_cents": 1, "hold_ms": 1})
            self.assertEqual(client.await_outcome(another).json()["status"],
                             "charged")


class Unreached(WorkerCase):

    def test_a_worker_without_a_daemon_says_so_once(self):
        with self.assertLogs("actord.worker", "WARNING") as logs:
            client = self.connect_client("127.0.0.1:1")
            worker = self.worker(client)
            worker.command("manual.*")(print)
            # Some attempts follow each other within this time.
            with self.assertRaises(actord.DeadlineExceeded) as caught:
                worker.start(timeout=1)
            worker.join()

        async def run_too():
            async with actord.aio.Client("127.0.0.1:1") as client:
                worker = actord.aio.Worker(client)
                worker.command("manual.*")(print)
                await worker.start(timeout=1)

        cannot = ("cannot reach the daemon at 127.0.0.1:1: the connection is refused: no "
                  "program listens at this address. Is actord running there?")
        said = f"WARNING:actord.worker:the worker keeps trying: {cannot}"
        self.assertEqual(logs.output, [said])
        late = f"the daemon has not accepted the worker within 1 s: {cannot}"
        self.assertEqual(caught.exception.message, late)
        with self.assertLogs("actord.worker", "WARNING") as logs:
            with self.assertRaises(actord.DeadlineExceeded) as caught:
                asyncio.run(run_too())
        self.assertEqual(logs.output, [said])
        self.assertEqual(caught.exception.message, late)

    def test_the_same_text_is_said_once_a_minute(self):
        complaints = Complaints()
        lost = actord.Unavailable("lost", code=grpc.StatusCode.UNAVAILABLE)
        ends = actord.Unavailable("it ends", code=grpc.StatusCode.UNAVAILABLE,
                                  reason="DRAINING")
        self.assertEqual(
            [complaints.about(error, now) for now, error in (
                (0.0, lost), (1.0, lost), (59.9, lost), (60.0, lost), (61.0, ends),
                (62.0, ends), (63.0, lost))],
            [f"the worker keeps trying: {text}" if text else "" for text in (
                "lost", "", "", "lost", "DRAINING: it ends", "", "lost")])


if __name__ == "__main__":
    unittest.main()
