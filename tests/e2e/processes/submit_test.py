"""Starting processes, sending to them and waiting for them."""

import json
import subprocess
import sys
import unittest

import grpc
from actord.v1 import outcome_pb2, payload_pb2, process_pb2
from harness.case import DaemonCase
from harness.connection import CALL_SECONDS, failure_name
from harness.waiting import eventually

# A client that waits for the process in its arguments until it is killed.
WAITING_CLIENT = """
import sys, grpc
from actord.v1 import actor_service_pb2_grpc, outcome_pb2
stub = actor_service_pb2_grpc.ActorServiceStub(grpc.insecure_channel(sys.argv[1]))
call = stub.Await.future(outcome_pb2.AwaitRequest(pid=sys.argv[2]))
stub.Await.future(outcome_pb2.AwaitRequest(pid="nonsense")).exception()
print("waits", flush=True)
call.result()
"""


class Messages(DaemonCase):

    def collected(self, pid):
        self.actor.send(pid, "stop")
        return self.answer(self.actor.wait(pid))

    def test_arrive_in_the_senders_order(self):
        pid = self.actor.submit("probe", method="collect")
        for number in range(300):
            self.actor.send(pid, "n", b"%d" % number)
        self.assertEqual([one["payload"] for one in self.collected(pid)],
                         [str(number) for number in range(300)])

    def test_of_the_submission_come_before_all_others(self):
        messages = [process_pb2.Message(
            topic=f"t{i}", payload=payload_pb2.Payload(
                data=b"first", content_type="text/plain")) for i in range(100)]
        pid = self.actor.submit("probe", method="collect", messages=messages)
        self.actor.send(pid, "later", b"second")
        collected = self.collected(pid)
        self.assertEqual([one["topic"] for one in collected],
                         [f"t{i}" for i in range(100)] + ["later"])
        self.assertEqual(collected[0], {
            "topic": "t0", "payload": "first", "content_type": "text/plain",
            "outside": True})

    def test_of_many_senders_all_arrive_once(self):
        pid = self.actor.submit("counter")
        calls = [self.actor.stub.Send.future(process_pb2.SendRequest(
            pid=pid, topic="add")) for _ in range(2000)]
        for call in calls:
            call.result(CALL_SECONDS)
        self.actor.send(pid, "stop")
        self.assertEqual(self.actor.wait(pid).result.data, b"2000")

    def test_payload_comes_back_as_it_went_in(self):
        for data, content_type in ((b"", ""), (bytes(range(256)), "image/png"),
                                   ("\u00e9".encode() * 1000, "text/plain"),
                                   (b"x" * (1 << 20), "")):
            pid = self.actor.stub.Submit(process_pb2.SubmitRequest(
                process_type="echo", input=payload_pb2.Payload(
                    data=data, content_type=content_type))).pid
            result = self.actor.wait(pid).result
            self.assertEqual(result.data, data)
            self.assertIn(result.content_type,
                          (content_type, content_type or "application/json"))


class RequestIds(DaemonCase):

    def submit(self, **fields):
        return self.actor.stub.Submit(process_pb2.SubmitRequest(
            process_type="counter", request_id="id", **fields))

    def test_same_id_starts_one_process(self):
        first, second = self.submit(), self.submit()
        self.assertEqual((first.duplicate, second.duplicate), (False, True))
        self.assertEqual(first.pid, second.pid)
        self.actor.send(first.pid, "stop")
        self.actor.wait(first.pid)
        third = self.submit()  # also after the process's end
        self.assertEqual((third.pid, third.duplicate), (first.pid, True))
        started = self.actor.status().counters.processes_started_total
        self.assertEqual(started, 1)

    def test_at_the_same_time_start_one_process(self):
        request = process_pb2.SubmitRequest(process_type="counter",
                                            request_id="id")
        calls = [self.actor.stub.Submit.future(request) for _ in range(100)]
        answers = [call.result(CALL_SECONDS) for call in calls]
        self.assertEqual(len({answer.pid for answer in answers}), 1)
        self.assertEqual(sorted(answer.duplicate for answer in answers),
                         [False] + [True] * 99)

    def test_of_a_refused_submission_is_free_again(self):
        bad = payload_pb2.Payload(data=b"a dozen")
        for _ in range(2):
            self.assert_refused(lambda: self.submit(input=bad),
                                code=grpc.StatusCode.INVALID_ARGUMENT,
                                reason="INIT_REFUSED", field="input",
                                message="not an integer")
        good = self.submit(input=payload_pb2.Payload(data=b"12"))
        self.assertFalse(good.duplicate)

    def test_is_forgotten_after_its_time(self):
        daemon = self.start_daemon("--request-id-max", "2")
        actor = self.connect(daemon)
        pids = [actor.submit("counter", request_id=f"id{i}") for i in range(3)]
        self.assertEqual(actor.submit("counter", request_id="id2"), pids[2])
        self.assertNotEqual(actor.submit("counter", request_id="id0"), pids[0])


