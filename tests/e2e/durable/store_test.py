"""Durable processes: they outlive the daemon, and acknowledged work is there."""

import json
import random
import signal
import stat
import threading
import time
import unittest

import grpc
from actord.v1 import payload_pb2, process_pb2
from harness.case import DURABLE, StoreCase
from harness.connection import CALL_SECONDS
from harness.waiting import SANITIZED, eventually

VOLATILE = process_pb2.DURABILITY_VOLATILE


class Store(StoreCase):

    def test_durable_process_outlives_the_daemon(self):
        self.start(exit_status=-signal.SIGKILL)
        request = process_pb2.SubmitRequest(
            process_type="counter", durability=DURABLE, name="visits",
            input=payload_pb2.Payload(data=b"5"))
        submitted = self.actor.stub.Submit(request, timeout=CALL_SECONDS)
        self.assertEqual(submitted.durability, DURABLE)
        self.assertEqual(submitted.receipt, process_pb2.RECEIPT_LOGGED)
        pid = submitted.pid
        sent = self.actor.stub.Send(
            process_pb2.SendRequest(pid="@visits", topic="add",
                                    payload=payload_pb2.Payload(data=b"7")),
            timeout=CALL_SECONDS)
        self.assertEqual(sent.receipt, process_pb2.RECEIPT_LOGGED)
        self.kill()
        self.start()
        self.assertEqual(self.value("@visits"), 12)
        self.assertEqual([name.pid for name in self.actor.names().names], [pid])
        self.assertEqual(self.actor.process(pid).process_type, "counter")
        self.daemon.wait_for_match("opened the store .* incarnation 2")

    def test_type_decides_unless_the_client_does(self):
        self.start()
        for process_type, wish, expected in (
                ("counter", process_pb2.DURABILITY_UNSPECIFIED, DURABLE),
                ("counter", VOLATILE, VOLATILE),
                ("echo", process_pb2.DURABILITY_UNSPECIFIED, VOLATILE)):
            submitted = self.actor.stub.Submit(
                process_pb2.SubmitRequest(process_type=process_type,
                                          durability=wish),
                timeout=CALL_SECONDS)
            self.assertEqual(submitted.durability, expected)
            if process_type == "counter":  # an echo ends at once
                self.assertEqual(self.actor.process(submitted.pid).durability,
                                 expected)

    def test_clean_stop_ends_no_durable_process(self):
        self.start()
        pid = self.counter(5)
        volatile = self.actor.submit("counter", b"5", durability=VOLATILE)
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.wait_for_line("1 processes ended in time")
        self.start()
        self.assertEqual(self.value(pid), 5)
        with self.assertRaises(grpc.RpcError):
            self.value(volatile)

    def test_result_outlives_the_daemon(self):
        self.start(exit_status=-signal.SIGKILL)
        pid = self.counter(5)
        self.actor.send(pid, "stop")
        self.assertEqual(self.actor.wait(pid).result.data, b"5")
        self.kill()
        self.start()
        self.assertEqual(self.actor.wait(pid).result.data, b"5")

    def test_wishes_that_cannot_be_are_refused(self):
        self.start()
        self.assert_refused(
            lambda: self.actor.submit("echo", durability=DURABLE),
            code=grpc.StatusCode.FAILED_PRECONDITION, reason="NOT_DURABLE_TYPE",
            message="process type echo does not declare")
        self.assert_refused(
            lambda: self.actor.submit("counter", durability=7),
            code=grpc.StatusCode.INVALID_ARGUMENT, reason="INVALID_FIELD",
            message="it must be 1", field="durability")

    def test_without_a_store(self):
        self.actor = self.connect(self.start_daemon())
        self.assert_refused(
            self.counter, code=grpc.StatusCode.FAILED_PRECONDITION,
            reason="DURABILITY_OFF", message="has no store")
        pid = self.actor.submit("counter", b"1")
        response = self.actor.stub.Send(
            process_pb2.SendRequest(pid=pid, topic="add"), timeout=CALL_SECONDS)
        self.assertEqual(response.receipt, process_pb2.RECEIPT_MEMORY)

    def test_two_daemons_cannot_have_one_store(self):
        self.start()
        with self.assertRaisesRegex(RuntimeError, "actord ended with 78"):
            self.start_daemon("--store", self.store)

    def test_byte_that_has_changed_refuses_the_start(self):
        self.start()
        pid = self.counter(5)
        for _ in range(20):
            self.actor.send(pid, "add", b"1")
        self.daemon.stop()
        [segment, *_] = sorted((self.store / "journal").glob("*.seg"))
        with open(segment, "r+b") as file:
            file.seek(4096 + 100)
            byte = file.read(1)
            file.seek(4096 + 100)
            file.write(bytes([byte[0] ^ 1]))
        with self.assertRaisesRegex(
                RuntimeError, f"(?s)actord ended with 78.*{segment.name}, offset 4096: "):
            self.start_daemon("--store", self.store)

    def test_slash_at_the_end_of_a_new_store(self):
        daemon = self.start_daemon("--store", f"{self.store}/")
        daemon.stop()
        self.assertTrue((self.store / "META-0").exists())

    def test_others_cannot_read_the_store(self):
        self.start()
        self.assertEqual(stat.S_IMODE(self.store.stat().st_mode) & 0o077, 0)


