"""External commands: how they wait, and the answers that a completion gets."""

import json
import threading
import unittest

import grpc
from actord.v1 import process_pb2, yield_pb2
from harness.case import DaemonCase
from harness.connection import CALL_SECONDS
from harness.waiting import eventually


class YieldCase(DaemonCase):

    def yielding(self, command="manual.do", **order):
        """A process that waits for one external command; PID and yield."""
        order["command"] = command
        pid = self.actor.submit("probe", json.dumps(order).encode(), "yield")
        return pid, eventually(lambda: self.actor.yields(pid=pid), "a yield")[0]


class Answers(YieldCase):

    def test_accepted_and_duplicate_and_conflict(self):
        pid, waiting = self.yielding()
        self.assertEqual(self.actor.complete(waiting.token, b"one"), "ACCEPTED")
        for _ in range(2):  # whether the process still lives or not
            self.assertEqual(self.actor.complete(waiting.token, b"one"),
                             "DUPLICATE")
            self.assertEqual(self.actor.complete(waiting.token, b"two"),
                             "CONFLICT")
            self.assertEqual(
                self.actor.complete(waiting.token, error=(9, "one")),
                "CONFLICT")
            outcome = self.actor.wait(pid)
        self.assertEqual(self.answer(outcome), {"code": "OK", "payload": "one"})

    def test_error_reaches_the_process(self):
        pid, waiting = self.yielding()
        error = (grpc.StatusCode.FAILED_PRECONDITION.value[0], "card refused")
        self.assertEqual(self.actor.complete(waiting.token, error=error),
                         "ACCEPTED")
        self.assertEqual(self.actor.complete(waiting.token, error=error),
                         "DUPLICATE")
        self.assertEqual(self.answer(self.actor.wait(pid)), {
            "code": "FAILED_PRECONDITION", "message": "card refused"})

    def test_expired_by_its_timeout(self):
        pid, waiting = self.yielding(timeout_ms=2000)
        self.assertTrue(waiting.HasField("deadline"))
        self.assertEqual(waiting.deadline.ToMilliseconds()
                         - waiting.create_time.ToMilliseconds(), 2000)
        answer = self.answer(self.actor.wait(pid))
        self.assertEqual(answer["code"], "DEADLINE_EXCEEDED")
        self.assertEqual(self.actor.complete(waiting.token, b"late"), "EXPIRED")
        self.assertEqual(self.actor.yields(pid=pid), [])

    def test_expired_by_the_end_of_its_process(self):
        for end in (self.actor.terminate, self.actor.cancel):
            pid, waiting = self.yielding()
            end(pid)
            self.actor.wait(pid)
            self.assertEqual(self.actor.complete(waiting.token, b"late"),
                             "EXPIRED")

    def test_unknown(self):
        _, waiting = self.yielding()
        pid, tag = waiting.token.rsplit(".", 1)
        other_tag = f"{int(tag, 16) + 1:x}"
        self.assertEqual(self.actor.complete(f"{pid}.{other_tag}", b"x"),
                         "UNKNOWN")
        other = self.connect(self.start_daemon())
        self.assertEqual(other.complete(waiting.token, b"x"), "UNKNOWN")
        self.assertEqual(self.actor.complete(waiting.token, b"x"), "ACCEPTED")

    def test_answer_is_forgotten_after_its_time(self):
        daemon = self.start_daemon("--yield-answer-max", "1")
        actor = self.connect(daemon)
        tokens = []
        for _ in range(2):
            pid = actor.submit("probe", b'{"command": "manual.do"}', "yield")
            tokens.append(
                eventually(lambda: actor.yields(pid=pid), "a yield")[0].token)
            self.assertEqual(actor.complete(tokens[-1], b"x"), "ACCEPTED")
        self.assertEqual(actor.complete(tokens[0], b"x"), "UNKNOWN")
        self.assertEqual(actor.complete(tokens[1], b"x"), "DUPLICATE")

    def test_one_of_many_at_a_time_is_accepted(self):
        pid, waiting = self.yielding()
        start = threading.Barrier(8)
        answers = []

        def complete(number):
            start.wait()
            answers.append(self.actor.complete(waiting.token, b"%d" % number))

        threads = [threading.Thread(target=complete, args=(i,))
                   for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(answers), ["ACCEPTED"] + ["CONFLICT"] * 7)
        self.assertEqual(self.answer(self.actor.wait(pid))["code"], "OK")


