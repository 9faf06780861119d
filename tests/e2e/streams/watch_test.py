"""WatchProcesses: a snapshot, then what starts and ends; resumed, filtered, and
while the daemon ends."""

import signal
import unittest

import grpc
from actord.v1 import outcome_pb2, watch_pb2
from harness.connection import refusal_of
from harness.waiting import WAIT_SECONDS, eventually
from harness.watch import Known
from harness.watch_case import WatchCase

INVALID_ARGUMENT = grpc.StatusCode.INVALID_ARGUMENT
NOT_FOUND = grpc.StatusCode.NOT_FOUND


class Telling(WatchCase):

    def test_a_snapshot_and_then_what_starts_and_ends(self):
        before = self.idle(3)
        watch = self.watch()
        watch.wait_until_live(before)
        self.assertEqual((watch.snapshots, watch.events), (1, []))
        process = watch.processes[before[0]]
        self.assertEqual((process.process_type, process.method),
                         ("probe", "idle"))
        new = self.actor.submit("counter", priority=20)
        watch.wait_until_live([*before, new])
        started = watch.starts[new]
        self.assertEqual(
            (started.process_type, started.method, started.parent_pid,
             started.priority), ("counter", "run", "", 20))
        self.assertEqual(started.create_time,
                         self.actor.process(new).create_time)
        self.end(before[1])
        ended = watch.wait_for_end_of(before[1])
        self.assertEqual(ended.failure.reason,
                         outcome_pb2.FAILURE_REASON_TERMINATED)
        self.assertEqual(ended.failure.message, "enough")
        self.assertEqual(ended.process_type, "probe")
        outcome = self.actor.wait(before[1])
        self.assertEqual((ended.create_time, ended.end_time, ended.steps),
                         (outcome.create_time, outcome.end_time, outcome.steps))
        watch.wait_until_live([before[0], before[2], new])
        self.assertEqual(watch.events,
                         [("started", new), ("ended", before[1])])

    def test_how_processes_end(self):
        watch = self.watch(skip_snapshot=True).wait_until_begun()
        done = self.actor.submit("echo", b'"x"')
        failed = self.actor.submit("probe", b"because", method="fail")
        threw = self.actor.submit("probe", b"x" * 1000, method="throw")
        self.assertFalse(watch.wait_for_end_of(done).HasField("failure"))
        failure = watch.wait_for_end_of(failed).failure
        self.assertEqual((failure.reason, failure.code, failure.message),
                         (outcome_pb2.FAILURE_REASON_FAILED, 9, "because"))
        failure = watch.wait_for_end_of(threw).failure
        self.assertEqual(failure.reason, outcome_pb2.FAILURE_REASON_EXCEPTION)
        self.assertEqual(len(failure.message), 256)
        self.assertEqual([pid for kind, pid in watch.events
                          if kind == "started"], [done, failed, threw])
        # An Init that refuses: an end without a start.
        with self.assertRaises(grpc.RpcError):
            self.actor.submit("probe", b"no", method="refuse")
        watch.wait_for(lambda: len(watch.ends) == 4, "the refusal")
        kind, refused = watch.events[-1]
        self.assertEqual((kind, refused in watch.starts), ("ended", False))
        self.assertEqual(watch.ends[refused].failure.reason,
                         outcome_pb2.FAILURE_REASON_INIT_REFUSED)

    def test_event_told_by_a_call_is_told_by_a_watch(self):
        # The events were there before the answers.
        watch = self.watch().wait_until_begun()
        for _ in range(50):
            self.actor.run("echo")
        pid = self.actor.submit("counter")
        watch.wait_until_live([pid])
        self.assertEqual(len(watch.events), 101)

    def test_children_of_one_process_and_processes_of_one_type(self):
        others = self.idle(2)
        parent = self.actor.submit("probe", b"3", method="children")
        self.actor.wait(parent)
        watch = self.watch(parent_pid=others[0]).wait_until_begun()
        of_type = self.watch(process_type="counter").wait_until_begun()
        self.assertEqual((watch.live, of_type.live), (set(), set()))
        everything = self.watch().wait_until_begun()
        parent = self.actor.submit("probe", b"5", method="children")
        children = self.watch(parent_pid=parent)
        counter = self.actor.submit("counter")
        self.actor.wait(parent)
        of_type.wait_until_live([counter])
        everything.wait_until_live([*others, counter])
        self.assertEqual(of_type.events, [("started", counter)])
        self.assertEqual(watch.events, [])
        started = {pid for pid, one in everything.starts.items()
                   if one.parent_pid == parent}
        self.assertEqual(len(started), 5)
        children.wait_until_live([])
        self.assertLessEqual(set(children.ends), started)

    def test_a_snapshot_of_many_pages(self):
        pids = set(self.idle(2500))
        watch = self.watch()
        watch.wait_until_live(pids)
        self.assertEqual((watch.snapshots, len(watch.responses)), (1, 3))
        sizes = [len(one.snapshot.processes) for one in watch.responses]
        self.assertEqual(sizes, [1000, 1000, 500])

    def test_an_empty_daemon(self):
        watch = self.watch()
        watch.wait_until_live([])
        page = watch.responses[0].snapshot
        self.assertEqual((page.first, page.last), (True, True))

    def test_many_watches(self):
        watches = [self.watch() for _ in range(50)]
        for watch in watches:
            watch.wait_until_begun()
        counters = self.counters()
        self.assertEqual((counters.watches_open, counters.streams_open),
                         (50, 50))
        pids = self.idle(20)
        for watch in watches:
            watch.wait_until_live(pids)
            watch.cancel()
        # A stream is open until gRPC has finished it, a watch until it is told to.
        eventually(lambda: self.counters().streams_open == 0, "their ends")
        self.assertEqual(self.counters().watches_open, 0)

    def test_nothing_is_recorded_while_nobody_watches(self):
        for _ in range(10):
            self.actor.run("echo")
        counters = self.counters()
        self.assertEqual((counters.watch_events_total,
                          counters.watch_events_kept_bytes), (0, 0))


