"""SubmitStream: answers and outcomes of many submissions, refusals of items,
limits, clients that vanish or do not read, and the daemon's end."""

import json
import threading
import unittest

import grpc
from actord.v1 import process_pb2, status_pb2
from harness.bulk import SubmitStream, submit_item
from harness.case import DaemonCase
from harness.connection import failure_name, refusal_of
from harness.waiting import eventually

DELIVER = process_pb2.SubmitRequest.NAME_CONFLICT_DELIVER


class SubmitCase(DaemonCase):

    def stream(self, **more):
        stream = SubmitStream(self.actor.stub, **more)
        self.addCleanup(stream.cancel)
        return stream

    def counters(self):
        return self.actor.status().counters

    def assert_no_stream_left(self):
        eventually(lambda: self.counters().streams_open == 0,
                   "the end of all streams")


class Submissions(SubmitCase):

    def test_are_answered_with_their_pids(self):
        stream = self.stream()
        stream.submit(*(submit_item("counter", b"%d" % i) for i in range(50)))
        stream.submit(*(submit_item("counter", b"%d" % i)
                        for i in range(50, 100)))
        self.assertIsNone(stream.finish())
        self.assertEqual(stream.max_outstanding, 10000)
        self.assertEqual(sorted(stream.submitted), list(range(100)))
        self.assertEqual((stream.refused, stream.outcomes, stream.repeated),
                         ({}, {}, []))
        for i in (0, 49, 50, 99):
            pid = stream.submitted[i].pid
            self.actor.send(pid, "stop")
            self.assertEqual(self.actor.wait(pid).result.data, b"%d" % i)
        self.assert_no_stream_left()

    def test_tell_their_outcomes_once_each(self):
        stream = self.stream()
        count = 20000
        for first in range(0, count, 500):
            stream.submit(*(submit_item("echo", b"%d" % i)
                            for i in range(first, first + 500)),
                          await_outcomes=True)
        self.assertIsNone(stream.finish())
        self.assertEqual((len(stream.submitted), stream.refused,
                          stream.outcome_refused, stream.repeated),
                         (count, {}, {}, []))
        for i in range(count):
            self.assertEqual(stream.outcomes[i].result.data, b"%d" % i)
            self.assertEqual(stream.outcomes[i].pid, stream.submitted[i].pid)

    def test_that_wait_are_told_when_they_end(self):
        stream = self.stream()
        stream.submit(submit_item("counter"), submit_item("echo", b"1"),
                      await_outcomes=True)
        stream.wait_for(lambda: 1 in stream.outcomes, "the echo")
        self.assertEqual(sorted(stream.submitted), [0, 1])
        self.assertNotIn(0, stream.outcomes)
        # All was said, and the stream waits for what is outstanding.
        stream.half_close()
        self.actor.send(stream.submitted[0].pid, "add")
        self.actor.send(stream.submitted[0].pid, "stop")
        self.assertIsNone(stream.wait())
        self.assertEqual(stream.outcomes[0].result.data, b"1")

    def test_that_fail_say_how(self):
        stream = self.stream()
        stream.submit(submit_item("probe", b"no luck", method="fail"),
                      submit_item("probe", b"oops", method="throw"),
                      await_outcomes=True)
        self.assertIsNone(stream.finish())
        self.assertEqual([failure_name(stream.outcomes[i]) for i in (0, 1)],
                         ["FAILED", "EXCEPTION"])
        self.assertEqual(stream.outcomes[0].failure.message, "no luck")

    def test_with_a_request_id_start_once(self):
        first = self.stream()
        first.submit(submit_item("echo", b"1", request_id="a"),
                     submit_item("echo", b"1", request_id="a"),
                     submit_item("echo", b"2", request_id="a"),
                     await_outcomes=True)
        self.assertIsNone(first.finish())
        again = self.stream()
        again.submit(submit_item("echo", b"1", request_id="a"),
                     await_outcomes=True)
        self.assertIsNone(again.finish())
        [pid] = {first.submitted[0].pid, first.submitted[1].pid,
                 again.submitted[0].pid}
        self.assertEqual(
            sorted(one.duplicate for one in first.submitted.values()),
            [False, True])
        self.assertEqual(first.refused[2].reason, "REQUEST_ID_REUSED")
        self.assertTrue(again.submitted[0].duplicate)
        for outcome in (first.outcomes[0], first.outcomes[1],
                        again.outcomes[0]):
            self.assertEqual((outcome.pid, outcome.result.data), (pid, b"1"))

    def test_with_names_reach_their_holder(self):
        stream = self.stream()
        messages = [process_pb2.Message(topic="add")]
        stream.submit(submit_item("counter", name="n"))
        stream.wait_for(lambda: 0 in stream.submitted, "the holder")
        holder = stream.submitted[0].pid
        stream.submit(
            submit_item("counter", name="n"),
            submit_item("counter", name="n", on_name_conflict=DELIVER,
                        messages=messages), await_outcomes=True)
        stream.wait_for(lambda: 1 in stream.refused and 2 in stream.submitted,
                        "the answers")
        self.assertEqual((stream.refused[1].reason, stream.refused[1].pid),
                         ("NAME_TAKEN", holder))
        self.assertEqual((stream.submitted[2].pid,
                          stream.submitted[2].delivered), (holder, True))
        stream.half_close()
        self.actor.send(holder, "stop")
        self.assertIsNone(stream.wait())
        self.assertEqual(stream.outcomes[2].result.data, b"1")


