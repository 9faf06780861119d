"""The Python package's Client: each method, each kind of error, repeated
attempts."""

import threading
import time
import unittest

import actord
import grpc
from actord.v1 import status_pb2, yield_pb2
from clients.client_case import ClientCase
from harness.case import DaemonCase
from harness.waiting import WAIT_SECONDS, eventually


def client_of(test, daemon, **settings):
    settings.setdefault("timeout", WAIT_SECONDS)
    client = actord.Client(daemon.address, **settings)
    test.addCleanup(client.close)
    return client


class Calls(ClientCase):

    def test_processes_are_started_driven_and_awaited(self):
        counter = self.client.submit("counter", "40", name="count")
        self.assertEqual((counter.duplicate, counter.delivered, counter.durability,
                          counter.receipt), (False, False, "VOLATILE", "MEMORY"))
        sent = self.client.send(counter, json=5, topic="add")
        self.assertEqual(sent, actord.Sent(False, actord.Receipt.MEMORY))
        self.client.send("@count", b"-3", topic="add")
        reply = self.client.call(counter, topic="get")
        self.assertEqual((reply.json(), reply.pid), (42, counter.pid))

        # The answer is there before its step has returned.
        eventually(lambda: self.client.describe(counter).state == "IDLE", "rest")
        process = self.client.describe("@count")
        self.assertEqual(
            (process.pid, process.process_type, process.state, process.names,
             process.plugin, process.durability),
            (counter.pid, "counter", actord.ProcessState.IDLE, ("count",), "counter",
             actord.Durability.VOLATILE))
        self.assertIsNotNone(process.create_time.tzinfo)

        self.client.send(counter, topic="stop")
        outcome = self.client.await_outcome(counter)
        self.assertEqual((outcome.pid, outcome.text, outcome.failure),
                         (counter.pid, "42", None))
        self.assertLessEqual(outcome.create_time, outcome.end_time)
        self.assertGreater(outcome.steps, 0)

    def test_a_message_to_a_group_goes_to_its_members(self):
        pids = self.members()
        with self.client.send_stream() as stream:
            stream.send("#g", "y")
        for pid in pids:
            self.client.send(pid, topic="stop")
            got = self.client.await_outcome(pid).json()
            self.assertEqual([item["payload"] for item in got][-2:], ["x", "y"])
        with self.assertRaises(actord.NotFound):
            self.client.send("#g")

    def test_payloads_say_truly_what_they_are(self):
        pid = self.client.submit("probe", method="collect")
        payload = actord.Payload(b"<a/>", "text/xml")
        self.client.send(pid, "text", topic="1")
        self.client.send(pid, b"\0", topic="2")
        self.client.send(pid, json=None, topic="3")
        self.client.send(pid, json={"ä": [1]}, topic="4")
        self.client.send(pid, payload, topic="5")
        self.client.send(pid, "a,b", content_type="text/csv", topic="6")
        self.client.send(pid, topic="stop")
        self.assertEqual(
            [(item["payload"], item["content_type"])
             for item in self.client.await_outcome(pid).json()][:6],
            [("text", "text/plain"), ("\0", "application/octet-stream"),
             ("null", "application/json"), ('{"ä":[1]}', "application/json"),
             ("<a/>", "text/xml"), ("a,b", "text/csv")])
        for mistake in (lambda: actord.Payload.of({"a": 1}),
                        lambda: actord.Payload.of("a", json=1)):
            self.assertRaises(TypeError, mistake)
        self.assertRaises(ValueError, lambda: actord.Payload.of(json=float("nan")))

    def test_run_submits_and_awaits(self):
        self.assertEqual(self.client.run("echo", json=[1]).json(), [1])
        with self.assertRaises(actord.ProcessFailed) as caught:
            self.client.run("probe", "broken", method="fail")
        failed = caught.exception
        self.assertEqual((failed.code, failed.reason, failed.message),
                         (failed.failure.code, "FAILED", "broken"))
        self.assertEqual(failed.pid, failed.outcome.pid)
        outcome = self.client.run("probe", "broken", method="throw", check=False)
        self.assertEqual(outcome.failure.reason, actord.FailureReason.EXCEPTION)
        self.assertRaises(ValueError, lambda: outcome.text)
        with self.assertRaisesRegex(actord.DeadlineExceeded, "goes on") as caught:
            self.client.run("probe", method="idle", timeout=1)
        self.assertIsInstance(caught.exception, TimeoutError)
        self.assertEqual(self.client.describe(caught.exception.pid).method, "idle")

    def test_processes_are_cancelled_and_terminated(self):
        def end_of(pid):
            with self.assertRaises(actord.ProcessFailed) as caught:
                self.client.await_outcome(pid)
            return caught.exception.reason, caught.exception.message

        first, second, third = (self.client.submit("probe", method="idle")
                                for _ in range(3))
        self.assertEqual(self.client.cancel(first, "not needed"),
                         actord.Receipt.MEMORY)
        self.assertEqual(end_of(first)[0], "CANCELLED")
        self.client.terminate(second, "now")
        self.assertEqual(end_of(second), ("TERMINATED", "now"))
        self.client.terminate(third)
        stubborn = self.client.submit("probe.cancel", method="stubborn")
        self.client.cancel(stubborn, deadline=0.05)
        self.assertEqual(end_of(stubborn)[0], "TERMINATED")

    def test_lists_come_page_by_page(self):
        pids = {self.client.submit("probe", method="idle").pid for _ in range(7)}
        self.client.submit("counter", "1")
        listed = list(self.client.ps("probe", page_size=2))
        self.assertEqual({process.pid for process in listed}, pids)
        self.assertEqual(len(listed), 7)
        eventually(lambda: [process.process_type for process in self.client.ps(
            state=actord.ProcessState.IDLE, page_size=3)].count("counter") == 1,
            "the idle counter")

    def test_yields_are_listed_and_completed(self):
        pids = [self.client.submit("probe", json={
            "command": "manual.do", "payload": "p"}, method="yield")
            for _ in range(3)]
        eventually(lambda: len(list(self.client.yields("manual.*"))) == 3, "yields")
        waiting = {item.pid: item
                   for item in self.client.yields("manual.*", page_size=1)}
        first, second, third = (waiting[pid.pid] for pid in pids)
        self.assertEqual((first.command, first.payload.text, first.process_type),
                         ("manual.do", "p", "probe"))
        complete = self.client.complete_yield
        self.assertEqual(complete(first.token, "done"),
                         actord.Completed(actord.Answer.ACCEPTED,
                                          actord.Receipt.MEMORY))
        self.assertEqual(complete(first.token, "done").answer, "DUPLICATE")
        self.assertEqual(complete(first.token, "other").answer, "CONFLICT")
        complete(second.token, error="no", code=grpc.StatusCode.ABORTED)
        self.assertEqual(self.client.await_outcome(pids[1]).json(),
                         {"code": "ABORTED", "message": "no"})
        self.assertRaises(TypeError, lambda: complete(third.token, "a", error="b"))
        self.assertEqual([item.token for item in self.client.yields(pid=pids[2])],
                         [third.token])

    def test_other_calls_are_invoked(self):
        status = self.client.invoke("GetStatus", status_pb2.GetStatusRequest())
        self.assertIn("counter", [kind.name for kind in status.process_types])
        with self.assertRaises(actord.InvalidArgument) as caught:
            self.client.invoke("ListYields",
                               yield_pb2.ListYieldsRequest(page_size=-1))
        self.assertEqual(caught.exception.reason, "INVALID_FIELD")

    def test_ids_make_repeated_calls_safe(self):
        first = self.client.submit("counter", "1", request_id="r")
        again = self.client.submit("counter", "1", request_id="r")
        self.assertEqual((again.pid, again.duplicate), (first.pid, True))
        self.client.send(first, "2", topic="add", message_id="m")
        self.assertTrue(
            self.client.send(first, "2", topic="add", message_id="m").duplicate)
        self.assertEqual(self.client.call(first, topic="get").json(), 3)
        # Ids of the client's own differ from call to call.
        self.assertNotEqual(self.client.submit("counter", "1").pid,
                            self.client.submit("counter", "1").pid)

    def test_messages_go_to_the_holder_of_a_name(self):
        holder = self.client.submit("counter", "1", name="n")
        delivered = self.client.submit(
            "counter", "1", name="n", on_name_conflict=actord.NameConflict.DELIVER,
            messages=[actord.Message("add", actord.Payload.of("5"))])
        self.assertEqual((delivered.pid, delivered.delivered), (holder.pid, True))
        self.assertEqual(self.client.call("@n", topic="get").json(), 6)


