"""The tasks of a worker and its side of the Work stream, without threads, loop or
clock: for the sync and the asyncio worker. docs/workers.md of actord describes
the stream.

A task is held from its arrival until its answer is decided:

  running    the command's function has it
  answered   its result or failure is sent, or waits for a stream
"""

from __future__ import annotations

import dataclasses
import datetime
import logging
from typing import Any, Callable

import grpc

from actord import errors, values, wire
from actord.task_answers import (completion_with_error, plain_failure, result_error,
                                 result_of, why_not_sent)
from actord.v1 import work_pb2
from actord.values import Data, Payload

logger = logging.getLogger("actord.worker")

BEATS_PER_LEASE = 3
MAX_TASKS = 10_000  # credits and held tasks of one worker
_MAX_PROGRESS_BYTES = 4096
# Each daemon takes a message of this size, whatever its limits. A message that is too
# large breaks the stream, and with it the other tasks.
_SAFE_BYTES = 4 << 20
SAME_COMPLAINT_SECONDS = 60.0


@dataclasses.dataclass(frozen=True)
class Command:
    """The function of a worker for the commands that match `pattern`."""
    pattern: str
    function: Callable[..., Any]
    max_attempts: int | None  # then an error is final; None: as the daemon says

    def matches(self, name: str) -> bool:
        if self.pattern.endswith("*"):
            return name.startswith(self.pattern[:-1])
        return name == self.pattern


class Task:
    """One attempt at an external command. Its fields are those of work.proto."""

    def __init__(self, message: Any, beat: Callable[[Any], None]) -> None:
        self.token: str = message.token
        self.idempotency_key: str = message.idempotency_key
        self.command: str = message.command
        self.payload: Payload = wire.payload_of(message.payload)
        self.pid: str = message.pid
        self.process_type: str = message.process_type
        self.attempt: int = message.attempt
        self.max_attempts: int = message.max_attempts
        self.lease: float = message.lease.ToNanoseconds() / 1e9  # seconds
        self.attempt_deadline: datetime.datetime | None = wire.time_of(
            message, "attempt_deadline")
        self.deadline: datetime.datetime | None = wire.time_of(message, "deadline")
        self.create_time: datetime.datetime | None = wire.time_of(
            message, "create_time")
        self.progress: Payload | None = (
            wire.payload_of(message.progress) if message.HasField("progress")
            else None)  # of the last heartbeat of an earlier attempt
        # The W3C trace of the step that yielded; "": none.
        self.traceparent: str = message.traceparent
        self.tracestate: str = message.tracestate
        self.cancel_reason = ""  # YIELD_ENDED or LEASE_LOST
        self._beat = beat

    @property
    def text(self) -> str:
        """The payload as UTF-8."""
        return self.payload.text

    def json(self) -> Any:
        """The payload as JSON."""
        return self.payload.json()

    @property
    def cancelled(self) -> bool:
        """The task was taken back: no result of it will be used, unless the
        connection was lost and no newer attempt was handed out."""
        return bool(self.cancel_reason)

    def report_progress(self, value: Data = None, *, json: Any = values.UNSET,
                        content_type: str | None = None) -> None:
        """Sends a heartbeat with this progress, at most 4096 bytes, for the next
        attempt. Other heartbeats are sent by the worker itself."""
        progress = Payload.of(value, json=json, content_type=content_type)
        why_not = why_not_sent(progress, _MAX_PROGRESS_BYTES)
        if why_not:
            raise ValueError(f"the progress of a task: {why_not}")
        self._beat(work_pb2.WorkRequest(heartbeats=[work_pb2.TaskHeartbeat(
            token=self.token, progress=wire.payload_message(progress))]))


@dataclasses.dataclass
class _Held:
    task: Task
    session: int
    next_beat: float
    answer: Any = None  # WorkRequest with the completion or failure
    resend_at: float | None = None  # when to send the answer again
    replaced: bool = False  # the answer says why another one is refused