class WithoutResults(SubmitCase):

    OPTIONS = ("--result-ttl", "1ms")

    def test_outcomes_do_not_depend_on_what_is_kept(self):
        stream = self.stream()
        for _ in range(10):
            stream.submit(*(submit_item("echo", b"%d" % i, request_id=f"r{i}")
                            for i in range(100)), await_outcomes=True)
        self.assertIsNone(stream.finish())
        self.assertEqual(
            len(stream.outcomes) + len(stream.outcome_refused), 1000)
        for i, one in stream.submitted.items():
            if not one.duplicate:
                self.assertEqual(stream.outcomes[i].result.data,
                                 b"%d" % (i % 100))
        for i, refusal in stream.outcome_refused.items():
            self.assertTrue(stream.submitted[i].duplicate)
            self.assertEqual(refusal.reason, "RESULT_NOT_KEPT")


class Rules(SubmitCase):

    def test_refusals_are_those_of_submit(self):
        items = [submit_item("counter", b"x"), submit_item("nothing"),
                 submit_item("echo", method="none"), submit_item(""),
                 submit_item("echo", priority=99),
                 submit_item("echo", on_name_conflict=7),
                 submit_item("echo", name="with blanks"),
                 submit_item("echo", b"fine")]
        stream = self.stream()
        stream.submit(*items, await_outcomes=True)
        self.assertIsNone(stream.finish())
        self.assertEqual(
            {i: (refusal.reason, refusal.field)
             for i, refusal in stream.refused.items()},
            {0: ("INIT_REFUSED", "input"), 1: ("UNKNOWN_PROCESS_TYPE", ""),
             2: ("UNKNOWN_METHOD", ""), 3: ("INVALID_FIELD", "process_type"),
             4: ("INVALID_FIELD", "priority"),
             5: ("INVALID_FIELD", "on_name_conflict"),
             6: ("INVALID_FIELD", "name")})
        for i, refusal in stream.refused.items():
            with self.subTest(item=i), \
                    self.assertRaises(grpc.RpcError) as caught:
                self.actor.stub.Submit(items[i])
            unary = refusal_of(caught.exception)
            self.assertEqual((refusal.code, refusal.reason, refusal.message),
                             (unary.code.value[0], unary.reason, unary.message))
        self.assertEqual(list(stream.outcomes), [7])

    def test_too_many_items_end_the_stream_when_the_others_are_told(self):
        stream = self.stream()
        stream.submit(submit_item("probe", b"300", method="sleep"),
                      await_outcomes=True)
        started = self.counters().processes_started_total
        stream.submit(*(submit_item("echo") for _ in range(1001)))
        refusal = refusal_of(stream.wait())
        self.assertEqual((refusal.code, list(refusal.fields)),
                         (grpc.StatusCode.INVALID_ARGUMENT, ["submissions"]))
        self.assertEqual((list(stream.submitted), list(stream.outcomes)),
                         ([0], [0]))
        self.assertLessEqual(self.counters().processes_started_total,
                             started + 1)
        self.assert_no_stream_left()