class Waiting(YieldCase):

    def test_timeout_of_the_configuration(self):
        actor = self.connect(self.start_daemon("--yield-timeout", "50ms"))
        outcome = actor.run("probe", b'{"command": "manual.do"}', "yield")
        self.assertEqual(self.answer(outcome)["code"], "DEADLINE_EXCEEDED")

    def test_waiting_yields_are_bounded_by_bytes(self):
        actor = self.connect(self.start_daemon(
            "--max-payload-bytes", "10000",
            "--yield-external-max-bytes", "15000"))
        order = json.dumps({"command": "manual.do",
                            "payload": "x" * 8000}).encode()
        pid = actor.submit("probe", order, "yield")
        waiting = eventually(lambda: actor.yields(pid=pid), "a yield")
        refused = self.answer(actor.run("probe", order, "yield"))
        self.assertEqual(refused["code"], "RESOURCE_EXHAUSTED")
        self.assertIn("external yields that wait", refused["message"])
        self.assertEqual(actor.complete(waiting[0].token, b"x"), "ACCEPTED")
        self.assertEqual(self.answer(actor.wait(pid))["code"], "OK")
        pid = actor.submit("probe", order, "yield")
        waiting = eventually(lambda: actor.yields(pid=pid), "room again")
        self.assertEqual(actor.status().limits.max_external_yield_bytes, 15000)
        actor.complete(waiting[0].token, b"x")

    def test_completions_of_one_process_are_bounded_by_bytes(self):
        actor = self.connect(self.start_daemon(
            "--workers", "1", "--max-blocked-threads", "0",
            "--max-payload-bytes", "10000", "--max-mailbox-bytes", "15000"))
        pid = actor.submit("probe", b'{"command": "manual.do", "count": 2}',
                           "yield")
        eventually(lambda: len(actor.yields(pid=pid)) == 2, "the yields")
        first, second = actor.yields(pid=pid)
        # The process cannot take them: its only worker is in another step.
        end = self.directory / "end"
        self.addCleanup(end.touch)
        blocker = actor.submit("probe.blocking", str(end).encode(), "until")
        eventually(lambda: actor.process(blocker).state
                   == process_pb2.PROCESS_STATE_RUNNING, "the step to run")
        self.assertEqual(actor.complete(first.token, b"1" * 9000), "ACCEPTED")
        self.assert_refused(
            lambda: actor.complete(second.token, b"2" * 9000),
            code=grpc.StatusCode.RESOURCE_EXHAUSTED, reason="MAILBOX_FULL",
            message=f"process {pid} has not taken .* 15000 bytes")
        self.assertEqual([one.token for one in actor.yields(pid=pid)],
                         [second.token])
        end.touch()

        def accepted():
            try:
                return actor.complete(second.token, b"2" * 9000) == "ACCEPTED"
            except grpc.RpcError:
                return False

        eventually(accepted, "room for the completion")
        # Both have arrived: the process ends with a result of both.
        self.assertRegex(actor.wait(pid).failure.message,
                         r"a result has 18\d\d\d bytes")

    def test_command_outside_the_patterns_is_not_external(self):
        outcome = self.actor.run("probe", b'{"command": "manuals"}', "yield")
        self.assertEqual(self.answer(outcome)["code"], "NOT_FOUND")
        self.assertEqual(self.actor.yields(), [])

    def test_waiting_yield_is_described(self):
        pid, waiting = self.yielding("manual.print", payload="page 1")
        self.assertEqual(waiting.pid, pid)
        self.assertEqual(waiting.process_type, "probe")
        self.assertEqual(waiting.command, "manual.print")
        self.assertEqual(waiting.payload.data, b"page 1")
        self.assertFalse(waiting.HasField("deadline"))
        self.assertLessEqual(len(waiting.token), 128)
        process = self.actor.process(pid)
        self.assertEqual(process.yields_outstanding, 1)

    def test_list_is_paged_and_filtered(self):
        first, _ = self.yielding("manual.print", count=7)
        second, _ = self.yielding("payment.charge", count=3)
        eventually(lambda: len(self.actor.yields()) == 10, "ten yields")
        tokens, page_token, sizes = [], "", []
        while True:
            page = self.actor.stub.ListYields(
                yield_pb2.ListYieldsRequest(page_size=4, page_token=page_token),
                timeout=CALL_SECONDS)
            tokens += [one.token for one in page.yields]
            sizes.append(len(page.yields))
            page_token = page.next_page_token
            if not page_token:
                break
        self.assertEqual(sizes, [4, 4, 2])
        self.assertEqual(len(set(tokens)), 10)
        # Two processes that yield at the same time may be listed either way.
        for pid in (first, second):
            oldest_first = [one.create_time.ToNanoseconds()
                            for one in self.actor.yields(pid=pid)]
            self.assertEqual(oldest_first, sorted(oldest_first))
        self.assertEqual(len(self.actor.yields(command="manual.*")), 7)
        self.assertEqual(len(self.actor.yields(command="manual")), 0)
        self.assertEqual(len(self.actor.yields(command="payment.charge")), 3)
        self.assertEqual(len(self.actor.yields(pid=first)), 7)
        self.assertEqual(
            len(self.actor.yields(pid=second, command="manual.*")), 0)

    def test_long_list_of_large_payloads_fits_the_clients_limit(self):
        pid, _ = self.yielding("manual.print", payload="x" * 1_000_000, count=6)
        eventually(lambda: self.actor.status().counters.yields_external_waiting
                   == 6, "six yields")
        request = yield_pb2.ListYieldsRequest(pid=pid)
        tokens = set()
        for _ in range(20):
            page = self.actor.stub.ListYields(request, timeout=CALL_SECONDS)
            tokens.update(one.token for one in page.yields)
            request.page_token = page.next_page_token
            if not request.page_token:
                break
        self.assertEqual(len(tokens), 6)


