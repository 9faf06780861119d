"""Request IDs, message IDs and owners of durable processes: a repeat after a restart
is answered as before it, and what belongs to a client stays its own."""

import random
import signal
import threading
import time
import unittest

import grpc
from actord.v1 import payload_pb2, process_pb2
from harness.bulk import SendStream, SubmitStream, send_item, submit_item
from harness.case import DURABLE, StoreCase
from harness.connection import CALL_SECONDS, refusal_of
from harness.tokens import TokenCase
from harness.waiting import SANITIZED, eventually


class Ids(StoreCase):
    """Repeated requests after the daemon was killed."""

    def submit(self, **fields):
        return self.actor.stub.Submit(
            submit_item("counter", durability=DURABLE, **fields),
            timeout=CALL_SECONDS)

    def send(self, pid, payload, message_id):
        return self.actor.stub.Send(
            send_item(pid, "add", payload, message_id=message_id),
            timeout=CALL_SECONDS)

    def stream(self, stream, item):
        if isinstance(stream, SendStream):
            stream.send(item)
        else:
            stream.submit(item)
        stream.finish()
        return stream

    def assert_reused(self, call, field):
        self.assert_refused(call, code=grpc.StatusCode.INVALID_ARGUMENT,
                            reason="REQUEST_ID_REUSED", field=field,
                            message="belongs to another request")

    def ask(self):
        """All ways to use an id, each for a process of its own."""
        deliver = process_pb2.SubmitRequest.NAME_CONFLICT_DELIVER
        submitted = self.submit(payload=b"1", request_id="submit", name="a")
        streamed = self.stream(SubmitStream(self.actor.stub), submit_item(
            "counter", b"2", durability=DURABLE, request_id="stream",
            name="b")).submitted[0]
        delivered = self.actor.stub.Submit(process_pb2.SubmitRequest(
            process_type="counter", durability=DURABLE, name="a",
            on_name_conflict=deliver, request_id="deliver", messages=[
                process_pb2.Message(topic="add",
                                    payload=payload_pb2.Payload(data=b"10"))]),
            timeout=CALL_SECONDS)
        sent = self.send("@a", b"100", "message")
        in_stream = self.stream(SendStream(self.actor.stub), send_item(
            "@b", "add", b"1000", message_id="streamed"))
        return ([submitted.pid, streamed.pid, delivered.pid],
                [submitted.duplicate, streamed.duplicate, delivered.duplicate,
                 sent.duplicate, in_stream.duplicates == [0]])

    def test_repeats_are_answered_as_before_the_restart(self):
        self.start(exit_status=-signal.SIGKILL)
        pids, duplicates = self.ask()
        self.assertEqual(duplicates, [False] * 5)
        self.assertEqual(pids[2], pids[0])
        for _ in range(2):
            self.assertEqual(self.ask(), (pids, [True] * 5))
            self.kill()
            self.start(exit_status=-signal.SIGKILL)
        self.assertEqual(self.ask(), (pids, [True] * 5))
        self.assertEqual([self.value("@a"), self.value("@b")], [111, 1002])
        self.assert_reused(lambda: self.submit(payload=b"2",
                                               request_id="submit", name="a"),
                           "request_id")
        self.assert_reused(lambda: self.send("@a", b"101", "message"),
                           "message_id")
        self.kill()
        self.start()

    def test_bounds_of_the_store(self):
        options = ("--store-request-id-max", "1", "--request-id-max", "0")
        self.start_with = options
        self.start()
        first = self.submit(request_id="1").pid
        second = self.submit(request_id="2").pid
        self.daemon.stop()
        self.start()
        self.assertEqual(self.submit(request_id="2").pid, second)
        self.assertNotEqual(self.submit(request_id="1").pid, first)


