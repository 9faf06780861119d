"""Labels, names and ends of durable processes outlive the daemon."""

import json
import signal
import unittest

from actord.v1 import process_pb2
from harness.case import StoreCase
from harness.connection import CALL_SECONDS
from harness.waiting import eventually

LABELS = {"tenant": "acme", "urgent": ""}
ENDED = process_pb2.PROCESS_STATE_ENDED
DORMANT = process_pb2.PROCESS_STATE_DORMANT


class DurableLabels(StoreCase):

    def list(self, **fields):
        return self.actor.stub.ListProcesses(process_pb2.ListProcessesRequest(
            **fields), timeout=CALL_SECONDS).processes

    def pids(self, *labels, **fields):
        return [process.pid for process in self.list(labels=labels, **fields)]

    def ended(self):
        """Without the times: the record of an end is a moment older than the end."""
        found = self.list(state=ENDED)
        for one in found:
            self.assertTrue(one.HasField("end_time"))
            one.ClearField("end_time")
        return found

    def test_labels_outlive_the_daemon(self):
        self.start(exit_status=-signal.SIGKILL)
        pid, plain = self.counter(5, labels=LABELS), self.counter(6)
        for life in range(3):
            if life:
                self.kill()
                self.start(exit_status=-signal.SIGKILL if life < 2 else 0)
            self.assertEqual(self.pids("tenant=acme", "urgent"), [pid], life)
            self.assertEqual(dict(self.actor.process(pid).labels), LABELS)
            self.assertEqual(dict(self.actor.process(plain).labels), {})
            self.assertEqual(self.value(pid), 5)
        self.actor.send(pid, "stop")
        self.actor.wait(pid)
        self.assertEqual(self.pids("tenant"), [])
        self.assertEqual(self.pids("tenant", state=ENDED), [pid])

    def test_dormant_process_is_found_by_its_labels_and_stays_dormant(self):
        self.start_with = ("--store-passivate-after", "1s")
        self.start(exit_status=-signal.SIGKILL)
        pid = self.counter(5, labels=LABELS, name="visits")

        def await_dormant():
            eventually(lambda: self.actor.process(pid).state == DORMANT, "its sleep")

        await_dormant()
        self.kill()
        self.start()
        for _ in range(2):
            [one] = self.list(labels=["tenant=acme"])
            self.assertEqual((one.pid, one.state, list(one.names)),
                             (pid, DORMANT, ["visits"]))
            self.assertEqual(self.pids("tenant=other"), [])
            self.assertEqual(self.value(pid), 5)
            await_dormant()
        self.actor.send(pid, "stop")
        self.actor.wait(pid)
        self.assertEqual(self.pids("tenant"), [])

    def test_ended_processes_are_listed_after_a_restart_in_their_order(self):
        self.start(exit_status=-signal.SIGKILL)
        pids = [self.counter(i, name=f"n{i}", labels={"i": str(i)}) for i in range(5)]
        order = [pids[i] for i in (3, 0, 4, 1, 2)]
        for pid in order:
            self.actor.terminate(pid, "enough")
            self.actor.wait(pid)
        before = self.ended()
        self.assertEqual([one.pid for one in before], order[::-1])
        self.kill()
        self.start()
        self.assertEqual(self.ended(), before)
        self.assertEqual((before[0].process_type, list(before[0].names),
                          dict(before[0].labels), before[0].end),
                         ("counter", ["n2"], {"i": "2"},
                          process_pb2.PROCESS_END_TERMINATED))

    def test_export_import_and_backup_carry_labels(self):
        self.start()
        pid, ended = self.counter(5, labels=LABELS), self.counter(6, labels=LABELS)
        self.actor.send(ended, "stop")
        self.actor.wait(ended)
        self.actorctl("backup", self.directory / "backup")
        self.assertEqual(self.daemon.stop(), 0)
        lines = self.actorctl("store", "export", self.store).stdout.splitlines()
        for kind in ("process", "result"):
            [line] = [one for one in map(json.loads, lines) if one["kind"] == kind]
            self.assertEqual(line["labels"], ["tenant=acme", "urgent="])
        imported, salvaged = self.directory / "imported", self.directory / "salvaged"
        restored = self.directory / "restored"
        self.actorctl("store", "import", imported, "-", stdin="\n".join(lines))
        self.actorctl("store", "salvage", self.store, salvaged)
        for store, options in ((imported, ()), (salvaged, ()), (
                restored, ("--restore", self.directory / "backup"))):
            self.store, self.start_with = store, options
            self.start()
            self.assertEqual(self.pids("tenant=acme"), [pid], store)
            self.assertEqual(self.pids("tenant=acme", state=ENDED), [ended], store)
            self.assertEqual(self.daemon.stop(), 0)
        wrong = [line.replace("tenant=acme", "Tenant") for line in lines]
        refused = self.actorctl("store", "import", self.directory / "wrong", "-",
                                stdin="\n".join(wrong), status=None)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("has wrong labels", refused.stderr)


if __name__ == "__main__":
    unittest.main()