class Processes(DaemonCase):

    def test_list_is_paged_and_filtered(self):
        counters = {self.actor.submit("counter") for _ in range(25)}
        parent = self.actor.submit("probe", b"3", "children")
        self.actor.wait(parent)
        idle = {self.actor.submit("probe", method="idle") for _ in range(5)}
        seen, token, pages = [], "", 0
        while True:
            page = self.actor.stub.ListProcesses(
                process_pb2.ListProcessesRequest(
                    page_size=10, page_token=token, process_type="counter"),
                timeout=CALL_SECONDS)
            seen += [process.pid for process in page.processes]
            pages += 1
            token = page.next_page_token
            if not token:
                break
        self.assertEqual(len(seen), 25)
        self.assertEqual(set(seen), counters)
        self.assertGreaterEqual(pages, 3)

        def listed(**fields):
            request = process_pb2.ListProcessesRequest(page_size=1000, **fields)
            answer = self.actor.stub.ListProcesses(request,
                                                   timeout=CALL_SECONDS)
            return {process.pid for process in answer.processes}

        # A child tells its parent, who ends then, a moment before its own end.
        eventually(lambda: listed(process_type="probe") == idle,
                   "the ends of the children")
        self.assertEqual(listed(), counters | idle)
        self.assertEqual(listed(process_type="ghost"), set())
        self.assertEqual(listed(state=process_pb2.PROCESS_STATE_BLOCKED), set())
        eventually(lambda: listed(state=process_pb2.PROCESS_STATE_IDLE)
                   == counters | idle, "all to be idle")

    def test_page_size_defaults_to_100_and_is_cut_to_1000(self):
        calls = [self.actor.stub.Submit.future(
            process_pb2.SubmitRequest(process_type="counter"))
            for _ in range(1005)]
        self.assertEqual(len({call.result().pid for call in calls}), 1005)

        def size(page_size):
            request = process_pb2.ListProcessesRequest(page_size=page_size)
            return len(self.actor.stub.ListProcesses(
                request, timeout=CALL_SECONDS).processes)

        self.assertEqual([size(0), size(7), size(5000)], [100, 7, 1000])

    def test_children_are_found_by_their_parent(self):
        pid = self.actor.submit("probe", json.dumps({
            "type": "counter", "method": "run", "input": "7"}).encode(), "spawn")
        child = self.answer(self.actor.wait(pid))["payload"]
        request = process_pb2.ListProcessesRequest(parent_pid=pid)
        [found] = self.actor.stub.ListProcesses(
            request, timeout=CALL_SECONDS).processes
        self.assertIn(found.pid, child)
        self.assertEqual(found.process_type, "counter")
        self.assertEqual(found.parent_pid, pid)

    def test_process_is_described(self):
        pid = self.actor.submit("counter", b"1")
        for _ in range(3):
            self.actor.send(pid, "add")
        eventually(lambda: self.actor.process(pid).state
                   == process_pb2.PROCESS_STATE_IDLE, "the counter to be idle")
        process = self.actor.process(pid)
        self.assertEqual(process.pid, pid)
        self.assertEqual(process.process_type, "counter")
        self.assertEqual(process.method, "run")
        self.assertEqual(process.parent_pid, "")
        self.assertGreaterEqual(process.steps, 1)
        self.assertEqual(process.mailbox_messages, 0)
        self.assertFalse(process.cancel_requested)


if __name__ == "__main__":
    unittest.main()