class Resuming(WatchCase):

    def test_it_goes_on_where_it_was(self):
        stay = self.idle(2)
        first = self.watch()
        first.wait_until_live(stay)
        self.end(stay[0])
        first.wait_for_end_of(stay[0])
        first.cancel()
        first.wait()
        while_away = self.actor.submit("counter")
        self.actor.run("echo")
        second = self.watch(goes_on=first)
        second.wait_until_live([stay[1], while_away])
        self.assertEqual((second.snapshots, second.missed), (0, []))
        self.assertEqual([kind for kind, _ in second.events],
                         ["ended", "started", "started", "ended"])

    def test_connections_that_are_cut_lose_and_repeat_nothing(self):
        # After any last response, the next watch begins
        # behind it; `mistakes` would tell of a repeat.
        watch = self.watch().wait_until_begun()
        watch.cancel()
        watch.wait()
        started = []
        for _ in range(15):
            started += self.idle(20)
            for _ in range(10):
                self.actor.run("echo")
            connection = self.connect(self.daemon)
            next_watch = self.watch(connection, goes_on=watch)
            self.end(started.pop(0))
            next_watch.wait_for(lambda: next_watch.responses, "a response")
            # In the middle of other work.
            connection.close()
            next_watch.wait()
            watch = next_watch
        last = self.watch(goes_on=watch)
        last.wait_until_live(started)
        self.assertEqual((last.missed, last.snapshots), ([], 0))
        self.assertEqual(
            sorted(pid for kind, pid in last.events if kind == "started"),
            sorted(last.starts))
        self.assertEqual(len(last.starts), 15 * 30)
        self.assertEqual(len(last.ends), 15 * 11)

    def test_every_token_is_good(self):
        pids = self.idle(1500)
        watch = self.watch()
        watch.wait_until_live(pids)
        for pid in pids[:3]:
            self.end(pid)
            watch.wait_for_end_of(pid)
        self.assertGreaterEqual(len(watch.responses), 5)
        known = Known()
        for response in list(watch.responses):
            known.add(response)
            again = self.watch(goes_on=known)
            new = self.idle()
            again.wait_for(lambda: new[0] in again.starts, "what is new")
            again.wait_until_live([*pids[3:], *new])
            self.assertEqual((again.missed, again.snapshots), ([], 0))
            self.end(new[0])
            again.wait_for_end_of(new[0])
            again.cancel()
        # Between two pages: the events so far, and the rest of the pages.
        rest = self.watch(resume_token=watch.responses[0].resume_token)
        rest.wait_for(lambda: rest.complete, "the last page")
        pages = [len(one.snapshot.processes) for one in rest.responses
                 if one.HasField("snapshot")]
        self.assertEqual((rest.snapshots, pages), (0, [500]))
        self.assertLessEqual(set(pids[:3]), set(rest.ends))

    def test_another_run_of_the_daemon(self):
        first = self.watch()
        first.wait_until_live([])
        self.idle()
        other_daemon = self.start_daemon()
        other = self.connect(other_daemon)
        pid = other.submit("counter")
        second = self.watch(other, goes_on=first)
        second.wait_until_live([pid])
        self.assertEqual((second.missed, second.snapshots), ([0], 1))
        quiet = self.watch(other, goes_on=first, skip_snapshot=True)
        quiet.wait_for(lambda: quiet.missed, "the gap")
        other.terminate(pid)
        quiet.wait_for_end_of(pid)
        self.assertEqual((quiet.missed, quiet.snapshots), ([0], 0))

    def test_tokens_that_are_none(self):
        watch = self.watch(process_type="echo").wait_until_begun()
        good = watch.token
        self.assertLessEqual(len(good), 64)
        flipped = good[:-1] + ("0" if good[-1] != "0" else "1")
        # It begins with the run of the daemon, which is random.
        moved = ("0" if good[0] != "0" else "1") + good[1:]
        for token in ("x", "0" * 40, good[:-1], good + "0", flipped, moved,
                      good.upper() + " ", " " * 40, "-" * 40, "é" * 20):
            for fields in ({"process_type": "echo"}, {}):
                call = self.actor.stub.WatchProcesses(
                    watch_pb2.WatchProcessesRequest(resume_token=token,
                                                    **fields),
                    timeout=WAIT_SECONDS)
                self.assert_refused(
                    lambda: next(call), code=INVALID_ARGUMENT,
                    reason="INVALID_RESUME_TOKEN", field="resume_token",
                    message="not the token of a watch with these filters")
        pid = self.actor.submit("counter")
        for fields in ({}, {"process_type": "counter"},
                       {"process_type": "echo", "parent_pid": pid}):
            call = self.actor.stub.WatchProcesses(
                watch_pb2.WatchProcessesRequest(resume_token=good, **fields),
                timeout=WAIT_SECONDS)
            self.assert_refused(
                lambda: next(call), code=INVALID_ARGUMENT,
                reason="INVALID_RESUME_TOKEN", field="resume_token",
                message="not the token of a watch with these filters")

    def test_filters_that_are_none(self):
        for field, value, reason in (
                ("process_type", "x" * 129, "INVALID_FIELD"),
                ("parent_pid", "nobody", "INVALID_PID")):
            call = self.actor.stub.WatchProcesses(
                watch_pb2.WatchProcessesRequest(**{field: value}),
                timeout=WAIT_SECONDS)
            self.assert_refused(lambda: next(call), code=INVALID_ARGUMENT,
                                reason=reason, field=field, message=field)
        call = self.actor.stub.WatchProcesses(
            watch_pb2.WatchProcessesRequest(parent_pid="@name"), timeout=WAIT_SECONDS)
        self.assert_refused(lambda: next(call), code=NOT_FOUND,
                            reason="NAME_NOT_FOUND", message="name")
        pid = self.actor.submit("probe", method="idle", name="name")
        for parent, echoed in (("@name", pid), (pid, "")):
            for skip in (True, False):
                call = self.actor.stub.WatchProcesses(
                    watch_pb2.WatchProcessesRequest(parent_pid=parent,
                                                    skip_snapshot=skip),
                    timeout=WAIT_SECONDS)
                self.assertEqual(next(call).parent_pid, echoed)
                call.cancel()
        self.actor.terminate(pid)
        # A type that nobody has is none that lives.
        self.watch(process_type="unheard-of").wait_until_live([])
        eventually(lambda: self.counters().streams_open == 1, "one stream")

    def test_bytes_that_are_no_request(self):
        method = self.actor.channel.unary_stream(
            "/actord.v1.ActorService/WatchProcesses",
            request_serializer=lambda raw: raw,
            response_deserializer=lambda raw: raw)
        for raw in (b"\xff", b"\x0a\x05ab", b"\x0a\x02\xff\xfe"):
            with self.assertRaises(grpc.RpcError) as caught:
                next(method(raw, timeout=WAIT_SECONDS))
            self.assertEqual(caught.exception.code(), INVALID_ARGUMENT)
        eventually(lambda: self.counters().streams_open == 0, "their ends")


