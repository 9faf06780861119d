"""What the Python package says of mistakes: requests that are too large, timeouts
that are too short, and wrong names."""

import subprocess
import sys
import unittest

import actord
import grpc
from actord.send_book import SAFE_BYTES, SendBook
from actord.v1 import process_pb2, status_pb2, stream_pb2
from clients.client_case import ClientCase
from harness import places
from harness.waiting import eventually

MIB = 1 << 20
# Above the largest request, 6 MiB, and below twice its size: of more the guard of the
# daemon may cut the connection first.
LARGE = bytes(10 * MIB)
TOO_LARGE = (r"^the request has 104\d{5} bytes; the daemon takes at most "
             r"limits\.max_payload_bytes \(1 MiB unless configured\) in a payload, and "
             r"6291456 bytes in a request$")


class TooLarge(ClientCase):

    def assert_too_large(self, error):
        self.assertIs(type(error), actord.PayloadTooLarge)
        self.assertEqual((error.reason, error.code, error.retry_delay),
                         ("PAYLOAD_TOO_LARGE", grpc.StatusCode.INVALID_ARGUMENT, None))
        self.assertRegex(error.message, TOO_LARGE)

    def test_a_request(self):
        for call in (lambda: self.client.submit("echo", LARGE),
                     lambda: self.client.call("@a", LARGE),
                     lambda: self.client.complete_yield("token", LARGE)):
            with self.assertRaises(actord.PayloadTooLarge) as caught:
                call()
            self.assert_too_large(caught.exception)

        async def body(client):
            with self.assertRaises(actord.PayloadTooLarge) as caught:
                await client.run("echo", LARGE)
            self.assert_too_large(caught.exception)
        self.run_async(body)

    def assert_items(self, refusals, pid, members):
        """The items that send_items sends, but for the large ones, are delivered."""
        self.assertEqual([refused.index for refused in refusals], [1, 3, 4])
        self.assertEqual([len(refused.payload.data) for refused in refusals],
                         [10 * MIB, 5 * MIB, 10 * MIB])
        self.assert_too_large(refusals[0].error)
        self.assert_too_large(refusals[2].error)
        self.assertRegex(refusals[1].error.message, "the limit is 1048576")
        self.assertEqual(self.client.call(pid, topic="get").json(), 11)
        for member in members:
            self.client.send(member, topic="stop")
            got = self.client.await_outcome(member).json()
            self.assertEqual([item["payload"] for item in got].count("y"), 1)

    def items(self, pid):
        return ((pid, b"1"), (pid, LARGE), (pid, b"10"), (pid, bytes(5 * MIB)),
                ("#g", LARGE), ("#g", b"y"))

    def test_an_item_of_a_stream_fails_alone(self):
        pid, members = self.client.submit("counter", "0"), self.members()
        with self.assertRaises(actord.ItemsRefused) as caught:
            with self.client.send_stream() as stream:
                for target, payload in self.items(pid):
                    stream.send(target, payload, topic="add")
        self.assertEqual(stream.acknowledged, 6)
        self.assert_items(caught.exception.refusals, pid, members)

    def test_an_item_of_a_stream_fails_alone_with_asyncio(self):
        pid, members = self.client.submit("counter", "0"), self.members()
        refusals = []

        async def body(client):
            async with client.send_stream() as stream:
                for target, payload in self.items(pid):
                    await stream.send(target, payload, topic="add")
                await stream.flush()
                refusals.extend(stream.take_refusals())
        self.run_async(body)
        self.assert_items(refusals, pid, members)


class Book(unittest.TestCase):

    def test_a_large_item_is_sent_alone_until_one_has_been_taken(self):
        book = SendBook(10)
        for size in (1, SAFE_BYTES, 2, SAFE_BYTES, 3):
            book.add(process_pb2.SendRequest(
                message_id="m", payload={"data": bytes(size)}))

        def sizes():
            return [len(item.payload.data) for item in book.next_batch().sends]

        def acknowledge(count):
            book.received(stream_pb2.SendStreamResponse(acked_count=count))

        self.assertEqual(sizes(), [1])
        self.assertFalse(book.can_send)
        acknowledge(1)
        self.assertEqual(sizes(), [SAFE_BYTES])
        self.assertFalse(book.can_send)
        acknowledge(2)
        self.assertEqual([sizes(), sizes(), sizes()], [[2], [SAFE_BYTES], [3]])
        # The next daemon may have another limit.
        self.assertTrue(book.can_continue(actord.Unavailable(
            "lost", code=grpc.StatusCode.UNAVAILABLE)))
        book.reopen()
        self.assertEqual((book.acknowledged, sizes(), book.can_send), (2, [2], False))


