#!/usr/bin/python3
"""Takes payments for processes that yield payment.charge, as orders do.

Each payment is charged once, even if this program is killed: it writes the
task's idempotency key to a ledger before it completes the task. A later
attempt finds the key there and returns the receipt of the first one. Any
number of these programs may share one ledger.

On SIGTERM it finishes the tasks that it holds and exits. Needs the same
packages as worker.py; connection.py has the variables for TLS.
"""

import argparse
import json
import signal
import sys
import time

from ledger import Ledger
from worker import Refused, Worker


class Payments:

    def __init__(self, ledger, limit_cents, bank_ms):
        self._ledger = ledger
        self._limit_cents = limit_cents
        self._way_seconds = bank_ms / 1000 / 2

    def charge(self, task):
        payment = json.loads(task.payload.data)
        order, cents = payment["order"], payment["amount_cents"]
        if cents > self._limit_cents:
            say(f"refused order {order}")
            raise Refused(f"{cents} cents are above the limit of "
                          f"{self._limit_cents}")
        time.sleep(self._way_seconds)
        receipt, fresh = self._ledger.charge(task.idempotency_key, order, cents)
        time.sleep(self._way_seconds)
        say(f"{'charged' if fresh else 'had charged'} order {order}")
        return json.dumps(receipt).encode()


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
                        help="file with the token for a daemon that checks "
                        "tokens")
    parser.add_argument("--at-a-time", type=int, default=4, metavar="N",
                        help="take N payments at a time (4)")
    parser.add_argument("--bank-ms", type=int, default=0, metavar="MS",
                        help="how long the bank takes: half of it before the "
                        "money is taken, half after (0)")
    options = parser.parse_args()
    payments = Payments(Ledger(options.ledger), options.limit_cents,
                        options.bank_ms)
    worker = Worker(options.address, "payment.charge", payments.charge,
                    options.name, options.at_a_time, say, options.token_file)
    signal.signal(signal.SIGTERM, worker.stop)
    return worker.run()


if __name__ == "__main__":
    sys.exit(main())
