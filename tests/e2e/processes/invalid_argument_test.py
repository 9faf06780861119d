"""INVALID_ARGUMENT: the error names the malformed or too large field."""

import unittest

import grpc
from actord.v1 import (outcome_pb2, payload_pb2, process_pb2, status_pb2,
                       yield_pb2)
from harness.case import DaemonCase
from harness.connection import CALL_SECONDS, failure_name, refusal_of
from harness.waiting import eventually

INVALID = grpc.StatusCode.INVALID_ARGUMENT
EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED


def submit_request(**fields):
    return process_pb2.SubmitRequest(**{"process_type": "echo", **fields})


class Malformed(DaemonCase):
    """INVALID_ARGUMENT: the error names the wrong field."""

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
                ({"priority": 32}, "priority", "is 32; it must be from 0"),
                ({"priority": -1}, "priority", "is -1; it must be from 0"),
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
        for text in ("", "nonsense", token.rsplit(".", 1)[0], token + ".0",
                     token + ".1.1", token + "x"):
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
                    "not an integer of 64 bits: 'a dozen'", "INIT_REFUSED")
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
        before = self.actor.status().counters.payload_limit_total
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
        self.assertEqual(self.actor.status().counters.payload_limit_total,
                         before + 4)
        self.assertEqual(self.actor.complete(token, b"small"), "ACCEPTED")

    def test_payload_at_the_limit(self):
        data = bytes(range(256)) * (self.LIMIT // 256)
        outcome = self.actor.wait(self.actor.stub.Submit(submit_request(
            input=payload_pb2.Payload(data=data))).pid)
        self.assertEqual(outcome.result.data, data)

    def test_names_beside_a_payload_at_the_limit_cost_nothing(self):
        full = payload_pb2.Payload(data=b"1" * self.LIMIT,
                                   content_type="text/plain")
        pid = self.actor.submit("counter")
        self.actor.stub.Send(process_pb2.SendRequest(
            pid=pid, topic="some.topic", payload=full))
        pid = self.actor.submit(
            "order", b'{"order": "o", "amount_cents": 1, "hold_ms": 0}')
        token = eventually(lambda: self.actor.yields(pid=pid), "a yield")[0].token
        receipt = payload_pb2.Payload(data=b"{}".ljust(self.LIMIT),
                                      content_type="application/json")
        answer = self.actor.stub.CompleteYield(
            yield_pb2.CompleteYieldRequest(token=token, result=receipt)).answer
        self.assertEqual(answer, yield_pb2.CompleteYieldResponse.ANSWER_ACCEPTED)
        # It arrived: now the order's own result around it is too large.
        self.assertIn("the payload of a result",
                      self.actor.wait(pid).failure.message)

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


if __name__ == "__main__":
    unittest.main()
