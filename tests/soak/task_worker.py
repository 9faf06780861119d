"""A remote worker that does soak.work. It completes most tasks, fails some, holds
some with heartbeats, and forgets some, whose leases then end.

Its journal: "answer NUMBER KEY ATTEMPT WORKER" before a task is completed, and
"accepted KEY ATTEMPT WORKER" when the daemon has said so.
"""

import queue
import random
import time

from actord.v1 import payload_pb2, work_pb2, yield_pb2
from child import Control, Journal, connect, order
from harness.work import RemoteWorker, answer_name

CREDITS = 16


class TaskWorker:

    def __init__(self, told):
        self._client = told["client"]
        self._journal = Journal(told["journal"])
        self._random = random.Random(told["seed"])
        self._worker = RemoteWorker(connect(told).stub, "soak.work",
                                    credits=CREDITS, name=f"worker{self._client}")
        self._held = []  # (when to complete it, task)
        self._forgotten = set()  # tokens, until their leases have ended
        self._asked = {}  # token -> task, until its completion is answered
        Control()  # ends this program with the soak
        print("quiet", flush=True)

    def run(self):
        while not self._worker.ended.is_set():
            try:
                self._take(self._worker.tasks.get(timeout=0.05))
            except queue.Empty:
                pass
            while not self._worker.answers.empty():
                self._hear(self._worker.answers.get())
            while not self._worker.cancels.empty():
                self._lose(self._worker.cancels.get())
            self._go_on()
        raise self._worker.error or RuntimeError("the stream of work ended")

    def _take(self, task):
        chance = self._random.random()
        if chance < 0.8:
            self._complete(task)
        elif chance < 0.9:
            failure = work_pb2.TaskFailure(
                token=task.token,
                error=yield_pb2.YieldError(code=10, message="at random"))
            self._worker.say(failures=[failure], add_credits=1)
        elif chance < 0.95:
            self._held.append((time.monotonic() + self._random.random(), task))
        else:
            self._forgotten.add(task.token)

    def _lose(self, cancel):
        # The daemon sends a worker whose lease has ended nothing more until it says
        # something.
        if cancel.token in self._forgotten:
            self._forgotten.remove(cancel.token)
            self._worker.say(add_credits=1)

    def _go_on(self):
        now = time.monotonic()
        for when, task in self._held:
            if when <= now:
                self._complete(task)
            elif self._random.random() < 0.2:
                self._worker.say(
                    heartbeats=[work_pb2.TaskHeartbeat(token=task.token)])
        self._held = [each for each in self._held if each[0] > now]

    def _complete(self, task):
        words = (task.idempotency_key, task.attempt, self._client)
        self._journal.enter("answer", task.payload.data.decode(), *words)
        self._asked[task.token] = task
        result = payload_pb2.Payload(data=" ".join(map(str, words)).encode())
        self._worker.say(completions=[yield_pb2.CompleteYieldRequest(
            token=task.token, result=result)], add_credits=1)

    def _hear(self, answer):
        if answer.kind != work_pb2.TaskAnswer.KIND_COMPLETION:
            return
        task = self._asked.pop(answer.token)
        if answer_name(answer) == "ACCEPTED":
            self._journal.enter("accepted", task.idempotency_key, task.attempt,
                                self._client)


if __name__ == "__main__":
    TaskWorker(order()).run()