class Forgetting(WatchCase):

    OPTIONS = ("--watch-max-events", "100")

    def test_away_for_too_long(self):
        stay = self.idle(2)
        first = self.watch()
        first.wait_until_live(stay)
        first.cancel()
        first.wait()
        for _ in range(60):
            self.actor.run("echo")
        second = self.watch(goes_on=first)
        second.wait_for(lambda: second.snapshots, "another snapshot")
        second.wait_until_live(stay)
        self.assertEqual((second.missed, second.snapshots, second.events),
                         ([120], 1, []))
        counters = self.counters()
        self.assertEqual((counters.watch_events_kept,
                          counters.watch_events_missed_total), (100, 120))
        quiet = self.watch(goes_on=first, skip_snapshot=True)
        quiet.wait_for(lambda: len(quiet.events) == 100, "what is kept")
        self.assertEqual((quiet.missed, quiet.snapshots), ([20], 0))

    def test_the_token_of_a_watch_that_sees_little_stays_good(self):
        first = self.watch(process_type="counter").wait_until_begun()
        for _ in range(300):
            self.actor.run("echo")
        # Of all of these it is told a token alone, each time that an eighth of
        # the log has gone by. The first 8 digits are the run's, then comes where
        # it has got to.
        eventually(lambda: int(first.token[8:24], 16) > 600 - 100 // 8,
                   "the token of what has happened")
        self.assertEqual(first.events, [])
        first.cancel()
        first.wait()
        pid = self.actor.submit("counter")
        second = self.watch(process_type="counter", goes_on=first)
        second.wait_until_live([pid])
        self.assertEqual((second.missed, second.snapshots), ([], 0))


