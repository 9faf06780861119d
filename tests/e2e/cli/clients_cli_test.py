"""actorctl clients: the list of connections, and the end of one."""

import concurrent.futures
import getpass
import os
import threading
import time
import unittest

import grpc
from actord.v1 import watch_pb2
from admin.api import PREFIX, Api
from admin.pages import admin_port
from harness.bulk import SendStream, send_item
from harness.cli import NOT_FOUND, USAGE, CliCase
from harness.connection import Connection
from harness.waiting import eventually


class Clients(CliCase):

    def setUp(self):
        super().setUp()
        self.path = self.directory / "s"
        self.local = self.start_daemon("--listen", f"unix:{self.path}")

    def test_table_and_formats(self):
        lines = self.output("clients").splitlines()
        self.assertEqual(lines[0].split(),
                         ["CONNECTION", "ADDRESS", "PROTOCOL", "AGE", "OPEN",
                          "STREAMS", "CALLS", "IN", "OUT", "CLIENT"])
        rows = [line.split() for line in lines[1:]]
        self.assertEqual([row[0] for row in rows], ["1", "2*"])
        self.assertEqual(rows[0][2], "gRPC")
        self.assertRegex(rows[1][1], r"^127\.0\.0\.1:\d+$")
        self.assertEqual(rows[1][2], "gRPC")
        self.assertEqual(rows[1][-1], "-")
        wide = self.output("clients", "-o", "wide")
        self.assertIn(self.daemon.address, wide)
        self.assertRegex(wide, r" IDLE .*\n.* ACTIVE ")
        found = self.json("clients")
        self.assertEqual(found[0]["connection"], 1)
        self.assertEqual(found[-1]["is_own"], True)
        self.assertEqual(len(self.json("clients", "--limit", "1")), 1)
        self.assertEqual(self.output("clients", "--limit", "1", "-o", "name"),
                         "1\n")

    def test_user_of_a_unix_socket_has_a_name_on_this_machine_alone(self):
        connection = Connection(f"unix:{self.path}")
        self.addCleanup(connection.close)
        own = f"pid {os.getpid()} of "
        self.assertIn(own + getpass.getuser(),
                      self.output("--address", f"unix:{self.path}", "clients"))
        self.assertIn(f"{own}uid {os.getuid()}",
                      self.output("--address", self.local.address, "clients"))

    def test_cut(self):
        watch = self.actor.stub.WatchProcesses(watch_pb2.WatchProcessesRequest())
        next(watch)
        self.assertEqual(self.output("clients", "--cut", "1"), "")
        with self.assertRaises(grpc.RpcError):
            for _ in watch:
                pass
        eventually(lambda: "1" not in self.output("clients", "-o", "name").split(),
                   "the end of the connection")
        self.assert_complains(NOT_FOUND, "connection 1 is not open", "clients",
                              "--cut", "1")
        for wrong in ("0", "-1", "x"):
            self.assert_usage(f"--cut={wrong}")
        self.assert_usage("--cut=1", "--limit=1")
        self.assert_usage("--cut=1", "--rates")
        self.assert_usage("--sort=age")

    def test_the_client_that_floods_comes_first(self):
        """One client calls without a pause, another sends over a stream."""
        calling = self.connect(self.daemon)
        streaming = self.connect(self.daemon)
        pid = self.actor.submit("probe", method="idle")
        stop = threading.Event()

        def call():
            while not stop.is_set():
                calling.process(pid)

        def send():
            stream = SendStream(streaming.stub)
            while not stop.is_set():
                stream.send(*[send_item(pid, "t")] * 10)
                time.sleep(0.02)
            stream.half_close()

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            try:
                running = [pool.submit(call), pool.submit(send)]
                by_calls = self.json("clients", "--sort", "calls")
                by_items = self.json("clients", "--sort", "items", "--limit", "1")
                text = self.output("clients", "--rates")
            finally:
                stop.set()
            for one in running:
                one.result()
        self.assertGreater(by_calls[0]["calls_per_second"], 5)
        self.assertGreater(by_calls[0]["received_bytes_per_second"], 100)
        self.assertGreater(by_items[0]["stream_items_per_second"], 5)
        self.assertEqual(by_items[0]["streams_open"], 1)
        self.assertNotEqual(by_items[0]["connection"], by_calls[0]["connection"])
        self.assertEqual(text.splitlines()[0].split()[3:9],
                         ["CALLS/S", "ITEMS/S", "IN/S", "OUT/S", "AGE", "OPEN"])
        self.assertNotIn("CONNECTIONS", text, "nobody has proved who they are")
        self.assertNotIn("calls_per_second", self.json("clients")[0])

    def test_clients_of_the_admin_port_are_clients(self):
        daemon = self.start_daemon("--admin-listen", "127.0.0.1:0", "--admin-api")
        api = Api(admin_port(daemon))

        def listed():
            return self.json("--address", daemon.address, "clients")

        self.assertEqual([one["protocol"] for one in listed()], ["GRPC"])
        connection = api.connection()
        self.addCleanup(connection.close)
        for _ in range(3):
            connection.request("POST", PREFIX + "GetStatus", "{}", api.headers())
            connection.getresponse().read()
        # The answer is there before its call has ended.
        found = eventually(
            lambda: [one for one in listed()
                     if one["protocol"] == "HTTP" and one["state"] == "IDLE"],
            "the connection")
        self.assertEqual(len(found), 1, found)
        self.assertEqual((found[0]["calls_begun"], found[0]["state"]), (3, "IDLE"))
        self.assertRegex(found[0]["address"], r"^127\.0\.0\.1:\d+$")
        self.assertGreater(found[0]["received_bytes"], 100)
        self.assertRegex(
            self.output("--address", daemon.address, "clients"),
            rf"(?m)^ *{found[0]['connection']} +{found[0]['address']} +HTTP ")
        # A call finds its own connection.
        own = api.call("ListClients").json["clients"]
        self.assertEqual([one["protocol"] for one in own if one.get("isOwn")],
                         ["CLIENT_PROTOCOL_HTTP"])
        self.output("--address", daemon.address, "clients", "--cut",
                    str(found[0]["connection"]))
        eventually(lambda: all(one["connection"] != found[0]["connection"]
                               for one in listed()), "the end of the connection")

    def assert_usage(self, *words):
        self.assertEqual(self.actorctl("clients", *words, status=USAGE).stdout, "")


if __name__ == "__main__":
    unittest.main()
