"""The Python package's Client over restarts of the daemon."""

import signal
import subprocess
import sys
import threading
import time
import unittest

import actord
from actord.v1 import work_pb2
from harness.attack_case import machine_factor
from harness.case import EmptyCase, StoreCase
from harness.connection import CALL_SECONDS
from harness.daemon import free_port
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


# Programs with one thread that waits: any other one that polls finds new
# connections for all.
WORKER = """
import sys, actord
worker = actord.Worker(sys.argv[1])
worker.command("bank.*")(lambda task: None)
worker.run()
"""
WATCH = """
import sys, actord
for event in actord.Client(sys.argv[1]).watch("counter"):
    print(type(event).__name__, flush=True)
"""
SEND_STREAM = """
import sys, actord
stream = actord.Client(sys.argv[1]).send_stream()
while True:
    stream.send(sys.argv[2], "1", topic="add")
    stream.flush()
    print("flushed", flush=True)
    sys.stdin.readline()
"""
# gRPC keeps a program from ending whose channel is subscribed and not closed.
END = """
import sys, actord
def main():
    client = actord.Client(sys.argv[1], max_attempts=3)
    try:
        client.submit("echo")
    except actord.Unavailable:
        print(list(client.watch(timeout=2)))
main()
"""


class RestartsOfPrograms(StoreCase):

    def begin(self, program):
        self.listen_port = free_port()
        self.start_with = ("--external", "bank.*")
        self.start(exit_status=-signal.SIGKILL)
        self.pid = self.counter()
        self.program = subprocess.Popen(
            [sys.executable, "-B", "-c", program, self.daemon.address, self.pid],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.program.communicate)
        self.addCleanup(self.program.kill)

    def restart(self):
        """Returns when the daemon serves again."""
        self.daemon.signal(signal.SIGKILL)
        self.daemon.wait()
        time.sleep(1)
        self.start()
        return time.monotonic()

    def says(self):
        return self.program.stdout.readline().strip()

    def assert_soon(self, serves):
        self.assertLess(time.monotonic() - serves, 6 * machine_factor())

    def test_worker_goes_on_soon(self):
        self.begin(WORKER)

        def is_listed():
            return self.actor.stub.ListWorkers(work_pb2.ListWorkersRequest(),
                                               timeout=CALL_SECONDS).workers

        eventually(is_listed, "the worker")
        serves = self.restart()
        eventually(is_listed, "the worker again")
        self.assert_soon(serves)

    def test_watch_goes_on_soon(self):
        self.begin(WATCH)
        self.assertEqual(self.says(), "Snapshot")
        serves = self.restart()
        self.assertNotEqual(self.says(), "")
        self.assert_soon(serves)

    def test_send_stream_goes_on_soon(self):
        self.begin(SEND_STREAM)
        self.assertEqual(self.says(), "flushed")
        serves = self.restart()
        print(file=self.program.stdin, flush=True)
        self.assertEqual(self.says(), "flushed")
        self.assert_soon(serves)

    def test_program_ends_without_a_close(self):
        done = subprocess.run(
            [sys.executable, "-B", "-c", END, f"127.0.0.1:{free_port()}"],
            capture_output=True, text=True, timeout=WAIT_SECONDS, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "[]\n"), done.stderr)


