"""SubmitStream: what it holds back, and the memory that it takes, for clients
that do not read or vanish."""

import unittest

import grpc
from actord.v1 import process_pb2, status_pb2
from harness.bulk import submit_item
from harness.connection import refusal_of
from harness.daemon import MEASURED
from harness.submit_case import SubmitCase
from harness.waiting import WAIT_SECONDS, eventually


class MeasuredCase(SubmitCase):

    ENVIRONMENT = MEASURED


class Bounds(MeasuredCase):

    def test_the_outstanding_are_limited(self):
        # It keeps the daemon draining until its payment is taken.
        order = self.actor.submit(
            "order", b'{"order": "o", "amount_cents": 1, "hold_ms": 0}')
        [payment] = eventually(lambda: self.actor.yields(pid=order), "a payment")
        stream = self.stream()
        for _ in range(25):
            stream.submit(*(submit_item("counter") for _ in range(500)),
                          await_outcomes=True)
        stream.wait_for(lambda: len(stream.submitted) >= 10000,
                        "those that may be outstanding")
        # No more are begun while none has ended.
        with stream.changed:
            stream.changed.wait_for(lambda: len(stream.submitted) > 10000, 0.3)
        self.assertEqual(len(stream.submitted), 10000)
        self.actor.send(stream.submitted[7].pid, "stop")
        stream.wait_for(lambda: len(stream.submitted) == 10500, "one batch more")
        stream.half_close()
        drain = self.actor.stub.Shutdown.future(status_pb2.ShutdownRequest())
        # Processes end, and so the rest is read, and refused.
        self.assertIsNone(stream.wait())
        self.assertEqual((len(stream.outcomes), len(stream.submitted)),
                         (10500, 10500))
        self.assertEqual(sorted(stream.refused), list(range(10500, 12500)))
        self.assertEqual({one.reason for one in stream.refused.values()},
                         {"DRAINING"})
        self.actor.complete(payment.token, b"paid")
        self.assertEqual(drain.result().forced_count, 0)

    def test_refusals_that_nobody_reads_take_bounded_memory(self):
        # The text of each refusal repeats the input.
        size, count = 512 << 10, 400
        before = self.daemon.resident_bytes()
        stream = self.stream(reads=False)
        for _ in range(count // 8):
            stream.submit(*(submit_item("echo", b"x" * size,
                                        method="refuse")
                            for _ in range(8)))
        eventually(lambda: self.counters().processes_ended_total == count,
                   "all to be refused", 60)
        self.assertLess(self.daemon.grown_bytes(before), count * size >> 1)
        stream.read_on()
        self.assertIsNone(stream.finish())
        self.assertEqual({len(one.message) for one in stream.refused.values()},
                         {1024})
        self.assertEqual(len(stream.refused), count)

    def test_outcomes_that_nobody_reads_take_bounded_memory(self):
        size, count = 512 << 10, 400
        # Together with the results kept for others: 256 MiB.
        before = self.daemon.resident_bytes()
        stream = self.stream(reads=False)
        stream.submit(*(submit_item("probe", b"%d" % size, method="big")
                        for _ in range(count)), await_outcomes=True)
        eventually(lambda: self.counters().processes_ended_total == count,
                   "all to end")
        self.assertLess(self.daemon.grown_bytes(before),
                        count * size + (100 << 20))
        stream.read_on()
        self.assertIsNone(stream.finish())
        self.assertEqual(len(stream.outcomes), count)
        for outcome in stream.outcomes.values():
            self.assertEqual(len(outcome.result.data), size)

    def test_outcomes_of_duplicates_take_bounded_memory(self):
        size, count = 512 << 10, 1000
        item = submit_item("probe", b"%d" % size, method="big", request_id="a")
        self.actor.wait(self.actor.stub.Submit(item).pid)
        # All of them together would be 500 MiB.
        before = self.daemon.resident_bytes()
        stream = self.stream(reads=False)
        stream.submit(*(item for _ in range(count)), await_outcomes=True)
        stream.submit(submit_item("echo"))
        eventually(lambda: self.counters().processes_started_total == 2,
                   "the batch behind them")
        self.assertLess(self.daemon.grown_bytes(before), 100 << 20)
        stream.read_on()
        # 500 MB have to come.
        stream.wait_for(lambda: len(stream.outcomes) == count, "the outcomes",
                        2 * WAIT_SECONDS)
        # The stream is open, and has places for all of them.
        self.assertLess(self.daemon.grown_bytes(before), 100 << 20)
        self.assertIsNone(stream.finish())
        for outcome in stream.outcomes.values():
            self.assertEqual(len(outcome.result.data), size)


class SmallStore(MeasuredCase):

    OPTIONS = ("--result-max-bytes", "4MiB")

    def test_outcomes_that_nobody_reads_may_be_forgotten(self):
        size, count = 512 << 10, 200
        stream = self.stream(reads=False)
        stream.submit(*(submit_item("probe", b"%d" % size, method="big")
                        for _ in range(count)), await_outcomes=True)
        eventually(lambda: self.counters().processes_ended_total == count,
                   "all to end")
        stream.read_on()
        self.assertIsNone(stream.finish())
        self.assertEqual(len(stream.outcomes) + len(stream.outcome_refused),
                         count)
        self.assertGreaterEqual(len(stream.outcomes), 16)
        self.assertGreater(len(stream.outcome_refused), 0)
        for refusal in stream.outcome_refused.values():
            self.assertEqual(refusal.reason, "RESULT_NOT_KEPT")


class BusyWorker(MeasuredCase):

    OPTIONS = ("--workers", "1", "--max-blocked-threads", "1")

    def busy(self):
        file = self.directory / "go"
        self.addCleanup(file.touch)
        # One on the thread for blocking calls, one on the worker.
        for _ in range(2):
            pid = self.actor.submit("probe.blocking", str(file).encode(),
                                    "until")
            eventually(lambda: self.actor.process(pid).state
                       == process_pb2.PROCESS_STATE_RUNNING, "its step")
        return file

    def test_streams_that_ended_keep_no_outcomes_while_it_starts_nothing(self):
        size, rounds = 512 << 10, 30
        item = submit_item("probe", b"%d" % size, method="big", request_id="a")
        self.actor.wait(self.actor.stub.Submit(item).pid)
        file = self.busy()
        before = self.daemon.resident_bytes()
        for i in range(rounds):
            stream = self.stream(reads=False)
            stream.submit(*(item for _ in range(20)), await_outcomes=True)
            stream.submit(submit_item("echo", name=f"n{i}"))
            eventually(lambda: self.is_named(f"n{i}"), "its start")
            stream.cancel()
            self.assert_no_stream_left()
        # 8 MiB of each stream were waiting.
        self.assertLess(self.daemon.grown_bytes(before), 100 << 20)
        file.touch()
        eventually(lambda: self.counters().processes_live == 0, "all to end")

    def is_named(self, name):
        try:
            self.actor.process("@" + name)
        except grpc.RpcError as error:
            # The second while it is between having its name and being begun.
            self.assertIn(refusal_of(error).reason,
                          ("NAME_NOT_FOUND", "PROCESS_NOT_FOUND"))
            return False
        return True


class Clients(MeasuredCase):

    # Results kept for others do not hide results kept by mistake.
    OPTIONS = ("--result-max-bytes", "1MiB")

    def test_that_end_while_all_is_under_way_leak_nothing(self):
        def leave(rounds):
            for i in range(rounds):
                stream = self.stream(reads=i % 2 == 0)
                before = self.counters().processes_ended_total
                for _ in range(10):
                    stream.submit(*(submit_item("echo", b"x" * 4096)
                                    for _ in range(100)), await_outcomes=True)
                stream.submit(*(submit_item("probe", b"500", method="sleep")
                                for _ in range(10)), await_outcomes=True)
                eventually(lambda: self.counters().processes_ended_total
                           > before + i % 100 * 10, "some of them")
                stream.cancel()
            self.assert_no_stream_left()
            eventually(lambda: self.counters().processes_live == 0,
                       "their ends")
            return self.daemon.resident_bytes()

        # A stream that is not given back has megabytes of outcomes, or the
        # places of a thousand submissions.
        before = leave(50)
        leave(200)
        self.assertLess(self.daemon.grown_bytes(before), 24 << 20)
        self.assert_serves()


if __name__ == "__main__":
    unittest.main()
