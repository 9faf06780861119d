"""Clients that send much, or hold much open, and are not cut."""

import unittest

from actord.v1 import outcome_pb2, payload_pb2, process_pb2
from harness.bulk import SendStream, send_item
from harness.case import DaemonCase
from harness.connection import CALL_SECONDS

MIB = 1 << 20


class LargeClients(DaemonCase):

    OPTIONS = ("--max-payload-bytes", "16MiB", "--max-mailbox-bytes", "256MiB")

    def tearDown(self):
        self.assertEqual(self.actor.status().counters.connections_cut_total, 0)
        super().tearDown()

    def test_large_messages_at_a_time(self):
        pid = self.actor.submit("probe", method="collect")
        request = process_pb2.SendRequest(
            pid=pid, payload=payload_pb2.Payload(data=b"x" * (12 * MIB)))
        calls = [self.actor.stub.Send.future(request, timeout=CALL_SECONDS)
                 for _ in range(8)]
        for call in calls:
            call.result()
        self.actor.terminate(pid)

    def test_large_message_as_the_first(self):
        pid = self.actor.submit("probe", method="collect")
        for _ in range(5):
            self.connect(self.daemon).send(pid, payload=b"x" * (12 * MIB))
        self.actor.terminate(pid)

    def test_large_messages_in_a_stream(self):
        pid = self.actor.submit("probe", method="collect")
        stream = SendStream(self.actor.stub)
        for _ in range(10):
            stream.send(*[send_item(pid, payload=b"x" * (4 * MIB))
                          for _ in range(4)])
        stream.finish()
        self.assertEqual(stream.refused, {})
        self.actor.terminate(pid)

    def test_a_thousand_open_calls(self):
        pid = self.actor.submit("probe", method="collect")
        calls = [self.actor.stub.Await.future(
            outcome_pb2.AwaitRequest(pid=pid), timeout=CALL_SECONDS)
            for _ in range(1000)]
        self.connect(self.daemon).terminate(pid)
        for call in calls:
            self.assertEqual(call.result().outcome.WhichOneof("end"), "failure")

    def test_a_thousand_calls_that_their_client_cancels(self):
        pid = self.actor.submit("probe", method="collect")
        for _ in range(3):
            calls = [self.actor.stub.Await.future(
                outcome_pb2.AwaitRequest(pid=pid), timeout=CALL_SECONDS)
                for _ in range(900)]
            self.assert_serves()
            for call in calls:
                call.cancel()
        self.actor.terminate(pid)


if __name__ == "__main__":
    unittest.main()