class Complaints:
    """What a worker says when its stream has ended and it opens another one: the same
    text at most once a minute. Not thread-safe."""

    def __init__(self) -> None:
        self._said = ""
        self._moment = 0.0

    def about(self, error: errors.ActordError, now: float) -> str:
        """"": the text has been said."""
        text = f"the worker keeps trying: {error if error.reason else error.message}"
        if text == self._said and now - self._moment < SAME_COMPLAINT_SECONDS:
            return ""
        self._said, self._moment = text, now
        return text


def not_accepted(timeout: float | None,
                 broken: errors.ActordError | None) -> errors.DeadlineExceeded:
    """The error of a start; `broken` has ended the last stream."""
    return errors.DeadlineExceeded(
        f"the daemon has not accepted the worker within {timeout} s"
        + (f": {broken.message}" if broken else ""),
        code=grpc.StatusCode.DEADLINE_EXCEEDED)


class TaskBook:
    """Not thread-safe."""

    def __init__(self, commands: list[Command], name: str,
                 concurrency: int) -> None:
        if not 1 <= concurrency <= MAX_TASKS:
            raise ValueError(f"concurrency is 1 to {MAX_TASKS}")
        self._commands = commands
        self._name = name
        self._concurrency = concurrency
        self._held: dict[str, _Held] = {}
        self._session = 0
        self._stopping = False
        self._max_result_bytes = 0  # as the daemon says; 0: it has not said it

    @property
    def done(self) -> bool:
        """The worker stops, and holds no task."""
        return self._stopping and not self._held

    def command_of(self, task: Task) -> Command | None:
        """An exact name counts before a prefix, and a long prefix before a short
        one."""
        matching = sorted(
            (command for command in self._commands
             if command.matches(task.command)),
            key=lambda command: (command.pattern.endswith("*"),
                                 -len(command.pattern)))
        return matching[0] if matching else None

    def open(self) -> list[work_pb2.WorkRequest]:
        """The first messages of a new stream. Tasks of the broken one run on:
        their results count unless a newer attempt was handed out. Large results
        wait until the daemon has said its limit."""
        if not self._commands:
            raise ValueError("the worker has no commands")
        self._session += 1
        for held in self._held.values():
            held.task.cancel_reason = held.task.cancel_reason or "LEASE_LOST"
            held.resend_at = None
        first = work_pb2.WorkRequest(
            subscribe=work_pb2.Subscribe(
                commands=[command.pattern for command in self._commands],
                worker=self._name),
            add_credits=0 if self._stopping else max(
                0, self._concurrency - len(self._held)),
            stop=self._stopping)
        self._max_result_bytes = 0
        return [first, *(held.answer for held in self._held.values()
                         if held.answer is not None and not self._waits(held))]

    def subscribed(self, message: Any) -> list[work_pb2.WorkRequest]:
        """Takes the first message of a stream. Returns the requests to send now."""
        waiting = [held for held in self._held.values()
                   if held.answer is not None and self._waits(held)]
        self._max_result_bytes = message.max_payload_bytes or _SAFE_BYTES
        return [self._checked(held) for held in waiting]

    def stop(self) -> work_pb2.WorkRequest:
        self._stopping = True
        return work_pb2.WorkRequest(stop=True)

    def start(self, message: Any, now: float,
              beat: Callable[[Any], None]) -> Task | None:
        """Holds a task that has arrived. None: the worker stops, and the end of the
        stream gives the task back."""
        if self._stopping:
            return None
        task = Task(message, beat)
        self._held[task.token] = _Held(task, self._session,
                                       now + task.lease / BEATS_PER_LEASE)
        return task

    def cancel(self, message: Any) -> Task | None:
        """The held task that the daemon takes back."""
        held = self._held.get(message.token)
        if held is None:
            return None
        held.task.cancel_reason = work_pb2.TaskCancel.Reason.Name(
            message.reason).removeprefix("REASON_")
        return held.task

    def answer(self, task: Task, request: Any) -> list[work_pb2.WorkRequest]:
        """Records the end of the function. Returns the requests to send now.
        `request` None: the function has no answer."""
        held = self._held.get(task.token)
        if held is None:
            return []
        if request is None or task.cancel_reason == "YIELD_ENDED":
            return self._release(task.token)
        held.answer = request
        return [] if self._waits(held) else [self._checked(held)]

    def answered(self, message: Any, now: float) -> list[work_pb2.WorkRequest]:
        """Takes the daemon's answer to a completion, failure or heartbeat. Returns
        the requests to send now."""
        held = self._held.get(message.token)
        if held is None:
            return []
        if message.kind == work_pb2.TaskAnswer.KIND_HEARTBEAT:
            self._beaten(held, message)
            return []
        if not message.HasField("refusal"):
            answer = wire.answer_of(message.answer)
            level = (logging.DEBUG if answer in (values.Answer.ACCEPTED,
                                                 values.Answer.DUPLICATE)
                     else logging.WARNING)
            logger.log(level, "%s, attempt %d, of process %s: %s",
                       held.task.command, held.task.attempt, held.task.pid, answer)
            return self._release(message.token)
        return self._refused(held, errors.of_refusal(message.refusal), now)

    def due(self, now: float) -> tuple[list[work_pb2.WorkRequest], float | None]:
        """Returns the requests to send now, and the time of the next call; None:
        call again when a task arrives or is answered."""
        requests, beats, moments = [], [], []
        for held in self._held.values():
            if held.resend_at is not None and held.resend_at <= now:
                held.resend_at = None
                requests.append(held.answer)
            if held.session == self._session and not held.task.cancelled:
                if held.next_beat <= now:
                    held.next_beat = now + held.task.lease / BEATS_PER_LEASE
                    beats.append(work_pb2.TaskHeartbeat(token=held.task.token))
                moments.append(held.next_beat)
            if held.resend_at is not None:
                moments.append(held.resend_at)
        requests.extend(work_pb2.WorkRequest(heartbeats=beats[first:first + 1000])
                        for first in range(0, len(beats), 1000))
        return requests, min(moments, default=None)

    def _beaten(self, held: _Held, message: Any) -> None:
        if message.HasField("refusal"):
            logger.warning("a heartbeat of %s is refused: %s", held.task.command,
                           message.refusal.message)
        elif (wire.answer_of(message.answer) != values.Answer.ACCEPTED
              and not held.task.cancel_reason):
            held.task.cancel_reason = "LEASE_LOST"

    def _refused(self, held: _Held, error: errors.ActordError,
                 now: float) -> list[work_pb2.WorkRequest]:
        if error.retry_delay is not None:  # its process does not keep up
            held.resend_at = now + error.retry_delay
            return []
        logger.warning("the answer to %s of process %s is refused: %s",
                       held.task.command, held.task.pid, error)
        if held.replaced:  # the daemon refuses any answer: the lease ends
            return self._release(held.task.token)
        # The same again would be refused again.
        held.replaced = True
        if result_of(held.answer) is not None:
            held.answer = result_error(held.task.token, error.message, error.code)
        elif held.answer.completions:
            held.answer = completion_with_error(
                held.task.token, f"the worker's error: {error.message}",
                grpc.StatusCode.INTERNAL)
        else:
            held.answer = plain_failure(
                held.task.token, f"the worker's failure: {error.message}",
                grpc.StatusCode.INTERNAL)
        return [held.answer]

    def _waits(self, held: _Held) -> bool:
        """Whether the answer may be too large for the daemon of this stream, which
        has not said its limit yet."""
        return (self._max_result_bytes == 0
                and held.answer.ByteSize() >= _SAFE_BYTES)

    def _checked(self, held: _Held) -> work_pb2.WorkRequest:
        """The answer, or an error in place of a result that the daemon would not
        take."""
        result = result_of(held.answer)
        if result is not None and self._max_result_bytes:
            why_not = why_not_sent(wire.payload_of(result), self._max_result_bytes)
            if why_not:
                logger.warning("the result of %s of process %s is not sent: %s",
                               held.task.command, held.task.pid, why_not)
                held.answer = result_error(held.task.token, why_not,
                                            grpc.StatusCode.INVALID_ARGUMENT)
        answer: work_pb2.WorkRequest = held.answer
        return answer

    def _release(self, token: str) -> list[work_pb2.WorkRequest]:
        del self._held[token]
        if self._stopping:
            return []
        return [work_pb2.WorkRequest(add_credits=1)]
