"""Remote workers over one stream: tasks, leases, retries, and whose answer
counts."""

import json
import queue
import unittest

import grpc
from actord.v1 import (outcome_pb2, payload_pb2, status_pb2, work_pb2,
                       yield_pb2)
from harness.case import DaemonCase
from harness.connection import refusal_of
from harness.waiting import WAIT_SECONDS, eventually
from harness.work import RemoteWorker

POLICY = ("manual.* max_attempts=3 backoff=10ms max_backoff=20ms")


class WorkCase(DaemonCase):

    OPTIONS = ("--command-policy", "manual.short lease=2s",
               "--command-policy", "manual.brief attempt_timeout=300ms",
               "--command-policy", "manual.soon start_timeout=200ms",
               "--command-policy", POLICY)

    def worker(self, *commands, credits=10, **more):
        worker = RemoteWorker(self.actor.stub, *(commands or ("manual.*",)),
                              credits=credits, **more)
        self.addCleanup(worker.close)
        return worker

    def yielding(self, command="manual.do", **order):
        order["command"] = command
        return self.actor.submit("probe", json.dumps(order).encode(), "yield")

    def counters(self):
        return self.actor.status().counters

    def assert_no_task(self, worker, seconds=0.2):
        with self.assertRaises(queue.Empty):
            worker.task(seconds)


