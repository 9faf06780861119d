"""The calls that start a process and then wait for it: Run, and Call with
start_if_absent."""

import concurrent.futures
import os
import signal
import subprocess
import sys
import threading
import unittest

import grpc
from actord.v1 import outcome_pb2, payload_pb2, process_pb2
from harness.case import DURABLE, DaemonCase, StoreCase
from harness.cli import CliCase, NOT_FOUND, USAGE
from harness.connection import CALL_SECONDS, refusal_of
from harness.tokens import TokenCase
from harness.waiting import eventually

ROUNDS = 200
# Runs a process without an end, and says so before.
RUNNER = """
import sys
import grpc
from actord.v1 import actor_service_pb2_grpc, outcome_pb2, process_pb2
stub = actor_service_pb2_grpc.ActorServiceStub(grpc.insecure_channel(sys.argv[1]))
print("begins", flush=True)
stub.Run(outcome_pb2.RunRequest(submit=process_pb2.SubmitRequest(
    process_type="probe", method="idle", name="killed")))
"""


def submission(process_type, data=b"", method="", **fields):
    return process_pb2.SubmitRequest(
        process_type=process_type, method=method,
        input=payload_pb2.Payload(data=data), **fields)


def run(actor, submit, seconds=CALL_SECONDS):
    return actor.stub.Run(outcome_pb2.RunRequest(submit=submit), timeout=seconds)


def run_until_late(actor, submit):
    """The error of a run that does not end in time, and the PID that came before it.
    On a busy machine the error may come after the deadline: then once more."""
    def late():
        try:
            raise AssertionError(run(actor, submit, 2))
        except grpc.RpcError as error:
            refusal = refusal_of(error)
            early = dict(error.initial_metadata() or ()).get("actord-pid")
            return (refusal, early) if refusal.metadata else None
    return eventually(late, "the error of the daemon")


def call(actor, name, topic, data=b"", start=None, **fields):
    return actor.stub.Call(process_pb2.CallRequest(
        pid="@" + name, topic=topic, payload=payload_pb2.Payload(data=data),
        start_if_absent=start, **fields), timeout=CALL_SECONDS)


class Running(DaemonCase):

    def test_a_deadline_leaves_the_process_and_names_it(self):
        refusal, early = run_until_late(self.actor, submission("probe", method="idle"))
        self.assertEqual(refusal.code, grpc.StatusCode.DEADLINE_EXCEEDED)
        pid = refusal.metadata["pid"]
        self.assertEqual(early, pid)
        self.assertEqual(self.actor.process(pid).method, "idle")

    def test_a_killed_client_leaves_the_process(self):
        client = subprocess.Popen([sys.executable, "-c", RUNNER, self.daemon.address],
                                  stdout=subprocess.PIPE, text=True,
                                  env={**os.environ,
                                       "PYTHONPATH": os.pathsep.join(sys.path)})
        self.addCleanup(client.stdout.close)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        self.assertEqual(client.stdout.readline(), "begins\n")
        eventually(lambda: self.actor.names(prefix="killed").names, "the process")
        client.kill()
        client.wait()
        self.assertEqual(self.actor.process("@killed").method, "idle")
        self.actor.terminate("@killed")

    def test_a_process_that_is_terminated_is_an_outcome(self):
        running = self.actor.stub.Run.future(outcome_pb2.RunRequest(
            submit=submission("probe", method="idle", name="x")), timeout=CALL_SECONDS)
        eventually(lambda: self.actor.names(prefix="x").names, "the process")
        pid = self.actor.process("@x").pid
        self.actor.terminate("@x", "enough")
        failure = running.result().outcome
        self.assertEqual((failure.pid, failure.failure.message), (pid, "enough"))


class Starting(DaemonCase):

    def test_clients_at_once_start_one_process(self):
        start = submission("counter", b"0")
        with concurrent.futures.ThreadPoolExecutor(2) as clients:
            for i in range(ROUNDS):
                together = threading.Barrier(2)

                def ask(i=i, together=together):
                    together.wait()
                    return call(self.actor, f"n/{i}", "add", b"1", start)

                answers = [each.result() for each in
                           [clients.submit(ask) for _ in range(2)]]
                self.assertEqual(sorted(each.started for each in answers),
                                 [False, True])
                self.assertEqual({each.pid for each in answers}, {answers[0].pid})
                self.assertEqual(sorted(each.result.data for each in answers),
                                 [b"1", b"2"])
                self.actor.cancel(answers[0].pid)

    def test_a_holder_of_another_type_is_called(self):
        pid = self.actor.submit("probe", method="answer", name="desk")
        answer = call(self.actor, "desk", "echo", b"hi", submission("counter", b"1"))
        self.assertEqual((answer.result.data, answer.pid, answer.started),
                         (b"hi", pid, False))

    def test_a_process_that_takes_no_call_is_named(self):
        with self.assertRaises(grpc.RpcError) as caught:
            call(self.actor, "x", "any", start=submission("echo", b"1"))
        refusal = refusal_of(caught.exception)
        self.assertIn(refusal.reason, ("CALLEE_ENDED", "PROCESS_ENDED"))
        self.assertEqual(self.actor.wait(refusal.metadata["pid"]).result.data, b"1")
        self.assertEqual(self.actor.status().counters.processes_started_total, 1)

    def test_labels_and_priority_are_of_the_started_process(self):
        pid = call(self.actor, "x", "get", start=submission(
            "counter", b"7", labels={"tenant": "acme"}, priority=3)).pid
        process = self.actor.process(pid)
        self.assertEqual((dict(process.labels), process.priority, list(process.names)),
                         ({"tenant": "acme"}, 3, ["x"]))