class LostAnswer(grpc.RpcError):
    """As gRPC's, when a connection breaks before the answer arrives."""

    def code(self):
        return grpc.StatusCode.UNAVAILABLE

    def details(self):
        return "Socket closed"

    def initial_metadata(self):
        return ()

    def trailing_metadata(self):
        return ()


def losing_first_answer(call):
    """The call, whose first answer is lost on its way."""
    answers = []

    def called(request, **more):
        answers.append(call(request, **more))
        if len(answers) == 1:
            raise LostAnswer()
        return answers[-1]
    return called


class LostAnswers(DaemonCase):

    def setUp(self):
        super().setUp()
        self.client = client_of(self, self.daemon)
        self.pid = self.client.submit("counter", "0")

    def lose(self, method):
        setattr(self.client.stub, method,
                losing_first_answer(getattr(self.client.stub, method)))

    def test_a_repeated_submit_starts_one_process(self):
        self.lose("Submit")
        again = self.client.submit("probe", method="idle")
        self.assertTrue(again.duplicate)
        self.assertEqual([process.pid for process in self.client.ps("probe")],
                         [again.pid])

    def test_a_repeated_send_delivers_once(self):
        self.lose("Send")
        self.assertTrue(self.client.send(self.pid, "1", topic="add").duplicate)
        self.assertEqual(self.client.call(self.pid, topic="get").json(), 1)

    def test_calls_without_an_id_are_not_repeated(self):
        for method, call in [
                ("Send", lambda: self.client.send(self.pid, "1", topic="add",
                                                  message_id="")),
                ("Submit", lambda: self.client.submit("probe", method="idle",
                                                      request_id="")),
                ("Call", lambda: self.client.call(self.pid, topic="get"))]:
            with self.subTest(method):
                self.lose(method)
                self.assertRaises(actord.Unavailable, call)
        self.assertEqual(self.client.call(self.pid, topic="get").json(), 1)
        self.assertEqual(len(list(self.client.ps("probe"))), 1)


