"""Every row of the API's error table, as a client meets it: code, reason, domain,
message, and the field or the retry delay that goes with it."""

import json
import unittest

import grpc
from actord.v1 import (outcome_pb2, payload_pb2, process_pb2, status_pb2,
                       yield_pb2)
from harness.case import DaemonCase
from harness.connection import CALL_SECONDS, failure_name, refusal_of
from harness.waiting import eventually

INVALID = grpc.StatusCode.INVALID_ARGUMENT
NOT_FOUND = grpc.StatusCode.NOT_FOUND
EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED
ENDED = grpc.StatusCode.FAILED_PRECONDITION


def submit_request(**fields):
    return process_pb2.SubmitRequest(**{"process_type": "echo", **fields})


class Malformed(DaemonCase):
    """INVALID_ARGUMENT: what is wrong is named."""

    def refuse(self, method, request, field, message, reason="INVALID_FIELD"):
        call = getattr(self.actor.stub, method)
        with self.subTest(method=method, field=field):
            self.assert_refused(lambda: call(request, timeout=CALL_SECONDS),
                                code=INVALID, reason=reason, field=field,
                                message=message)

    def test_fields_of_submit(self):
        messages = [process_pb2.Message(topic="t")]
        for fields, field, message in (
                ({"process_type": ""}, "process_type", "is required"),
                ({"process_type": "x" * 129}, "process_type",
                 "has 129 bytes; the limit is 128"),
                ({"method": "x" * 129}, "method",
                 "has 129 bytes; the limit is 128"),
                ({"request_id": "x" * 129}, "request_id",
                 "has 129 bytes; the limit is 128"),
                ({"input": payload_pb2.Payload(content_type="x" * 256)},
                 "input.content_type", "has 256 bytes; the limit is 255"),
                ({"messages": messages * 101}, "messages",
                 "has 101 items; the limit is 100"),
                ({"messages": messages + [process_pb2.Message(topic="x" * 256)]},
                 r"messages[1].topic", "has 256 bytes; the limit is 255")):
            self.refuse("Submit", submit_request(**fields), field, message)
        self.assert_serves()

    def test_fields_of_send_cancel_and_terminate(self):
        pid = self.actor.submit("counter")
        self.refuse("Send", process_pb2.SendRequest(pid=pid, topic="x" * 256),
                    "topic", "has 256 bytes; the limit is 255")
        for method, kind in (("Cancel", outcome_pb2.CancelRequest),
                             ("Terminate", outcome_pb2.TerminateRequest)):
            self.refuse(method, kind(pid=pid, reason="x" * 1025), "reason",
                        "has 1025 bytes; the limit is 1024")
        self.assertEqual(self.actor.process(pid).process_type, "counter")

    def test_fields_of_the_lists(self):
        for method, kind in (("ListProcesses", process_pb2.ListProcessesRequest),
                             ("ListYields", yield_pb2.ListYieldsRequest)):
            self.refuse(method, kind(page_size=-1), "page_size",
                        "must not be negative")
        self.refuse("ListProcesses", process_pb2.ListProcessesRequest(state=77),
                    "state", "not a state")
        self.refuse("ListProcesses",
                    process_pb2.ListProcessesRequest(process_type="x" * 129),
                    "process_type", "the limit is 128")
        self.refuse("ListYields", yield_pb2.ListYieldsRequest(command="a*b"),
                    "command", r"\* at its end only")

    def test_fields_of_complete_yield(self):
        token = self.manual_yield()
        for fields, field, message in (
                ({}, "outcome", "is required"),
                ({"error": yield_pb2.YieldError(code=0)}, "error.code",
                 "not a google.rpc.Code"),
                ({"error": yield_pb2.YieldError(code=17)}, "error.code",
                 "not a google.rpc.Code"),
                ({"error": yield_pb2.YieldError(code=2, message="x" * 4097)},
                 "error.message", "has 4097 bytes; the limit is 4096")):
            self.refuse("CompleteYield", yield_pb2.CompleteYieldRequest(
                token=token, **fields), field, message)
        self.assertEqual(self.actor.complete(token, b"good"), "ACCEPTED")

    def manual_yield(self):
        pid = self.actor.submit("probe", b'{"command": "manual.do"}', "yield")
        return eventually(lambda: self.actor.yields(pid=pid), "a yield")[0].token

    def test_fields_of_shutdown(self):
        request = status_pb2.ShutdownRequest(mode=9)
        self.refuse("Shutdown", request, "mode", "not a mode")
        request = status_pb2.ShutdownRequest()
        request.deadline.FromSeconds(-1)
        self.refuse("Shutdown", request, "deadline", "must not be negative")
        self.assert_serves()

    def test_text_that_is_no_pid(self):
        pid = self.actor.submit("counter")
        for text in ("", "nonsense", "1.2.3", pid + ".1", pid.upper() + "!",
                     "1.0.0.0", " " + pid, "x" * 10_000):
            for method, kind in (
                    ("Send", process_pb2.SendRequest),
                    ("Await", outcome_pb2.AwaitRequest),
                    ("Cancel", outcome_pb2.CancelRequest),
                    ("Terminate", outcome_pb2.TerminateRequest),
                    ("GetProcess", process_pb2.GetProcessRequest)):
                self.refuse(method, kind(pid=text), "pid", "is not a PID",
                            "INVALID_PID")
        self.refuse("ListProcesses",
                    process_pb2.ListProcessesRequest(parent_pid="nonsense"),
                    "parent_pid", "is not a PID", "INVALID_PID")
        self.refuse("ListYields", yield_pb2.ListYieldsRequest(pid="nonsense"),
                    "pid", "is not a PID", "INVALID_PID")

    def test_text_that_is_no_yield_token(self):
        token = self.manual_yield()
        for text in ("", "nonsense", token.rsplit(".", 1)[0], token + ".1",
                     token + "x"):
            self.refuse("CompleteYield", yield_pb2.CompleteYieldRequest(
                token=text, result=payload_pb2.Payload()), "token",
                        "is not a yield token", "INVALID_YIELD_TOKEN")

    def test_page_tokens_that_no_list_gave(self):
        for _ in range(3):
            self.actor.submit("counter")
        page = self.actor.stub.ListProcesses(
            process_pb2.ListProcessesRequest(page_size=1)).next_page_token
        self.assertTrue(page)
        for method, request in (
                ("ListProcesses", process_pb2.ListProcessesRequest(
                    page_token="nonsense")),
                ("ListProcesses", process_pb2.ListProcessesRequest(
                    page_token=page, process_type="counter")),
                ("ListProcesses", process_pb2.ListProcessesRequest(
                    page_token=page[:-1] + ("0" if page[-1] != "0" else "1"))),
                ("ListYields", yield_pb2.ListYieldsRequest(page_token=page))):
            self.refuse(method, request, "page_token",
                        "is not the next_page_token", "INVALID_PAGE_TOKEN")

    def test_bytes_that_are_no_request(self):
        raw = self.actor.channel.unary_unary("/actord.v1.ActorService/Submit")
        self.assert_refused(lambda: raw(b"\xff\xff\xff", timeout=CALL_SECONDS),
                            code=INVALID, reason="INVALID_FIELD", field="",
                            message="is not a actord.v1.SubmitRequest")
        # Field 1, three bytes that are no UTF-8.
        self.assert_refused(
            lambda: raw(b"\x0a\x03\xff\xfe\xfd", timeout=CALL_SECONDS),
            code=INVALID, reason="INVALID_FIELD", field="process_type",
            message="process_type is not UTF-8")
        self.assert_serves()

    def test_input_that_init_refuses(self):
        self.refuse("Submit", submit_request(
            process_type="counter",
            input=payload_pb2.Payload(data=b"a dozen")), "input",
                    "not an integer: 'a dozen'", "INIT_REFUSED")
        status = self.actor.status().counters
        self.assertEqual(status.processes_live, 0)


