"""Orders with payments, while the daemon is killed: each order ends once, and no
payment is made twice."""

import json
import queue
import random
import signal
import threading
import time
import unittest

import grpc
from actord.v1 import (actor_service_pb2_grpc, payload_pb2, process_pb2,
                       yield_pb2)
from harness.case import EmptyCase
from harness.connection import CALL_SECONDS
from harness.waiting import SANITIZED, WAIT_SECONDS
from harness.work import RemoteWorker

DURABLE = process_pb2.DURABILITY_DURABLE
LIMIT_CENTS = 1_000


class Ledger:
    """The bank: a payment is made once for each key, however often a worker asks
    for it. Remembers how often each order was charged."""

    def __init__(self):
        self._lock = threading.Lock()
        self._paid = {}
        self.charges = {}

    def charge(self, key, order):
        with self._lock:
            if key not in self._paid:
                self._paid[key] = f"payment {len(self._paid) + 1}"
                self.charges[order] = self.charges.get(order, 0) + 1
            return self._paid[key]


class Till(threading.Thread):
    """A worker for payments, which connects again whenever the daemon is back."""

    def __init__(self, ledger, address):
        """`address()`: of the daemon that runs now."""
        super().__init__(daemon=True)
        self._ledger, self._address = ledger, address
        self.stopping = threading.Event()
        self.start()

    def run(self):
        while not self.stopping.is_set():
            with grpc.insecure_channel(self._address()) as channel:
                self._work(RemoteWorker(
                    actor_service_pb2_grpc.ActorServiceStub(channel),
                    "payment.*", credits=20))
            time.sleep(0.02)

    def _work(self, worker):
        while not self.stopping.is_set() and not worker.ended.is_set():
            try:
                task = worker.task(0.1)
            except queue.Empty:
                continue
            order = json.loads(task.payload.data)
            if order["amount_cents"] > LIMIT_CENTS:
                answer = refusal_of(task)
            else:
                answer = completion_of(task, self._ledger.charge(
                    task.idempotency_key, order["order"]))
            worker.say(completions=[answer], add_credits=1)
        worker.close()


def completion_of(task, text):
    return yield_pb2.CompleteYieldRequest(
        token=task.token, result=payload_pb2.Payload(data=json.dumps(text).encode()))


def refusal_of(task):
    return yield_pb2.CompleteYieldRequest(
        token=task.token,
        error=yield_pb2.YieldError(code=9, message="above the limit"))


class Orders(EmptyCase):

    COUNT = 40 if SANITIZED else 300
    ROUNDS = 4 if SANITIZED else 8

    def start(self, exit_status=-signal.SIGKILL):
        # After a restart a task waits for the lease of its last attempt.
        self.daemon = self.start_daemon(
            "--store", self.directory / "store", "--command-policy",
            "payment.* lease=2s max_attempts=100", exit_status=exit_status)
        self.actor = self.connect(self.daemon)

    def submit(self, number):
        """Submits the order until it is acknowledged."""
        cents = 2 * LIMIT_CENTS if number % 10 == 0 else number + 1
        order = {"order": f"order-{number}", "amount_cents": cents,
                 "hold_ms": random.randrange(3_000),
                 "payment_timeout_ms": 120_000}
        request = process_pb2.SubmitRequest(
            process_type="order", durability=DURABLE, name=f"order-{number}",
            request_id=f"order-{number}",
            input=payload_pb2.Payload(data=json.dumps(order).encode()))
        while True:
            try:
                return self.actor.stub.Submit(request, timeout=CALL_SECONDS).pid
            except grpc.RpcError as error:
                if error.code() == grpc.StatusCode.ALREADY_EXISTS:
                    # An answer was lost.
                    names = self.actor.names().names
                    return next(n.pid for n in names if n.name == request.name)
                time.sleep(0.05)

    def test_orders_end_once_while_the_daemon_is_killed(self):
        random.seed(11)
        self.start()
        ledger = Ledger()
        till = Till(ledger, lambda: self.daemon.address)
        pids = {}

        def submit_all():
            for number in range(self.COUNT):
                pids[number] = self.submit(number)

        client = threading.Thread(target=submit_all)
        client.start()
        for _ in range(self.ROUNDS):
            time.sleep(random.uniform(0.1, 0.6))
            self.daemon.signal(signal.SIGKILL)
            self.daemon.wait()
            self.start()
        client.join(WAIT_SECONDS)
        self.assertFalse(client.is_alive(), "orders are not submitted")
        self.daemon.signal(signal.SIGKILL)
        self.daemon.wait()
        self.start(exit_status=0)
        self.assertEqual(len(set(pids.values())), self.COUNT)
        for number, pid in pids.items():
            outcome = self.actor.wait(pid)
            self.assertEqual(outcome.WhichOneof("end"), "result", outcome)
            result = json.loads(outcome.result.data)
            name = f"order-{number}"
            self.assertEqual(result["order"], name)
            is_above = number % 10 == 0
            self.assertEqual(result["status"],
                             "compensated" if is_above else "charged", result)
            self.assertEqual(ledger.charges.get(name, 0), 0 if is_above else 1)
        till.stopping.set()
        till.join()


if __name__ == "__main__":
    unittest.main()
