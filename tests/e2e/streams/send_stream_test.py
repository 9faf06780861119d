"""SendStream: order, acknowledgements, refusals of items, limits, and clients
that vanish or do not read."""

import unittest

import grpc
from actord.v1 import process_pb2, status_pb2, stream_pb2
from harness.bulk import SendStream, send_item
from harness.case import DaemonCase
from harness.connection import refusal_of
from harness.waiting import eventually

NOT_A_PID = "no PID " + "x" * 60


class SendCase(DaemonCase):

    def stream(self, **more):
        stream = SendStream(self.actor.stub, **more)
        self.addCleanup(stream.cancel)
        return stream

    def collected(self, pid):
        """The payloads that the process has got."""
        self.actor.send(pid, "stop")
        return [one["payload"] for one in self.answer(self.actor.wait(pid))]

    def collector(self, **fields):
        return self.actor.submit("probe", method="collect", **fields)

    def busy(self):
        """A process that takes no messages until the test is over."""
        file = self.directory / "go"
        pid = self.actor.submit("probe.blocking", str(file).encode(), "until")
        eventually(lambda: self.actor.process(pid).state
                   == process_pb2.PROCESS_STATE_RUNNING, "its step")
        self.addCleanup(file.touch)
        return pid

    def assert_no_stream_left(self):
        eventually(lambda: self.actor.status().counters.streams_open == 0,
                   "the end of all streams")


class Sends(SendCase):

    def test_arrive_in_order_and_once(self):
        pids = [self.collector() for _ in range(7)]
        stream = self.stream()
        for batch in range(50):
            stream.send(*(send_item(pids[i % 7], payload=b"%d" % i)
                          for i in range(batch * 100, batch * 100 + 100)))
        self.assertIsNone(stream.finish())
        self.assertEqual((stream.acked, stream.refused), (5000, {}))
        for first, pid in enumerate(pids):
            self.assertEqual(self.collected(pid),
                             [str(i) for i in range(first, 5000, 7)])
        self.assert_no_stream_left()

    def test_are_in_the_mailbox_when_acknowledged(self):
        pid = self.busy()
        stream = self.stream()
        stream.send(*(send_item(pid) for _ in range(10)))
        stream.wait_for_acks(10)
        self.assertEqual(self.actor.process(pid).mailbox_messages, 10)
        stream.send(*(send_item(pid) for _ in range(5)))
        stream.wait_for_acks(15)
        self.assertEqual(self.actor.process(pid).mailbox_messages, 15)

    def test_find_processes_by_name(self):
        pid = self.collector(name="one")
        stream = self.stream()
        stream.send(send_item("@one", payload=b"a"), send_item("@two"),
                    send_item(pid, payload=b"b"))
        self.assertIsNone(stream.finish())
        self.assertEqual(
            {i: refusal.reason for i, refusal in stream.refused.items()},
            {1: "NAME_NOT_FOUND"})
        self.assertEqual(self.collected(pid), ["a", "b"])

    def test_with_an_id_deliver_once(self):
        pid = self.collector()
        first = self.stream()
        first.send(send_item(pid, payload=b"a", message_id="a"),
                   send_item(pid, payload=b"b", message_id="b"),
                   send_item(pid, payload=b"a", message_id="a"))
        self.assertIsNone(first.finish())
        self.assertEqual((first.acked, first.duplicates), (3, [2]))
        # As a client does that has lost the answer of a stream.
        second = self.stream()
        second.send(send_item(pid, payload=b"b", message_id="b"),
                    send_item(pid, payload=b"other", message_id="a"),
                    send_item(pid, payload=b"c", message_id="c"))
        self.assertIsNone(second.finish())
        self.assertEqual(second.duplicates, [0])
        self.assertEqual(
            {i: (refusal.reason, refusal.field)
             for i, refusal in second.refused.items()},
            {1: ("REQUEST_ID_REUSED", "message_id")})
        self.assertEqual(self.collected(pid), ["a", "b", "c"])

    def test_of_an_empty_batch_are_acknowledged_too(self):
        stream = self.stream()
        stream.send()
        eventually(lambda: len(stream.responses) == 1, "the answer")
        self.assertEqual(stream.acked, 0)
        self.assertIsNone(stream.finish())


