"""How the daemon ends: drains, runs out of time, is hurried; and that nothing which
it accepted is lost on the way."""

import json
import signal
import threading
import time
import unittest

import grpc
from actord.v1 import outcome_pb2, process_pb2, status_pb2
from harness.case import DaemonCase
from harness.connection import CALL_SECONDS, failure_name, refusal_of
from harness.waiting import eventually

NOW = status_pb2.ShutdownRequest.MODE_NOW
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
DRAIN_RAN_OUT = 75


class ShutdownCase(DaemonCase):

    def order_in_payment(self, actor=None):
        """An order that waits for its payment, also while the daemon drains.
        Returns its PID and the payment's token."""
        actor = actor or self.actor
        pid = actor.submit("order", json.dumps(
            {"order": "o", "amount_cents": 1, "hold_ms": 0}).encode())
        [payment] = eventually(lambda: actor.yields(pid=pid), "the payment")
        return pid, payment.token

    def wait_for_draining(self, actor=None):
        actor = actor or self.actor
        eventually(lambda: actor.status().state
                   == status_pb2.DAEMON_STATE_DRAINING, "the drain to begin")

    def in_background(self, call):
        """Runs `call` in a thread; the function that is returned waits for it and
        returns its value or raises what it raised."""
        box = {}

        def run():
            try:
                box["value"] = call()
            except Exception as error:  # raised again below
                box["error"] = error

        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)

        def finish():
            thread.join()
            if "error" in box:
                raise box["error"]
            return box["value"]

        return finish

    def outcome_of(self, pid, actor=None):
        """Asks for it: the daemon hears of that before anything that is sent later
        over this connection. The function that is returned waits for it."""
        call = (actor or self.actor).stub.Await.future(
            outcome_pb2.AwaitRequest(pid=pid), timeout=2 * CALL_SECONDS)
        return lambda: call.result().outcome


