"""The Python package's Client over restarts of the daemon."""

import signal
import threading
import time
import unittest

import actord
from harness.attack_case import machine_factor
from harness.case import StoreCase
from harness.waiting import WAIT_SECONDS, eventually


class Restarts(StoreCase):

    def test_calls_outlive_a_restart_of_the_daemon(self):
        address = f"unix:{self.directory}/socket"
        self.start_with = ("--listen", address)
        self.start(exit_status=-signal.SIGKILL)
        client = actord.Client(address, timeout=WAIT_SECONDS, max_attempts=50)
        self.addCleanup(client.close)
        pid = client.submit("counter", "0", durability=actord.Durability.DURABLE)
        self.assertEqual((pid.durability, pid.receipt), ("DURABLE", "LOGGED"))
        outcomes = []
        waiting = threading.Thread(target=lambda: outcomes.append(
            client.await_outcome(pid)))
        waiting.start()
        done = threading.Event()
        sent = [0]

        def send():
            while not done.is_set():
                client.send(pid, "1", topic="add")
                sent[0] += 1

        sending = threading.Thread(target=send)
        sending.start()
        eventually(lambda: sent[0] > 20, "messages")
        self.daemon.signal(signal.SIGKILL)
        self.daemon.wait()
        self.start()
        before = sent[0]
        eventually(lambda: sent[0] > before + 20, "messages after the restart")
        done.set()
        sending.join(WAIT_SECONDS)
        self.assertEqual(client.call(pid, topic="get", message_id="last").json(),
                         sent[0])
        client.send(pid, topic="stop")
        waiting.join(WAIT_SECONDS)
        self.assertEqual([int(outcome.text) for outcome in outcomes], sent)
        self.assertEqual(outcomes[0].receipt, "LOGGED")

    def test_call_goes_on_soon_after_a_long_outage(self):
        address = f"unix:{self.directory}/socket"
        self.start_with = ("--listen", address)
        self.start(exit_status=-signal.SIGKILL)
        client = actord.Client(address, timeout=WAIT_SECONDS, max_attempts=50)
        self.addCleanup(client.close)
        client.submit("counter", "0", durability=actord.Durability.DURABLE)
        self.daemon.signal(signal.SIGKILL)
        self.daemon.wait()
        answered = []

        def submit():
            client.submit("counter", "0", durability=actord.Durability.DURABLE)
            answered.append(time.monotonic())

        submitting = threading.Thread(target=submit)
        submitting.start()
        time.sleep(4)
        self.start()
        serves = time.monotonic()
        submitting.join(WAIT_SECONDS)
        self.assertEqual(len(answered), 1)
        self.assertLess(answered[0] - serves, 4 * machine_factor())


if __name__ == "__main__":
    unittest.main()