class Errors(DaemonCase):

    OPTIONS = ("--max-mailbox-messages", "2")

    def setUp(self):
        super().setUp()
        self.client = client_of(self, self.daemon)

    def assert_raises(self, kind, code, reason, call):
        with self.assertRaises(kind) as caught:
            call()
        self.assertIs(type(caught.exception), kind)
        self.assertEqual((caught.exception.code, caught.exception.reason),
                         (code, reason))
        return caught.exception

    def test_each_reason_has_its_class(self):
        client, code = self.client, grpc.StatusCode
        ended = client.submit("probe", method="idle")
        client.terminate(ended)
        client.await_outcome(ended, check=False)
        answering = client.submit("probe", method="answer", name="taken")
        cases = [
            (actord.ProcessNotFound, code.NOT_FOUND, "PROCESS_NOT_FOUND",
             lambda: client.describe("1.1.1.1")),
            (actord.NameNotFound, code.NOT_FOUND, "NAME_NOT_FOUND",
             lambda: client.send("@nobody")),
            (actord.UnknownProcessType, code.NOT_FOUND, "UNKNOWN_PROCESS_TYPE",
             lambda: client.submit("nothing")),
            (actord.UnknownMethod, code.NOT_FOUND, "UNKNOWN_METHOD",
             lambda: client.submit("probe", method="nothing")),
            (actord.ProcessEnded, code.FAILED_PRECONDITION, "PROCESS_ENDED",
             lambda: client.send(ended)),
            (actord.NotDurable, code.FAILED_PRECONDITION, "DURABILITY_OFF",
             lambda: client.submit("counter", "1", durability="DURABLE")),
            (actord.PayloadTooLarge, code.INVALID_ARGUMENT, "PAYLOAD_TOO_LARGE",
             lambda: client.submit("echo", bytes(3 << 20))),
            (actord.CalleeEnded, code.ABORTED, "CALLEE_ENDED",
             lambda: client.call(answering, topic="end")),
        ]
        for case in cases:
            with self.subTest(case[0].__name__):
                self.assert_raises(*case)

    def test_errors_carry_their_details(self):
        client, code = self.client, grpc.StatusCode
        refused = self.assert_raises(
            actord.InitRefused, code.INVALID_ARGUMENT, "INIT_REFUSED",
            lambda: client.submit("probe", "why not", method="refuse"))
        self.assertEqual(refused.fields, {"input": refused.message})
        self.assertEqual(str(refused), f"INIT_REFUSED: {refused.message}")
        holder = client.submit("probe", method="answer", name="taken")
        taken = self.assert_raises(
            actord.NameTaken, code.ALREADY_EXISTS, "NAME_TAKEN",
            lambda: client.submit("counter", "1", name="taken"))
        self.assertEqual(taken.pid, holder.pid)
        self.assertEqual(taken.metadata, {"pid": holder.pid})
        client.submit("counter", "1", request_id="r")
        self.assert_raises(actord.RequestIdReused, code.INVALID_ARGUMENT,
                           "REQUEST_ID_REUSED",
                           lambda: client.submit("counter", "2", request_id="r"))
        failed = self.assert_raises(
            actord.CallFailed, grpc.StatusCode.OUT_OF_RANGE, "CALL_FAILED",
            lambda: client.call(holder, "no", topic="error"))
        self.assertIsNone(failed.retry_delay)
        # The process has had the call, so the code does not matter.
        eventually(lambda: client.describe(holder).state == "IDLE", "rest")
        before = client.describe(holder).steps
        busy = self.assert_raises(
            actord.CallFailed, code.UNAVAILABLE, "CALL_FAILED",
            lambda: client.call(holder, topic="busy"))
        self.assertIsNone(busy.retry_delay)
        eventually(lambda: client.describe(holder).steps == before + 1, "one step")
        late = self.assert_raises(
            actord.DeadlineExceeded, code.DEADLINE_EXCEEDED, "",
            lambda: client.call(holder, topic="never", timeout=0.1))
        self.assertIn("within the timeout", late.message)

    def test_overload_is_retried_within_the_timeout(self):
        # Takes no messages until it has held its goods for so long.
        pid = self.client.submit("order", json={
            "order": "A", "amount_cents": 1, "hold_ms": 600_000})
        self.client.send(pid)
        self.client.send(pid)
        once = client_of(self, self.daemon, max_attempts=1)
        full = self.assert_raises(
            actord.MailboxFull, grpc.StatusCode.RESOURCE_EXHAUSTED, "MAILBOX_FULL",
            lambda: once.send(pid))
        self.assertIsInstance(full, actord.Overloaded)
        self.assertGreater(full.retry_delay, 0)
        begin = time.monotonic()
        self.assert_raises(
            actord.MailboxFull, grpc.StatusCode.RESOURCE_EXHAUSTED, "MAILBOX_FULL",
            lambda: self.client.send(pid, timeout=1.5))
        self.assertLess(time.monotonic() - begin, 3)
        end = threading.Timer(0.3, self.client.terminate, [pid])
        end.start()
        self.assert_raises(actord.ProcessEnded,
                           grpc.StatusCode.FAILED_PRECONDITION, "PROCESS_ENDED",
                           lambda: self.client.send(pid))
        end.join()


if __name__ == "__main__":
    unittest.main()
