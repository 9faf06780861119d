"""Many connections that do nothing, or almost nothing."""

import os
import resource
import socket
import time
import unittest

from actord.v1 import process_pb2
from harness.attack_case import ENDS_SOON, FULL, MIB, AttackCase
from harness.raw_client import PREFACE, RawClient
from harness.waiting import eventually

# Each takes a descriptor of the test and one of the daemon.
CONNECTIONS = 10_000 if FULL else 500
BYTES_EACH = 64 << 10
SERVED_SECONDS = 1
# Between two bytes of a slow request.
PAUSE_SECONDS = 1 if FULL else 0.3


class ManyConnections(AttackCase):

    OPTIONS = ("--handshake-timeout", "3s", "--max-connections", "100000",
               "--max-connections-per-address", "100000", *ENDS_SOON)

    def setUp(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        super().setUp()
        # That of the test, and that of the client that is served meanwhile.
        self.honest_ones = 2
        self.count = min(CONNECTIONS, hard - 200)
        self.sockets = []
        self.addCleanup(self.close_all)

    def close_all(self):
        for each in self.sockets:
            each.close()
        self.sockets = []

    def connect_socket(self):
        return socket.create_connection(("127.0.0.1", self.daemon.port), timeout=30)

    def open_all(self, first_bytes):
        for _ in range(self.count):
            client = self.connect_socket()
            self.sockets.append(client)
            client.sendall(first_bytes)

    def check(self, what):
        honest = self.honest()
        time.sleep(1)
        honest.end()
        each = self.grown() / self.count
        self.record(f"{self.count} {what}: {each / 1024:.1f} KiB each; "
                    f"others' slowest call {honest.longest:.3f} s")
        self.assertLess(self.grown(), self.count * BYTES_EACH + 16 * MIB)
        self.assertLess(honest.longest, SERVED_SECONDS * self.factor)

    def check_all_end(self):
        eventually(lambda: self.counters().connections_open == self.honest_ones,
                   "the ends of the others", 30 * self.factor)

    def test_silent(self):
        """They never send a byte: the handshake timeout ends them."""
        self.open_all(b"")
        self.check("silent connections")
        self.check_all_end()

    def test_half_a_preface(self):
        self.open_all(PREFACE[:10])
        self.check("connections with half a preface")
        self.check_all_end()

    def test_one_byte_a_second(self):
        self.open_all(b"")
        honest = self.honest()
        for position in range(3):
            for client in self.sockets:
                try:
                    client.sendall(PREFACE[position:position + 1])
                except OSError:
                    pass  # Ended by the handshake timeout already.
            time.sleep(1)
        honest.end()
        self.assertLess(honest.longest, SERVED_SECONDS * self.factor)
        self.check_all_end()

    def test_idle_after_the_handshake(self):
        """They stay, as the idle connections of honest clients do."""
        self.open_all(PREFACE + b"\0\0\0\x04\0\0\0\0\0")
        # connect() returns before the daemon accepts.
        everyone = self.count + 1
        eventually(lambda: self.counters().connections_open == everyone,
                   "all connections", 30 * self.factor)
        self.check("idle connections")
        # A busy daemon may still be accepting them.
        eventually(lambda: self.counters().connections_open ==
                   self.count + self.honest_ones, "all connections")
        self.close_all()
        self.check_all_end()

    def test_body_byte_by_byte(self):
        """Each begins a call, and sends its request byte by byte. Nothing ends them, as
        nothing ends honest clients on a slow line."""
        pid = self.actor.submit("counter", b"0")
        request = process_pb2.SendRequest(pid=pid, topic="add", payload={"data": b"1"})
        for _ in range(self.count):
            client = RawClient(self.daemon.address)
            self.sockets.append(client.socket)
            late = client.open("Send", request, part=5)
        honest = self.honest()
        for position in range(3):
            for client in self.sockets:
                client.sendall(late[position:position + 1])
            time.sleep(PAUSE_SECONDS)
        honest.end()
        each = self.grown() / self.count
        self.record(f"{self.count} calls whose requests come byte by byte: "
                    f"{each / 1024:.1f} KiB each; others' slowest call "
                    f"{honest.longest:.3f} s")
        self.assertLess(self.grown(), self.count * BYTES_EACH + 16 * MIB)
        self.assertLess(honest.longest, SERVED_SECONDS * self.factor)
        self.assertEqual(self.counters().connections_open,
                         self.count + self.honest_ones)
        # The messages arrive with their last bytes.
        self.assertEqual(self.actor.call(pid, "get").result.data, b"0")
        for client in self.sockets:
            client.sendall(late[3:])
        eventually(lambda: int(self.actor.call(pid, "get").result.data) == self.count,
                   "all messages")
        self.close_all()
        self.check_all_end()

    def test_end_among_them(self):
        self.open_all(PREFACE + b"\0\0\0\x04\0\0\0\0\0")
        self.count //= 2
        self.open_all(PREFACE[:10])
        self.assert_ends_in_time()

    def test_garbage(self):
        for text in (b"GET / HTTP/1.1\r\nHost: actord\r\n\r\n",
                     # The begin of a TLS handshake.
                     b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500,
                     os.urandom(4096), b"\0" * 4096, PREFACE + os.urandom(4096)):
            client = socket.create_connection(("127.0.0.1", self.daemon.port),
                                              timeout=30)
            self.sockets.append(client)
            client.sendall(text)
            try:
                while client.recv(4096):
                    pass
            except ConnectionResetError:
                pass
            self.assert_serves()
        self.honest_ones = 1
        self.check_all_end()


class ManyConnectionsOfAUnixSocket(ManyConnections):

    def start_daemon(self, *options, **more):
        self.path = self.directory / "s"
        return super().start_daemon(*options, "--listen", f"unix:{self.path}", **more)

    def connect_socket(self):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(30)
        deadline = time.monotonic() + 30
        while True:
            try:
                client.connect(str(self.path))
                return client
            except BlockingIOError:
                # The queue of the listening socket is full; TCP would wait.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.001)

    def test_silent(self):
        super().test_silent()

    def test_idle_after_the_handshake(self):
        super().test_idle_after_the_handshake()


if __name__ == "__main__":
    unittest.main()
