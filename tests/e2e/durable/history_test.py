"""actorctl history: what a durable process has done, read from the store."""

import json
import signal
import subprocess
import unittest

import grpc
from actord.v1 import history_pb2, payload_pb2, process_pb2, yield_pb2
from harness import places
from harness.case import DURABLE, EXTERNAL, StoreCase
from harness.connection import CALL_SECONDS
from harness.tokens import TokenCase
from harness.waiting import WAIT_SECONDS, eventually

CLI_SECONDS = 60


class History(StoreCase):

    def start(self, exit_status=-signal.SIGKILL):
        self.start_with = EXTERNAL
        return super().start(exit_status)

    def command(self, *words):
        return [str(places.ACTORCTL), "history", *words, "--address",
                self.daemon.address]

    def lines(self, pid, *words):
        """The entries as JSON."""
        done = subprocess.run(
            self.command(pid, "-o", "json", *words), capture_output=True,
            text=True, timeout=CLI_SECONDS, env=places.clean_environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def table(self, pid, status=0):
        done = subprocess.run(self.command(pid), capture_output=True, text=True,
                              timeout=CLI_SECONDS,
                              env=places.clean_environment())
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout + done.stderr

    def kinds(self, pid):
        return [line["kind"] for line in self.lines(pid)]

    def test_counter_over_a_restart_and_a_failure(self):
        self.start()
        pid = self.counter(5, name="visits")
        self.actor.send(pid, "add", b"7")
        self.kill()
        self.start()
        self.assertEqual(self.value(pid), 12)
        self.actor.send(pid, "add", b"no number \x1b[31m\xff")
        self.assertEqual(self.kinds("@visits")[:5],
                         ["SUBMITTED", "STARTED", "STEP", "STEP", "MESSAGE"])
        self.assertIn("DAEMON_STARTED", self.kinds("@visits"))
        lines = self.lines(pid)
        self.assertEqual(lines[0]["payload"]["json"], 5)
        self.assertEqual((lines[4]["name"], lines[4]["payload"]["json"]),
                         ("add", 7))
        self.assertTrue(all(line["time"].startswith("20") for line in lines))
        # Hostile bytes reach no terminal.
        shown = self.table(pid)
        self.assertNotIn("\x1b", shown)
        self.assertIn("0x6e6f206e756d626572201b5b33316dff", shown)
        self.actor.terminate(pid, "enough")
        self.actor.wait(pid)
        shown = self.table(pid)
        self.assertRegex(shown, "(?m)^.* TERMINATED .* enough$")
        self.assertRegex(shown, "(?m)^.* ENDED .*FAILED .*terminated$")
        self.kill()
        self.start()
        self.assertEqual(self.kinds(pid)[-1], "ENDED")
        self.daemon.signal(signal.SIGKILL)

    def test_order_with_a_pending_yield_and_follow(self):
        self.start()
        order = {"order": "o-1", "amount_cents": 700, "hold_ms": 1,
                 "payment_timeout_ms": 120_000}
        pid = self.actor.submit("order", json.dumps(order).encode(),
                                durability=DURABLE)
        token = eventually(
            lambda: next(iter(self.actor.yields()), None), "the yield").token
        pending = [line for line in self.lines(pid)
                   if line["kind"] == "PENDING_YIELD"]
        self.assertEqual([line["name"] for line in pending], ["payment.charge"])
        self.assertIn("deadline", pending[0])
        self.kill()
        self.start()
        follower = subprocess.Popen(
            self.command(pid, "--follow", "-o", "jsonl"), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=places.clean_environment())
        self.addCleanup(follower.kill)
        kinds = []
        while not kinds or kinds[-1] != "UP_TO_HERE":
            kinds.append(json.loads(follower.stdout.readline())["kind"])
        self.assertIn("PENDING_YIELD", kinds)
        self.actor.stub.CompleteYield(yield_pb2.CompleteYieldRequest(
            token=token, result=payload_pb2.Payload(data=b'"p-1"')),
            timeout=CALL_SECONDS)
        self.actor.wait(pid)
        out, complaints = follower.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(follower.returncode, 0, complaints)
        new = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(new[-1]["kind"], "ENDED")
        completion = next(line for line in new if line["kind"] == "COMPLETION")
        self.assertEqual(completion["payload"]["json"], "p-1")
        self.daemon.signal(signal.SIGKILL)

    def test_refusals(self):
        self.start()
        volatile = self.actor.submit(
            "counter", b"1", durability=process_pb2.DURABILITY_VOLATILE)
        self.assertIn(f"process {volatile} is volatile: only durable processes "
                      "have a history", self.table(volatile, status=1))
        place, generation = volatile.rsplit(".", 1)
        never = f"{place}.{int(generation, 16) + 2:x}"
        said = self.table(never, status=3)
        self.assertIn(f"there is no process {never}", said)
        self.assertNotIn("volatile", said)
        self.assertIn("INVALID_PID", self.table("nothing", status=1))
        gone = self.counter()[:-1] + "f"
        self.assertIn("PROCESS_NOT_FOUND", self.table(gone, status=3))
        self.daemon.signal(signal.SIGKILL)


class OthersHistory(TokenCase):

    def read(self, actor, pid):
        entries = []
        for response in actor.stub.ReadHistory(
                history_pb2.ReadHistoryRequest(pid=pid), timeout=CALL_SECONDS):
            entries.extend(response.entries)
        return entries

    def test_owners_and_payloads(self):
        alice, bob = (self.token("client", name=name)
                      for name in ("alice", "bob"))
        viewer = self.token("viewer", name="eve")
        daemon = self.serve("--store", self.directory / "store")
        own = self.connect_with(daemon, alice)
        pid = own.submit("counter", b"5", durability=DURABLE)
        own.send(pid, "add", b"7")
        own.call(pid, "get")
        message = history_pb2.HISTORY_KIND_MESSAGE
        seen = [entry for entry in self.read(own, pid) if entry.kind == message]
        self.assertEqual([entry.payload.data for entry in seen], [b"7"])
        with self.assertRaises(grpc.RpcError) as caught:
            self.read(self.connect_with(daemon, bob), pid)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)
        seen = [entry for entry in
                self.read(self.connect_with(daemon, viewer), pid)
                if entry.kind == message]
        self.assertEqual([(entry.HasField("payload"), entry.payload_bytes)
                          for entry in seen], [(False, 1)])


if __name__ == "__main__":
    unittest.main()
