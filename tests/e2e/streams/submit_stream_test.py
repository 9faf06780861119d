"""SubmitStream: answers and outcomes of many submissions, refusals of items,
clients that vanish, and the daemon's end."""

import unittest

import grpc
from actord.v1 import process_pb2, status_pb2
from harness.bulk import submit_item
from harness.connection import failure_name, refusal_of
from harness.submit_case import SubmitCase
from harness.waiting import eventually

DELIVER = process_pb2.SubmitRequest.NAME_CONFLICT_DELIVER


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
        # One may have ended before the Init of the other is through.
        stream.wait_for(lambda: 1 in stream.outcomes
                        and 0 in stream.submitted, "the echo")
        self.assertEqual(sorted(stream.submitted), [0, 1])
        self.assertNotIn(0, stream.outcomes)
        # The client has sent all, and the stream waits for the outstanding end.
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
                 # The message names the type that it resembles.
                 submit_item("conter"), submit_item("echo", b"fine")]
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
             6: ("INVALID_FIELD", "name"), 7: ("UNKNOWN_PROCESS_TYPE", "")})
        self.assertIn('did you mean "counter"?', stream.refused[7].message)
        for i, refusal in stream.refused.items():
            with self.subTest(item=i), \
                    self.assertRaises(grpc.RpcError) as caught:
                self.actor.stub.Submit(items[i])
            unary = refusal_of(caught.exception)
            self.assertEqual((refusal.code, refusal.reason, refusal.message),
                             (unary.code.value[0], unary.reason, unary.message))
        self.assertEqual(list(stream.outcomes), [8])

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

    def test_of_the_daemon_tell_all_outcomes_first(self):
        stream = self.stream()
        stream.submit(*(submit_item("counter", b"5") for _ in range(100)),
                      *(submit_item("probe.cancel", method="stubborn")
                        for _ in range(100)), await_outcomes=True)
        stream.wait_for(lambda: len(stream.submitted) == 200, "the answers")
        drain = self.actor.stub.Shutdown.future(status_pb2.ShutdownRequest())
        stream.wait_for(lambda: len(stream.outcomes) >= 100, "the counters")
        stream.submit(submit_item("echo"), submit_item("echo"))
        stream.wait_for(lambda: len(stream.refused) == 2, "the refusals")
        self.assertEqual([(one.reason, one.HasField("retry_delay"))
                          for one in stream.refused.values()],
                         [("DRAINING", True)] * 2)
        # Some of the processes have to be forced.
        self.actor.shutdown(status_pb2.ShutdownRequest.MODE_NOW)
        self.assertEqual(drain.result().forced_count, 100)
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