class Calls(StoreCase):
    """Repeated calls and answers after the daemon was killed."""

    def ask(self, to, payload, message_id="id", seconds=CALL_SECONDS):
        answer = self.actor.stub.Call(process_pb2.CallRequest(
            pid=to, topic="add", payload=payload_pb2.Payload(data=payload),
            message_id=message_id), timeout=seconds)
        return answer.pid, int(answer.result.data), answer.duplicate

    def test_call_is_carried_out_once(self):
        self.start(exit_status=-signal.SIGKILL)
        pid = self.counter(1, name="count")
        self.assertEqual(self.ask("@count", b"10"), (pid, 11, False))
        self.actor.call(pid, "add", b"100")
        for _ in range(2):
            self.assertEqual(self.ask("@count", b"10"), (pid, 11, True))
            self.kill()
            self.start(exit_status=-signal.SIGKILL)
        self.assert_refused(lambda: self.ask("@count", b"11"),
                            code=grpc.StatusCode.INVALID_ARGUMENT,
                            reason="REQUEST_ID_REUSED", field="message_id",
                            message="belongs to another request")
        self.assertEqual(self.value(pid), 111)
        # The answer is kept when nobody holds the name any more.
        self.actor.terminate(pid)
        self.actor.wait(pid)
        self.kill()
        self.start()
        self.assertEqual(self.ask("@count", b"10"), (pid, 11, True))

    def test_command_line(self):
        self.start()
        pid = self.counter(1)
        for _ in range(2):
            run = self.actorctl("call", pid, "5", "--topic", "add",
                                "--message-id", "cli")
            self.assertEqual(run.stdout.strip(), "6")

    def test_needs_a_durable_process(self):
        self.start()
        volatile = process_pb2.DURABILITY_VOLATILE
        pid = self.actor.submit("counter", b"1", durability=volatile)
        self.assert_refused(lambda: self.ask(pid, b"2"),
                            code=grpc.StatusCode.FAILED_PRECONDITION,
                            reason="NOT_DURABLE", message="is volatile")
        self.assertEqual(self.value(pid), 1)
        self.daemon.stop()
        daemon = self.start_daemon()
        self.actor = self.connect(daemon)
        pid = self.actor.submit("counter", b"1")
        self.assert_refused(lambda: self.ask(pid, b"2"),
                            code=grpc.StatusCode.FAILED_PRECONDITION,
                            reason="DURABILITY_OFF", message="with a store")

    def test_answer_of_a_task_is_repeated(self):
        self.start(exit_status=-signal.SIGKILL)
        order = b'{"order": "o", "amount_cents": 5, "payment_timeout_ms": 60000}'
        pid = self.actor.submit("order", order, durability=DURABLE)
        eventually(lambda: self.actor.yields(pid=pid), "the order waits")
        token = self.actor.yields(pid=pid)[0].token
        self.assertEqual(self.actor.complete(token, b'"paid"'), "ACCEPTED")
        for _ in range(2):
            self.assertEqual(self.actor.complete(token, b'"paid"'), "DUPLICATE")
            self.assertEqual(self.actor.complete(token, b'"no"'), "CONFLICT")
            self.kill()
            self.start(exit_status=-signal.SIGKILL)
        self.kill()
        self.start()
        self.assertEqual(self.actor.complete(token, b'"paid"'), "DUPLICATE")


class Owners(TokenCase):
    """The processes of a client are its own over restarts, in any order the
    clients call."""

    def start(self, exit_status=-signal.SIGKILL):
        self.daemon = self.serve("--store", self.directory / "store",
                                 exit_status=exit_status)

    def restart(self, **more):
        self.daemon.signal(signal.SIGKILL)
        self.daemon.wait()
        self.start(**more)

    def as_client(self, token):
        return self.connect_with(self.daemon, token)

    def submit(self, actor, payload):
        return actor.stub.Submit(submit_item(
            "counter", payload, durability=DURABLE, name="service",
            request_id="id"), timeout=CALL_SECONDS)

    def assert_has(self, actor, pid, value, other):
        """The client has its own process and does not see the other one."""
        self.assertEqual(int(actor.call("@service", "get").result.data), value)
        again = self.submit(actor, b"%d" % value)
        self.assertEqual((again.pid, again.duplicate), (pid, True))
        self.assertEqual([name.pid for name in actor.names().names], [pid])
        with self.assertRaises(grpc.RpcError) as caught:
            actor.process(other)
        self.assertEqual(refusal_of(caught.exception).reason, "PROCESS_ENDED")

    def test_restarts(self):
        tokens = {name: self.token("client", name=name)
                  for name in ("alice", "bob", "carol")}
        admin = self.token("admin", name="ops")
        self.start()
        alice = self.submit(self.as_client(tokens["alice"]), b"1").pid
        bob = self.submit(self.as_client(tokens["bob"]), b"2").pid
        self.restart()
        # In another order, and with a new client before all.
        with self.assertRaises(grpc.RpcError):
            self.as_client(tokens["carol"]).process(alice)
        self.assert_has(self.as_client(tokens["bob"]), bob, 2, alice)
        self.assert_has(self.as_client(tokens["alice"]), alice, 1, bob)
        self.revoke(tokens["alice"])
        self.restart()
        self.assert_has(self.as_client(tokens["bob"]), bob, 2, alice)
        ops = self.as_client(admin)
        self.assertEqual([ops.process(pid).owner for pid in (alice, bob)],
                         ["alice", "bob"])
        carol = self.as_client(tokens["carol"])
        self.assertEqual(list(carol.names().names), [])
        # The name has a token again.
        back = self.token("client", name="alice")
        self.restart(exit_status=0)
        self.assert_has(self.as_client(back), alice, 1, bob)

    def test_outcome_stays_with_its_owner(self):
        tokens = [self.token("client", name=name) for name in ("alice", "bob")]
        self.start()
        alice = self.as_client(tokens[0])
        pid = self.submit(alice, b"5").pid
        alice.send(pid, "stop")
        self.assertEqual(alice.wait(pid).result.data, b"5")
        self.restart(exit_status=0)
        with self.assertRaises(grpc.RpcError):
            self.as_client(tokens[1]).wait(pid)
        self.assertEqual(self.as_client(tokens[0]).wait(pid).result.data, b"5")


