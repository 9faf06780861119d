"""The errors of actord as exceptions.

Decide by class, `code` and `reason`. Messages are for people and may change.
docs/api.md of actord lists all reasons.
"""

from __future__ import annotations

import contextlib
import re
from typing import Any, Iterator, Mapping, Union

import grpc

from actord import error_details_pb2 as details_pb2
from actord.endpoint import Endpoint
from actord.unreached import ANSWERS_HTTP2
from actord.values import Failure, Outcome

_DETAILS = "grpc-status-details-bin"
_PID = "actord-pid"  # of a process that the call has started
_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code
                                      for code in grpc.StatusCode}
# The code of an error, its name or its number.
Code = Union[grpc.StatusCode, str, int]
_NOT_ANSWERED = "the timeout has passed, and the daemon has not answered"
# What gRPC of a daemon says. The daemon itself has not seen the request.
_TOO_LONG = re.compile(r"Received message larger than max \((\d+) vs\. (\d+)\)")
MAX_REQUEST_BYTES = "max_request_bytes"  # in the metadata of PayloadTooLarge


def status_code(number: int) -> grpc.StatusCode:
    """The code with this number of google.rpc.Code; UNKNOWN for another number."""
    return _CODES.get(number, grpc.StatusCode.UNKNOWN)


def error_code(given: Code) -> grpc.StatusCode:
    """The code of an error. Raises TypeError or ValueError, which list the codes, for
    OK and for what is no code."""
    if isinstance(given, grpc.StatusCode):
        code: grpc.StatusCode | None = given
    elif isinstance(given, str):
        code = getattr(grpc.StatusCode, given.upper(), None)
    elif isinstance(given, int) and not isinstance(given, bool):
        code = _CODES.get(given)
    else:
        raise TypeError(_no_code(given))
    if not isinstance(code, grpc.StatusCode) or code == grpc.StatusCode.OK:
        raise ValueError(_no_code(given))
    return code


def _no_code(given: object) -> str:
    names = ", ".join(code.name for code in grpc.StatusCode
                      if code != grpc.StatusCode.OK)
    return (f"{given!r} is not the code of an error: give a grpc.StatusCode, its name "
            f"or its number: {names}")


def with_hint(code: grpc.StatusCode, message: str) -> str:
    """The message, which also says how to give JSON if the process wants JSON and
    has got another text. The last two wordings are those of older plugins."""
    if (code == grpc.StatusCode.INVALID_ARGUMENT
            and ("the payload is not valid JSON" in message
                 or "the payload is no JSON" in message
                 or "text/plain, not application/json" in message)):
        message += "; a str is sent as text/plain: give JSON as json="
    return message


