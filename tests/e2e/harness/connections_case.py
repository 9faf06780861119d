"""The base of the tests that open connections and say almost nothing over them."""

import socket
import time

from harness.case import EmptyCase
from harness.raw_client import PREFACE
from harness.waiting import WAIT_SECONDS

# Idle connections are to stay as long as a test wants them.
PATIENT = ("--handshake-timeout", "10m")


def is_taken(client):
    """Whether the daemon takes the connection: gRPC answers the preface with its
    settings. If not, it closes the connection."""
    try:
        client.sendall(PREFACE)
        return client.recv(1) != b""
    except (ConnectionResetError, BrokenPipeError):
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

    def connect_socket(self, daemon):
        return socket.create_connection(("127.0.0.1", daemon.port),
                                        timeout=WAIT_SECONDS)

    def open_idle(self, daemon):
        """Connects and sends no more than a preface. Returns after how many seconds the daemon has
        closed the connection; None: it is open."""
        started = time.monotonic()
        client = self.connect_socket(daemon)
        if is_taken(client):
            self.sockets.append(client)
            return None
        client.close()
        return time.monotonic() - started

    def is_refused(self, daemon):
        return self.open_idle(daemon) is not None

    def counters(self, actor):
        return actor.status().counters
