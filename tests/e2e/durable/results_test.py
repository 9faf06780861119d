"""Outcomes of durable processes that only the store keeps."""

import json
import signal
import time
import unittest

import grpc
from actord.v1 import process_pb2
from harness.bulk import SubmitStream, submit_item
from harness.case import DURABLE, StoreCase
from harness.connection import CALL_SECONDS, refusal_of
from harness.tokens import TokenCase
from harness.waiting import eventually


def reason_of(call):
    """Why the call was refused; "": it was not."""
    try:
        call()
    except grpc.RpcError as error:
        return refusal_of(error).reason
    return ""


def parts(outcome):
    """The common parts of memory and store: the record of an end is older than the
    moment at which others see the end, which is the end_time in memory."""
    return outcome.pid, outcome.result.data, outcome.steps


class Results(StoreCase):
    """Results leave the memory after a second."""

    def setUp(self):
        super().setUp()
        self.start_with = ("--result-ttl", "1s")

    def ended(self, **fields):
        pid = self.actor.submit("counter", b"5", **fields)
        self.actor.send(pid, "stop")
        self.assertEqual(self.actor.wait(pid).result.data, b"5")
        return pid

    def kept(self):
        return self.actor.status().counters.results_kept

    def test_result_is_awaited_when_the_memory_has_dropped_it(self):
        self.start(exit_status=-signal.SIGKILL)
        pid = self.ended(durability=DURABLE)
        not_durable = self.ended(durability=process_pb2.DURABILITY_VOLATILE)
        first = parts(self.actor.wait(pid))
        eventually(lambda: self.kept() == 0, "the results leave the memory")
        self.assertEqual(parts(self.actor.wait(pid)), first)
        self.assertEqual(reason_of(lambda: self.actor.wait(not_durable)),
                         "RESULT_NOT_KEPT")
        shown = json.loads(self.actorctl("await", pid, "-o", "json").stdout)
        self.assertIn("5", json.dumps(shown["result"]))
        # The list of ended processes shows what is in memory.
        self.assertNotIn(pid, self.actorctl("ps", "--ended").stdout)
        self.kill()
        self.start()
        self.assertEqual(parts(self.actor.wait(pid)), first)
        eventually(lambda: self.kept() == 0, "the results leave the memory")
        self.assertEqual(parts(self.actor.wait(pid)), first)

    def test_repeated_submission_gets_the_result_of_the_store(self):
        self.start()
        pid = self.ended(durability=DURABLE, request_id="once")
        eventually(lambda: self.kept() == 0, "the results leave the memory")
        stream = SubmitStream(self.actor.stub)
        stream.submit(submit_item("counter", b"5", durability=DURABLE,
                                  request_id="once"), await_outcomes=True)
        stream.finish()
        self.assertEqual(stream.submitted[0].pid, pid)
        self.assertEqual(stream.outcomes[0].result.data, b"5")

    def test_store_drops_it_after_its_own_time(self):
        self.start_with += ("--store-result-ttl", "2s",
                            "--store-checkpoint-interval", "1s")
        self.start()
        pid = self.ended(durability=DURABLE)

        def is_dropped():
            # A checkpoint needs something to write.
            self.counter()
            time.sleep(0.1)
            return reason_of(lambda: self.actor.wait(pid)) == "RESULT_NOT_KEPT"

        eventually(is_dropped, "the store drops the result")


class OfOwners(TokenCase):

    def test_result_in_the_store_belongs_to_its_owner(self):
        alice_token, bob_token = (self.token("client", name=name)
                                  for name in ("alice", "bob"))
        admin_token = self.token("admin", name="root")
        daemon = self.serve("--store", self.directory / "store",
                            "--result-ttl", "1s")
        alice = self.connect_with(daemon, alice_token)
        bob = self.connect_with(daemon, bob_token)
        pid = alice.stub.Submit(process_pb2.SubmitRequest(
            process_type="counter", durability=DURABLE),
            timeout=CALL_SECONDS).pid
        alice.send(pid, "stop")
        first = parts(alice.wait(pid))
        admin = self.connect_with(daemon, admin_token)
        eventually(lambda: admin.status().counters.results_kept == 0,
                   "the result leaves the memory")
        self.assertEqual(reason_of(lambda: bob.wait(pid)), "RESULT_NOT_KEPT")
        self.assertEqual(parts(alice.wait(pid)), first)


if __name__ == "__main__":
    unittest.main()
