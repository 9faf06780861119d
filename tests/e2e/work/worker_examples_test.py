"""The examples in client/examples, as they are shipped."""

import json
import shutil
import signal
import subprocess
import sys
import unittest

from harness import places
from harness.case import DaemonCase
from harness.waiting import WAIT_SECONDS, eventually
from work.npm import actord_project

EXAMPLES = places.SOURCE / "client" / "examples"
PAYMENT_WORKER = EXAMPLES / "python" / "payment_worker.py"


CHARGE_ALL = """
import sys
from ledger import Ledger
ledger = Ledger(sys.argv[1])
for number in range(int(sys.argv[2])):
    ledger.charge(f"key-{number}", f"order-{number}", 100)
"""
CHARGE_A_AND_B = """
import json, sys
from ledger import Ledger
ledger = Ledger(sys.argv[1])
print(json.dumps([ledger.charge("a", "A", 1), ledger.charge("b", "B", 2)]))
"""


class ExampleCase(DaemonCase):

    def started(self, *command):
        process = subprocess.Popen(
            [str(word) for word in command], stdout=subprocess.PIPE, text=True,
            env=places.clean_environment())

        def end():
            process.kill()
            process.communicate()

        self.addCleanup(end)
        eventually(lambda: self.actor.status().counters.remote_workers == 1
                   or process.poll() is not None, "the worker")
        self.assertIsNone(process.poll())
        return process

    def ended(self, process):
        """Its status after SIGTERM, and what it has printed."""
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=WAIT_SECONDS)
        return process.returncode, out


class Python(ExampleCase):

    # A machine may keep a worker for longer than a second from its heartbeats.
    OPTIONS = ("--command-policy", "payment.charge lease=3s")

    def test_worker_takes_payments(self):
        worker = self.started(sys.executable, PAYMENT_WORKER,
                              self.daemon.address, 10_000,
                              self.directory / "ledger")

        def order(name, cents):
            return self.actor.submit("order", json.dumps({
                "order": name, "amount_cents": cents, "hold_ms": 1}).encode())

        pids = {name: order(name, cents) for name, cents in (
            ("A", 4200), ("B", 10_001), ("C", 1))}
        ends = {name: self.answer(self.actor.wait(pid))
                for name, pid in pids.items()}
        self.assertEqual(ends["A"]["payment"], '"receipt-A"')
        self.assertEqual(ends["B"], {
            "order": "B", "status": "compensated",
            "why": "payment refused: 10001 cents are above the limit of 10000"})
        self.assertEqual(ends["C"]["status"], "charged")
        many = [order(str(number), 100) for number in range(100)]
        for pid in many:
            self.assertEqual(self.answer(self.actor.wait(pid))["status"],
                             "charged")
        status, out = self.ended(worker)
        self.assertEqual(status, 0, out)
        self.assertEqual(out.count(" charged order"), 102)

    def test_killed_between_charge_and_answer_charges_once(self):
        def started():
            return self.started(
                sys.executable, PAYMENT_WORKER, self.daemon.address, 10_000,
                self.directory / "ledger", "--bank-ms", bank_ms)

        def charges():
            return (self.directory / "ledger").read_text().splitlines()

        bank_ms = 4000  # two seconds from the charge to the answer
        worker = started()
        pid = self.actor.submit("order", json.dumps({
            "order": "A", "amount_cents": 4200, "hold_ms": 1}).encode())
        eventually(charges, "the charge")
        worker.kill()
        bank_ms = 0
        eventually(lambda: self.actor.status().counters.remote_workers == 0,
                   "the worker to be gone")
        again = started()
        self.assertEqual(self.answer(self.actor.wait(pid))["payment"],
                         '"receipt-A"')
        self.assertEqual(len(charges()), 1, charges())
        self.assertIn("had charged order A", self.ended(again)[1])

    def test_ledger_of_several_programs_charges_once(self):
        """Each of them charges the same, and some are killed meanwhile."""
        path, count = self.directory / "ledger", 300

        def charging():
            # Order by order, so that all of them are at the same one.
            process = subprocess.Popen(
                [sys.executable, "-c", CHARGE_ALL, str(path), str(count)],
                cwd=EXAMPLES / "python", stdout=subprocess.DEVNULL,
                env=places.clean_environment())
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            return process

        programs = [charging() for _ in range(4)]
        for number, program in enumerate(programs[:2]):
            eventually(lambda: path.exists() and len(
                path.read_text().splitlines()) > 60 * (number + 1), "charges")
            program.kill()
        self.assertEqual([program.wait(2 * WAIT_SECONDS)
                          for program in programs[2:]], [0, 0])
        entries = [json.loads(line) for line in path.read_text().splitlines()]
        self.assertEqual(sorted(entry["key"] for entry in entries),
                         sorted(f"key-{number}" for number in range(count)))

    def test_half_a_line_of_the_ledger_is_no_charge(self):
        path = self.text_file(
            '{"key": "a", "order": "A", "amount_cents": 1, "receipt": "r"}\n'
            '{"key": "b", "order": "B", "amo', name="ledger")
        done = subprocess.run(
            [sys.executable, "-c", CHARGE_A_AND_B, str(path)],
            cwd=EXAMPLES / "python", capture_output=True, text=True,
            timeout=WAIT_SECONDS, env=places.clean_environment(), check=True)
        self.assertEqual(json.loads(done.stdout),
                         [["r", False], ["receipt-B", True]])
        self.assertEqual([json.loads(line)["key"]
                          for line in path.read_text().splitlines()], ["a", "b"])

    def test_service_sends_to_pids(self):
        done = subprocess.run(
            [sys.executable, EXAMPLES / "python" / "service.py",
             self.daemon.address],
            input="ann 40\nbob 1\nann 2\nann\nbob\nann 7\nann\n", text=True,
            capture_output=True, timeout=WAIT_SECONDS, check=True)
        self.assertEqual(done.stdout, "ann 42\nbob 1\nann 7\n")


class Node(ExampleCase):

    OPTIONS = ("--external", "text.*",
               "--command-policy", "text.* lease=10s max_attempts=2")

    def setUp(self):
        super().setUp()
        self.project = self.directory / "project"
        actord_project(self, self.project)

    def test_worker_carries_out_commands(self):
        # Node looks for packages beside the program.
        shutil.copytree(EXAMPLES / "node", self.project, dirs_exist_ok=True)
        worker = self.started("node", self.project / "worker.js",
                              self.daemon.address)

        def shouted(text):
            return self.actor.submit("probe", json.dumps({
                "command": "text.upper", "payload": text}).encode(), "yield")

        pids = [shouted(f"line {number}") for number in range(100)]
        for number, pid in enumerate(pids):
            self.assertEqual(self.answer(self.actor.wait(pid)), {
                "code": "OK", "payload": f"LINE {number}"})
        self.assertEqual(self.answer(self.actor.wait(shouted(""))), {
            "code": "FAILED_PRECONDITION", "message": "there is no text"})
        status, out = self.ended(worker)
        self.assertEqual(status, 0, out)
        self.assertEqual(out, "")


if __name__ == "__main__":
    unittest.main()