class Refusals(SendCase):

    OPTIONS = ("--max-mailbox-messages", "3", "--max-payload-bytes", "1KiB")

    def test_are_those_of_send_and_leave_the_others_alone(self):
        ended = self.actor.submit("probe", method="big")
        self.actor.wait(ended)
        pid = self.busy()
        items = [
            send_item(pid), send_item("nonsense"), send_item(pid, "t" * 256),
            send_item(ended), send_item(pid, payload=b"x" * 1025),
            send_item("1.1.1.1"), send_item(pid), send_item(pid),
            send_item(pid)]
        stream = self.stream()
        stream.send(*items)
        stream.wait_for_acks(len(items))
        self.assertEqual(
            {i: (refusal.reason, refusal.field)
             for i, refusal in stream.refused.items()},
            {1: ("INVALID_PID", "pid"), 2: ("INVALID_FIELD", "topic"),
             3: ("PROCESS_ENDED", ""),
             4: ("PAYLOAD_TOO_LARGE", "payload.data"),
             5: ("PROCESS_NOT_FOUND", ""), 8: ("MAILBOX_FULL", "")})
        self.assertEqual(self.actor.process(pid).mailbox_messages, 3)
        for i, refusal in stream.refused.items():
            with self.subTest(item=i), \
                    self.assertRaises(grpc.RpcError) as caught:
                self.actor.stub.Send(items[i])
            unary = refusal_of(caught.exception)
            self.assertEqual(
                (refusal.code, refusal.reason, refusal.message),
                (unary.code.value[0], unary.reason, unary.message))
            delay = refusal.retry_delay.ToNanoseconds() / 1e9
            self.assertEqual(delay if refusal.HasField("retry_delay") else None,
                             unary.retry_seconds)


class FullMailbox(SendCase):

    OPTIONS = ("--max-mailbox-messages", "3")

    def test_does_not_stop_later_items_for_others(self):
        full, idle = self.busy(), self.collector()
        stream = self.stream()
        stream.send(*(send_item(full) for _ in range(3)))
        batches, pairs = 20, 3
        for batch in range(batches):
            stream.send(*(
                item for i in range(pairs) for item in (
                    send_item(full),
                    send_item(idle, payload=b"%d" % (batch * pairs + i)))))
            stream.wait_for_acks(3 + (batch + 1) * pairs * 2)
            eventually(lambda: self.actor.process(idle).mailbox_messages == 0,
                       "room for the next batch")
        self.assertIsNone(stream.finish())
        self.assertEqual(sorted(stream.refused),
                         list(range(3, 3 + batches * pairs * 2, 2)))
        for refusal in stream.refused.values():
            self.assertEqual(refusal.reason, "MAILBOX_FULL")
            self.assertTrue(refusal.HasField("retry_delay"))
        self.assertEqual(self.collected(idle),
                         [str(i) for i in range(batches * pairs)])