class MessageIds(DaemonCase):

    def send(self, pid, **fields):
        return self.actor.stub.Send(process_pb2.SendRequest(
            pid=pid, message_id="id", topic="add", **fields))

    def test_same_id_delivers_once(self):
        pid = self.actor.submit("counter")
        answers = [self.send(pid).duplicate for _ in range(3)]
        self.assertEqual(answers, [False, True, True])
        self.actor.send(pid, "stop")
        self.assertEqual(self.actor.wait(pid).result.data, b"1")
        self.assertTrue(self.send(pid).duplicate)  # also after the end

    def test_at_the_same_time_deliver_once(self):
        pid = self.actor.submit("counter")
        request = process_pb2.SendRequest(pid=pid, topic="add", message_id="id")
        calls = [self.actor.stub.Send.future(request) for _ in range(100)]
        self.assertEqual(
            sorted(call.result(CALL_SECONDS).duplicate for call in calls),
            [False] + [True] * 99)
        self.actor.send(pid, "stop")
        self.assertEqual(self.actor.wait(pid).result.data, b"1")

    def test_same_id_with_another_message(self):
        pid, other = self.actor.submit("counter"), self.actor.submit("counter")
        self.send(pid)
        for call in (lambda: self.send(other),
                     lambda: self.send(pid, payload=payload_pb2.Payload(
                         data=b"2"))):
            self.assert_refused(call, code=grpc.StatusCode.INVALID_ARGUMENT,
                                reason="REQUEST_ID_REUSED", field="message_id",
                                message="belongs to another")

    def test_of_a_refused_message_is_free_again(self):
        ended = self.actor.submit("echo")
        self.actor.wait(ended)
        for _ in range(2):
            self.assert_refused(lambda: self.send(ended),
                                code=grpc.StatusCode.FAILED_PRECONDITION,
                                reason="PROCESS_ENDED", message="has ended")
        self.assertFalse(self.send(self.actor.submit("counter")).duplicate)


class Await(DaemonCase):

    def test_deadline_passes_and_the_process_goes_on(self):
        pid = self.actor.submit("counter", b"7")
        with self.assertRaises(grpc.RpcError) as caught:
            self.actor.wait(pid, seconds=0.1)
        self.assertEqual(caught.exception.code(),
                         grpc.StatusCode.DEADLINE_EXCEEDED)
        self.actor.send(pid, "stop")
        self.assertEqual(self.actor.wait(pid).result.data, b"7")

    def test_all_waiting_callers_are_answered(self):
        pid = self.actor.submit("counter", b"7")
        request = outcome_pb2.AwaitRequest(pid=pid)
        calls = [self.actor.stub.Await.future(request) for _ in range(100)]
        self.actor.send(pid, "stop")
        calls += [self.actor.stub.Await.future(request) for _ in range(100)]
        outcomes = [call.result(CALL_SECONDS).outcome for call in calls]
        self.assertEqual({outcome.result.data for outcome in outcomes}, {b"7"})
        self.assertEqual({outcome.pid for outcome in outcomes}, {pid})

    def test_client_that_vanishes_harms_nobody(self):
        pid = self.actor.submit("counter", b"7")
        clients = [subprocess.Popen(
            [sys.executable, "-c", WAITING_CLIENT, self.daemon.address, pid],
            stdout=subprocess.PIPE, text=True) for _ in range(3)]
        for client in clients:
            self.assertEqual(client.stdout.readline(), "waits\n")
        waiting = self.actor.stub.Await.future(
            outcome_pb2.AwaitRequest(pid=pid))
        for client in clients:
            client.kill()
            client.wait()
            client.stdout.close()
        self.assert_serves()
        self.assertFalse(waiting.done())
        self.actor.send(pid, "stop")
        self.assertEqual(waiting.result(CALL_SECONDS).outcome.result.data, b"7")

    def test_waits_that_are_given_up_are_not_kept(self):
        pid = self.actor.submit("counter", b"7")
        request = outcome_pb2.AwaitRequest(pid=pid)
        for _ in range(20):
            calls = [self.actor.stub.Await.future(request) for _ in range(100)]
            for call in calls:
                call.cancel()
        self.actor.send(pid, "stop")
        self.assertEqual(self.actor.wait(pid).result.data, b"7")
        self.assertNotIn(" cut: ", self.daemon.log())

    def test_cancel_is_the_processes_decision(self):
        for method, result in (("graceful", b"enough"), ("fail", None)):
            pid = self.actor.submit("probe.cancel", method=method)
            self.actor.cancel(pid, "enough")
            outcome = self.actor.wait(pid)
            if result:
                self.assertEqual(outcome.result.data, result)
            else:
                self.assertEqual(outcome.failure.message, "enough")
        pid = self.actor.submit("probe.cancel", method="stubborn")
        self.actor.cancel(pid)
        self.actor.cancel(pid)
        eventually(lambda: self.actor.process(pid).cancel_requested
                   and self.actor.process(pid).state
                   == process_pb2.PROCESS_STATE_IDLE, "the cancel to be taken")
        self.actor.terminate(pid)
        self.assertEqual(failure_name(self.actor.wait(pid)), "TERMINATED")

    def test_a_cancel_becomes_a_terminate_after_its_deadline(self):
        pid = self.actor.submit("probe.cancel", method="stubborn")
        self.actor.cancel(pid, deadline_ms=3_600_000)
        self.actor.cancel(pid, deadline_ms=50)
        self.actor.cancel(pid, deadline_ms=3_600_000)
        outcome = self.actor.wait(pid)
        self.assertEqual(failure_name(outcome), "TERMINATED")
        self.assertEqual(outcome.failure.code, grpc.StatusCode.ABORTED.value[0])
        self.assertEqual(outcome.failure.message,
                         "the process did not end within 50 ms of its cancel")
        pid = self.actor.submit("probe.cancel", method="graceful")
        self.actor.cancel(pid, "enough", deadline_ms=3_600_000)
        self.assertEqual(self.actor.wait(pid).result.data, b"enough")


