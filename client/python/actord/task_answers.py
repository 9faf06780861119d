"""The answers to tasks, as messages: results and failures."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import grpc

from actord import errors, wire
from actord.task_errors import Refuse, Retry
from actord.v1 import work_pb2, yield_pb2
from actord.values import Payload

if TYPE_CHECKING:
    from actord.tasks import Command, Task

logger = logging.getLogger("actord.worker")

# More is cut by the daemon.
_MAX_FAILURE_BYTES = 256
_MAX_CONTENT_TYPE_BYTES = 1024
# The longest duration of protobuf, 10,000 years.
_MAX_DELAY_SECONDS = 315_576_000_000


def completion(task: Task, value: Any) -> work_pb2.WorkRequest:
    """The answer for a value that the function of a command has returned: text,
    bytes, a Payload, None for an empty result, or any other JSON value. Raises
    TypeError or ValueError if the value is none of these."""
    payload = (Payload.of(value)
               if value is None or isinstance(
                   value, (str, bytes, bytearray, memoryview, Payload))
               else Payload.of(json=value))
    return work_pb2.WorkRequest(completions=[yield_pb2.CompleteYieldRequest(
        token=task.token, result=wire.payload_message(payload))])


def completion_with_error(token: str, message: str,
                          code: errors.Code) -> work_pb2.WorkRequest:
    return work_pb2.WorkRequest(completions=[yield_pb2.CompleteYieldRequest(
        token=token, error=wire.yield_error(message, code))])


def failure(task: Task, command: Command | None,
            error: BaseException) -> work_pb2.WorkRequest:
    """The answer for an error that the function of a command has raised. Logs it:
    as a warning, unless the function raised it by intention or the task was
    taken back. Never raises: a task without an answer holds its place for ever."""
    by_intention = isinstance(error, (Refuse, Retry)) or task.cancelled
    logger.log(logging.INFO if by_intention else logging.WARNING,
               "%s, attempt %d, of process %s has failed", task.command,
               task.attempt, task.pid, exc_info=error)
    try:
        return _failure(task, command, error)
    except Exception as mistake:
        text = (f"the worker cannot say how {type(error).__name__} has failed the "
                f"task: {_text(mistake)}")
        logger.warning("%s, attempt %d, of process %s: %s", task.command,
                       task.attempt, task.pid, text)
        return plain_failure(task.token, text, grpc.StatusCode.INTERNAL)


def _failure(task: Task, command: Command | None,
             error: BaseException) -> work_pb2.WorkRequest:
    if isinstance(error, Refuse):
        return completion_with_error(task.token, str(error), error.code)
    text = str(error) if isinstance(error, Retry) else _text(error)
    if (command is not None and command.max_attempts is not None
            and task.attempt >= command.max_attempts):
        return completion_with_error(
            task.token, f"failed after {task.attempt} attempts: {text}",
            grpc.StatusCode.UNKNOWN)
    failed = plain_failure(task.token, text, grpc.StatusCode.UNKNOWN)
    if isinstance(error, Retry) and error.delay is not None:
        wire.set_seconds(failed.failures[0].retry_delay,
                         min(error.delay, _MAX_DELAY_SECONDS))
    return failed


def plain_failure(token: str, text: str,
                   code: grpc.StatusCode) -> work_pb2.WorkRequest:
    return work_pb2.WorkRequest(failures=[work_pb2.TaskFailure(
        token=token, error=wire.yield_error(text, code, _MAX_FAILURE_BYTES))])


def _text(error: BaseException) -> str:
    """The type and the text of the error."""
    name = type(error).__name__
    try:
        return f"{name}: {error}"
    except Exception as mistake:  # of its __str__
        return f"{name}, whose text raises {type(mistake).__name__}"


def result_of(answer: work_pb2.WorkRequest) -> Any:
    """The message of the result; None: the answer is an error."""
    if answer.completions and answer.completions[0].HasField("result"):
        return answer.completions[0].result
    return None


def result_error(token: str, why: str,
                  code: grpc.StatusCode) -> work_pb2.WorkRequest:
    # actorctl work says the same (client/tasks/held_tasks.cc).
    return completion_with_error(token, f"the worker's result: {why}", code)


def why_not_sent(payload: Payload, most: int) -> str:
    """Why the daemon would not take the payload; "": it would."""
    if len(payload.data) > most:
        return f"it has {len(payload.data)} bytes; the limit is {most}"
    size = len(payload.content_type.encode(errors="replace"))
    if size > _MAX_CONTENT_TYPE_BYTES:
        return (f"its content type has {size} bytes; the limit is "
                f"{_MAX_CONTENT_TYPE_BYTES}")
    return ""
