"""The Python package: labels, and the lists of live and ended processes."""

import unittest

import actord
import grpc
from harness.case import DaemonCase
from harness.waiting import WAIT_SECONDS


class LabelCalls(DaemonCase):

    def setUp(self):
        super().setUp()
        self.client = actord.Client(self.daemon.address, timeout=WAIT_SECONDS)
        self.addCleanup(self.client.close)

    def test_labels_select_live_and_ended_processes(self):
        acme = self.client.submit("counter", "1", name="count",
                                  labels={"tenant": "acme", "urgent": ""})
        other = self.client.submit("counter", "1", labels={"tenant": "other"})
        self.assertEqual({process.pid: (process.labels, process.names)
                          for process in self.client.ps(labels={"tenant": None})},
                         {acme.pid: ({"tenant": "acme", "urgent": ""}, ("count",)),
                          other.pid: ({"tenant": "other"}, ())})
        labels = {"tenant": "acme", "urgent": None}
        [process] = self.client.ps("counter", labels=labels)
        self.assertEqual((process.pid, process.end, process.end_time),
                         (acme.pid, "UNSPECIFIED", None))
        self.assertEqual(self.client.describe(acme).labels, process.labels)
        with self.client.watch(labels=labels, timeout=WAIT_SECONDS) as watch:
            snapshot = next(watch)
            self.assertEqual([one.pid for one in snapshot.processes], [acme.pid])
            self.client.terminate(other)
            self.client.terminate(acme, "enough")
            event = next(one for one in watch if isinstance(one, actord.Ended))
            self.assertEqual((event.pid, event.labels), (acme.pid, process.labels))
        self.client.run("echo", "1", labels={"tenant": "acme"})
        self.assertEqual([one.process_type for one in self.client.ended(
            labels={"tenant": "acme"}, page_size=1)], ["echo", "counter"])
        [ended] = self.client.ended("counter", end=actord.ProcessEnd.TERMINATED,
                                    labels=labels)
        self.assertEqual(
            (ended.pid, ended.state, ended.names, ended.end, ended.end_code,
             ended.end_message),
            (acme.pid, "ENDED", ("count",), "TERMINATED", grpc.StatusCode.ABORTED,
             "enough"))
        self.assertLessEqual(ended.create_time, ended.end_time)
        with self.assertRaises(actord.InvalidArgument):
            self.client.submit("counter", labels={"Tenant": "acme"})


if __name__ == "__main__":
    unittest.main()
