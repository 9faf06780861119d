"""Between the values of this package and the messages of the API."""

from __future__ import annotations

import datetime
import enum
import os
from typing import Any, Iterable, TypeVar

import grpc

from actord import errors, values
from actord.v1 import (failure_pb2, outcome_pb2, payload_pb2, process_pb2,
                       topic_pb2, watch_pb2, work_pb2, yield_pb2)
from actord.values import Payload

# Payloads and lists may be as long as the daemon's configuration permits.
CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    # How long an attempt to connect may take; a daemon that starts takes a while.
    ("grpc.min_reconnect_backoff_ms", 10_000),
    ("grpc.max_reconnect_backoff_ms", 1000),
)

# Each daemon that has this call knows the ids of calls. PERMISSION_DENIED says so,
# too.
CALL_IDS_PROBE = failure_pb2.ListFailuresRequest(page_size=1)
NO_ANSWER = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED,
             grpc.StatusCode.CANCELLED)

_E = TypeVar("_E", bound=enum.StrEnum)


def new_id() -> str:
    """An id that no other request has: 128 random bits."""
    return os.urandom(16).hex()


def pid_of(target: values.Target) -> str:
    return target if isinstance(target, str) else target.pid


def payload_message(payload: Payload) -> payload_pb2.Payload:
    return payload_pb2.Payload(data=payload.data,
                               content_type=payload.content_type)


def payload_of(message: Any) -> Payload:
    return Payload(message.data, message.content_type)


def member(kind: type[_E], proto_enum: Any, prefix: str, number: int) -> _E:
    """The value of `kind` for a number; UNSPECIFIED for one of a newer daemon."""
    found = proto_enum.DESCRIPTOR.values_by_number.get(number)
    name = found.name.removeprefix(prefix) if found else "UNSPECIFIED"
    return kind(name) if name in kind.__members__ else kind("UNSPECIFIED")


def receipt_of(number: int) -> values.Receipt:
    return member(values.Receipt, process_pb2.Receipt, "RECEIPT_", number)


def durability_of(number: int) -> values.Durability:
    return member(values.Durability, process_pb2.Durability, "DURABILITY_", number)


def answer_of(number: int) -> values.Answer:
    return member(values.Answer, yield_pb2.CompleteYieldResponse.Answer, "ANSWER_",
                  number)


def time_of(message: Any, field: str) -> datetime.datetime | None:
    """The time in UTC; None if the field is not set."""
    if not message.HasField(field):
        return None
    time: datetime.datetime = getattr(message, field).ToDatetime(
        tzinfo=datetime.timezone.utc)
    return time


def set_seconds(duration: Any, seconds: float) -> None:
    duration.FromNanoseconds(round(seconds * 1e9))


def submit_request(process_type: str, input: Payload, method: str,
                   request_id: str | None, messages: Iterable[values.Message],
                   priority: int | None, name: str, on_name_conflict: str,
                   durability: str | None, labels: values.Labels | None
                   ) -> process_pb2.SubmitRequest:
    request = process_pb2.SubmitRequest(
        process_type=process_type, method=method, input=payload_message(input),
        request_id=new_id() if request_id is None else request_id,
        messages=[process_pb2.Message(topic=message.topic,
                                      payload=payload_message(message.payload))
                  for message in messages],
        priority=priority, name=name, labels=dict(labels or {}))
    request.on_name_conflict = process_pb2.SubmitRequest.NameConflict.Value(
        f"NAME_CONFLICT_{values.NameConflict(on_name_conflict)}")
    if durability is not None:
        request.durability = process_pb2.Durability.Value(
            f"DURABILITY_{values.Durability(durability)}")
    return request


def submitted_of(response: Any, request: process_pb2.SubmitRequest
                 ) -> values.Submitted:
    """Raises DaemonTooOld for a daemon that does not know durability or labels."""
    # Each daemon that knows them answers with a receipt. A process that has got the
    # messages keeps its own.
    if not response.receipt and not response.delivered:
        if request.durability == process_pb2.DURABILITY_DURABLE:
            raise errors.ignored(
                "durability", f"process {response.pid} ends with the daemon",
                response.pid)
        if request.labels:
            raise errors.ignored(
                "labels", f"process {response.pid} has none", response.pid)
    return values.Submitted(
        response.pid, response.duplicate, response.delivered,
        durability_of(response.durability), receipt_of(response.receipt))