class Retaining(WatchCase):

    OPTIONS = ("--watch-retention", "0s")

    def test_nothing_is_kept_when_the_last_watch_has_gone(self):
        first = self.watch().wait_until_begun()
        self.actor.run("echo")
        first.wait_for(lambda: len(first.events) == 2, "its events")
        first.cancel()
        eventually(lambda: self.counters().watch_events_kept == 0, "its end")
        self.actor.run("echo")
        self.assertEqual(self.counters().watch_events_total, 2)
        second = self.watch(goes_on=first)
        second.wait_for(lambda: second.snapshots, "another snapshot")
        second.wait_until_live([])
        self.assertEqual((second.missed, second.snapshots), ([0], 1))


class Ending(WatchCase):

    # Longer than a test takes, so that a drain which runs out is a failure.
    OPTIONS = ("--drain-timeout", "1m")

    def test_a_drain_is_told_to_the_last_end(self):
        pids = self.idle(500)
        stubborn = self.actor.submit("probe.cancel", method="stubborn")
        watch = self.watch()
        watch.wait_until_live([*pids, stubborn])
        self.daemon.signal(signal.SIGTERM)
        watch.wait_until_live([stubborn])
        # Also a watch that begins now.
        late = self.watch()
        late.wait_until_live([stubborn])
        self.daemon.signal(signal.SIGTERM)
        for one in (watch, late):
            refusal = refusal_of(one.wait())
            self.assertEqual((refusal.code, refusal.reason),
                             (grpc.StatusCode.UNAVAILABLE, "STOPPED"))
            self.assertEqual(one.live, set())
        self.assertEqual(failure_names(watch, pids), {"CANCELLED"})
        self.assertEqual(failure_names(late, [stubborn]), {"TERMINATED"})
        self.assertEqual(self.daemon.wait(), 0)

    def test_a_watch_that_nobody_reads_does_not_keep_it(self):
        self.idle(3000)
        self.watch(reads=False)
        eventually(lambda: self.counters().watches_open == 1, "it")
        self.daemon.signal(signal.SIGTERM)
        self.assertEqual(self.daemon.wait(), 0)


def failure_names(watch, pids):
    names = set()
    for pid in pids:
        name = outcome_pb2.FailureReason.Name(watch.ends[pid].failure.reason)
        names.add(name.removeprefix("FAILURE_REASON_"))
    return names


if __name__ == "__main__":
    unittest.main()
