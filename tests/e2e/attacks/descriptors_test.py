"""Connections that use up the daemon's descriptors."""

import pathlib
import resource
import socket
import time
import unittest
from statistics import median, quantiles

from admin.pages import admin_port, get
from harness import places
from harness.attack_case import (ENDS_SOON, assert_ends_in_time, machine_factor,
                                 record)
from harness.case import EmptyCase
from harness.connections_case import PATIENT, ConnectionsCase, is_taken
from harness.tokens import TokenCase
from harness.waiting import WAIT_SECONDS, eventually

DESCRIPTORS = 128
RESERVE = 64
CLIENTS = 400
REFUSED_SECONDS = 0.1
SERVED_SECONDS = 1
AT_ONCE_SECONDS = 1


class Descriptors(TokenCase, ConnectionsCase):

    def start(self, *options):
        few = self.text_file(f'#!/bin/sh\nulimit -n {DESCRIPTORS}\n'
                             f'exec "{places.ACTORD}" "$@"\n', "few")
        few.chmod(0o755)
        self.client_token = self.token("admin")
        return self.serve("--workers", "1", *PATIENT, *options, actord=few)

    def client(self, daemon):
        return self.connect_with(daemon, self.client_token)

    def test_all_clients_are_served_again_after_too_many(self):
        daemon = self.start("--max-connections-per-address", "10000",
                            "--max-connections", "10000")
        actor = self.client(daemon)
        pid = actor.submit("counter")
        factor = machine_factor()
        seconds = []
        for number in range(CLIENTS):
            refused = self.open_idle(daemon)
            if refused is not None:
                seconds.append(refused)
            if number % 20 == 0:
                actor.send(pid, "add", b"1")
        self.assertGreater(len(seconds), CLIENTS - DESCRIPTORS)
        self.assertGreater(len(self.sockets), DESCRIPTORS - RESERVE - 40)
        # Nine tenths, because any single one may find the machine busy.
        nine_tenths = quantiles(seconds, n=10)[-1]
        self.assertLess(nine_tenths, REFUSED_SECONDS * factor)
        counters = self.counters(actor)
        self.assertEqual(counters.connection_descriptor_limit_total,
                         len(seconds))
        self.assertEqual(counters.connections_open, len(self.sockets) + 1)
        self.close_all()
        started = time.monotonic()
        # A gRPC client waits for a second after it was refused.
        eventually(lambda: not self.is_refused(daemon), "room for one")
        later = self.client(daemon)
        self.assertEqual(later.run("echo", b"1").result.data, b"1")
        served = time.monotonic() - started
        record(self, f"{len(seconds)} of {CLIENTS} refused, half of them within "
               f"{1000 * median(seconds):.1f} ms, nine tenths within "
               f"{1000 * nine_tenths:.1f} ms; a new client was served "
               f"{1000 * served:.0f} ms after the others had gone")
        self.assertLess(served, SERVED_SECONDS * factor)
        eventually(lambda: self.counters(later).connections_open == 3,
                   "the ends of the others")
        daemon.wait_for_line("the free descriptors are the reserve of "
                             "connections.reserved_descriptors")

    def test_end_among_too_many(self):
        daemon = self.start("--max-connections-per-address", "10000",
                            "--max-connections", "10000", *ENDS_SOON)
        while not self.is_refused(daemon):
            pass
        assert_ends_in_time(self, daemon)

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
        daemon.wait_for_line("connection of 127.0.0.1:")
        daemon.wait_for_line("raise connections.max_per_address")


class DescriptorsByAUnixSocket(Descriptors):
    """The clients that use up the descriptors come over a Unix socket."""

    def start(self, *options):
        self.path = self.directory / "s"
        return super().start("--listen", f"unix:{self.path}", *options)

    def connect_socket(self, daemon):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(WAIT_SECONDS)
        client.connect(str(self.path))
        return client

    def test_all_clients_are_served_again_after_too_many(self):
        super().test_all_clients_are_served_again_after_too_many()

    def test_end_among_too_many(self):
        super().test_end_among_too_many()

    # A Unix socket has no address.
    test_one_address_leaves_room_for_others = None


def leave_no_descriptor(pid):
    """Sets the limit of the process to the descriptors that it has now."""
    taken = {int(path.name) for path in pathlib.Path(f"/proc/{pid}/fd").iterdir()}
    lowest = min(set(range(len(taken) + 1)) - taken)
    _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (lowest, hard))


class AdminPort(EmptyCase):

    def test_client_is_refused_at_once_and_served_later(self):
        daemon = self.start_daemon("--admin-listen", "127.0.0.1:0")
        port = admin_port(daemon)
        self.assertEqual(get(port, "/healthz")[0], 200)
        pid = daemon.process.pid
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)

        def is_refused():
            leave_no_descriptor(pid)
            with socket.create_connection(("127.0.0.1", port),
                                          timeout=AT_ONCE_SECONDS) as client:
                try:
                    self.assertEqual(client.recv(1), b"")
                except ConnectionResetError:
                    pass  # refused, too
                except TimeoutError:
                    return False  # an earlier connection had just ended
            return True

        eventually(is_refused, "a refused client")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
        self.assertEqual(get(port, "/healthz")[0], 200)
        line = ("connection to the admin port refused: the daemon has no "
                "descriptor left")
        eventually(lambda: line in daemon.log(), line)


if __name__ == "__main__":
    unittest.main()
