"""A remote worker that does soak.work. It completes most tasks, fails some, holds
some with heartbeats, and forgets some, whose leases then end.

Its journal: "answer NUMBER KEY ATTEMPT WORKER" before a task is completed, and
"accepted KEY ATTEMPT WORKER" when the daemon has said so.

When the daemon was killed, it connects again, and repeats the completions that have
no answer.
"""

import collections
import queue
import random
import time

import grpc
from actord.v1 import payload_pb2, work_pb2, yield_pb2
from child import PERSIST_SECONDS, Control, Journal, connect, is_lost, order
from harness.work import RemoteWorker, answer_name

CREDITS = 16


class TaskWorker:

    def __init__(self, told):
        self._client = told["client"]
        self._journal = Journal(told["journal"])
        self._random = random.Random(told["seed"])
        self._actor = connect(told)
        self._worker = self._subscribe()
        self._held = []  # (when to complete it, task)
        self._forgotten = set()  # tokens, until their leases have ended
        # The tasks whose completions have no answer, in the order of the completions.
        self._asked = collections.deque()
        Control()  # ends this program with the soak
        print("quiet", flush=True)

    def _subscribe(self):
        return RemoteWorker(self._actor.stub, "soak.work", credits=CREDITS,
                            name=f"worker{self._client}")

    def run(self):
        while True:
            if self._worker.ended.is_set():
                self._reconnect()
            try:
                self._take(self._worker.tasks.get(timeout=0.05))
            except queue.Empty:
                pass
            while not self._worker.answers.empty():
                self._hear(self._worker.answers.get())
            while not self._worker.cancels.empty():
                self._lose(self._worker.cancels.get())
            self._go_on()

    def _reconnect(self):
        error = self._worker.error
        if not isinstance(error, grpc.RpcError) or not is_lost(error):
            raise error or RuntimeError("the stream of work ended")
        while not self._worker.answers.empty():
            self._hear(self._worker.answers.get())
        self._journal.enter("unknown", str(error.code()))
        deadline = time.monotonic() + PERSIST_SECONDS
        while self._worker.ended.is_set():
            if time.monotonic() > deadline:
                raise error
            time.sleep(0.1)
            self._worker = self._subscribe()
        self._forgotten.clear()
        for task in self._asked:
            self._journal.enter("repeat", 1)
            self._worker.say(completions=[self._completion(task)])

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
        self._journal.enter("answer", task.payload.data.decode(), *self._words(task))
        self._asked.append(task)
        self._worker.say(completions=[self._completion(task)], add_credits=1)

    def _words(self, task):
        return task.idempotency_key, task.attempt, self._client

    def _completion(self, task):
        result = payload_pb2.Payload(data=" ".join(map(str, self._words(task))).encode())
        return yield_pb2.CompleteYieldRequest(token=task.token, result=result)

    def _hear(self, answer):
        if answer.kind != work_pb2.TaskAnswer.KIND_COMPLETION:
            return
        [task] = [each for each in self._asked if each.token == answer.token][:1]
        self._asked.remove(task)
        # DUPLICATE: the same completion was accepted before the stream broke.
        if answer_name(answer) in ("ACCEPTED", "DUPLICATE"):
            self._journal.enter("accepted", task.idempotency_key, task.attempt,
                                self._client)


if __name__ == "__main__":
    TaskWorker(order()).run()