class Commands(DaemonCase):
    """The built-in commands, as a process sees them."""

    OPTIONS = ("--file-read-dir", "/usr/share/common-licenses")

    def completion(self, command, payload):
        order = {"command": command, "payload": payload}
        return self.answer(self.actor.run(
            "probe", json.dumps(order).encode(), "yield"))

    def test_file_read_only_below_its_directories(self):
        path = "/usr/share/common-licenses/GPL-3"
        done = self.completion("file.read", {"path": path})
        with open(path, encoding="utf-8") as file:
            self.assertEqual(done, {"code": "OK", "payload": file.read()})
        for other in ("/etc/passwd", "/usr/share/common-licenses/../../../etc/passwd"):
            done = self.completion("file.read", {"path": other})
            self.assertEqual(done["code"], "PERMISSION_DENIED", done)
        done = self.completion("file.read", {"path": path + "0"})
        self.assertEqual(done["code"], "NOT_FOUND", done)

    def test_sleep_takes_its_time(self):
        outcome = self.actor.run("probe", b"120", "sleep")
        took_ms = (outcome.end_time.ToNanoseconds()
                   - outcome.create_time.ToNanoseconds()) / 1e6
        self.assertGreaterEqual(took_ms, 120)
        self.assertEqual(self.answer(outcome)["code"], "OK")

    def test_send_tells_what_became_of_the_message(self):
        pid = self.actor.submit("probe", method="collect")
        message = {"to": pid, "topic": "t", "payload": "p"}
        done = self.answer(self.actor.run(
            "probe", json.dumps(message).encode(), "send"))
        self.assertEqual(done["code"], "OK")
        self.actor.send(pid, "stop")
        [collected] = self.answer(self.actor.wait(pid))
        self.assertEqual((collected["topic"], collected["outside"]),
                         ("t", False))
        done = self.answer(self.actor.run(
            "probe", json.dumps(message).encode(), "send"))
        self.assertEqual(done["code"], "FAILED_PRECONDITION", done)

    def test_children_send_to_their_parent(self):
        self.assertEqual(self.actor.run("probe", b"500", "children").result.data,
                         b"500")
        # A parent that is gone is no harm.
        self.actor.run("probe", b"child", "spawn_step")
        eventually(lambda: self.actor.status().counters.processes_live == 0,
                   "the child's end")
        # If it came before the parent's end, the mailbox is looked through last.
        eventually(lambda: self.actor.status().counters.dead_letters_total == 1,
                   "its message")


if __name__ == "__main__":
    unittest.main()
