"""How many connections the daemon takes."""

import re
import signal
import socket
import time
import unittest

import grpc
from actord.v1 import outcome_pb2
from harness import places
from harness.connections_case import PATIENT, ConnectionsCase
from harness.daemon import free_port
from harness.raw_client import PREFACE
from harness.waiting import WAIT_SECONDS, eventually

# What a client without TLS gets before it has spoken: a SETTINGS frame with the limit
# on calls.
SETTINGS = b"\0\0\6\4\0\0\0\0\0\0\3" + (1000).to_bytes(4, "big")


def read_to_the_end(client):
    received = b""
    while piece := client.recv(4096):
        received += piece
    return received


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
        self.assertEqual(read_to_the_end(client), SETTINGS)
        self.assertGreater(time.monotonic() - started, 0.3)
        self.assertEqual(actor.run("echo", b"1").result.data, b"1")
        eventually(lambda: self.counters(actor).connections_open == 1,
                   "its end")
        line = ("closed: it has sent nothing for 500ms "
                "(connections.handshake_timeout)")
        eventually(lambda: line in daemon.log(), line)

    def test_client_of_half_a_preface_is_closed_after_the_handshake_timeout(self):
        daemon = self.start_daemon("--handshake-timeout", "500ms")
        with self.connect_socket(daemon) as client:
            client.sendall(PREFACE[:-1])
            # Nobody has read the bytes, so the end is a reset.
            with self.assertRaises(ConnectionResetError):
                read_to_the_end(client)
        line = "closed: it has sent only the beginning of a first line for 500ms"
        eventually(lambda: line in daemon.log(), line)

    def test_preface_that_comes_in_pieces_is_served(self):
        daemon = self.start_daemon()
        with self.connect_socket(daemon) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for position in range(len(PREFACE)):
                client.sendall(PREFACE[position:position + 1])
            self.assertNotEqual(client.recv(1), b"")


class FirstFrame(ConnectionsCase):

    def test_names_the_limit_on_calls(self):
        """gRPC closes a connection that exceeds a limit of which the client knows."""
        daemon = self.start_daemon("--max-concurrent-streams", "5")
        actor = self.connect(daemon)
        pid = actor.submit("probe", method="collect")
        for _ in range(10):
            other = self.connect(daemon)
            calls = [other.stub.Await.future(outcome_pb2.AwaitRequest(pid=pid),
                                             timeout=1.5) for _ in range(20)]
            self.assertEqual({call.code() for call in calls},
                             {grpc.StatusCode.DEADLINE_EXCEEDED})
            other.close()


class ChannelThatNobodyPolls(ConnectionsCase):
    """Calls that fail at once do not poll their channel. gRPC's C core then looks at
    its sockets every 5 s, and gives a connection 0.5 s with these options."""

    OPTIONS = tuple((f"grpc.{name}_reconnect_backoff_ms", ms) for name, ms in (
        ("initial", 100), ("min", 100), ("max", 500)))

    def test_finds_a_daemon_that_was_started_again(self):
        port = free_port()
        daemon = self.start_daemon(exit_status=-signal.SIGKILL, port=port)
        actor = self.connect(daemon, self.OPTIONS)
        daemon.signal(signal.SIGKILL)
        daemon.wait()
        with self.assertRaises(grpc.RpcError):
            actor.status()
        self.start_daemon(port=port)

        def is_served():
            try:
                return actor.run("echo", b"1").result.data == b"1"
            except grpc.RpcError as error:
                self.assertEqual(error.code(), grpc.StatusCode.UNAVAILABLE)
                return False

        eventually(is_served, "a connection")


class OtherProtocols(ConnectionsCase):
    """One client of each protocol, and one line for it."""

    WHO = r"127\.0\.0\.1:\d+"

    def start(self):
        return self.start_daemon()

    def say(self, daemon, actor, *pieces):
        """Sends the pieces, the first one when the daemon has accepted the connection.
        Returns when the daemon has closed it."""
        accepted = self.counters(actor).connections_accepted_total
        with self.connect_socket(daemon) as client:
            eventually(lambda: self.counters(actor).connections_accepted_total >
                       accepted, "the connection")
            try:
                for piece in pieces:
                    client.sendall(piece)
                while client.recv(4096):
                    pass
            except (ConnectionResetError, BrokenPipeError):
                pass

    def test_first_bytes_of_another_protocol_are_logged(self):
        daemon = self.start()
        actor = self.connect(daemon)
        for pieces, text in (
                ((b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",),
                 "it speaks HTTP/1.1, and this address serves gRPC over HTTP/2"),
                ((b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500,),
                 "it speaks TLS, and this address has no TLS"),
                ((b"\0" * 4096,), "its first bytes are not those of HTTP/2")):
            self.say(daemon, actor, *pieces)
            line = re.compile(f"warning .*connection of {self.WHO} "
                              f"closed: {re.escape(text)}")
            # A thread of its own writes the log.
            eventually(lambda: line.search(daemon.log()), text)
        self.assertEqual(actor.run("echo", b"1").result.data, b"1")
        self.assertEqual(daemon.log().count("connection of "), 3)

    def test_first_bytes_in_pieces_are_logged(self):
        daemon = self.start()
        # The first letter could begin the preface of HTTP/2.
        self.say(daemon, self.connect(daemon), b"P", b"OST / HTTP/1.1\r\n\r\n")
        eventually(lambda: "closed: it speaks HTTP/1.1" in daemon.log(), "the line")

    def test_client_that_ends_without_a_byte_is_not_logged(self):
        daemon = self.start()
        actor = self.connect(daemon)
        self.connect_socket(daemon).close()
        eventually(lambda: self.counters(actor).connections_accepted_total == 2 and
                   self.counters(actor).connections_open == 1, "its end")
        self.assertNotIn("connection of ", daemon.log())


class OtherProtocolsOverAUnixSocket(OtherProtocols):

    WHO = r"unix:\d+ \(uid \d+, pid \d+\)"

    def start(self):
        self.path = self.directory / "s"
        return self.start_daemon("--listen", f"unix:{self.path}")

    def connect_socket(self, daemon):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(WAIT_SECONDS)
        client.connect(str(self.path))
        return client

    # CTest runs the classes that have a test in their own text.
    def test_first_bytes_of_another_protocol_are_logged(self):
        super().test_first_bytes_of_another_protocol_are_logged()


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
