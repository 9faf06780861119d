#!/usr/bin/python3
"""A remote worker: takes payments for processes that yield payment.charge.

Usage: worker.py ADDRESS LIMIT_CENTS

Needs python3-grpcio and the stubs of proto/actord/v1 on the PYTHONPATH:
  protoc -I proto --python_out=stubs --grpc_python_out=stubs \\
    --plugin=protoc-gen-grpc_python=$(which grpc_python_plugin) \\
    proto/actord/v1/*.proto

Four payments at a time; each runs on a thread of its own while this program
keeps its lease with heartbeats. SIGTERM ends it when it has finished what it
holds.
"""

import concurrent.futures
import json
import queue
import signal
import sys
import threading
import time

import grpc
from actord.v1 import (actor_service_pb2_grpc, payload_pb2, work_pb2,
                       yield_pb2)

AT_A_TIME = 4
RECONNECT_SECONDS = 1
BEATS_PER_LEASE = 3
MAX_BEAT_SECONDS = 1
FAILED_PRECONDITION = grpc.StatusCode.FAILED_PRECONDITION.value[0]


def charge(task, limit_cents):
    """Takes one payment. Returns what the process gets; raises Refused for what
    no further attempt would change, anything else for what might go better."""
    order = json.loads(task.payload.data)
    if order["amount_cents"] > limit_cents:
        raise Refused(f"{order['amount_cents']} cents are above the limit of "
                      f"{limit_cents}")
    # A real one would hand task.idempotency_key to its bank: this command may
    # come here twice, and the money must not.
    return json.dumps(f"receipt-{order['order']}").encode()


class Refused(Exception):
    pass


class Worker:
    """One stream after the other until it is told to stop."""

    def __init__(self, address, limit_cents):
        self._channel = grpc.insecure_channel(address)
        self._stub = actor_service_pb2_grpc.ActorServiceStub(self._channel)
        self._limit_cents = limit_cents
        self._pool = concurrent.futures.ThreadPoolExecutor(AT_A_TIME)
        # stop() is a signal handler: it comes in while this thread holds it.
        self._lock = threading.RLock()
        self._requests = queue.SimpleQueue()  # of the stream that is open
        self._held = set()  # tokens
        self._lease_seconds = 30  # the shortest of those held
        self._stopping = threading.Event()

    def stop(self, *_):
        self._stopping.set()
        self._requests.put(work_pb2.WorkRequest(stop=True))
        self._leave_if_done()

    def run(self):
        while not self._stopping.is_set():
            try:
                self._converse()
            except grpc.RpcError as error:
                print(f"payment worker: {error.code().name}: "
                      f"{error.details()}", flush=True)
                if error.code() == grpc.StatusCode.INVALID_ARGUMENT:
                    return 1
                self._stopping.wait(RECONNECT_SECONDS)
        self._pool.shutdown()
        return 0

    def _converse(self):
        requests = queue.SimpleQueue()
        with self._lock:
            self._requests, self._held = requests, set()
            if self._stopping.is_set():
                return
        requests.put(work_pb2.WorkRequest(
            subscribe=work_pb2.Subscribe(commands=["payment.charge"],
                                         worker="payment worker"),
            add_credits=AT_A_TIME))
        threading.Thread(target=self._beat, args=(requests,),
                         daemon=True).start()
        try:
            for response in self._stub.Work(iter(requests.get, None)):
                for task in response.tasks:
                    with self._lock:
                        self._held.add(task.token)
                        self._lease_seconds = min(
                            self._lease_seconds,
                            task.lease.ToNanoseconds() / 1e9)
                    self._pool.submit(self._carry_out, requests, task)
                for cancel in response.cancels:
                    print(f"payment worker: {cancel.token} was taken back",
                          flush=True)
                for answer in response.answers:
                    self._note(answer)
        finally:
            requests.put(None)

    def _carry_out(self, requests, task):
        request = work_pb2.WorkRequest()
        try:
            result = charge(task, self._limit_cents)
            request.completions.add(
                token=task.token, result=payload_pb2.Payload(data=result))
        except Refused as why:
            request.completions.add(
                token=task.token, error=yield_pb2.YieldError(
                    code=FAILED_PRECONDITION, message=str(why)))
        except Exception as why:
            request.failures.add(
                token=task.token, error=yield_pb2.YieldError(message=str(why)))
        requests.put(request)

    def _note(self, answer):
        if answer.kind == work_pb2.TaskAnswer.KIND_HEARTBEAT:
            return
        if answer.HasField("refusal"):
            # A complete worker would wait for refusal.retry_delay and send it
            # again. Without an answer the lease ends, and it comes again.
            outcome = answer.refusal.reason
        else:
            outcome = yield_pb2.CompleteYieldResponse.Answer.Name(answer.answer)
        print(f"payment worker: {answer.token} {outcome}", flush=True)
        with self._lock:
            self._held.discard(answer.token)
        if not self._stopping.is_set():
            self._requests.put(work_pb2.WorkRequest(add_credits=1))
        self._leave_if_done()

    def _leave_if_done(self):
        with self._lock:
            done = self._stopping.is_set() and not self._held
        if done:
            self._requests.put(None)  # ends the stream in order

    def _beat(self, requests):
        """Until the stream is another."""
        while requests is self._requests:
            # A shorter lease than those known may come meanwhile.
            time.sleep(min(MAX_BEAT_SECONDS,
                           self._lease_seconds / BEATS_PER_LEASE))
            with self._lock:
                held = list(self._held)
            if held:
                requests.put(work_pb2.WorkRequest(heartbeats=[
                    work_pb2.TaskHeartbeat(token=token) for token in held]))


def main():
    address, limit_cents = sys.argv[1], int(sys.argv[2])
    worker = Worker(address, limit_cents)
    signal.signal(signal.SIGTERM, worker.stop)
    return worker.run()


if __name__ == "__main__":
    sys.exit(main())
