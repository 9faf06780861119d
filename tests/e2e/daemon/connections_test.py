"""How many connections the daemon takes."""

import re
import socket
import time
import unittest

from harness import places
from harness.connections_case import PATIENT, ConnectionsCase
from harness.waiting import WAIT_SECONDS, eventually


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


class OtherProtocols(ConnectionsCase):

    def say(self, daemon, first_bytes):
        """Returns when the daemon has closed the connection."""
        with socket.create_connection(("127.0.0.1", daemon.port),
                                      timeout=WAIT_SECONDS) as client:
            client.sendall(first_bytes)
            try:
                while client.recv(4096):
                    pass
            except ConnectionResetError:
                pass

    def test_first_bytes_of_another_protocol_are_logged(self):
        daemon = self.start_daemon()
        for first_bytes, text in (
                (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
                 "it speaks HTTP/1.1, and this address serves gRPC over HTTP/2"),
                (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500,
                 "it speaks TLS, and this address has no TLS"),
                (b"\0" * 4096, "its first bytes are not those of HTTP/2")):
            # The daemon does not wait for bytes that come a moment too late.
            line = re.compile(r"warning .*connection of ipv4:127\.0\.0\.1:\d+ "
                              f"closed: {re.escape(text)}")
            eventually(lambda: self.say(daemon, first_bytes)
                       or line.search(daemon.log()), text)
        self.assertEqual(self.connect(daemon).run("echo", b"1").result.data, b"1")
        self.assertEqual(daemon.log().count("connection of "), 3)


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