class Kills(StoreCase):
    """SIGKILL at random moments, while clients repeat requests without an answer."""

    ROUNDS = 3 if SANITIZED else 8
    CLIENTS = 3  # each with a process; every second one calls

    def test_each_id_acts_once(self):
        random.seed(8)
        self.start(exit_status=-signal.SIGKILL)
        pids = [self.counter(name=f"counter{i}") for i in range(self.CLIENTS)]
        sent = [0] * self.CLIENTS
        answers = {}  # PIDs by request ID
        duplicates = []
        values = []

        def ask(i, actor):
            """Sends or calls. The answer to a call is the new value."""
            item = send_item(pids[i], "add", b"1", message_id=f"{i}/{sent[i]}")
            if i % 2 == 0:
                return actor.stub.Send(item, timeout=CALL_SECONDS)
            answer = actor.stub.Call(process_pb2.CallRequest(
                pid=item.pid, topic=item.topic, payload=item.payload,
                message_id=item.message_id), timeout=CALL_SECONDS)
            values.append((int(answer.result.data), sent[i] + 1))
            return answer

        def send(i, actor):
            """Repeats the message that has no answer, and goes on."""
            while True:
                answer = ask(i, actor)
                sent[i] += 1
                duplicates.append(answer.duplicate)

        def submit(actor):
            while True:
                number = len(answers)
                answer = actor.stub.Submit(submit_item(
                    "counter", durability=DURABLE, request_id=f"id{number}"),
                    timeout=CALL_SECONDS)
                answers[f"id{number}"] = answer.pid
                duplicates.append(answer.duplicate)

        def until_the_end(target, *words):
            try:
                target(*words, self.connect(self.daemon))
            except grpc.RpcError:
                pass

        for number in range(self.ROUNDS):
            clients = [threading.Thread(target=until_the_end, args=words)
                       for words in [(submit,), *((send, i) for i in
                                                  range(self.CLIENTS))]]
            for client in clients:
                client.start()
            time.sleep(random.uniform(0.05, 0.5))
            self.daemon.signal(signal.SIGKILL)
            self.daemon.wait()
            for client in clients:
                client.join()
            last = number == self.ROUNDS - 1
            self.start(exit_status=0 if last else -signal.SIGKILL)
        for i, pid in enumerate(pids):
            ask(i, self.actor)
            self.assertEqual(self.value(pid), sent[i] + 1)
        for request_id, pid in answers.items():
            again = self.actor.stub.Submit(submit_item(
                "counter", durability=DURABLE, request_id=request_id),
                timeout=CALL_SECONDS)
            self.assertEqual((again.pid, again.duplicate), (pid, True))
        live = self.actor.status().counters.processes_live
        self.assertIn(live - self.CLIENTS - len(answers), (0, 1),
                      "at most the last Submit is not answered")
        self.assertGreater(len(duplicates), 10 * self.ROUNDS)
        self.assertEqual([value for value, _ in values],
                         [expected for _, expected in values])


if __name__ == "__main__":
    unittest.main()
