"""SIGTERM in the middle of a flood of many connections."""

import resource
import unittest

from harness.attack_case import ENDS_SOON, FULL, AttackCase
from harness.waiting import eventually

CONNECTIONS = 2000 if FULL else 50


class FloodEnd(AttackCase):

    OPTIONS = ("--max-connections", "100000", "--max-connections-per-address",
               "100000", *ENDS_SOON)

    def setUp(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        super().setUp()

    def check(self, address):
        # Each connection that is cut is replaced, so the flood goes on.
        flood = self.flood("rapid_reset", 60 * self.factor, address=address,
                           connections=CONNECTIONS, again=True)
        eventually(lambda: self.cut_total() >= CONNECTIONS // 2, "cuts",
                   30 * self.factor)
        self.assertIsNone(flood.process.poll(), "the flood is over")
        self.assert_ends_in_time()

    def test_end_in_a_flood_of_many_connections(self):
        self.check(self.daemon.address)


class FloodEndOfAUnixSocket(FloodEnd):

    def start_daemon(self, *options, **more):
        self.path = self.directory / "s"
        return super().start_daemon(*options, "--listen", f"unix:{self.path}", **more)

    def test_end_in_a_flood_of_many_connections(self):
        self.check(f"unix:{self.path}")


if __name__ == "__main__":
    unittest.main()