class ActordError(Exception):
    """A call or an item of a stream failed.

    code          what kind of error it is
    reason        the stable reason, such as "MAILBOX_FULL"; "" if the error is
                  not from actord but from gRPC, such as "no connection"
    message       for people
    metadata      facts that belong to the reason
    retry_delay   the daemon has done nothing; the same call may succeed after this
                  delay, in seconds. None: the daemon has not said so
    fields        the mistakes, by the path of the field in the request
    pid           the process that `run` had started before the error, or the
                  process that the error names; "" if there is none
    """

    def __init__(self, message: str, *,
                 code: grpc.StatusCode = grpc.StatusCode.UNKNOWN,
                 reason: str = "", metadata: Mapping[str, str] | None = None,
                 retry_delay: float | None = None,
                 fields: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.metadata = dict(metadata or {})
        self.retry_delay = retry_delay
        self.fields = dict(fields or {})
        self.pid = self.metadata.get("pid", "")

    def __str__(self) -> str:
        return f"{self.reason or self.code.name}: {self.message}"


class InvalidArgument(ActordError):
    """The request is wrong; `fields` says where."""


class InitRefused(InvalidArgument):
    """The process's Init has refused the input. `code` is the process's own."""


class PayloadTooLarge(InvalidArgument):
    """A payload is longer than the daemon accepts."""


class RequestIdReused(InvalidArgument):
    """The request_id or message_id belongs to a request with another body."""


class NotFound(ActordError):
    """Something that the request names does not exist."""


class ProcessNotFound(NotFound):
    """No such process has ever existed, or it ended with an earlier daemon."""


class NameNotFound(NotFound):
    """No process holds this name."""


class UnknownProcessType(NotFound):
    """No plugin of the daemon has this process type."""


class UnknownMethod(NotFound):
    """The process type has no such method."""


class Unauthenticated(ActordError):
    """The daemon wants a token or a certificate, and does not accept this one."""


class PermissionDenied(ActordError):
    """The token does not permit this."""


class AlreadyExists(ActordError):
    """Something of this name exists."""


class NameTaken(AlreadyExists):
    """Another process holds the name: `pid`."""


class FailedPrecondition(ActordError):
    """The state of the daemon or the process does not permit this."""


class ProcessEnded(FailedPrecondition):
    """The process has ended; `await_outcome` says how."""


class ProcessQuarantined(FailedPrecondition):
    """The durable process cannot run."""


class ResultNotKept(FailedPrecondition):
    """The process has ended, and its outcome was never kept, or is no longer kept."""


class NotDurable(FailedPrecondition):
    """Only a durable process can do this: the daemon has no store, the process
    type declares no durability, or the process is volatile."""


class CalleeEnded(ActordError):
    """The process that was called, `pid`, has ended without an answer."""


class CallFailed(ActordError):
    """The process has answered the call with this error. `code` is its own."""


class Overloaded(ActordError):
    """A limit is reached. See `retry_delay`."""


class MailboxFull(Overloaded):
    """The process does not keep up with its messages."""


class QuotaExceeded(Overloaded):
    """This client is above a quota: `metadata` has "quota" and "limit"."""


class Unavailable(ActordError):
    """There is no connection to the daemon, or it starts, drains or has stopped."""


class DeadlineExceeded(ActordError, TimeoutError):
    """The timeout of the call has passed. The call may still have its effect."""


class DaemonTooOld(ActordError):
    """The daemon does not have this call, or it has ignored a part of the request,
    which the message names. `pid` is the process that `submit` or `run` has started
    nevertheless."""


class ProcessFailed(ActordError):
    """The awaited process has ended with a failure. `code` and `message` are the
    failure's; `reason` is its FailureReason, such as "FAILED" or "CANCELLED"."""

    def __init__(self, outcome: Outcome, failure: Failure) -> None:
        super().__init__(with_hint(failure.code, failure.message),
                         code=failure.code, reason=str(failure.reason))
        self.failure = failure
        self.outcome = outcome
        self.pid = outcome.pid

    def __reduce__(self) -> Any:
        return ProcessFailed, (self.outcome, self.failure)


class ItemsRefused(ActordError):
    """The daemon has refused some items of a stream; the others are delivered.
    `refusals` are in the order of the items."""

    def __init__(self, refusals: list[Any]) -> None:
        first = refusals[0]
        super().__init__(
            f"{len(refusals)} items are refused; item {first.index}: "
            f"{first.error.message}", code=first.error.code,
            reason=first.error.reason)
        self.refusals = refusals


_BY_REASON: dict[str, type[ActordError]] = {
    "INIT_REFUSED": InitRefused,
    "PAYLOAD_TOO_LARGE": PayloadTooLarge,
    "REQUEST_ID_REUSED": RequestIdReused,
    "PROCESS_NOT_FOUND": ProcessNotFound,
    "NAME_NOT_FOUND": NameNotFound,
    "UNKNOWN_PROCESS_TYPE": UnknownProcessType,
    "UNKNOWN_METHOD": UnknownMethod,
    "NAME_TAKEN": NameTaken,
    "PROCESS_ENDED": ProcessEnded,
    "PROCESS_QUARANTINED": ProcessQuarantined,
    "RESULT_NOT_KEPT": ResultNotKept,
    "NOT_DURABLE": NotDurable,
    "NOT_DURABLE_TYPE": NotDurable,
    "DURABILITY_OFF": NotDurable,
    "CALLEE_ENDED": CalleeEnded,
    "CALL_FAILED": CallFailed,
    "MAILBOX_FULL": MailboxFull,
    "CLIENT_QUOTA": QuotaExceeded,
}
_BY_CODE: dict[grpc.StatusCode, type[ActordError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgument,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.ALREADY_EXISTS: AlreadyExists,
    grpc.StatusCode.FAILED_PRECONDITION: FailedPrecondition,
    grpc.StatusCode.RESOURCE_EXHAUSTED: Overloaded,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.UNIMPLEMENTED: DaemonTooOld,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
}


def make(message: str, code: grpc.StatusCode, reason: str,
         **more: Any) -> ActordError:
    """The exception of the class for this reason or code."""
    kind = _BY_REASON.get(reason, _BY_CODE.get(code, ActordError))
    if kind is DaemonTooOld and not message:  # the message of gRPC in C++
        message = "the daemon does not have this call: it is older than this package"
    return kind(message, code=code, reason=reason, **more)


def not_repeated(error: ActordError) -> ActordError:
    """The error of a call that was lost on its way to a daemon without ids of
    calls."""
    error.message += ("; the daemon does not know message_id of calls, so the call is "
                      "not repeated: the process may have had it")
    return error


def ignored(what: str, consequence: str, pid: str = "") -> DaemonTooOld:
    """The exception for a part of a request that the daemon does not know."""
    error = DaemonTooOld(f"the daemon is too old for {what} and has ignored it: "
                         f"{consequence}", code=grpc.StatusCode.UNIMPLEMENTED)
    error.pid = pid
    return error


def of_rpc(error: Any, endpoint: Endpoint) -> ActordError:
    """The exception for a grpc.RpcError of a call, whether sync or asyncio."""
    code, message = error.code(), error.details() or ""
    message = with_hint(code, message)
    if ANSWERS_HTTP2 in message:
        kind = _BY_CODE.get(code, ActordError)
        if code == grpc.StatusCode.UNIMPLEMENTED:  # 404
            kind = ActordError
        return kind(endpoint.explain(message), code=code)
    if code == grpc.StatusCode.UNAVAILABLE:
        message = endpoint.explain(message)
    elif (code, message) == (grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded"):
        message = _NOT_ANSWERED
    packed = next((value for key, value in error.trailing_metadata() or ()
                   if key == _DETAILS), None)
    if packed is None:
        return _too_large(message) or make(message, code, "")
    reason, more = _details(packed)
    if reason == "TOKEN_MISSING":
        message += "; give token_file= or set ACTORD_TOKEN_FILE"
    return make(message, code, reason, **more)


def _too_large(message: str) -> ActordError | None:
    """The error for a request that is too large; None: the message is another one."""
    sizes = _TOO_LONG.search(message)
    if sizes is None:
        return None
    return too_large(int(sizes[1]), int(sizes[2]))


def too_large(size: int, most: int) -> PayloadTooLarge:
    """The error for a request of `size` bytes to a daemon that takes `most`."""
    return PayloadTooLarge(
        f"the request has {size} bytes; the daemon takes at most "
        "limits.max_payload_bytes (1 MiB unless configured) in a payload, and "
        f"{most} bytes in a request",
        code=grpc.StatusCode.INVALID_ARGUMENT, reason="PAYLOAD_TOO_LARGE",
        metadata={MAX_REQUEST_BYTES: str(most)})


@contextlib.contextmanager
def timeout_says(text: str) -> Iterator[None]:
    """Replaces the message of the error for a daemon that has not answered in time."""
    try:
        yield
    except DeadlineExceeded as error:
        if error.message == _NOT_ANSWERED:
            error.message = text
        raise


def of_unary(error: Any, endpoint: Endpoint) -> ActordError:
    """of_rpc for a call with one answer, which may have started a process."""
    made = of_rpc(error, endpoint)
    if not made.pid:
        made.pid = next((value for key, value in error.initial_metadata() or ()
                         if key == _PID), "")
    return made


def is_unknown_method(error: ActordError) -> bool:
    """Whether the daemon is older than the method."""
    return error.code == grpc.StatusCode.UNIMPLEMENTED and not error.reason


def explain_running(error: ActordError, pid: str) -> None:
    """Adds the process that `run` has started to the error that ended its wait. ""
    if it is not known."""
    error.pid = pid
    if pid and isinstance(error, DeadlineExceeded):
        error.message = (f"the timeout has passed; process {pid} goes on, and "
                         f"await_outcome(\"{pid}\") waits for its end")


def of_refusal(refusal: Any) -> ActordError:
    """The exception for a Refusal of a stream or a TaskRefusal."""
    field, pid = getattr(refusal, "field", ""), getattr(refusal, "pid", "")
    return make(
        refusal.message, status_code(refusal.code), refusal.reason,
        metadata={"pid": pid} if pid else None,
        fields={field: refusal.message} if field else None,
        retry_delay=(refusal.retry_delay.ToNanoseconds() / 1e9
                     if refusal.HasField("retry_delay") else None))


def _details(packed: bytes) -> tuple[str, dict[str, Any]]:
    """The reason and the further facts of a google.rpc.Status."""
    reason, more = "", dict[str, Any]()
    for detail in details_pb2.Status.FromString(packed).details:
        name = detail.type_url.rpartition("/")[2]
        if name == "google.rpc.ErrorInfo":
            info = details_pb2.ErrorInfo.FromString(detail.value)
            if info.domain == "actord":
                reason, more["metadata"] = info.reason, dict(info.metadata)
        elif name == "google.rpc.RetryInfo":
            retry = details_pb2.RetryInfo.FromString(detail.value)
            more["retry_delay"] = retry.retry_delay.ToNanoseconds() / 1e9
        elif name == "google.rpc.BadRequest":
            bad = details_pb2.BadRequest.FromString(detail.value)
            more["fields"] = {violation.field: violation.description
                              for violation in bad.field_violations}
    return reason, more