# Programs that pause in vain on a daemon thread. "Main" ends or closes the client.
PAUSING = """
import logging, sys, threading, time, actord
logging.disable(logging.CRITICAL)  # of a worker without a daemon

def worker(client):
    worker = actord.Worker(client)
    worker.command("payment.*")(lambda task: None)
    worker.run()

def watch(client):
    list(client.watch())

def send_stream(client):
    stream = client.send_stream()
    stream.send("1.2.3.4", "1")
    stream.flush()

def call(client):
    client.submit("echo")

def calls(client):
    for _ in range(8):
        threading.Thread(target=call, args=(client,), daemon=True).start()

def end(address, kind):
    client = actord.Client(address)
    threading.Thread(target=globals()[kind], args=(client,), daemon=True).start()
    time.sleep(1.5)

def close(address, kind, seconds):
    client = actord.Client(address)
    threading.Timer(float(seconds), client.close).start()
    try:
        globals()[kind](client)
    except ValueError as error:
        print(error)

def drop(address):
    for _ in range(8):
        try:
            actord.Client(address, max_attempts=4).submit("echo")
        except actord.Unavailable:
            pass

globals()[sys.argv[1]](*sys.argv[2:])
print("end", flush=True)
"""
# gRPC's child of a fork has no threads that poll.
FORK = """
import os, signal, sys, actord
client = actord.Client(sys.argv[1], max_attempts=3)
try:
    client.submit("echo")
except actord.Unavailable:
    child = os.fork()
    if not child:
        signal.alarm(20)
        sys.exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
# Functions of atexit are called in the reverse order.
EXIT_FUNCTION = """
import atexit, sys
def submit():
    try:
        client.submit("echo")
    except actord.Unavailable as error:
        print(type(error).__name__)
atexit.register(submit)
import actord
def main():
    global client
    client = actord.Client(sys.argv[1], max_attempts=3)
main()
"""


class PausesOfPrograms(EmptyCase):
    """Programs without a daemon. Nothing listens on the port."""

    def begin(self, program, *words):
        process = subprocess.Popen(
            [sys.executable, "-B", "-c", program, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def outputs(self, *programs):
        """What the programs print. They run at the same time, and print no
        errors."""
        outputs = []
        for program in programs:
            output, complaints = program.communicate(timeout=WAIT_SECONDS)
            self.assertEqual((program.returncode, complaints), (0, ""))
            outputs.append(output)
        return outputs

    def assert_ends_soon(self, kind):
        program = self.begin(PAUSING, "end", f"127.0.0.1:{free_port()}", kind)
        self.assertEqual(program.stdout.readline(), "end\n")
        ends = time.monotonic()
        self.outputs(program)
        self.assertLess(time.monotonic() - ends, 1.5 * machine_factor())

    def test_program_with_a_pausing_worker_ends_soon(self):
        self.assert_ends_soon("worker")

    def test_program_with_a_pausing_watch_ends_soon(self):
        self.assert_ends_soon("watch")

    def test_program_with_a_pausing_send_stream_ends_soon(self):
        self.assert_ends_soon("send_stream")

    def test_program_with_pausing_calls_ends_soon(self):
        self.assert_ends_soon("calls")

    def assert_closes_quietly(self, kind):
        """Closes a client in each of the first pauses, and in a long one."""
        programs = [self.begin(PAUSING, "close", f"127.0.0.1:{free_port()}", kind,
                               seconds) for seconds in ("0.1", "0.2", "0.3", "0.4", "1")]
        self.assertEqual(set(self.outputs(*programs)), {"the client is closed\nend\n"})

    def test_client_closes_quietly_under_a_pausing_worker(self):
        self.assert_closes_quietly("worker")

    def test_client_closes_quietly_under_a_pausing_watch(self):
        self.assert_closes_quietly("watch")

    def test_client_closes_quietly_under_a_pausing_send_stream(self):
        self.assert_closes_quietly("send_stream")

    def test_client_closes_quietly_under_a_pausing_call(self):
        self.assert_closes_quietly("call")

    def test_client_closes_quietly_under_a_worker_that_works(self):
        self.daemon = self.start_daemon()
        self.assertEqual(
            self.outputs(self.begin(PAUSING, "close", self.daemon.address, "worker",
                                    "1")), ["the client is closed\nend\n"])

    def test_client_that_is_dropped_is_quiet(self):
        self.assertEqual(
            self.outputs(self.begin(PAUSING, "drop", f"127.0.0.1:{free_port()}")),
            ["end\n"])

    def test_child_of_a_fork_ends(self):
        self.assertEqual(
            self.outputs(self.begin(FORK, f"127.0.0.1:{free_port()}")), ["7\n"])

    def test_program_ends_after_a_call_at_its_end(self):
        self.assertEqual(
            self.outputs(self.begin(EXIT_FUNCTION, f"127.0.0.1:{free_port()}")),
            ["Unavailable\n"])


if __name__ == "__main__":
    unittest.main()
