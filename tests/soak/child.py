"""What the soak's client programs share. Each gets an order as JSON in its first
argument, is told what to do by lines on standard input, and enters what it does into
a journal, which outlives it when it is killed."""

import json
import os
import sys
import threading
import time

import grpc
from harness.connection import Connection, refusal_of
from harness.tokens import present

CONNECT_SECONDS = 60
# A daemon that was killed is back soon; clients look for it as often.
RECONNECT = tuple((f"grpc.{name}_reconnect_backoff_ms", ms) for name, ms in (
    ("initial", 100), ("min", 100), ("max", 500)))
PERSIST_SECONDS = 60
DURABLE = "durable"  # a word of the journals


class Journal:
    """Lines of words. A line is written whole before the program goes on."""

    def __init__(self, path):
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def enter(self, *words):
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())


class Control:
    """What the soak has told this program last. Threads may read it at any time."""

    def __init__(self):
        self.targets = []  # (PID, whether it is durable)
        self.burst = 0  # messages that are to be sent at once
        self.going = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in sys.stdin:
            word, *rest = line.split()
            if word == "targets":
                self.targets = [parse_target(each) for each in rest]
            elif word == "burst":
                self.burst = int(rest[0])
            elif word == "go":
                self.going.set()
            elif word == "pause":
                self.going.clear()
        os._exit(0)  # the soak has ended

    def rest(self):
        """Says that nothing is under way, and waits until there is to be again."""
        print("quiet", flush=True)
        self.going.wait()


def target_word(pid, durable):
    return f"{pid},{int(durable)}"


def parse_target(word):
    pid, _, durable = word.rpartition(",")
    return pid, durable == "1"


def is_lost(error):
    """Whether a call has ended without an answer of the daemon, as when the daemon
    was killed: nobody knows whether it was carried out."""
    return refusal_of(error).domain != "actord" and error.code() in (
        grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.INTERNAL, grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.CANCELLED)


def persist(call):
    """Repeats `call()`, which must be safe to repeat, until the daemon answers."""
    deadline = time.monotonic() + PERSIST_SECONDS
    while True:
        try:
            return call()
        except grpc.RpcError as error:
            if not is_lost(error) or time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def order():
    """What the soak has asked this program for."""
    return json.loads(sys.argv[1])


def connect(told):
    """Connects with the token of the order. A flood may take all connections for a
    while."""
    with open(told["token_file"], encoding="ascii") as file:
        token = file.read().strip()
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        try:
            connection = Connection(told["address"], RECONNECT)
        except grpc.FutureTimeoutError:
            if time.monotonic() > deadline:
                raise
            continue
        present(connection, token)
        return connection
