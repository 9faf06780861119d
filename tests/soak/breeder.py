"""Keeps flaky receivers alive: when one has ended, its books are collected and the
next one is started."""

import collections
import random
import threading

import grpc
import books
from actord.v1 import process_pb2
from child import persist
from harness.connection import refusal_of

AWAIT_SECONDS = 600
ONCE_IN = (20, 400)  # messages, after which a receiver ends
# The type of each slot in turn; None: volatile.
TYPES = ("soak.receiver", None, "soak.replayer")
def _has_ended(error):
    """Whether a call was refused because its process has ended, maybe with the
    daemon."""
    return (refusal_of(error).reason == "PROCESS_ENDED"
            or error.code() == grpc.StatusCode.NOT_FOUND)


class Breeder:
    """`collect(text)` gets the text of each end, `tell(targets)` the living and the
    last that have ended when a new one lives, as (PID, whether it is durable); both are
    called by threads of the breeder."""

    def __init__(self, actor, seed, count, collect, tell):
        self._actor, self._collect, self._tell = actor, collect, tell
        self.lost = 0  # volatile receivers that ended with the daemon
        self._random = random.Random(seed)
        self._lock = threading.Condition()
        self._alive = {}  # slot -> (PID, whether it is durable)
        self._ended = collections.deque(maxlen=2)  # the same pairs
        self._born = 0
        self._breeding, self._over = False, False
        self.error = None
        self._threads = [threading.Thread(target=self._run, args=(slot,), daemon=True)
                         for slot in range(count)]
        for thread in self._threads:
            thread.start()

    def go(self):
        with self._lock:
            self._breeding = True
            self._lock.notify_all()

    def rest(self):
        """Ends all receivers and returns when their books have been collected."""
        with self._lock:
            self._breeding = False
            alive = list(self._alive.values())
        for pid, _ in alive:
            self._stop(pid)
        with self._lock:
            if not self._lock.wait_for(lambda: not self._alive or self.error,
                                       AWAIT_SECONDS):
                raise TimeoutError("flaky receivers did not end")

    def _stop(self, pid):
        try:
            persist(lambda: self._actor.send(pid, "stop"))
        except grpc.RpcError as error:
            if not _has_ended(error):
                raise

    def end(self):
        with self._lock:
            self._over = True
            self._lock.notify_all()

    def _run(self, slot):
        try:
            while self._wait_for_go():
                self._breed(slot)
        except Exception as error:  # the soak's thread reports it
            with self._lock:
                self.error = error
                self._lock.notify_all()

    def _wait_for_go(self):
        with self._lock:
            self._lock.wait_for(lambda: self._breeding or self._over)
            return not self._over

    def _breed(self, slot):
        with self._lock:
            once_in = self._random.randint(*ONCE_IN)
            self._born += 1
            request_id = f"flaky{self._born}"
        type_name = TYPES[slot % len(TYPES)]
        durable = type_name is not None
        pid = persist(lambda: self._actor.submit(
            type_name or "soak.receiver", str(once_in).encode(), "flaky",
            request_id=request_id,
            durability=(process_pb2.DURABILITY_DURABLE if durable
                        else process_pb2.DURABILITY_VOLATILE)))
        with self._lock:
            self._alive[slot] = (pid, durable)
            targets, breeding = [*self._alive.values(), *self._ended], self._breeding
        self._tell(targets)
        if not breeding:  # `rest` did not see this one
            self._stop(pid)
        try:
            outcome = persist(lambda: self._actor.wait(pid, AWAIT_SECONDS))
        except grpc.RpcError as error:
            if durable or not _has_ended(error):
                raise
            self.lost += 1
        else:
            self._collect(outcome.result.data.decode()
                          if outcome.WhichOneof("end") == "result"
                          else outcome.failure.message)
        with self._lock:
            self._ended.append(self._alive.pop(slot))
            self._lock.notify_all()


def enter(text, messages, counts):
    """Enters the books of a receiver that has ended."""
    taken, numbers = books.parse_books(text)
    messages.find(numbers, "consumed")
    counts["taken"] += taken
    counts["receivers ended"] += 1