class TooLarge(DaemonCase):
    """A payload above the limit is refused by name; at the limit it passes."""

    LIMIT = 4096
    OPTIONS = ("--max-payload-bytes", str(LIMIT))

    def test_payload_above_the_limit(self):
        large = payload_pb2.Payload(data=b"x" * (self.LIMIT + 1))
        pid = self.actor.submit("probe", b'{"command": "manual.do"}', "yield")
        token = eventually(lambda: self.actor.yields(pid=pid), "a yield")[0].token
        for method, request, field in (
                ("Submit", submit_request(input=large), "input.data"),
                ("Submit", submit_request(
                    messages=[process_pb2.Message(payload=large)]),
                 "messages[0].payload.data"),
                ("Send", process_pb2.SendRequest(pid=pid, payload=large),
                 "payload.data"),
                ("CompleteYield", yield_pb2.CompleteYieldRequest(
                    token=token, result=large), "result.data")):
            call = getattr(self.actor.stub, method)
            with self.subTest(method=method, field=field):
                self.assert_refused(
                    lambda call=call, request=request: call(request),
                    code=INVALID, reason="PAYLOAD_TOO_LARGE", field=field,
                    message="has 4097 bytes; the limit is 4096")
        self.assertEqual(self.actor.complete(token, b"small"), "ACCEPTED")

    def test_payload_at_the_limit(self):
        data = bytes(range(256)) * (self.LIMIT // 256)
        outcome = self.actor.wait(self.actor.stub.Submit(submit_request(
            input=payload_pb2.Payload(data=data))).pid)
        self.assertEqual(outcome.result.data, data)

    def test_request_that_grpc_does_not_let_in(self):
        with self.assertRaises(grpc.RpcError) as caught:
            self.actor.submit("echo", b"x" * (16 << 20))
        self.assertEqual(refusal_of(caught.exception).code, EXHAUSTED)
        self.assert_serves()

    def test_result_above_the_limit_fails_the_process(self):
        outcome = self.actor.run("probe", str(self.LIMIT + 1).encode(), "big")
        self.assertEqual(failure_name(outcome), "EXCEPTION", outcome)
        self.assertIn("4096", outcome.failure.message)
        outcome = self.actor.run("probe", b"4000", "big")
        self.assertEqual(outcome.result.data, b"x" * 4000)


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
        actor.wait(pid)


        def result_is_gone():
            try:
                actor.wait(pid)
            except grpc.RpcError:
                return True
            return False

        eventually(result_is_gone, "the result to be dropped")
        self.assert_refused(lambda: actor.wait(pid), code=ENDED,
                            reason="RESULT_NOT_KEPT",
                            message="has ended, and its result is not")
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
        """One that takes no message from its mailbox until it is completed."""
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
                            message="there are 3 processes, which is the limit")
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
        waiting = eventually(lambda: self.actor.yields(pid=pid), "the yields")
        self.assertEqual(len(waiting), 2)
        for one in waiting:
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