class Tasks(WorkCase):

    def test_a_task_says_what_it_is_and_its_result_reaches_the_process(self):
        pid = self.yielding("manual.print", payload="page 1", timeout_ms=60000)
        worker = self.worker(name="printer 7")
        task = worker.task()
        self.assertEqual(
            (task.command, task.payload.data, task.pid, task.process_type,
             task.attempt, task.max_attempts),
            ("manual.print", b"page 1", pid, "probe", 1, 3))
        self.assertEqual(task.lease.ToMilliseconds(), 30000)
        self.assertTrue(task.HasField("deadline"))
        self.assertFalse(task.HasField("attempt_deadline"))
        self.assertLessEqual(len(task.token), 128)
        [waiting] = self.actor.yields(pid=pid)
        self.assertEqual(task.idempotency_key, waiting.token)
        self.assertEqual((waiting.attempts, waiting.worker), (1, "printer 7"))
        self.assertTrue(waiting.HasField("lease_deadline"))
        self.assertEqual(self.counters().tasks_leased, 1)
        self.assertEqual(self.counters().remote_workers, 1)
        self.assertEqual(worker.complete(task, b"printed"), "ACCEPTED")
        self.assertEqual(self.answer(self.actor.wait(pid)),
                         {"code": "OK", "payload": "printed"})
        self.assertEqual(worker.complete(task, b"printed"), "DUPLICATE")
        self.assertEqual(worker.complete(task, b"again"), "CONFLICT")
        worker.leave()
        self.assertIsNone(worker.error)
        self.assertEqual(self.counters().remote_workers, 0)

    def test_no_worker_is_sent_more_than_its_credits(self):
        self.yielding(count=7)
        worker = self.worker(credits=3)
        tasks = [worker.task() for _ in range(3)]
        self.assert_no_task(worker)
        self.assertEqual(worker.complete(tasks[0], add_credits=2), "ACCEPTED")
        worker.task(), worker.task()
        self.assert_no_task(worker)
        worker.say(add_credits=5, stop=True)
        eventually(lambda: worker.beat(tasks[1]) == "ACCEPTED", "the stop")
        # It came with the credits, and takes them all back.
        self.assert_no_task(worker)

    def test_errors_are_final_and_failures_are_tried_again(self):
        pid = self.yielding()
        worker = self.worker()
        self.assertEqual(worker.fail(worker.task(), "no paper"), "ACCEPTED")
        [waiting] = self.actor.yields(pid=pid)
        self.assertEqual(waiting.last_error, "no paper")
        second = worker.task()
        self.assertEqual(second.attempt, 2)
        worker.say(completions=[yield_pb2.CompleteYieldRequest(
            token=second.token,
            error=yield_pb2.YieldError(code=9, message="card refused"))])
        self.assertEqual(worker.answer(), "ACCEPTED")
        self.assertEqual(self.answer(self.actor.wait(pid)), {
            "code": "FAILED_PRECONDITION", "message": "card refused"})

    def test_attempts_that_run_out_say_so(self):
        pid = self.yielding()
        worker = self.worker()
        for attempt in (1, 2, 3):
            task = worker.task()
            self.assertEqual(task.attempt, attempt)
            self.assertEqual(worker.fail(task, "no paper", delay_ms=0),
                             "ACCEPTED")
        self.assertEqual(self.answer(self.actor.wait(pid)), {
            "code": "ABORTED",
            "message": "manual.do failed after 3 attempts: no paper"})
        self.assertEqual(worker.complete(task), "EXPIRED")

    def test_a_yield_may_have_a_policy_of_its_own(self):
        pid = self.yielding(policy={"max_attempts": 2, "lease_ms": 7000,
                                    "attempt_timeout_ms": 60000,
                                    "backoff_ms": -1})
        other = self.yielding()
        worker = self.worker()
        tasks = {task.pid: task for task in (worker.task(), worker.task())}
        task, usual = tasks[pid], tasks[other]
        self.assertEqual((task.max_attempts, task.lease.ToMilliseconds()),
                         (2, 7000))
        self.assertTrue(task.HasField("attempt_deadline"))
        self.assertEqual((usual.max_attempts, usual.lease.ToMilliseconds()),
                         (3, 30000))
        self.assertFalse(usual.HasField("attempt_deadline"))
        self.assertEqual(worker.fail(task, "no paper"), "ACCEPTED")
        second = worker.task()
        self.assertEqual((second.pid, second.attempt), (pid, 2))
        self.assertEqual(worker.fail(second, "no paper"), "ACCEPTED")
        self.assertEqual(self.answer(self.actor.wait(pid)), {
            "code": "ABORTED",
            "message": "manual.do failed after 2 attempts: no paper"})
        worker.leave()
        self.assertEqual(
            self.answer(self.actor.wait(
                self.yielding(policy={"start_timeout_ms": 150}))),
            {"code": "DEADLINE_EXCEEDED",
             "message": "no worker took manual.do within 150ms"})

    def test_a_policy_that_is_wrong_is_said_to_the_process(self):
        pid = self.yielding(policy={"lease_ms": 9})
        self.assertEqual(self.answer(self.actor.wait(pid)), {
            "code": "INVALID_ARGUMENT",
            "message": "the policy of \"manual.do\": lease is 9ms; it must be "
                       "from 10ms to 720h"})
        self.assertEqual(self.actor.yields(pid=pid), [])

    def test_a_task_that_nobody_takes_in_time_fails(self):
        pid = self.yielding("manual.soon")
        self.assertEqual(self.answer(self.actor.wait(pid)), {
            "code": "DEADLINE_EXCEEDED",
            "message": "no worker took manual.soon within 200ms"})

    def test_large_payloads_both_ways(self):
        pid = self.yielding(payload="x" * 1_000_000, count=8)
        worker = self.worker()
        for _ in range(8):
            task = worker.task()
            self.assertEqual(len(task.payload.data), 1_000_000)
            self.assertEqual(worker.complete(task, b"y" * 100_000), "ACCEPTED")
        self.actor.wait(pid)
        self.yielding()
        task = worker.task()
        self.assertEqual(worker.complete(task, b"y" * 2_000_000),
                         "PAYLOAD_TOO_LARGE")
        self.assertEqual(worker.complete(task), "ACCEPTED")

    def test_processes_and_commands_take_turns(self):
        first = self.yielding("manual.a", count=6)
        eventually(lambda: len(self.actor.yields()) == 6, "the yields")
        second = self.yielding("manual.a", count=2)
        third = self.yielding("manual.b", count=2)
        eventually(lambda: len(self.actor.yields()) == 10, "the yields")
        worker = self.worker()
        order = [worker.task().pid for _ in range(10)]
        self.assertEqual(order.index(second), 2)
        self.assertEqual(order.index(third), 1)
        self.assertEqual(order[-2:], [first, first])