class Bounds(SubmitCase):

    def test_the_outstanding_are_limited(self):
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
        self.actor.shutdown(status_pb2.ShutdownRequest.MODE_NOW)
        # Processes end, and so the rest is read, and refused.
        self.assertIsNone(stream.wait())
        self.assertEqual((len(stream.outcomes), len(stream.submitted)),
                         (10500, 10500))
        self.assertEqual(sorted(stream.refused), list(range(10500, 12500)))
        self.assertEqual({one.reason for one in stream.refused.values()},
                         {"DRAINING"})

    def test_refusals_that_nobody_reads_take_bounded_memory(self):
        # The text of each refusal repeats the input.
        size, count = 512 << 10, 400
        before = self.daemon.resident_bytes()
        stream = self.stream(reads=False)
        for _ in range(count // 8):
            stream.submit(*(submit_item("counter", b"x" * size)
                            for _ in range(8)))
        eventually(lambda: self.counters().processes_ended_total == count,
                   "all to be refused", 60)
        self.assertLess(self.daemon.resident_bytes() - before, count * size >> 1)
        stream.read_on()
        self.assertIsNone(stream.finish())
        self.assertEqual({len(one.message) for one in stream.refused.values()},
                         {1024})
        self.assertEqual(len(stream.refused), count)

    def test_outcomes_that_nobody_reads_take_bounded_memory(self):
        size, count = 512 << 10, 400
        # With what is kept for others: 256 MiB.
        before = self.daemon.resident_bytes()
        stream = self.stream(reads=False)
        stream.submit(*(submit_item("probe", b"%d" % size, method="big")
                        for _ in range(count)), await_outcomes=True)
        eventually(lambda: self.counters().processes_ended_total == count,
                   "all to end")
        self.assertLess(self.daemon.resident_bytes() - before,
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
        bound = self.daemon.resident_bytes() + (100 << 20)
        stream = self.stream(reads=False)
        stream.submit(*(item for _ in range(count)), await_outcomes=True)
        stream.submit(submit_item("echo"))
        eventually(lambda: self.counters().processes_started_total == 2,
                   "the batch behind them")
        self.assertLess(self.daemon.resident_bytes(), bound)
        stream.read_on()
        stream.wait_for(lambda: len(stream.outcomes) == count, "the outcomes")
        # The stream is open, and has places for all of them.
        self.assertLess(self.daemon.resident_bytes(), bound)
        self.assertIsNone(stream.finish())
        for outcome in stream.outcomes.values():
            self.assertEqual(len(outcome.result.data), size)


class SmallStore(SubmitCase):

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


class BusyWorker(SubmitCase):

    OPTIONS = ("--workers", "1", "--max-blocked-threads", "1")

    def busy(self):
        file = self.directory / "go"
        self.addCleanup(file.touch)
        # One on the thread for those that block, one on the worker.
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
        # Of each stream 8 MiB were waiting.
        self.assertLess(self.daemon.resident_bytes() - before, 100 << 20)
        file.touch()
        eventually(lambda: self.counters().processes_live == 0, "all to end")

    def is_named(self, name):
        try:
            self.actor.process("@" + name)
        except grpc.RpcError as error:
            self.assertEqual(refusal_of(error).reason, "NAME_NOT_FOUND")
            return False
        return True


class Ends(SubmitCase):

    def test_of_clients_leave_the_processes_alone(self):
        stream = self.stream()
        stream.submit(*(submit_item("counter") for _ in range(1000)),
                      await_outcomes=True)
        stream.wait_for(lambda: len(stream.submitted) == 1000, "the answers")
        stream.cancel()
        self.assert_no_stream_left()
        self.assertEqual(self.counters().processes_live, 1000)
        for one in stream.submitted.values():
            self.actor.send(one.pid, "stop")
        eventually(lambda: self.counters().processes_live == 0, "their ends")
        self.assertEqual(
            self.actor.wait(stream.submitted[0].pid).result.data, b"0")
        self.assert_serves()

    def test_of_clients_while_all_is_under_way_leak_nothing(self):
        for _ in range(20):
            stream = self.stream()
            for _ in range(10):
                stream.submit(*(submit_item("echo", b"x" * 100)
                                for _ in range(300)), await_outcomes=True)
            stream.wait_for(lambda: len(stream.outcomes) > 100, "some of them")
            stream.cancel()
        self.assert_no_stream_left()
        eventually(lambda: self.counters().processes_live == 0, "their ends")
        self.assert_serves()

    def test_of_the_daemon_tell_all_outcomes_first(self):
        # Which has to force some of the processes.
        self.daemon = self.start_daemon(exit_status=75)
        self.actor = self.connect(self.daemon)
        stream = self.stream()
        stream.submit(*(submit_item("counter", b"5") for _ in range(100)),
                      *(submit_item("probe.cancel", method="stubborn")
                        for _ in range(100)), await_outcomes=True)
        stream.wait_for(lambda: len(stream.submitted) == 200, "the answers")
        shutdown = threading.Thread(target=lambda: self.actor.shutdown(
            deadline_seconds=0.5))
        shutdown.start()
        self.addCleanup(shutdown.join)
        stream.wait_for(lambda: len(stream.outcomes) >= 100, "the counters")
        stream.submit(submit_item("echo"), submit_item("echo"))
        stream.wait_for(lambda: len(stream.refused) == 2, "the refusals")
        self.assertEqual([(one.reason, one.HasField("retry_delay"))
                          for one in stream.refused.values()],
                         [("DRAINING", True)] * 2)
        refusal = refusal_of(stream.wait())
        self.assertEqual((refusal.code, refusal.reason),
                         (grpc.StatusCode.UNAVAILABLE, "STOPPED"))
        self.assertGreater(refusal.retry_seconds, 0)
        for i in range(100):
            self.assertEqual(stream.outcomes[i].result.data, b"5")
        for i in range(100, 200):
            self.assertEqual(failure_name(stream.outcomes[i]), "TERMINATED")


if __name__ == "__main__":
    unittest.main()