class Kills(StoreCase):
    """SIGKILL at random moments, while several clients send."""

    ROUNDS = 3 if SANITIZED else 8
    CLIENTS = 4

    def test_nothing_acknowledged_is_lost_and_nothing_comes_twice(self):
        random.seed(7)
        self.start(exit_status=-signal.SIGKILL)
        pids = [self.counter(name=f"counter{i}") for i in range(self.CLIENTS)]
        acknowledged = [0] * self.CLIENTS
        unknown = [0] * self.CLIENTS
        seen = [0] * self.CLIENTS

        def send(i, actor):
            request = process_pb2.SendRequest(pid=pids[i], topic="add")
            while True:
                try:
                    actor.stub.Send(request, timeout=CALL_SECONDS)
                    acknowledged[i] += 1
                    if acknowledged[i] % 10 == 0:
                        seen[i] = int(actor.call(pids[i], "get").result.data)
                except grpc.RpcError:
                    unknown[i] += 1
                    return

        for number in range(self.ROUNDS):
            clients = [threading.Thread(
                target=send, args=(i, self.connect(self.daemon)))
                for i in range(self.CLIENTS)]
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
                value = self.value(pid)
                self.assertGreaterEqual(value, acknowledged[i])
                self.assertGreaterEqual(value, seen[i])
                self.assertLessEqual(value, acknowledged[i] + unknown[i])
        self.assertGreater(sum(acknowledged), 10 * self.ROUNDS)


class Transfers(StoreCase):
    """Money moves between accounts while the daemon is killed again and again. A
    client repeats a transfer under its message id until it has an answer."""

    ROUNDS = 3 if SANITIZED else 6
    ACCOUNTS = 4
    CLIENTS = 4
    BALANCE = 1000

    def transfer(self, client, actor):
        """Makes the client's next transfer, or repeats the one without an answer.
        Returns why there is no answer, and None if there is one."""
        if self.pending[client] is None:
            source, target = self.random.sample(range(self.ACCOUNTS), 2)
            self.pending[client] = (source, target, self.random.randint(1, 50),
                                    f"{client}-{self.answered[client]}")
        source, target, amount, name = self.pending[client]
        order = {"id": name, "amount": amount, "to": self.pids[target]}
        request = process_pb2.CallRequest(
            pid=self.pids[source], topic="transfer", message_id=name,
            payload=payload_pb2.Payload(data=json.dumps(order).encode()))
        try:
            actor.stub.Call(request, timeout=CALL_SECONDS)
            with self.lock:
                self.expected[source] -= amount
                self.expected[target] += amount
        except grpc.RpcError as error:
            # Only the account says that its balance is too low.
            if error.code() != grpc.StatusCode.FAILED_PRECONDITION:
                return error
        self.pending[client] = None
        self.answered[client] += 1
        return None

    def transfer_until_killed(self, client, actor):
        error = None
        while error is None:
            error = self.transfer(client, actor)
        self.errors.append(error)

    def balance(self, pid):
        answer = self.actor.call(pid, "balance").result.data
        return json.loads(answer)["balance"]

    def test_no_amount_is_lost_or_comes_twice(self):
        self.random = random.Random(7)
        self.lock = threading.Lock()
        self.pending = [None] * self.CLIENTS
        self.answered = [0] * self.CLIENTS
        self.errors = []
        self.expected = [self.BALANCE] * self.ACCOUNTS
        self.start(exit_status=-signal.SIGKILL)
        start = json.dumps({"balance": self.BALANCE}).encode()
        self.pids = [self.actor.submit("account", start, durability=DURABLE)
                     for _ in range(self.ACCOUNTS)]
        for number in range(self.ROUNDS):
            goal = sum(self.answered) + self.random.randint(20, 100)
            clients = [threading.Thread(
                target=self.transfer_until_killed, args=(i, self.connect(self.daemon)))
                for i in range(self.CLIENTS)]
            for client in clients:
                client.start()
            eventually(lambda: sum(self.answered) >= goal, "answers")
            self.daemon.signal(signal.SIGKILL)
            self.daemon.wait()
            for client in clients:
                client.join()
            last = number == self.ROUNDS - 1
            self.start(exit_status=0 if last else -signal.SIGKILL)
        self.assertEqual({error.code() for error in self.errors},
                         {grpc.StatusCode.UNAVAILABLE}, self.errors)
        for client in range(self.CLIENTS):
            self.assertIsNone(self.transfer(client, self.actor))
        self.assertEqual([self.balance(pid) for pid in self.pids], self.expected)
        self.assertEqual(sum(self.expected), self.ACCOUNTS * self.BALANCE)
        self.assertEqual(self.daemon.stop(), 0)
        self.actorctl("store", "verify", self.store)


if __name__ == "__main__":
    unittest.main()
