"""Asking processes, and the names that they are found by."""

import json
import unittest

import grpc
from actord.v1 import process_pb2, status_pb2
from harness.case import DaemonCase, EmptyCase
from harness.cli import CliCase, DEADLINE, FAILED, NOT_FOUND, USAGE
from harness.connection import CALL_SECONDS
from harness.waiting import eventually

FAIL = process_pb2.SubmitRequest.NAME_CONFLICT_FAIL
DELIVER = process_pb2.SubmitRequest.NAME_CONFLICT_DELIVER


class Calls(DaemonCase):

    def setUp(self):
        super().setUp()
        self.pid = self.actor.submit("probe", method="answer")

    def test_the_answer_comes_back(self):
        response = self.actor.call(self.pid, "echo", b"hello")
        self.assertEqual(response.result.data, b"hello")
        self.assertEqual(response.pid, self.pid)

    def test_an_error_has_the_code_that_the_process_chose(self):
        self.assert_refused(
            lambda: self.actor.call(self.pid, "error", b"too far"),
            code=grpc.StatusCode.OUT_OF_RANGE, reason="CALL_FAILED",
            message="too far")

    def test_an_end_without_an_answer(self):
        self.assert_refused(
            lambda: self.actor.call(self.pid, "end"),
            code=grpc.StatusCode.ABORTED, reason="CALLEE_ENDED",
            message="without a reply")

    def test_a_deadline_and_an_answer_that_is_late(self):
        with self.assertRaises(grpc.RpcError) as caught:
            self.actor.call(self.pid, "never", seconds=0.2)
        self.assertEqual(caught.exception.code(),
                         grpc.StatusCode.DEADLINE_EXCEEDED)

        def late():
            return self.actor.status().counters.late_replies_total

        self.assertEqual(late(), 0)
        # The daemon may hear of the deadline a moment later than its client.
        eventually(lambda: self.actor.send(self.pid, "late") or late(),
                   "a late reply")

    def test_a_client_that_goes_away_leaves_nothing_behind(self):
        call = self.actor.stub.Call.future(
            process_pb2.CallRequest(pid=self.pid, topic="never"),
            timeout=CALL_SECONDS)
        eventually(lambda: self.actor.process(self.pid).steps >= 2, "the call")
        call.cancel()
        self.assertEqual(self.actor.call(self.pid, "echo", b"1").result.data,
                         b"1")

    def test_nobody_there(self):
        self.actor.terminate(self.pid)
        self.actor.wait(self.pid)
        self.assert_refused(lambda: self.actor.call(self.pid, "echo"),
                            code=grpc.StatusCode.FAILED_PRECONDITION,
                            reason="PROCESS_ENDED", message="has ended")
        self.assert_refused(lambda: self.actor.call("@nobody", "echo"),
                            code=grpc.StatusCode.NOT_FOUND,
                            reason="NAME_NOT_FOUND", message="nobody")
        self.assert_refused(lambda: self.actor.call("nobody", "echo"),
                            code=grpc.StatusCode.INVALID_ARGUMENT,
                            reason="INVALID_PID", message="pid", field="pid")
        self.assert_refused(lambda: self.actor.call("@", "echo"),
                            code=grpc.StatusCode.INVALID_ARGUMENT,
                            reason="INVALID_PID", message="a name",
                            field="pid")

    def test_one_process_asks_another_by_its_name(self):
        self.actor.submit("probe", method="answer", name="desk")
        answer = self.actor.call(self.pid, "call", b"desk").result.data
        self.assertEqual(json.loads(answer),
                         {"code": "OK", "payload": "from a process"})


class Drain(EmptyCase):

    def test_it_answers_the_calls_that_are_open(self):
        actor = self.connect(self.start_daemon())
        pid = actor.submit("probe", method="answer")
        call = actor.stub.Call.future(
            process_pb2.CallRequest(pid=pid, topic="never"),
            timeout=CALL_SECONDS)
        eventually(lambda: actor.process(pid).steps >= 2, "the call")
        actor.shutdown(mode=status_pb2.ShutdownRequest.MODE_NOW)
        self.assertEqual(call.exception().code(), grpc.StatusCode.ABORTED)


