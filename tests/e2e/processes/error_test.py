"""The rows of the API's error table, as a client meets them: code, reason, domain,
message, and the field or the retry delay that goes with it. Malformed requests are
in invalid_argument_test.py, a daemon that drains is in shutdown_test.py."""

import json
import unittest

import grpc
from actord.v1 import process_pb2
from harness.case import DaemonCase
from harness.connection import failure_name, refusal_of
from harness.waiting import eventually

INVALID = grpc.StatusCode.INVALID_ARGUMENT
NOT_FOUND = grpc.StatusCode.NOT_FOUND
EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED
ENDED = grpc.StatusCode.FAILED_PRECONDITION


class Unknown(DaemonCase):
    """NOT_FOUND."""

    def test_process_type(self):
        self.assert_refused(lambda: self.actor.submit("ghost"), code=NOT_FOUND,
                            reason="UNKNOWN_PROCESS_TYPE", message='"ghost"')

    def test_method(self):
        self.assert_refused(lambda: self.actor.submit("echo", method="sing"),
                            code=NOT_FOUND, reason="UNKNOWN_METHOD",
                            message='echo has no method "sing"')

    def calls_about(self, pid):
        return {"send": lambda: self.actor.send(pid),
                "await": lambda: self.actor.wait(pid),
                "cancel": lambda: self.actor.cancel(pid),
                "terminate": lambda: self.actor.terminate(pid),
                "get": lambda: self.actor.process(pid)}

    def test_process_that_never_was(self):
        node, incarnation, _, _ = self.actor.submit("counter").split(".")
        for pid in (f"{node}.{incarnation}.fffff.1", "7.1.1.1"):
            for name, call in self.calls_about(pid).items():
                with self.subTest(pid=pid, call=name):
                    self.assert_refused(call, code=NOT_FOUND,
                                        reason="PROCESS_NOT_FOUND",
                                        message="there is no process")

    def test_process_of_another_start_of_the_daemon(self):
        other = self.connect(self.start_daemon())
        pid = other.submit("counter")
        for name, call in self.calls_about(pid).items():
            with self.subTest(call=name):
                self.assert_refused(
                    call, code=NOT_FOUND, reason="PROCESS_NOT_FOUND",
                    message="belongs to another start of this daemon")

    def test_process_that_has_ended(self):
        pid = self.actor.submit("echo", b"1")
        self.actor.wait(pid)
        calls = self.calls_about(pid)
        self.assertEqual(calls.pop("await")().result.data, b"1")
        for name, call in calls.items():
            with self.subTest(call=name):
                self.assert_refused(call, code=ENDED, reason="PROCESS_ENDED",
                                    message=f"process {pid} has ended")

    def test_result_that_is_no_longer_kept(self):
        daemon = self.start_daemon("--result-ttl", "50ms")
        actor = self.connect(daemon)
        pid = actor.submit("echo", b"1")

        def result_is_gone():
            try:
                actor.wait(pid)
            except grpc.RpcError:
                return True
            return False

        eventually(result_is_gone, "the result to be dropped")
        self.assert_refused(lambda: actor.wait(pid), code=ENDED,
                            reason="RESULT_NOT_KEPT",
                            message="has ended; its result was not kept")
        self.assertEqual(actor.status().counters.results_kept, 0)


class RequestId(DaemonCase):

    def test_same_id_with_another_body(self):
        pid = self.actor.submit("counter", b"1", request_id="order-17")
        for fields in ({"payload": b"2"}, {"payload": b"1", "method": "run"},
                       {"payload": b"1", "messages": [
                           process_pb2.Message(topic="add")]}):
            with self.subTest(fields=fields):
                self.assert_refused(
                    lambda fields=fields: self.actor.submit(
                        "counter", request_id="order-17", **fields),
                    code=INVALID, reason="REQUEST_ID_REUSED",
                    field="request_id", message="'order-17' belongs to another")
        self.assertEqual(
            self.actor.submit("counter", b"1", request_id="order-17"), pid)