def send_request(target: values.Target, topic: str, payload: Payload,
                 message_id: str | None) -> process_pb2.SendRequest:
    pid = pid_of(target)
    if message_id is None:
        # A message to a group has no id.
        message_id = "" if pid.startswith("#") else new_id()
    return process_pb2.SendRequest(
        pid=pid, topic=topic, payload=payload_message(payload),
        message_id=message_id)


def sent_of(response: Any) -> values.Sent:
    return values.Sent(response.duplicate, receipt_of(response.receipt),
                       response.delivered, response.refused)


def call_request(target: values.Target, topic: str, payload: Payload,
                 message_id: str, start: values.Start | str | None
                 ) -> process_pb2.CallRequest:
    request = process_pb2.CallRequest(
        pid=pid_of(target), topic=topic, payload=payload_message(payload),
        message_id=message_id)
    if start is not None:
        if isinstance(start, str):
            start = values.Start(start)
        request.start_if_absent.CopyFrom(submit_request(
            start.process_type, Payload.of(start.input), start.method, "", (),
            start.priority, "", values.NameConflict.FAIL, start.durability,
            start.labels))
        # The name and its holder are the call's own.
        request.start_if_absent.ClearField("on_name_conflict")
    return request


def reply_of(response: Any) -> values.Reply:
    return values.Reply(payload_of(response.result), response.pid,
                        response.duplicate, receipt_of(response.receipt),
                        response.started)


def cancel_request(target: values.Target, reason: str,
                   deadline: float | None) -> outcome_pb2.CancelRequest:
    request = outcome_pb2.CancelRequest(pid=pid_of(target), reason=reason)
    if deadline is not None:
        set_seconds(request.deadline, deadline)
    return request


def cancelled_of(response: Any, request: outcome_pb2.CancelRequest
                 ) -> values.Receipt:
    """Raises DaemonTooOld for a daemon that does not know the deadline."""
    if request.HasField("deadline") and not response.receipt:
        raise errors.ignored(
            "the deadline", f"it has asked process {request.pid} to end and will not "
            "terminate it")
    return receipt_of(response.receipt)


def complete_request(token: str, result: Payload | None,
                     error: str | None, code: errors.Code
                     ) -> yield_pb2.CompleteYieldRequest:
    if error is None:
        return yield_pb2.CompleteYieldRequest(
            token=token, result=payload_message(result or Payload()))
    if result is not None and result != Payload():
        raise TypeError("give a result or error=, not both")
    return yield_pb2.CompleteYieldRequest(
        token=token, error=yield_error(error, code))


def yield_error(message: str, code: errors.Code,
                max_bytes: int = 4096) -> yield_pb2.YieldError:
    """The error, with its message cut to the length that the daemon accepts. A
    surrogate that is alone becomes a question mark."""
    text = message.encode(errors="replace")[:max_bytes].decode(errors="ignore")
    return yield_pb2.YieldError(code=errors.error_code(code).value[0], message=text)


def completed_of(response: Any) -> values.Completed:
    return values.Completed(answer_of(response.answer),
                            receipt_of(response.receipt))


def failure_of(failure: Any) -> values.Failure:
    return values.Failure(
        member(values.FailureReason, outcome_pb2.FailureReason, "FAILURE_REASON_",
               failure.reason),
        errors.status_code(failure.code), failure.message)


def outcome_of(response: Any, check: bool) -> values.Outcome:
    """The outcome in an AwaitResponse or a RunResponse. Raises ProcessFailed for a
    failure, with `check`."""
    message = response.outcome
    end = message.WhichOneof("end")
    outcome = values.Outcome(
        message.pid,
        payload_of(message.result) if end == "result" else None,
        failure_of(message.failure) if end == "failure" else None,
        time_of(message, "create_time"), time_of(message, "end_time"),
        message.steps, receipt_of(response.receipt))
    if check and outcome.failure is not None:
        raise errors.ProcessFailed(outcome, outcome.failure)
    return outcome


def process_of(message: Any) -> values.Process:
    return values.Process(
        pid=message.pid, process_type=message.process_type, method=message.method,
        state=member(values.ProcessState, process_pb2.ProcessState,
                     "PROCESS_STATE_", message.state),
        parent_pid=message.parent_pid, create_time=time_of(message, "create_time"),
        steps=message.steps, mailbox_messages=message.mailbox_messages,
        mailbox_bytes=message.mailbox_bytes,
        yields_outstanding=message.yields_outstanding,
        cancel_requested=message.cancel_requested, priority=message.priority,
        owner=message.owner, durability=durability_of(message.durability),
        names=tuple(message.names), plugin=message.plugin,
        plugin_version=message.plugin_version,
        linked_pids=tuple(message.linked_pids),
        monitored_pids=tuple(message.monitored_pids),
        monitor_pids=tuple(message.monitor_pids),
        quarantine_reason=message.quarantine_reason, labels=dict(message.labels),
        end=member(values.ProcessEnd, process_pb2.ProcessEnd, "PROCESS_END_",
                   message.end),
        end_time=time_of(message, "end_time"),
        end_code=errors.status_code(message.end_code),
        end_message=message.end_message)


