"""A remote worker made of the generated stubs."""

import queue
import threading

from actord.v1 import payload_pb2, work_pb2, yield_pb2
from harness.waiting import WAIT_SECONDS


def answer_name(answer):
    """ACCEPTED and the like; the reason if it was refused."""
    if answer.HasField("refusal"):
        return answer.refusal.reason
    name = yield_pb2.CompleteYieldResponse.Answer.Name(answer.answer)
    return name.removeprefix("ANSWER_")


class RemoteWorker:
    """One Work stream. What arrives is read by a thread and kept in queues,
    one for each kind; `error` is what the stream ended with."""

    def __init__(self, stub, *commands, credits=0, name="", subscribe=True):
        self._requests = queue.Queue()
        self.tasks, self.cancels = queue.Queue(), queue.Queue()
        self.answers = queue.Queue()
        self.subscribed, self.ended = threading.Event(), threading.Event()
        self.error = None
        if subscribe:
            self.say(subscribe=work_pb2.Subscribe(commands=commands,
                                                  worker=name),
                     add_credits=credits)
        self.call = stub.Work(iter(self._requests.get, None))
        threading.Thread(target=self._read, daemon=True).start()
        if subscribe and not self.subscribed.wait(WAIT_SECONDS):
            raise TimeoutError(f"not subscribed: {self.error}")

    def _read(self):
        try:
            for response in self.call:
                for task in response.tasks:
                    self.tasks.put(task)
                for cancel in response.cancels:
                    self.cancels.put(cancel)
                for answer in response.answers:
                    self.answers.put(answer)
                if response.HasField("subscribed"):
                    self.subscribed.set()
        except Exception as error:  # as the call ended
            self.error = error
        self.subscribed.set()
        self.ended.set()

    def say(self, **fields):
        self._requests.put(work_pb2.WorkRequest(**fields))

    def task(self, seconds=WAIT_SECONDS):
        return self.tasks.get(timeout=seconds)

    def cancelled(self):
        return self.cancels.get(timeout=WAIT_SECONDS)

    def answer(self):
        return answer_name(self.answers.get(timeout=WAIT_SECONDS))

    def complete(self, task, result=b'"done"', **more):
        """Completes and returns the answer."""
        self.say(completions=[yield_pb2.CompleteYieldRequest(
            token=task.token, result=payload_pb2.Payload(data=result))], **more)
        return self.answer()

    def fail(self, task, message="failed", code=10, delay_ms=None):
        failure = work_pb2.TaskFailure(
            token=task.token,
            error=yield_pb2.YieldError(code=code, message=message))
        if delay_ms is not None:
            failure.retry_delay.FromMilliseconds(delay_ms)
        self.say(failures=[failure])
        return self.answer()

    def beat(self, task, progress=None):
        heartbeat = work_pb2.TaskHeartbeat(token=task.token)
        if progress is not None:
            heartbeat.progress.data = progress
        self.say(heartbeats=[heartbeat])
        return self.answer()

    def leave(self):
        """Ends the stream in order."""
        self._requests.put(None)
        if not self.ended.wait(WAIT_SECONDS):
            raise TimeoutError("the stream did not end")

    def close(self):
        self.call.cancel()
        self._requests.put(None)
