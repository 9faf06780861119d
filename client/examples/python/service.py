#!/usr/bin/python3
"""A service with one counter for each customer: it submits one process for each
customer, sends to its PID, and awaits the sum.

Usage: service.py ADDRESS [TOKEN_FILE], then lines on standard input:
  CUSTOMER NUMBER    adds the number to the customer's counter
  CUSTOMER           ends the customer's counter and prints the sum

Needs the same packages as worker.py; connection.py has the variables for TLS. Every call can be repeated: the request id
starts at most one process for a customer, and the message id adds each number
once.
"""

import sys
import time

import grpc
from actord.v1 import (actor_service_pb2_grpc, outcome_pb2, payload_pb2,
                       process_pb2)
from connection import open_channel
from token_metadata import authorization

TRIES = 5
RETRIABLE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)


def repeated(call, request, metadata, seconds=10):
    """Repeats the call until it succeeds, at most TRIES times."""
    for attempt in range(TRIES):
        try:
            return call(request, timeout=seconds, metadata=metadata)
        except grpc.RpcError as error:
            if error.code() not in RETRIABLE or attempt + 1 == TRIES:
                raise
            time.sleep(0.1 * 2 ** attempt)


class Counters:
    """The PID of each customer's process. A real service would store the PIDs
    with its customers."""

    def __init__(self, stub, run, metadata):
        self._stub = stub
        self._metadata = metadata
        # Part of every id, so that ids of other runs of this service differ.
        self._run = run
        self._pids = {}
        self._numbers = 0

    def add(self, customer, number):
        self._numbers += 1
        repeated(self._stub.Send, process_pb2.SendRequest(
            pid=self._pid(customer), topic="add",
            payload=payload_pb2.Payload(data=number.encode()),
            message_id=f"{self._run}-{self._numbers}"), self._metadata)

    def end(self, customer):
        pid = self._pid(customer)
        repeated(self._stub.Send,
                 process_pb2.SendRequest(pid=pid, topic="stop"), self._metadata)
        answer = repeated(self._stub.Await, outcome_pb2.AwaitRequest(pid=pid),
                          self._metadata)
        del self._pids[customer]
        if answer.outcome.HasField("failure"):
            raise RuntimeError(answer.outcome.failure.message)
        return answer.outcome.result.data.decode()

    def _pid(self, customer):
        if customer not in self._pids:
            self._numbers += 1
            self._pids[customer] = repeated(
                self._stub.Submit, process_pb2.SubmitRequest(
                    process_type="counter",
                    request_id=f"{self._run}-{self._numbers}"),
                self._metadata).pid
        return self._pids[customer]


def main():
    address, *token_file = sys.argv[1:]
    metadata = authorization(address, *token_file or [None])
    with open_channel(address) as channel:
        counters = Counters(actor_service_pb2_grpc.ActorServiceStub(channel),
                            f"{time.time_ns():x}", metadata)
        for line in sys.stdin:
            words = line.split()
            if len(words) == 2:
                counters.add(*words)
            elif len(words) == 1:
                print(f"{words[0]} {counters.end(words[0])}", flush=True)


if __name__ == "__main__":
    main()