class Rights(TokenCase):
    """A call that starts needs the right to start, whoever holds the name."""

    def test_a_token_without_the_type(self):
        token = self.token("client", "--submit", "echo", "--send", "*")
        half = self.connect_with(self.serve(), token)
        for _ in range(2):
            self.assert_refused(
                lambda: call(half, "x", "get", start=submission("counter", b"1")),
                code=grpc.StatusCode.PERMISSION_DENIED, reason="NAME_NOT_ALLOWED",
                message="counter")
            self.assert_refused(lambda: run(half, submission("counter", b"1")),
                                code=grpc.StatusCode.PERMISSION_DENIED,
                                reason="NAME_NOT_ALLOWED", message="counter")


class Durable(StoreCase):

    def test_a_call_with_an_id_starts_and_is_answered_once(self):
        self.start(exit_status=-signal.SIGKILL)
        start = submission("counter", b"40")

        def ask():
            answer = call(self.actor, "visits", "add", b"2", start, message_id="one")
            return answer.result.data, answer.pid, answer.duplicate

        data, pid, duplicate = ask()
        self.assertEqual((data, duplicate), (b"42", False))
        self.kill()
        self.start()
        self.assertEqual(ask(), (b"42", pid, True))
        self.assertEqual(self.value("@visits"), 42)
        self.assert_refused(
            lambda: call(self.actor, "new", "get", message_id="two", start=submission(
                "counter", b"1",
                durability=process_pb2.DURABILITY_VOLATILE)),
            code=grpc.StatusCode.INVALID_ARGUMENT, reason="INVALID_FIELD",
            message="VOLATILE", field="start_if_absent.durability")
        self.assert_refused(
            lambda: call(self.actor, "new", "echo", message_id="three",
                         start=submission("echo", b"1")),
            code=grpc.StatusCode.FAILED_PRECONDITION, reason="NOT_DURABLE_TYPE",
            message="echo")
        self.assertEqual([each.name for each in self.actor.names().names], ["visits"])

    def test_a_run_is_continued_after_a_restart(self):
        self.start(exit_status=-signal.SIGKILL)
        submit = submission("counter", b"1", request_id="one", durability=DURABLE)
        pid = run_until_late(self.actor, submit)[0].metadata["pid"]
        self.kill()
        self.start()
        running = self.actor.stub.Run.future(outcome_pb2.RunRequest(submit=submit),
                                             timeout=CALL_SECONDS)
        self.actor.cancel(pid)
        response = running.result()
        self.assertEqual((response.submitted.pid, response.submitted.duplicate,
                          response.outcome.result.data), (pid, True, b"1"))
        self.assertEqual(response.receipt, process_pb2.RECEIPT_LOGGED)


class Cli(CliCase):

    def test_call_starts_the_holder_of_the_name(self):
        start = ("--start", "counter", "--input", "40", "-l", "tenant=acme")
        self.assertEqual(self.output("call", "@visits", "2", "--topic", "add", *start),
                         "42")
        for name, started in (("visits", False), ("others", True)):
            answer = self.json("call", "@" + name, "1", "--topic", "add", *start)
            self.assertEqual(answer["started"], started)
        self.assertEqual(self.json("describe", "@visits")["labels"],
                         {"tenant": "acme"})

    def test_wrong_uses_are_explained(self):
        self.assert_complains(USAGE, "call @NAME --start counter", "call", "1.2.3.4",
                              "--start", "counter")
        self.assert_complains(USAGE, "--start", "call", "@x", "--input", "1")
        self.assert_complains(NOT_FOUND, "did you mean", "call", "@x", "--start",
                              "countre")

    def test_filters_take_names(self):
        self.output("submit", "probe", "--method", "idle", "--name", "top")
        self.assertEqual(self.output("ps", "--parent", "@top", "-o", "name"), "")
        for words in (("ps", "--parent"), ("yields", "--pid"), ("watch", "--parent"),
                      ("dead-letters", "list", "--to")):
            self.assert_complains(NOT_FOUND, r"\(NAME_NOT_FOUND\)", *words, "@nobody")


if __name__ == "__main__":
    unittest.main()
