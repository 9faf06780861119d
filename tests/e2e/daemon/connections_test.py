"""How many connections the daemon takes, and that it never stops taking them."""

import socket
import time
import unittest

from harness import places
from harness.case import EmptyCase
from harness.waiting import SANITIZED, WAIT_SECONDS, eventually

DESCRIPTORS = 128
RESERVE = 64
CLIENTS = 400
REFUSED_SECONDS = 1.0 if SANITIZED else 0.1
SERVED_SECONDS = 10 if SANITIZED else 1
# Idle connections are to stay as long as a test wants them.
PATIENT = ("--handshake-timeout", "10m")


def is_taken(client):
    """Whether the daemon has taken the connection: gRPC sends its settings. If not,
    it closes the connection."""
    try:
        return client.recv(1) != b""
    except ConnectionResetError:
        return False


class ConnectionsCase(EmptyCase):

    def setUp(self):
        super().setUp()
        self.sockets = []
        self.addCleanup(self.close_all)

    def close_all(self):
        for each in self.sockets:
            each.close()
        self.sockets = []

    def open_idle(self, daemon):
        """Connects and says nothing. Returns after how many seconds the daemon has
        closed the connection; None: it is open."""
        started = time.monotonic()
        client = socket.create_connection(("127.0.0.1", daemon.port),
                                          timeout=WAIT_SECONDS)
        if is_taken(client):
            self.sockets.append(client)
            return None
        client.close()
        return time.monotonic() - started

    def is_refused(self, daemon):
        return self.open_idle(daemon) is not None

    def counters(self, actor):
        return actor.status().counters


class Descriptors(ConnectionsCase):

    def start(self, *options):
        few = self.text_file(f'#!/bin/sh\nulimit -n {DESCRIPTORS}\n'
                             f'exec "{places.ACTORD}" "$@"\n', "few")
        few.chmod(0o755)
        return self.start_daemon("--workers", "1", *PATIENT, *options,
                                 actord=few)

    def test_all_clients_are_served_again_after_too_many(self):
        daemon = self.start("--max-connections-per-address", "10000",
                            "--max-connections", "10000")
        actor = self.connect(daemon)
        pid = actor.submit("counter")
        seconds = []
        for number in range(CLIENTS):
            refused = self.open_idle(daemon)
            if refused is not None:
                seconds.append(refused)
            if number % 20 == 0:
                actor.send(pid, "add", b"1")
        self.assertGreater(len(seconds), CLIENTS - DESCRIPTORS)
        self.assertGreater(len(self.sockets), DESCRIPTORS - RESERVE - 40)
        # The median, because any single one may find the machine busy.
        self.assertLess(sorted(seconds)[len(seconds) // 2], REFUSED_SECONDS)
        counters = self.counters(actor)
        self.assertEqual(counters.connection_descriptor_limit_total,
                         len(seconds))
        self.assertEqual(counters.connections_open, len(self.sockets) + 1)
        self.close_all()
        started = time.monotonic()
        later = self.connect(daemon)
        self.assertEqual(later.run("echo", b"1").result.data, b"1")
        self.assertLess(time.monotonic() - started, SERVED_SECONDS)
        eventually(lambda: self.counters(later).connections_open == 2,
                   "the ends of the others")
        self.assertIn("the free descriptors are the reserve of "
                      "connections.reserved_descriptors", daemon.log())

    def test_one_address_leaves_room_for_others(self):
        daemon = self.start()
        most = (DESCRIPTORS - RESERVE) // 2
        for _ in range(most):
            self.assertFalse(self.is_refused(daemon))
        self.assertTrue(self.is_refused(daemon))
        other = socket.create_connection(("127.0.0.1", daemon.port),
                                         timeout=WAIT_SECONDS,
                                         source_address=("127.0.0.2", 0))
        self.addCleanup(other.close)
        self.assertTrue(is_taken(other))
        self.assertIn("connection of ipv4:127.0.0.1:", daemon.log())
        self.assertIn("raise connections.max_per_address", daemon.log())


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


if __name__ == "__main__":
    unittest.main()
