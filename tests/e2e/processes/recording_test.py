"""The last steps of a process: those of one that is recorded, and the step of one that
has failed."""

import grpc
from actord.v1 import failure_pb2, history_pb2, process_pb2
from harness.case import DURABLE, StoreCase
from harness.cli import CliCase
from harness.connection import CALL_SECONDS
from harness.waiting import eventually

RECORDED = 16


def kinds(entries):
    return [history_pb2.HistoryKind.Name(entry.kind).removeprefix("HISTORY_KIND_")
            for entry in entries]


class Recording(CliCase):

    def recording(self, pid):
        """None: the process is not recorded."""
        answer = self.actor.stub.GetProcess(
            process_pb2.GetProcessRequest(pid=pid), timeout=CALL_SECONDS)
        return answer.recording if answer.HasField("recording") else None

    def test_recorded_steps_are_described(self):
        pid = self.actor.submit("counter", b"40", name="c")
        self.actor.call(pid, "get")
        self.assertIsNone(self.recording(pid))
        self.assertEqual(self.output("record", "@c"), "")
        self.assertRegex(self.output("describe", pid),
                         r"Recorded: +for .*; no step since\n")
        self.actor.send(pid, "add", b"2")
        # So that the call finds the mailbox empty, and gets a step of its own.
        eventually(lambda: self.recording(pid).entries, "the step of the message")
        self.assertEqual(self.actor.call(pid, "get").result.data, b"42")
        recording = self.recording(pid)
        self.assertEqual(kinds(recording.entries),
                         ["STEP", "MESSAGE", "STEP", "CALL", "REPLY"])
        step, message, *_ = recording.entries
        self.assertEqual((step.detail, message.name, message.payload_bytes),
                         ("idle", "add", 1))
        self.assertLess(recording.since.ToNanoseconds(), step.time.ToNanoseconds())
        self.assertTrue(step.HasField("duration"))
        self.assertFalse(any(entry.HasField("payload")
                             for entry in recording.entries))
        described = self.output("describe", pid)
        self.assertRegex(
            described, rf"Step {step.step}: +idle, .* ago, took .*: MESSAGE add \(1 B\)\n")
        self.assertRegex(described, r"Step \d+: .*: CALL get.*; REPLY")
        self.assertEqual(
            [entry["kind"] for entry in
             self.json("describe", pid)["recording"]["entries"]],
            ["STEP", "MESSAGE", "STEP", "CALL", "REPLY"])
        self.assertEqual(self.json("record", pid), {"pid": pid, "was_recorded": True})
        self.output("record", pid, "--stop")
        self.assertIsNone(self.recording(pid))
        self.assertNotIn("Recorded", self.output("describe", pid))

    def test_failure_shows_the_steps_before_it(self):
        for recorded in (False, True):
            pid = self.actor.submit("probe", b"because", "answer")
            if recorded:
                self.output("record", pid)
                self.actor.call(pid, "echo", b"1")
            with self.assertRaises(grpc.RpcError):
                self.actor.call(pid, "fail", b"\xffhostile")
            [failure] = eventually(lambda pid=pid: self.actor.stub.ListFailures(
                failure_pb2.ListFailuresRequest(pid=pid),
                timeout=CALL_SECONDS).failures, "the failure")
            entries = failure.last_steps
            if recorded:
                self.assertEqual(kinds(entries),
                                 ["STEP", "CALL", "REPLY", "STEP", "CALL"])
            else:
                self.assertEqual(kinds(entries), ["STEP", "CALL"])
            self.assertEqual((entries[-1].name, entries[-1].payload_bytes,
                              entries[-1].step), ("fail", 8, failure.steps))
            last = rf"Step {failure.steps}: +fail.*: CALL fail.* \(8 B\)"
            self.assertRegex(self.output("describe", pid), last)
            self.assertRegex(self.output("failures", "--newest", "-o", "wide"),
                             rf"Step {failure.steps}: fail.*: CALL fail")

    def test_oldest_recording_makes_room(self):
        pids = [self.actor.submit("counter", b"1") for _ in range(RECORDED + 1)]
        for pid in pids:
            self.output("record", pid)
        self.assertEqual([self.recording(pid) is None for pid in pids],
                         [True] + [False] * RECORDED)

    def test_wrong_requests_are_refused(self):
        record = self.actor.stub.RecordProcess

        def refused(pid, **more):
            self.assert_refused(lambda: record(history_pb2.RecordProcessRequest(
                pid=pid, **more)), **expected)

        expected = {"code": grpc.StatusCode.INVALID_ARGUMENT, "reason": "INVALID_PID",
                    "message": "PID", "field": "pid"}
        refused("x")
        pid = self.actor.submit("counter", b"1")
        self.actor.terminate(pid)
        self.actor.wait(pid)
        expected = {"code": grpc.StatusCode.FAILED_PRECONDITION,
                    "reason": "PROCESS_ENDED", "message": "has ended"}
        refused(pid)
        refused(pid, stop=True)


class OfDurableProcesses(StoreCase):

    def test_durable_process_has_a_history_instead(self):
        actor = self.start()
        pid = actor.submit("counter", b"1", durability=DURABLE)
        self.assert_refused(
            lambda: actor.stub.RecordProcess(history_pb2.RecordProcessRequest(pid=pid)),
            code=grpc.StatusCode.INVALID_ARGUMENT, reason="INVALID_FIELD",
            message="its history has its steps", field="pid")
        self.assertEqual(actor.process(pid).pid, pid)