def label_texts(labels: values.LabelFilter | None) -> list[str]:
    return [key if value is None else f"{key}={value}"
            for key, value in (labels or {}).items()]


def check_labels(labels: Any, wanted: Iterable[str]) -> None:
    """Raises DaemonTooOld if a selected process has not the labels by which it was
    selected."""
    for text in wanted:
        key, equals, value = text.partition("=")
        if key not in labels or equals and labels[key] != value:
            raise errors.ignored("labels", "it does not select by them")


def selected_of(page: Any, request: process_pb2.ListProcessesRequest
                ) -> list[values.Process]:
    """The processes of a page."""
    for process in page.processes:
        check_labels(process.labels, request.labels)
    return [process_of(process) for process in page.processes]


def list_request(process_type: str, state: str | None, parent_pid: str,
                 labels: values.LabelFilter | None,
                 page_size: int) -> process_pb2.ListProcessesRequest:
    request = process_pb2.ListProcessesRequest(
        page_size=page_size, process_type=process_type, parent_pid=parent_pid,
        labels=label_texts(labels))
    if state is not None:
        request.state = process_pb2.ProcessState.Value(
            f"PROCESS_STATE_{values.ProcessState(state)}")
    return request


def ended_request(process_type: str, end: str | None, owner: str,
                  labels: values.LabelFilter | None,
                  page_size: int) -> process_pb2.ListProcessesRequest:
    request = process_pb2.ListProcessesRequest(
        page_size=page_size, process_type=process_type, owner=owner,
        labels=label_texts(labels), state=process_pb2.PROCESS_STATE_ENDED)
    if end is not None:
        request.end = process_pb2.ProcessEnd.Value(
            f"PROCESS_END_{values.ProcessEnd(end)}")
    return request


def yield_of(message: Any) -> values.Yield:
    return values.Yield(
        token=message.token, pid=message.pid, process_type=message.process_type,
        command=message.command, payload=payload_of(message.payload),
        create_time=time_of(message, "create_time"),
        deadline=time_of(message, "deadline"), attempts=message.attempts,
        worker=message.worker, last_error=message.last_error)


def check_watched(response: watch_pb2.WatchProcessesResponse,
                  request: watch_pb2.WatchProcessesRequest) -> None:
    """Raises DaemonTooOld for a process that the filter of a watch excludes."""
    for process in response.snapshot.processes:
        check_labels(process.labels, request.labels)
    for event in response.events.events:
        kind = event.WhichOneof("event")
        if kind:
            check_labels(getattr(event, kind).labels, request.labels)


def watch_events(response: watch_pb2.WatchProcessesResponse
                 ) -> list[values.WatchEvent]:
    kind = response.WhichOneof("update")
    if kind == "snapshot":
        page = response.snapshot
        return [values.Snapshot(tuple(map(process_of, page.processes)), page.first,
                                page.last)]
    if kind == "missed":
        return [values.Missed(response.missed.count)]
    return [_process_event(event) for event in response.events.events
            if event.WhichOneof("event")]


def publication_of(message: topic_pb2.Publication,
                   missed_before: int | None) -> values.Publication:
    return values.Publication(
        message.topic, payload_of(message.payload), message.publisher_pid,
        message.sequence,
        None if missed_before is None else missed_before + message.missed,
        time_of(message, "publish_time"), message.owner)


def _process_event(event: Any) -> values.WatchEvent:
    if event.WhichOneof("event") == "started":
        started = event.started
        return values.Started(
            started.pid, started.process_type, started.method, started.parent_pid,
            started.priority, time_of(started, "create_time"), started.owner,
            dict(started.labels))
    ended = event.ended
    return values.Ended(
        ended.pid, ended.process_type, ended.parent_pid,
        time_of(ended, "create_time"), time_of(ended, "end_time"), ended.steps,
        failure_of(ended.failure) if ended.HasField("failure") else None,
        ended.owner, dict(ended.labels))