class Drain(ShutdownCase):

    def test_sigterm_ends_what_waits_and_exits_cleanly(self):
        pids = [self.actor.submit("counter", b"%d" % i) for i in range(10)]
        pids += [self.actor.submit("probe", method="idle") for _ in range(10)]
        awaits = [self.actor.stub.Await.future(
            outcome_pb2.AwaitRequest(pid=pid)) for pid in pids]
        eventually(lambda: self.actor.status().counters.processes_live == 20,
                   "the processes")
        self.daemon.signal(signal.SIGTERM)
        outcomes = [call.result(CALL_SECONDS).outcome for call in awaits]
        # A counter ends with its value, what does not care is cancelled.
        self.assertEqual([outcome.result.data for outcome in outcomes[:10]],
                         [b"%d" % i for i in range(10)])
        self.assertEqual({failure_name(outcome) for outcome in outcomes[10:]},
                         {"CANCELLED"})
        self.assertEqual(self.daemon.wait(), 0)
        self.daemon.wait_for_line("20 processes ended in time, 0 had to be forced")

    def test_many_processes_are_drained(self):
        items = self.directory / "items.jsonl"
        items.write_text("{}\n" * 20_000)
        self.actorctl("submit", "counter", "--from-file", items)
        response = self.actor.shutdown()
        self.assertEqual((response.ended_count, response.forced_count),
                         (20_000, 0))
        self.assertEqual(self.daemon.wait(), 0)

    def test_sigint_drains_too(self):
        self.actor.submit("counter")
        self.daemon.signal(signal.SIGINT)
        self.assertEqual(self.daemon.wait(), 0)

    def test_shutdown_answers_with_counts(self):
        for _ in range(7):
            self.actor.submit("counter")
        response = self.actor.shutdown()
        self.assertEqual((response.ended_count, response.forced_count), (7, 0))
        self.assertEqual(self.daemon.wait(), 0)

    def test_second_shutdown_joins_the_first(self):
        _, token = self.order_in_payment()
        first = self.in_background(self.actor.shutdown)
        self.wait_for_draining()
        other = self.connect(self.daemon)
        second = other.stub.Shutdown.future(status_pb2.ShutdownRequest(),
                                            timeout=2 * CALL_SECONDS)
        # Behind it on the same connection: the daemon has heard of both.
        self.wait_for_draining(other)
        self.assertFalse(second.done())
        self.actor.complete(token, b"paid")
        for response in (first(), second.result()):
            self.assertEqual((response.ended_count, response.forced_count),
                             (1, 0))

    def test_new_work_is_refused_and_old_work_goes_on(self):
        pid, token = self.order_in_payment()
        outcome = self.outcome_of(pid)
        shutdown = self.in_background(self.actor.shutdown)
        self.wait_for_draining()
        refusal = self.assert_refused(
            lambda: self.actor.submit("echo"), code=UNAVAILABLE,
            reason="DRAINING", message="takes no new processes")
        self.assertGreater(refusal.retry_seconds, 0)
        eventually(lambda: self.actor.process(pid).cancel_requested,
                   "the cancel at the process")
        self.actor.send(pid, "note", b"still delivered")
        self.assertEqual(self.actor.complete(token, b"paid"), "ACCEPTED")
        self.assertEqual(self.answer(outcome())["status"], "charged")
        self.assertEqual(shutdown().ended_count, 1)
        self.assertEqual(self.daemon.wait(), 0)

    def test_submissions_that_stream_in_are_all_accounted_for(self):
        # It keeps the daemon draining until every await has its answer.
        _, token = self.order_in_payment()
        accepted, refused, lost = [], [], []
        running = threading.Event()

        def stream(number):
            actor = self.connect(self.daemon)
            for i in range(100_000):
                payload = b"%d.%d" % (number, i)
                try:
                    pid = actor.submit("echo", payload)
                except grpc.RpcError as error:
                    refused.append(refusal_of(error))
                    return
                accepted.append(pid)
                if len(accepted) > 100:
                    running.set()
                outcome = actor.wait(pid)
                if (outcome.result.data != payload
                        and failure_name(outcome) != "CANCELLED"):
                    lost.append(outcome)

        streams = [self.in_background(lambda number=number: stream(number))
                   for number in range(4)]
        self.assertTrue(running.wait(CALL_SECONDS))
        shutdown = self.in_background(self.actor.shutdown)
        for finish in streams:
            finish()
        self.assertEqual(lost, [])
        self.assertEqual([refusal.reason for refusal in refused],
                         ["DRAINING"] * 4)
        counters = self.actor.status().counters
        self.assertEqual(counters.processes_started_total, len(accepted) + 1)
        self.assertEqual(counters.processes_ended_total, len(accepted))
        self.actor.complete(token, b"paid")
        self.assertEqual(shutdown().forced_count, 0)
        self.assertEqual(self.daemon.wait(), 0)

    def test_reload_during_a_drain(self):
        path = self.text_file("")
        daemon = self.start_daemon("--config", path)
        actor = self.connect(daemon)
        pid, token = self.order_in_payment(actor)
        outcome = self.outcome_of(pid, actor)
        daemon.signal(signal.SIGTERM)
        self.wait_for_draining(actor)
        path.write_text("[limits]\nmax_yields = 3\n")
        daemon.signal(signal.SIGHUP)
        eventually(lambda: "configuration reloaded: limits.max_yields = 3"
                   in daemon.log(), "the reload")
        status = actor.status()
        self.assertEqual(status.state, status_pb2.DAEMON_STATE_DRAINING)
        self.assertEqual(status.limits.max_yields_per_process, 3)
        self.assertEqual(actor.complete(token, b"paid"), "ACCEPTED")
        self.assertEqual(self.answer(outcome())["status"], "charged")
        self.assertEqual(daemon.wait(), 0)

    def test_deadline_that_passes_forces_the_rest(self):
        daemon = self.start_daemon(exit_status=DRAIN_RAN_OUT)
        actor = self.connect(daemon)
        stubborn = actor.submit("probe.cancel", method="stubborn")
        actor.submit("counter")
        outcome = self.outcome_of(stubborn, actor)
        started = time.monotonic()
        # Long enough for the counter to end by itself.
        response = actor.shutdown(deadline_seconds=1)
        self.assertGreaterEqual(time.monotonic() - started, 1)
        self.assertEqual((response.ended_count, response.forced_count), (1, 1))
        self.assertEqual(failure_name(outcome()), "TERMINATED")
        self.assertEqual(daemon.wait(), DRAIN_RAN_OUT)

    def test_drain_time_of_the_configuration(self):
        daemon = self.start_daemon("--drain-timeout", "100ms",
                                   exit_status=DRAIN_RAN_OUT)
        self.connect(daemon).submit("probe.cancel", method="stubborn")
        daemon.signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(), DRAIN_RAN_OUT)
        daemon.wait_for_line("1 had to be forced")

    def test_client_that_only_watches_does_not_hold_the_end_up(self):
        watch = self.actor.channel.unary_stream("/grpc.health.v1.Health/Watch")
        updates = watch(b"")
        next(updates)
        # Nothing would ever end the watch but the daemon.
        self.assertLess(self.seconds_to_end(), 15)

    def seconds_to_end(self):
        started = time.monotonic()
        self.daemon.signal(signal.SIGTERM)
        self.assertEqual(self.daemon.wait(), 0)
        return time.monotonic() - started