class Names(DaemonCase):

    def submit(self, name, **fields):
        return self.actor.stub.Submit(
            process_pb2.SubmitRequest(process_type="probe", method="collect",
                                      name=name, **fields),
            timeout=CALL_SECONDS)

    def test_a_name_addresses_its_holder(self):
        pid = self.submit("orders/17").pid
        self.actor.send("@orders/17", "a")
        self.assertEqual(self.actor.process("@orders/17").pid, pid)
        self.actor.send("@orders/17", "stop")
        collected = json.loads(self.actor.wait(pid).result.data)
        self.assertEqual([message["topic"] for message in collected], ["a"])

    def test_a_second_process_is_refused_and_told_the_holder(self):
        pid = self.submit("x").pid
        refusal = self.assert_refused(
            lambda: self.submit("x", on_name_conflict=FAIL),
            code=grpc.StatusCode.ALREADY_EXISTS, reason="NAME_TAKEN",
            message=pid)
        self.assertEqual(refusal.metadata, {"pid": pid})
        self.assertEqual(self.actor.status().counters.processes_started_total, 1)

    def test_a_conflict_delivers(self):
        message = process_pb2.Message(topic="m")
        first = self.submit("x", on_name_conflict=DELIVER, messages=[message])
        second = self.submit("x", on_name_conflict=DELIVER, messages=[message])
        self.assertEqual((first.delivered, second.delivered), (False, True))
        self.assertEqual(first.pid, second.pid)
        self.actor.send("@x", "stop")
        collected = json.loads(self.actor.wait(first.pid).result.data)
        self.assertEqual([each["topic"] for each in collected], ["m", "m"])

    def test_a_name_is_free_after_the_end(self):
        first = self.submit("x").pid
        self.actor.terminate("@x")
        self.actor.wait(first)
        self.assert_refused(lambda: self.actor.send("@x"),
                            code=grpc.StatusCode.NOT_FOUND,
                            reason="NAME_NOT_FOUND", message="x")
        self.assertNotEqual(self.submit("x").pid, first)

    def test_the_list_has_pages(self):
        held = {f"list/{i}": self.submit(f"list/{i}").pid for i in range(5)}
        self.submit("other")
        listed, token = {}, ""
        while True:
            page = self.actor.names(prefix="list/", page_size=2,
                                    page_token=token)
            self.assertLessEqual(len(page.names), 2)
            listed.update({each.name: each.pid for each in page.names})
            token = page.next_page_token
            if not token:
                break
        self.assertEqual(listed, held)
        self.assert_refused(
            lambda: self.actor.names(prefix="o", page_token="nonsense"),
            code=grpc.StatusCode.INVALID_ARGUMENT,
            reason="INVALID_PAGE_TOKEN", message="page", field="page_token")

    def test_a_name_has_limits(self):
        for bad in ("a b", "x" * 129):
            self.assert_refused(lambda bad=bad: self.submit(bad),
                                code=grpc.StatusCode.INVALID_ARGUMENT,
                                reason="INVALID_FIELD", message="128",
                                field="name")

    def test_commands_of_processes(self):
        def run(command, **payload):
            order = {"command": command, "payload": payload}
            return json.loads(self.actor.run(
                "probe", json.dumps(order).encode(), "yield").result.data)

        pid = self.submit("x").pid
        self.assertEqual(run("name.lookup", name="x"),
                         {"code": "OK", "payload": pid})
        self.assertEqual(run("name.lookup", name="y")["code"], "NOT_FOUND")
        taken = run("name.register", name="x")
        self.assertEqual(taken["code"], "ALREADY_EXISTS")
        self.assertTrue(taken["message"].endswith(pid))
        self.assertEqual(run("name.register", name="y")["code"], "OK")
        self.assertEqual(run("name.release", name="x")["code"], "NOT_FOUND")
        self.assertEqual(run("group.join", group="g")["code"], "OK")
        self.assertEqual(run("group.leave", group="g")["code"], "NOT_FOUND")
        self.assertEqual(run("group.members", group="g")["payload"], "[]")
        self.assertEqual(
            json.loads(run("group.send", group="g")["payload"]),
            {"delivered": 0, "refused": 0})
        self.assertEqual(
            run("process.spawn", type="probe", name="x")["code"],
            "ALREADY_EXISTS")


class Cli(CliCase):

    def test_call_prints_the_answer(self):
        self.output("submit", "probe", "--method", "answer", "--name", "desk")
        self.assertEqual(self.output("call", "@desk", "hello", "--topic",
                                     "echo"), "hello")
        answer = self.json("call", "@desk", '{"a": 1}', "--topic", "echo")
        self.assertEqual(answer["result"]["json"], {"a": 1})
        self.assert_complains(FAILED, r"oops.*\(CALL_FAILED\)", "call", "@desk",
                              "oops", "--topic", "error")
        self.assert_complains(DEADLINE, "deadline exceeded; --timeout",
                              "call", "@desk", "--topic", "never",
                              "--timeout", "100ms")
        self.assert_complains(NOT_FOUND, r"\(NAME_NOT_FOUND\)", "call", "@x")
        self.assert_complains(USAGE, "PID is required", "call")

    def test_names_are_listed_and_addressed(self):
        pid = self.output("submit", "counter", "--name", "sum/1").strip()
        self.assertEqual(self.output("names", "-o", "name"), "@sum/1\n")
        self.assertEqual(self.json("describe", "@sum/1")["pid"], pid)
        self.assertIn(pid, self.output("names", "--prefix", "sum/"))
        none = self.actorctl("names", "--prefix", "x")
        self.assertEqual(none.stdout, "")
        self.assertIn("no name is registered, or none matches", none.stderr)
        self.output("send", "@sum/1", "5", "--topic", "add")
        self.assert_complains(FAILED, r"\(NAME_TAKEN\)", "submit", "counter",
                              "--name", "sum/1")


if __name__ == "__main__":
    unittest.main()