class Leases(WorkCase):

    def test_a_lease_that_ends_gives_the_task_to_another(self):
        pid = self.yielding("manual.short")
        silent = self.worker()
        task = silent.task()
        other = self.worker()
        again = other.task()
        self.assertEqual((again.attempt, again.idempotency_key),
                         (2, task.idempotency_key))
        self.assertNotEqual(again.token, task.token)
        cancel = silent.cancelled()
        self.assertEqual((cancel.token, cancel.reason),
                         (task.token, work_pb2.TaskCancel.REASON_LEASE_LOST))
        self.assertEqual(silent.beat(task), "SUPERSEDED")
        self.assertEqual(silent.complete(task, b"late"), "SUPERSEDED")
        self.assertEqual(self.actor.complete(task.token, b"late"), "SUPERSEDED")
        self.assertEqual(other.complete(again, b"in time"), "ACCEPTED")
        self.assertEqual(silent.complete(task, b"in time"), "SUPERSEDED")
        self.assertEqual(self.answer(self.actor.wait(pid))["payload"],
                         "in time")

    def test_heartbeats_keep_a_task_and_its_progress(self):
        self.yielding("manual.short")
        slow = self.worker()
        other = self.worker()
        holder, task = None, None
        while task is None:
            for holder in (slow, other):
                try:
                    task = holder.task(0.05)
                    break
                except queue.Empty:
                    pass
        rest = other if holder is slow else slow
        for number in range(8):
            self.assert_no_task(rest, 0.4)
            self.assertEqual(holder.beat(task, b"%d" % number), "ACCEPTED")
        holder.close()
        again = rest.task()
        self.assertEqual((again.attempt, again.progress.data), (2, b"7"))

    def test_an_attempt_has_its_time_in_spite_of_heartbeats(self):
        self.yielding("manual.brief")
        worker = self.worker()
        task = worker.task()
        self.assertTrue(task.HasField("attempt_deadline"))
        eventually(lambda: worker.beat(task) != "ACCEPTED", "its time to end")
        self.assertEqual(worker.cancelled().token, task.token)
        self.assertEqual(worker.task().attempt, 2)

    def test_tasks_of_a_stream_that_breaks_go_to_another_at_once(self):
        pid = self.yielding(count=3)
        lost = self.worker()
        tasks = [lost.task() for _ in range(3)]
        other = self.worker()
        lost.close()
        for _ in range(3):
            task = other.task(20)  # the lease is 30 s
            self.assertEqual(task.attempt, 2)
            self.assertEqual(other.complete(task), "ACCEPTED")
        self.actor.wait(pid)
        for task in tasks:
            self.assertEqual(self.actor.complete(task.token, b"late"),
                             "SUPERSEDED")

    def test_a_late_completion_counts_while_nobody_else_has_the_task(self):
        pid = self.yielding()
        lost = self.worker()
        task = lost.task()
        lost.close()
        eventually(lambda: self.counters().remote_workers == 0, "the end")
        self.assertEqual(self.actor.complete(task.token, b"late"), "ACCEPTED")
        self.assertEqual(self.answer(self.actor.wait(pid))["payload"], "late")

    def test_the_holder_is_told_when_the_yield_is_over(self):
        worker = self.worker()

        def timeout(_pid, _task):
            pass

        for end in (
                lambda pid, task: self.actor.cancel(pid),
                lambda pid, task: self.actor.terminate(pid),
                lambda pid, task: self.actor.complete(task.idempotency_key,
                                                      b"by hand"),
                timeout):
            pid = self.yielding(
                **({"timeout_ms": 1000} if end is timeout else {}))
            task = worker.task()
            end(pid, task)
            cancel = worker.cancelled()
            self.assertEqual(
                (cancel.token, cancel.reason),
                (task.token, work_pb2.TaskCancel.REASON_YIELD_ENDED))
            self.assertIn(worker.complete(task), ("EXPIRED", "CONFLICT"))
            worker.say(add_credits=1)

    def test_a_process_that_ends_takes_waiting_tasks_back(self):
        pid = self.yielding(count=5)
        eventually(lambda: len(self.actor.yields(pid=pid)) == 5, "the yields")
        self.actor.terminate(pid)
        self.actor.wait(pid)  # it has been told to end, and now it has
        other = self.yielding()
        worker = self.worker()
        self.assertEqual(worker.task().pid, other)
        self.assert_no_task(worker)