class Limits(DaemonCase):
    """RESOURCE_EXHAUSTED: with the time after which to try again."""

    OPTIONS = ("--max-mailbox-messages", "4", "--max-processes", "3",
               "--max-mailbox-bytes", "64KiB", "--max-payload-bytes", "32KiB",
               "--max-yields", "2")

    def blocked_process(self):
        """A process that takes no message from its mailbox until it is completed."""
        pid = self.actor.submit("order", json.dumps(
            {"order": "o", "amount_cents": 1, "hold_ms": 0}).encode())
        eventually(lambda: self.actor.yields(pid=pid), "the payment")
        return pid

    def test_mailbox_with_too_many_messages(self):
        pid = self.blocked_process()
        for _ in range(4):
            self.actor.send(pid, "t", b"x")
        self.assert_refused(lambda: self.actor.send(pid, "t", b"x"),
                            code=EXHAUSTED, reason="MAILBOX_FULL",
                            message=f"the mailbox of process {pid} is full")
        self.assertEqual(self.actor.process(pid).mailbox_messages, 4)
        # There is room for completions all the same.
        [waiting] = self.actor.yields(pid=pid)
        self.assertEqual(self.actor.complete(waiting.token, b"ok"), "ACCEPTED")
        self.assertEqual(self.answer(self.actor.wait(pid))["status"], "charged")

    def test_mailbox_with_too_many_bytes(self):
        pid = self.blocked_process()
        self.actor.send(pid, "t", b"x" * 30_000)
        self.actor.send(pid, "t", b"x" * 30_000)
        self.assert_refused(lambda: self.actor.send(pid, "t", b"x" * 30_000),
                            code=EXHAUSTED, reason="MAILBOX_FULL",
                            message="its limits are 4 messages and 65536 bytes")
        self.actor.send(pid, "t", b"small")
        self.actor.terminate(pid)

    def test_too_many_processes(self):
        pids = [self.actor.submit("counter") for _ in range(3)]
        self.assert_refused(lambda: self.actor.submit("counter"),
                            code=EXHAUSTED, reason="PROCESS_LIMIT",
                            message="the limit of 3 processes is reached")
        self.actor.send(pids[0], "stop")
        self.actor.wait(pids[0])
        # Its place is free a moment after its result is there.
        eventually(self.submitted, "room for another process")

    def submitted(self):
        try:
            return self.actor.submit("counter")
        except grpc.RpcError as error:
            self.assertEqual(refusal_of(error).reason, "PROCESS_LIMIT")
            return None

    def test_too_many_yields_are_told_to_the_process(self):
        pid = self.actor.submit("probe", json.dumps(
            {"command": "manual.do", "count": 3}).encode(), "yield")
        eventually(lambda: len(self.actor.yields(pid=pid)) == 2, "two yields")
        for one in self.actor.yields(pid=pid):
            self.actor.complete(one.token, b"ok")
        outcome = self.actor.wait(pid)
        self.assertIn(b"RESOURCE_EXHAUSTED", outcome.result.data)


class HandlerQueue(DaemonCase):

    OPTIONS = ("--blocking-threads", "1", "--blocking-queue", "2")

    def test_too_many_pooled_commands_are_told_to_the_process(self):
        outcome = self.actor.run("probe", json.dumps(
            {"command": "probe.slow", "payload": "100", "count": 20}).encode(),
            "yield")
        completions = self.answer(outcome)
        self.assertEqual(len(completions), 20)
        codes = {one["code"] for one in completions}
        self.assertEqual(codes, {"OK", "RESOURCE_EXHAUSTED"})
        self.assert_serves()


class ProcessFailures(DaemonCase):
    """That a process failed is no RPC error but the outcome's failure."""

    def assert_failure(self, outcome, reason, code, message):
        self.assertEqual(failure_name(outcome), reason, outcome)
        self.assertEqual(outcome.failure.code, code.value[0])
        self.assertRegex(outcome.failure.message, message)
        self.assertLessEqual(outcome.create_time.ToNanoseconds(),
                             outcome.end_time.ToNanoseconds())

    def test_that_says_so(self):
        self.assert_failure(self.actor.run("echo", b"no stock", "fail"),
                            "FAILED", ENDED, "^no stock$")

    def test_that_throws(self):
        self.assert_failure(self.actor.run("probe", b"boom", "throw"),
                            "EXCEPTION", grpc.StatusCode.INTERNAL, "boom")

    def test_that_is_cancelled(self):
        pid = self.actor.submit("probe", method="idle")
        self.actor.cancel(pid, "not wanted")
        self.assert_failure(self.actor.wait(pid), "CANCELLED",
                            grpc.StatusCode.CANCELLED, "not wanted")

    def test_that_is_terminated(self):
        pid = self.actor.submit("counter")
        self.actor.terminate(pid, "runs wild")
        self.assert_failure(self.actor.wait(pid), "TERMINATED",
                            grpc.StatusCode.ABORTED, "runs wild")

    def test_that_yields_a_command_nobody_knows(self):
        outcome = self.actor.run("probe", b'{"command": "ghost.do"}', "yield")
        self.assertEqual(self.answer(outcome)["code"], "NOT_FOUND")
        self.assertIn("ghost.do", self.answer(outcome)["message"])


if __name__ == "__main__":
    unittest.main()
