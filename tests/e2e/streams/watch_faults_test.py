"""Watches that do not read: nobody else pays for them, and they are told what
they have missed."""

import time
import unittest

from actord.v1 import status_pb2
from harness.daemon import MEASURED
from harness.waiting import SANITIZED, WAIT_SECONDS, eventually
from harness.watch import Watch
from harness.watch_case import WatchCase

LOG_BYTES = 4 << 20
SLOWEST_ANSWER_SECONDS = 30 if SANITIZED else 10
# gRPC's client takes in what its window allows, whether the program reads or
# not, and makes the window as large as 16 MiB by itself, which is more than all
# the events of a test.
SMALL_WINDOW = (("grpc.http2.bdp_probe", 0),
                ("grpc.http2.lookahead_bytes", 64 << 10))


class SlowReaders(WatchCase):

    OPTIONS = ("--watch-max-bytes", str(LOG_BYTES))
    ENVIRONMENT = MEASURED
    PARENTS, CHILDREN = 3 if SANITIZED else 25, 8000
    CONNECTIONS = 5 if SANITIZED else 20
    CHURN = PARENTS * CHILDREN

    def churn(self):
        """Starts and ends so many processes, and asks meanwhile how the daemon
        is; returns the longest that an answer took."""
        parents = [self.actor.submit("probe", b"%d" % self.CHILDREN,
                                     method="children")
                   for _ in range(self.PARENTS)]
        longest = 0

        def all_have_ended():
            nonlocal longest
            began = time.monotonic()
            counters = self.counters()
            longest = max(longest, time.monotonic() - began)
            self.assertLessEqual(counters.watch_events_kept_bytes, LOG_BYTES)
            return counters.processes_live == self.live

        # Two hundred watches, of which each is told some of it, take seconds too.
        eventually(all_have_ended, f"{self.CHURN} ends",
                   2 * WAIT_SECONDS if SANITIZED else 4 * WAIT_SECONDS)
        for parent in parents:
            self.actor.wait(parent)
        return longest

    def test_slow_reader_is_told_and_right_again(self):
        stay = set(self.idle(20))
        self.live = len(stay)
        # Of a first round the daemon keeps places for processes.
        self.churn()
        slow = self.watch(self.connect(self.daemon, SMALL_WINDOW), reads=False)
        attentive = self.watch(process_type="counter").wait_until_begun()
        other = self.watch().wait_until_begun()
        eventually(lambda: self.counters().watches_open == 3, "all three")
        before = self.daemon.resident_bytes()
        counter = self.actor.submit("counter")
        self.live += 1
        self.assertLess(self.churn(), SLOWEST_ANSWER_SECONDS)
        # The events of that are 400 bytes for each.
        counters = self.counters()
        self.assertGreater(counters.watch_events_total, 2 * self.CHURN)
        self.assertLess(self.daemon.grown_bytes(before),
                        LOG_BYTES + (24 << 20))
        attentive.wait_until_live([counter])
        self.end(counter)
        attentive.wait_for_end_of(counter)
        self.assertEqual(attentive.live, set())
        # Whether it could follow or not, it sees what there is.
        other.wait_until_live(stay, WAIT_SECONDS)
        slow.read_on()
        slow.wait_for(lambda: slow.missed, "what it has missed")
        slow.wait_for(lambda: slow.snapshots == 2, "another snapshot")
        slow.wait_until_live(stay, WAIT_SECONDS)
        # Each process has two events. The client has not missed the events that
        # the log holds, nor those that were on their way.
        self.assertGreater(sum(slow.missed), self.CHURN // 4)
        # From now on it misses nothing.
        told = len(slow.missed)
        new = self.idle(5)
        slow.wait_until_live([*stay, *new])
        self.assertEqual(len(slow.missed), told)
        self.assertGreaterEqual(self.counters().watch_events_missed_total,
                                sum(slow.missed))
        self.assert_serves()

    def test_many_slow_readers_take_bounded_memory(self):
        self.live = 2000
        self.idle(self.live)
        self.churn()
        before = self.daemon.resident_bytes()
        connections = [self.connect(self.daemon)
                       for _ in range(self.CONNECTIONS)]
        watches = [Watch(connection.stub, reads=False)
                   for connection in connections for _ in range(10)]
        for watch in watches:
            self.addCleanup(watch.cancel)
        eventually(lambda: self.counters().watches_open == len(watches),
                   "all of them")
        self.assertLess(self.churn(), SLOWEST_ANSWER_SECONDS)
        # One response each, here and in the system's buffers, of 150 KiB.
        self.assertLess(self.daemon.grown_bytes(before),
                        len(watches) * (600 << 10))
        for connection in connections:
            connection.close()
        # A stream is open until gRPC has finished it, a watch until it is told to.
        eventually(lambda: self.counters().streams_open == 0, "their ends")
        self.assertEqual(self.counters().watches_open, 0)
        self.assert_serves()
        self.actor.shutdown(status_pb2.ShutdownRequest.MODE_NOW)


if __name__ == "__main__":
    unittest.main()
