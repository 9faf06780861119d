#!/usr/bin/python3
"""A service with one counter for each customer: it submits one process for each
customer, sends to its PID, and awaits the sum.

Usage: service.py ADDRESS [TOKEN_FILE], then lines on standard input:
  CUSTOMER NUMBER    adds the number to the customer's counter
  CUSTOMER           ends the customer's counter and prints the sum

Needs the package `actord` on the PYTHONPATH: docs/clients.md says how to
install it, and which variables of the environment it takes for TLS. The client
makes an id for each call, so a call that is repeated after a broken connection
starts no second process and adds no number twice.
"""

import sys

import actord


class Counters:
    """The process of each customer. A real service would store the PIDs with its
    customers."""

    def __init__(self, client):
        self._client = client
        self._pids = {}

    def add(self, customer, number):
        self._client.send(self._pid(customer), number, topic="add")

    def end(self, customer):
        pid = self._pid(customer)
        self._client.send(pid, topic="stop")
        del self._pids[customer]
        return self._client.await_outcome(pid).text

    def _pid(self, customer):
        if customer not in self._pids:
            self._pids[customer] = self._client.submit("counter")
        return self._pids[customer]


def main():
    address, *token_file = sys.argv[1:]
    with actord.Client(address, token_file=next(iter(token_file), None)) as client:
        counters = Counters(client)
        for line in sys.stdin:
            words = line.split()
            if len(words) == 2:
                counters.add(*words)
            elif len(words) == 1:
                print(f"{words[0]} {counters.end(words[0])}", flush=True)


if __name__ == "__main__":
    main()
