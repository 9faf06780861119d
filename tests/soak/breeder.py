"""Keeps flaky receivers alive: when one has ended, its books are collected and the
next one is started."""

import collections
import random
import threading

import grpc
import books
from harness.connection import refusal_of

AWAIT_SECONDS = 600
ONCE_IN = (20, 400)  # messages, after which a receiver ends


class Breeder:
    """`collect(text)` gets the text of each end, `tell(pids)` the living and the last
    that have ended when a new one lives; both are called by threads of the breeder."""

    def __init__(self, actor, seed, count, collect, tell):
        self._actor, self._collect, self._tell = actor, collect, tell
        self._random = random.Random(seed)
        self._lock = threading.Condition()
        self._alive = {}  # slot -> PID
        self._ended = collections.deque(maxlen=2)  # PIDs
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
        for pid in alive:
            try:
                self._actor.send(pid, "stop")
            except grpc.RpcError as error:
                if refusal_of(error).reason not in ("PROCESS_ENDED", "NOT_FOUND"):
                    raise
        with self._lock:
            if not self._lock.wait_for(lambda: not self._alive or self.error,
                                       AWAIT_SECONDS):
                raise TimeoutError("flaky receivers did not end")

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
        pid = self._actor.submit("soak.receiver", str(once_in).encode(), "flaky")
        with self._lock:
            self._alive[slot] = pid
            targets, breeding = [*self._alive.values(), *self._ended], self._breeding
        self._tell(targets)
        if not breeding:  # `rest` did not see this one
            self._actor.send(pid, "stop")
        outcome = self._actor.wait(pid, AWAIT_SECONDS)
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
