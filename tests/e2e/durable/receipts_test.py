"""Receipts: each acknowledgement says whether it outlives the daemon."""

import json
import signal
import unittest

from actord.v1 import (dead_letter_pb2, outcome_pb2, payload_pb2, process_pb2,
                       yield_pb2)
from harness.bulk import SendStream, SubmitStream, send_item, submit_item
from harness.case import DURABLE, StoreCase
from harness.connection import CALL_SECONDS
from harness.waiting import eventually
from harness.work import RemoteWorker

VOLATILE = process_pb2.DURABILITY_VOLATILE
UNSET = process_pb2.RECEIPT_UNSPECIFIED
MEMORY, LOGGED = process_pb2.RECEIPT_MEMORY, process_pb2.RECEIPT_LOGGED
ORDER = {"order": "o", "amount_cents": 1, "hold_ms": 1,
         "payment_timeout_ms": 60_000}


class Receipts(StoreCase):

    def counter_of(self, durability):
        return self.actor.submit("counter", b"0", durability=durability)

    def task(self, durability):
        """A task of a new order."""
        self.actor.submit("order", json.dumps(ORDER).encode(),
                          durability=durability)
        return self.worker.task()

    def letter(self, durability):
        """A new dead letter."""
        known = len(self.actor.dead_letters().dead_letters)
        pid = self.actor.submit(
            "order", json.dumps(ORDER | {"hold_ms": 60_000}).encode(),
            durability=durability)
        self.actor.send(pid, "add", b"1")
        self.actor.terminate(pid)
        eventually(lambda: len(self.actor.dead_letters().dead_letters) > known,
                   "the dead letter")
        return self.actor.dead_letters().dead_letters[known].id

    def complete(self, task, result):
        return self.actor.stub.CompleteYield(
            yield_pb2.CompleteYieldRequest(
                token=task.token, result=payload_pb2.Payload(data=result)),
            timeout=CALL_SECONDS).receipt

    def completions(self, durability):
        task = self.task(durability)
        yield "CompleteYield", self.complete(task, b'"paid"')
        yield "CompleteYield again", self.complete(task, b'"paid"')
        self.assertEqual(self.complete(task, b'"otherwise"'), UNSET)
        task = self.task(durability)
        self.worker.say(completions=[yield_pb2.CompleteYieldRequest(
            token=task.token, result=payload_pb2.Payload(data=b'"paid"'))])
        yield "Work", self.worker.answers.get(timeout=CALL_SECONDS).receipt

    def streams(self, durability):
        stream = SubmitStream(self.actor.stub)
        stream.submit(submit_item("counter", b"0", durability=durability))
        stream.finish()
        self.assertEqual(stream.submitted[0].durability, durability)
        yield "SubmitStream", stream.submitted[0].receipt
        pid = stream.submitted[0].pid
        for name, fields in (("SendStream", {}),
                             ("SendStream with an id", {"message_id": pid})):
            stream = SendStream(self.actor.stub)
            stream.send(send_item(pid, "add", b"1", **fields))
            stream.finish()
            yield name, stream.receipts[0]

    def receipts(self, durability):
        stub, pid = self.actor.stub, self.counter_of(durability)
        yield "Submit", stub.Submit(
            submit_item("counter", b"0", durability=durability),
            timeout=CALL_SECONDS).receipt
        yield "Send", stub.Send(send_item(pid, "add", b"1"),
                                timeout=CALL_SECONDS).receipt
        yield "Call", self.actor.call(pid, "get").receipt
        yield from self.streams(durability)
        yield from self.completions(durability)
        yield "ResendDeadLetter", stub.ResendDeadLetter(
            dead_letter_pb2.ResendDeadLetterRequest(
                id=self.letter(durability), to=pid),
            timeout=CALL_SECONDS).receipt
        yield "Cancel", stub.Cancel(outcome_pb2.CancelRequest(pid=pid),
                                    timeout=CALL_SECONDS).receipt
        pid = self.counter_of(durability)
        yield "Terminate", stub.Terminate(outcome_pb2.TerminateRequest(pid=pid),
                                          timeout=CALL_SECONDS).receipt
        yield "Await", stub.Await(outcome_pb2.AwaitRequest(pid=pid),
                                  timeout=CALL_SECONDS).receipt

    def test_every_acknowledgement_has_one(self):
        self.start()
        self.worker = RemoteWorker(self.actor.stub, "payment.*", credits=20)
        for durability, expected in ((DURABLE, LOGGED), (VOLATILE, MEMORY)):
            receipts = dict(self.receipts(durability))
            self.assertEqual(receipts, dict.fromkeys(receipts, expected))
        self.worker.close()

    def test_call_with_an_id_has_one(self):
        self.start()
        request = process_pb2.CallRequest(pid=self.counter(), topic="get",
                                          message_id="once")
        for duplicate in (False, True):
            response = self.actor.stub.Call(request, timeout=CALL_SECONDS)
            self.assertEqual((response.duplicate, response.receipt),
                             (duplicate, LOGGED))

    def test_stream_has_the_weakest_receipt(self):
        self.start()
        durable, volatile = self.counter(), self.counter_of(VOLATILE)
        for pids, expected in (((durable, volatile), MEMORY),
                               ((durable, "@nobody"), LOGGED),
                               (("@nobody",), UNSET), ((), UNSET)):
            stream = SendStream(self.actor.stub)
            stream.send(*(send_item(pid, "add", b"1") for pid in pids))
            stream.finish()
            self.assertEqual(stream.receipts, [expected], pids)

    def test_logged_requests_to_end_outlive_the_daemon(self):
        self.start(exit_status=-signal.SIGKILL)
        cancelled, terminated = self.counter(), self.counter()
        self.actor.cancel(cancelled)
        self.actor.terminate(terminated)
        self.kill()
        self.start()
        # A counter that is cancelled ends with its value.
        self.assertEqual(self.actor.wait(cancelled).result.data, b"0")
        self.assertEqual(self.actor.wait(terminated).failure.reason,
                         outcome_pb2.FAILURE_REASON_TERMINATED)

    def test_commands_print_them(self):
        self.start()
        pid = self.counter()
        for arguments in (("send", pid, "1", "--topic", "add"),
                          ("call", pid, "--topic", "get"), ("cancel", pid)):
            printed = json.loads(
                self.actorctl(*arguments, "-o", "json").stdout)
            [answer] = printed if isinstance(printed, list) else [printed]
            self.assertEqual(answer["receipt"], "LOGGED", arguments)
        described = json.loads(self.actorctl(
            "describe", self.counter(), "-o", "json").stdout)
        self.assertEqual(described["durability"], "DURABLE")


if __name__ == "__main__":
    unittest.main()
