"""actorctl clients: the list of connections, and the end of one."""

import getpass
import os
import unittest

import grpc
from actord.v1 import watch_pb2
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
                         ["CONNECTION", "CLIENT", "STATE", "AGE", "OPEN",
                          "STREAMS", "CALLS", "IN", "OUT", "IDENTITY"])
        rows = [line.split() for line in lines[1:]]
        self.assertEqual([row[0] for row in rows], ["1", "2*"])
        self.assertEqual(rows[0][2], "IDLE")
        self.assertRegex(rows[1][1], r"^127\.0\.0\.1:\d+$")
        self.assertEqual(rows[1][2], "ACTIVE")
        self.assertEqual(rows[1][-1], "-")
        self.assertIn(self.daemon.address, self.output("clients", "-o", "wide"))
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

    def assert_usage(self, *words):
        self.assertEqual(self.actorctl("clients", *words, status=USAGE).stdout, "")


if __name__ == "__main__":
    unittest.main()
