"""A shutdown that ends durable processes, and one that keeps them."""

import json
import unittest

from harness.case import DURABLE, StoreCase
from harness.connection import failure_name
from harness.waiting import eventually


class EndDurable(StoreCase):

    def shutdown(self, *words, status=0):
        done = self.actorctl("shutdown", *words, "--address",
                             self.daemon.address, "-o", "json", status=status)
        self.daemon.wait()
        return json.loads(done.stdout)

    def test_ends_sleepers_and_trees_and_keeps_results(self):
        self.start()
        sleepers = [self.counter(i) for i in range(30)]
        # The children are restarted whenever they end, unless their supervisor
        # stops them.
        tree = self.actor.submit("supervisor", json.dumps({"children": [
            {"id": name, "type": "counter"} for name in ("a", "b")]}).encode(),
            durability=DURABLE)
        eventually(lambda: self.actor.status().counters.processes_live == 33,
                   "the processes")
        report = self.shutdown()
        self.assertEqual((report["ended_count"], report["kept_count"]), (0, 33))
        self.start()
        # As the store has them: they are not in memory.
        self.assertGreaterEqual(
            self.actor.status().counters.processes_dormant, 30)
        self.actor.submit("probe", method="idle")
        report = self.shutdown("--end-durable")
        self.assertEqual(
            (report["ended_count"], report["forced_count"],
             report["kept_count"]), (34, 0, 0), self.daemon.log())
        self.start()
        self.assertEqual(self.actor.status().counters.processes_live, 0)
        for i, pid in enumerate(sleepers):
            self.assertEqual(self.actor.wait(pid).result.data, b"%d" % i)
        self.assertEqual(failure_name(self.actor.wait(tree)), "CANCELLED")

    def test_forces_at_once(self):
        self.start()
        pids = [self.counter(i) for i in range(5)]
        report = self.shutdown("--end-durable", "--mode", "now")
        self.assertEqual((report["forced_count"], report["kept_count"]), (5, 0))
        self.start()
        for pid in pids:
            self.assertEqual(failure_name(self.actor.wait(pid)), "TERMINATED")

    def test_terminates_processes_in_quarantine(self):
        self.start()
        pid = self.counter(5)
        self.daemon.stop()
        self.daemon = self.start_daemon("--store", self.store, plugins=False)
        self.daemon.wait_for_line("1 processes of the store are in quarantine")
        report = self.shutdown("--end-durable", "--deadline", "1h")
        self.assertEqual(report["kept_count"], 0)
        self.start()
        self.assertIn("terminated in quarantine",
                      self.actor.wait(pid).failure.message)


if __name__ == "__main__":
    unittest.main()