class Refusals(WorkCase):

    def assert_ended(self, worker, code, reason, message):
        self.assertTrue(worker.ended.wait(WAIT_SECONDS))
        refusal = refusal_of(worker.error)
        self.assertEqual((refusal.code, refusal.reason), (code, reason))
        self.assertRegex(refusal.message, message)

    def test_broken_rule_ends_the_stream_and_gives_tasks_back(self):
        invalid = grpc.StatusCode.INVALID_ARGUMENT
        for fields, message in (
                ({"subscribe": {"commands": ["manual.*"]}}, "subscribe is for"),
                ({"add_credits": 10001}, "more than 10000"),
                ({"heartbeats": [{}] * 1001}, "limit is 1000")):
            pid = self.yielding()
            worker = self.worker()
            worker.task()
            worker.say(**fields)
            self.assert_ended(worker, invalid, "INVALID_FIELD", message)
            other = self.worker()
            self.assertEqual(other.task().attempt, 2)
            self.actor.terminate(pid)
            other.close()
            # Or the next task goes to it, too.
            eventually(lambda: self.counters().remote_workers == 0, "its end")

    def test_only_external_commands_can_be_subscribed_to(self):
        invalid = grpc.StatusCode.INVALID_ARGUMENT
        for commands, message in (
                ([], "must have 1 to 100"), (["mnual.*"], "matches no external"),
                (["a*b"], "neither the name of a command"),
                ([""], "neither the name of a command")):
            self.assert_ended(
                RemoteWorker(self.actor.stub, *commands), invalid,
                "INVALID_FIELD", message)
        first = RemoteWorker(self.actor.stub, subscribe=False)
        first.say(add_credits=1)
        self.assert_ended(first, invalid, "INVALID_FIELD", "required")
        self.assertEqual(self.counters().remote_workers, 0)

    def test_mistake_about_one_task_is_answered_for_it_alone(self):
        self.yielding()
        worker = self.worker()
        task = worker.task()
        token, payload = task.token, payload_pb2.Payload(data=b"1")
        plain = task.idempotency_key
        worker.say(
            completions=[
                yield_pb2.CompleteYieldRequest(token="x", result=payload),
                yield_pb2.CompleteYieldRequest(token=token),
                yield_pb2.CompleteYieldRequest(token="1.2.3.4.5.6",
                                               result=payload)],
            failures=[work_pb2.TaskFailure(token=plain),
                      work_pb2.TaskFailure(
                          token=token, error=yield_pb2.YieldError(code=17))],
            heartbeats=[work_pb2.TaskHeartbeat(token=plain),
                        work_pb2.TaskHeartbeat(
                            token=token,
                            progress=payload_pb2.Payload(data=b"x" * 4097)),
                        work_pb2.TaskHeartbeat(token=token)])
        self.assertEqual(
            [worker.answer() for _ in range(8)],
            ["INVALID_YIELD_TOKEN", "INVALID_FIELD", "UNKNOWN",
             "INVALID_YIELD_TOKEN", "INVALID_FIELD", "INVALID_YIELD_TOKEN",
             "INVALID_FIELD", "ACCEPTED"])

    def test_a_daemon_that_ends_ends_the_streams(self):
        worker = self.worker()
        self.actor.shutdown()
        self.assert_ended(worker, grpc.StatusCode.UNAVAILABLE, "STOPPED",
                          "stopped")
        self.assertEqual(self.daemon.wait(), 0)

    def test_a_draining_daemon_goes_on_handing_out_and_taking_answers(self):
        order = self.actor.submit("order", json.dumps({
            "order": "A-1", "amount_cents": 1, "hold_ms": 0}).encode())
        eventually(self.actor.yields, "the payment")
        outcome = self.actor.stub.Await.future(
            outcome_pb2.AwaitRequest(pid=order), timeout=WAIT_SECONDS)
        ending = self.actor.stub.Shutdown.future(status_pb2.ShutdownRequest())
        eventually(lambda: self.actor.status().state
                   == status_pb2.DAEMON_STATE_DRAINING, "the drain")
        worker = self.worker("payment.*")
        self.assertEqual(worker.complete(worker.task(), b"paid"), "ACCEPTED")
        self.assertEqual(self.answer(outcome.result().outcome), {
            "order": "A-1", "status": "charged", "payment": "paid"})
        self.assertEqual(ending.result().forced_count, 0)


if __name__ == "__main__":
    unittest.main()
