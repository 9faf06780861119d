"""How many connections the daemon takes."""

import socket
import time
import unittest

from harness import places
from harness.connections_case import PATIENT, ConnectionsCase
from harness.waiting import eventually


class Limits(ConnectionsCase):

    def test_total(self):
        daemon = self.start_daemon("--max-connections", "3",
                                   "--max-connections-per-address", "3",
                                   *PATIENT)
        actor = self.connect(daemon)
        for _ in range(2):
            self.assertFalse(self.is_refused(daemon))
        for _ in range(3):
            self.assertTrue(self.is_refused(daemon))
        counters = self.counters(actor)
        self.assertEqual(counters.connection_limit_total, 3)
        self.assertEqual(counters.connections_open, 3)
        self.assertEqual(counters.connections_accepted_total, 3)
        # One line for the three.
        self.assertEqual(daemon.log().count("raise connections.max,"), 1)
        self.sockets.pop().close()
        eventually(lambda: not self.is_refused(daemon), "room for one")
        self.assertTrue(self.is_refused(daemon))

    def test_silent_client_is_closed_after_the_handshake_timeout(self):
        daemon = self.start_daemon("--handshake-timeout", "500ms")
        actor = self.connect(daemon)
        client = socket.create_connection(("127.0.0.1", daemon.port))
        self.addCleanup(client.close)
        client.settimeout(30)
        started = time.monotonic()
        # gRPC sends its settings at once, and then waits for those of the client.
        while client.recv(4096):
            pass
        self.assertGreater(time.monotonic() - started, 0.3)
        self.assertEqual(actor.run("echo", b"1").result.data, b"1")
        eventually(lambda: self.counters(actor).connections_open == 1,
                   "its end")


class Descriptors(ConnectionsCase):

    def test_soft_limit_is_raised_to_the_hard_limit(self):
        script = self.text_file(
            f'#!/bin/sh\nulimit -S -n 200\nulimit -H -n 400\n'
            f'exec "{places.ACTORD}" "$@"\n', "few")
        script.chmod(0o755)
        daemon = self.start_daemon(actord=script)
        limits = f"/proc/{daemon.process.pid}/limits"
        with open(limits, encoding="ascii") as file:
            [line] = [line for line in file if line.startswith("Max open files")]
        self.assertEqual(line.split()[3:5], ["400", "400"])
        self.assertEqual(
            daemon.log().count("the limit of open files is 400, raised from 200"),
            1)


if __name__ == "__main__":
    unittest.main()