class Timeouts(ClientCase):

    def test_the_error_names_the_process(self):
        self.client.submit("probe", method="idle", name="zed")
        ended = "process @zed has not ended within the timeout"
        answered = ("process @zed has not answered within the timeout; the call may "
                    "have had its effect")
        with self.assertRaises(actord.DeadlineExceeded) as caught:
            self.client.await_outcome("@zed", timeout=0.2)
        self.assertEqual(caught.exception.message, ended)
        with self.assertRaises(actord.DeadlineExceeded) as caught:
            self.client.call("@zed", timeout=0.2)
        self.assertEqual(caught.exception.message, answered)

        async def body(client):
            with self.assertRaises(actord.DeadlineExceeded) as caught:
                await client.await_outcome("@zed", timeout=0.2)
            self.assertEqual(caught.exception.message, ended)
            with self.assertRaises(actord.DeadlineExceeded) as caught:
                await client.call("@zed", timeout=0.2)
            self.assertEqual(caught.exception.message, answered)
        self.run_async(body)


class Names(ClientCase):

    def test_values_of_enumerations(self):
        first = self.client.submit("probe", method="idle", name="a",
                                   durability="volatile")
        again = self.client.submit("probe", method="idle", name="a",
                                   on_name_conflict="deliver")
        self.assertEqual((again.pid, first.durability), (first.pid, "VOLATILE"))
        eventually(lambda: [process.pid for process in self.client.ps(state="idle")]
                   == [first.pid], "it in the list")
        self.client.terminate(first)
        eventually(lambda: [process.pid for process in
                            self.client.ended(end="Terminated")] == [first.pid], "it")
        for call, message in (
                (lambda: self.client.submit("echo", durability="durabel"),
                 "'durabel' is not a Durability: give one of VOLATILE, DURABLE"),
                (lambda: self.client.submit("echo", on_name_conflict=1),
                 "1 is not a NameConflict: give one of FAIL, DELIVER"),
                (lambda: next(self.client.ps(state="runing")),
                 "'runing' is not a ProcessState: give one of READY, RUNNING, BLOCKED, "
                 "IDLE, DORMANT, QUARANTINED, ENDED")):
            with self.assertRaises(ValueError) as caught:
                call()
            self.assertEqual(str(caught.exception), message)

    def test_codes_of_completions(self):
        pid = self.client.submit("probe", json={"command": "manual.do"},
                                 method="yield")
        [item] = eventually(lambda: list(self.client.yields(pid=pid)), "the yield")
        self.assertRaisesRegex(
            ValueError, "'ABORT' is not the code of an error",
            lambda: self.client.complete_yield(item.token, error="no", code="ABORT"))
        self.client.complete_yield(item.token, error="no", code="aborted")
        self.assertEqual(self.client.await_outcome(pid).json(),
                         {"code": "ABORTED", "message": "no"})

    def test_other_calls(self):
        request = status_pb2.GetStatusRequest()
        self.assertTrue(self.client.invoke("GetStatus", request).HasField("limits"))
        mistakes = (
            ("GetStatu", None, ValueError,
             "the API has no unary call 'GetStatu'; did you mean 'GetStatus'?"),
            ("Work", None, ValueError, "the API has no unary call 'Work'; did you mean"),
            ("GetStatus", None, TypeError,
             "GetStatus takes a GetStatusRequest of actord.v1, not NoneType"))
        for method, given, kind, message in mistakes:
            with self.assertRaises(kind) as caught:
                self.client.invoke(method, given)
            self.assertTrue(str(caught.exception).startswith(message), caught.exception)

        async def body(client):
            await client.invoke("GetStatus", request)
            for method, given, kind, _ in mistakes:
                with self.assertRaises(kind):
                    await client.invoke(method, given)
        self.run_async(body)


class Import(unittest.TestCase):

    def test_without_grpcio(self):
        # Without the packages of the system.
        done = subprocess.run(
            [sys.executable, "-S", "-c", "import actord"], capture_output=True,
            text=True, check=False, env=places.clean_environment())
        self.assertEqual(
            done.stderr.splitlines()[-1],
            "ImportError: actord needs grpcio: use /usr/bin/python3 with Debian's "
            "python3-grpcio, or pip install grpcio protobuf")

    def test_of_the_sources(self):
        sources = places.SOURCE / "client/python"
        done = subprocess.run(
            [sys.executable, "-B", "-c", "import actord"], capture_output=True,
            text=True, check=False,
            env={**places.clean_environment(), "PYTHONPATH": str(sources)})
        self.assertRegex(done.stderr.splitlines()[-1],
                         r"^ImportError: the package has no stubs, .*setup\.py "
                         "--package DIR, and put DIR into PYTHONPATH$")


if __name__ == "__main__":
    unittest.main()
