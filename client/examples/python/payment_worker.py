#!/usr/bin/python3
"""Takes payments for processes that yield payment.charge, as orders do.

Each payment is charged once, even if this program is killed: it writes the
task's idempotency key to a ledger before it completes the task. A later
attempt finds the key there and returns the receipt of the first one. Any
number of these programs may share one ledger.

On SIGTERM it finishes the tasks that it holds and exits. Needs the package
`actord` on the PYTHONPATH: docs/clients.md says how to install it, and which
variables of the environment it takes for TLS.
"""

import argparse
import logging
import sys
import time

import actord
import grpc
from ledger import Ledger


class Payments:

    def __init__(self, ledger, limit_cents, bank_ms):
        self._ledger = ledger
        self._limit_cents = limit_cents
        self._way_seconds = bank_ms / 1000 / 2

    def charge(self, task):
        try:
            payment = task.json()
            order, cents = payment["order"], payment["amount_cents"]
        except (ValueError, KeyError, TypeError) as error:
            raise actord.Refuse(
                'the payment must be {"order": text, "amount_cents": number}, not '
                f"{task.payload.data[:80]!r}", grpc.StatusCode.INVALID_ARGUMENT) from error
        if cents > self._limit_cents:
            say(f"refused order {order}")
            raise actord.Refuse(f"{cents} cents are above the limit of "
                                f"{self._limit_cents}")
        time.sleep(self._way_seconds)
        receipt, fresh = self._ledger.charge(task.idempotency_key, order, cents)
        time.sleep(self._way_seconds)
        say(f"{'charged' if fresh else 'had charged'} order {order}")
        return actord.Payload.of(json=receipt)


def say(line):
    # Text and line end in one write, because other threads print, too.
    print(f"payment worker: {line}\n", end="", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("address", help="where actord listens, HOST:PORT")
    parser.add_argument("limit_cents", type=int,
                        help="refuse payments above this")
    parser.add_argument("ledger", help="file of what was charged")
    parser.add_argument("--name", default="payment worker",
                        help="what to call this worker in lists")
    parser.add_argument("--token-file", metavar="PATH",
                        help="token file, for a daemon that checks tokens")
    parser.add_argument("--at-a-time", type=int, default=4, metavar="N",
                        help="take N payments at a time (4)")
    parser.add_argument("--bank-ms", type=int, default=0, metavar="MS",
                        help="how long the bank takes: half of it before the "
                        "money is taken, half after (0)")
    options = parser.parse_args()
    logging.basicConfig(format="payment worker: %(message)s", stream=sys.stdout)
    payments = Payments(Ledger(options.ledger), options.limit_cents,
                        options.bank_ms)
    client = actord.Client(options.address, token_file=options.token_file)
    worker = actord.Worker(client, name=options.name,
                           concurrency=options.at_a_time)
    worker.command("payment.charge")(payments.charge)
    worker.run()


if __name__ == "__main__":
    try:
        main()
    except (actord.ActordError, OSError, ValueError) as error:
        sys.exit(f"payment worker: {error}")
