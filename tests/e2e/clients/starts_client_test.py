"""The Python package: run in one call, and calls that start their process."""

import unittest

import actord
from clients.client_case import ClientCase


class Unused:
    """Stands for a method that must not be called."""

    def __init__(self, case):
        self.case = case

    def __call__(self, *_, **__):
        self.case.fail("the method is called")


def without_run(client):
    """Makes Run a method that the daemon does not have."""
    client.stub.Run = client.channel.unary_unary(
        "/actord.v1.ActorService/NoSuchMethod",
        request_serializer=lambda request: request.SerializeToString())


class Starts(ClientCase):

    def test_run_is_one_call(self):
        self.client.stub.Submit = self.client.stub.Await = Unused(self)
        self.assertEqual(self.client.run("echo", "hello").text, "hello")
        with self.assertRaises(actord.UnknownProcessType):
            self.client.run("ecoh")

        async def body(client):
            client.stub.Submit = client.stub.Await = Unused(self)
            self.assertEqual((await client.run("echo", "hello")).text, "hello")
        self.run_async(body)

    def test_run_without_an_id_is_two_calls(self):
        self.client.stub.Run = Unused(self)
        self.assertEqual(self.client.run("echo", "a", request_id="").text, "a")

    def test_run_with_an_older_daemon(self):
        without_run(self.client)
        self.assertEqual(self.client.run("echo", "a").text, "a")
        self.client.stub.Run = Unused(self)  # asked once
        self.assertEqual(self.client.run("echo", "b").text, "b")
        with self.assertRaisesRegex(actord.DeadlineExceeded, "goes on") as caught:
            self.client.run("probe", method="idle", timeout=1)
        self.assertEqual(self.client.describe(caught.exception.pid).method, "idle")

        async def body(client):
            without_run(client)
            self.assertEqual((await client.run("echo", "a")).text, "a")
            client.stub.Run = Unused(self)
            self.assertEqual((await client.run("echo", "b")).text, "b")
        self.run_async(body)

    def test_a_refusal_by_the_process_is_no_missing_method(self):
        with self.assertRaises(actord.ProcessFailed):
            self.client.run("probe", "no", method="fail")
        with self.assertRaises(actord.InitRefused):
            self.client.run("counter", "no number")
        self.client.stub.Submit = Unused(self)
        self.assertEqual(self.client.run("echo", "a").text, "a")

    def test_call_starts_the_holder_of_the_name(self):
        start = actord.Start("counter", "40", labels={"tenant": "acme"}, priority=3)
        first = self.client.call("@visits", "2", topic="add", start=start)
        self.assertEqual((first.json(), first.started), (42, True))
        second = self.client.call("@visits", "1", topic="add", start="counter")
        self.assertEqual((second.json(), second.started, second.pid),
                         (43, False, first.pid))
        process = self.client.describe("@visits")
        self.assertEqual((process.labels, process.priority),
                         ({"tenant": "acme"}, 3))

        async def body(client):
            reply = await client.call("@visits", topic="get", start=start)
            self.assertEqual((reply.json(), reply.started), (43, False))
        self.run_async(body)
        with self.assertRaises(actord.InvalidArgument) as caught:
            self.client.call(first.pid, topic="get", start="counter")
        self.assertEqual(list(caught.exception.fields), ["pid"])
        with self.assertRaises(actord.NotDurable):
            self.client.call("@other", topic="get", start="counter", message_id="1")


if __name__ == "__main__":
    unittest.main()