class Rules(SendCase):

    def assert_ends(self, stream, reason, field):
        refusal = refusal_of(stream.wait())
        self.assertEqual(
            (refusal.code, refusal.reason, list(refusal.fields)),
            (grpc.StatusCode.INVALID_ARGUMENT, reason, [field]))

    def test_too_many_items_end_the_stream_and_deliver_none(self):
        pid = self.collector()
        stream = self.stream()
        stream.send(*(send_item(pid, payload=b"1") for _ in range(1000)))
        stream.send(*(send_item(pid, payload=b"2") for _ in range(1001)))
        stream.send(send_item(pid, payload=b"3"))
        self.assert_ends(stream, "INVALID_FIELD", "sends")
        self.assertEqual((stream.acked, stream.refused), (1000, {}))
        self.assertEqual(self.collected(pid), ["1"] * 1000)
        self.assert_no_stream_left()

    def test_malformed_request_ends_the_stream(self):
        method = self.actor.channel.stream_stream(
            "/actord.v1.ActorService/SendStream",
            request_serializer=lambda raw: raw,
            response_deserializer=stream_pb2.SendStreamResponse.FromString)
        for raw, field in ((b"\xff\xff\xff", ""),
                           (b"\x0a\x04\x0a\x02\xc3\x28", "sends[0].pid")):
            with self.subTest(raw=raw):
                with self.assertRaises(grpc.RpcError) as caught:
                    list(method(iter([raw])))
                refusal = refusal_of(caught.exception)
                self.assertEqual(refusal.code,
                                 grpc.StatusCode.INVALID_ARGUMENT)
                self.assertEqual(list(refusal.fields), [field])
        self.assert_no_stream_left()

    def test_items_without_number_are_not_even_read(self):
        before = self.daemon.peak_bytes()
        for name, field in (("SendStream", "sends"),
                            ("SubmitStream", "submissions")):
            with self.subTest(stream=name):
                method = self.actor.channel.stream_stream(
                    "/actord.v1.ActorService/" + name,
                    request_serializer=lambda raw: raw,
                    response_deserializer=lambda raw: raw)
                # Each of these bytes would become fifty.
                with self.assertRaises(grpc.RpcError) as caught:
                    list(method(iter([b"\x0a\x00" * (5 << 19)])))
                refusal = refusal_of(caught.exception)
                self.assertEqual((refusal.reason, list(refusal.fields)),
                                 ("INVALID_FIELD", [field]))
        self.assertLess(self.daemon.peak_bytes() - before, 64 << 20)

    def test_a_request_above_every_limit_breaks_the_stream(self):
        pid = self.collector()
        stream = self.stream()
        stream.send(*(send_item(pid, payload=b"x" * (1 << 20))
                      for _ in range(7)))
        self.assertEqual(stream.wait().code(),
                         grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertEqual(self.collected(pid), [])
        self.assert_serves()


class Clients(SendCase):

    def test_that_vanish_leave_what_was_acknowledged(self):
        pid = self.actor.submit("counter")
        stream = self.stream()
        for _ in range(20):
            stream.send(*(send_item(pid, "add") for _ in range(100)))
        stream.wait_for_acks(500)
        stream.cancel()
        self.assert_no_stream_left()
        self.actor.send(pid, "stop")
        count = int(self.actor.wait(pid).result.data)
        self.assertGreaterEqual(count, stream.acked)
        self.assertLessEqual(count, 2000)
        self.assertEqual(count % 100, 0, "a batch that was begun is finished")

    def test_that_do_not_read_are_not_read_either(self):
        stream = self.stream(reads=False)
        refused = [send_item(NOT_A_PID) for _ in range(1000)]
        requests = 400
        for _ in range(requests):
            stream.send(*refused)
        stream.half_close()
        taken = []

        def stands_still():
            taken.append(stream.taken)
            return len(taken) > 30 and len(set(taken[-30:])) == 1

        eventually(stands_still, "the client to be held back", 60)
        # Their refusals are 50 MB and more.
        self.assertLess(stream.taken, requests // 2)
        self.assert_serves()
        stream.read_on()
        self.assertIsNone(stream.wait())
        self.assertEqual((stream.acked, len(stream.refused)),
                         (requests * 1000, requests * 1000))

    def test_are_told_that_the_daemon_ends(self):
        pid = self.collector()
        stream = self.stream()
        stream.send(send_item(pid))
        stream.wait_for_acks(1)
        self.actor.shutdown(status_pb2.ShutdownRequest.MODE_NOW)
        refusal = refusal_of(stream.wait())
        self.assertEqual((refusal.code, refusal.reason),
                         (grpc.StatusCode.UNAVAILABLE, "STOPPED"))
        self.assertEqual(stream.acked, 1)


if __name__ == "__main__":
    unittest.main()