class Hurry(ShutdownCase):

    def test_second_sigterm_ends_at_once(self):
        stubborn = self.actor.submit("probe.cancel", method="stubborn")
        outcome = self.outcome_of(stubborn)
        self.daemon.signal(signal.SIGTERM)
        self.wait_for_draining()
        self.assertTrue(self.daemon.running())
        started = time.monotonic()
        self.daemon.signal(signal.SIGTERM)
        self.assertEqual(self.daemon.wait(), 0)
        self.assertLess(time.monotonic() - started, 20)  # of 30 to drain
        self.assertEqual(failure_name(outcome()), "TERMINATED")

    def test_shutdown_now(self):
        pid, _ = self.order_in_payment()
        outcome = self.outcome_of(pid)
        response = self.actor.shutdown(NOW)
        self.assertEqual((response.ended_count, response.forced_count), (0, 1))
        self.assertEqual(failure_name(outcome()), "TERMINATED")
        self.assertEqual(self.daemon.wait(), 0)

    def test_shutdown_now_hurries_a_drain(self):
        self.order_in_payment()
        drain = self.in_background(self.actor.shutdown)
        self.wait_for_draining()
        hurried = self.actor.shutdown(NOW)
        for response in (hurried, drain()):
            self.assertEqual((response.ended_count, response.forced_count),
                             (0, 1))
        self.assertEqual(self.daemon.wait(), 0)

    def stuck_daemon(self, *options):
        """One with a process that does not come back from its step."""
        daemon = self.start_daemon("--drain-timeout", "500ms", *options,
                                   exit_status=DRAIN_RAN_OUT)
        actor = self.connect(daemon)
        pid = actor.submit("probe.blocking", b"3600000")
        eventually(lambda: actor.process(pid).state
                   == process_pb2.PROCESS_STATE_RUNNING, "the step to run")
        return daemon

    def assert_leaves_it_behind(self, daemon, within_seconds):
        started = time.monotonic()
        daemon.signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(), DRAIN_RAN_OUT)
        self.assertLess(time.monotonic() - started, within_seconds)
        daemon.wait_for_line("exiting although 1 steps or commands have not returned")

    def test_step_that_does_not_return_is_left_behind(self):
        daemon = self.stuck_daemon("--force-timeout", "300ms")
        self.assert_leaves_it_behind(daemon, within_seconds=15)

    def test_step_that_does_not_return_is_named(self):
        daemon = self.stuck_daemon("--force-timeout", "1s")
        self.assert_leaves_it_behind(daemon, within_seconds=20)
        daemon.wait_for_line("probe.blocking does not return from its step")

    def test_steps_and_commands_have_the_same_time_to_return(self):
        daemon = self.stuck_daemon("--force-timeout", "2s")
        actor = self.connect(daemon)
        actor.submit("probe", json.dumps(
            {"command": "probe.slow", "payload": "3600000"}).encode(),
            method="yield")
        eventually(lambda: actor.status().counters.yields_total == 1
                   and actor.status().counters.commands_pooled_waiting == 0,
                   "the command to run")
        daemon.signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(), DRAIN_RAN_OUT)
        # Both were waited for to the end: the deadline of the program, a second
        # later, did not have to come.
        daemon.wait_for_line("exiting although 2 steps or commands")

    def test_step_that_does_not_return_holds_no_answer_up(self):
        daemon = self.stuck_daemon("--force-timeout", "300ms")
        response = self.connect(daemon).shutdown()
        self.assertEqual((response.ended_count, response.forced_count), (0, 1))
        self.assertEqual(daemon.wait(), DRAIN_RAN_OUT)

    def test_plugin_that_does_not_go_is_left_behind(self):
        for status, kind in ((0, "counter"), (DRAIN_RAN_OUT, "probe.cancel")):
            with self.subTest(kind=kind):
                daemon = self.start_daemon(
                    "--force-timeout", "300ms", "--drain-timeout", "100ms",
                    environment={"PROBE_STAYS": "1"}, exit_status=status)
                self.connect(daemon).submit(
                    kind, method="stubborn" if kind != "counter" else "")
                daemon.signal(signal.SIGTERM)
                self.assertEqual(daemon.wait(), status)
                daemon.wait_for_line("exiting although gRPC or a plugin has not "
                                     "finished")

    def test_third_signal_exits_on_the_spot(self):
        daemon = self.stuck_daemon("--force-timeout", "1h")
        # Signals of one kind do not queue up: send until the daemon is gone.
        eventually(lambda: not daemon.running() or daemon.signal(signal.SIGTERM),
                   "the daemon to give up")
        self.assertEqual(daemon.wait(), DRAIN_RAN_OUT)


if __name__ == "__main__":
    unittest.main()
