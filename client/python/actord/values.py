"""The arguments and the results of the calls, as plain values."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json as json_module
from typing import Any, Mapping, Union

import grpc

JSON = "application/json"
TEXT = "text/plain"
BYTES = "application/octet-stream"


class _Unset(enum.Enum):
    UNSET = "unset"


UNSET = _Unset.UNSET  # for `json=`, where None is a value


@dataclasses.dataclass(frozen=True)
class Payload:
    """Bytes with a content type. The daemon never looks into them."""
    data: bytes = b""
    content_type: str = ""

    @staticmethod
    def of(value: Data = None, *, json: Any = UNSET,
           content_type: str | None = None) -> Payload:
        """From text (text/plain, as UTF-8), bytes (application/octet-stream), a
        JSON value (`json=`, application/json), or another Payload. Nothing at all
        is an empty payload. `content_type` replaces the type."""
        if json is not UNSET:
            if value is not None:
                raise TypeError("give a payload or json=, not both")
            text = json_module.dumps(json, ensure_ascii=False,
                                     separators=(",", ":"), allow_nan=False)
            made = Payload(text.encode(), JSON)
        elif value is None:
            made = Payload()
        elif isinstance(value, Payload):
            made = value
        elif isinstance(value, str):
            made = Payload(value.encode(), TEXT)
        elif isinstance(value, (bytes, bytearray, memoryview)):
            made = Payload(bytes(value), BYTES)
        else:
            raise TypeError(f"a payload is str, bytes or Payload, not "
                            f"{type(value).__name__}; give a JSON value as json=")
        if content_type is not None:
            made = dataclasses.replace(made, content_type=content_type)
        return made

    @property
    def text(self) -> str:
        """The data as UTF-8. Raises UnicodeDecodeError if it is not."""
        return self.data.decode()

    def json(self) -> Any:
        """The data as JSON, regardless of the content type. Raises ValueError if
        the data are no JSON."""
        return json_module.loads(self.data)


Data = Union[bytes, bytearray, memoryview, str, Payload, None]


class _Names(enum.StrEnum):
    """Takes its values in any case: "durable" is DURABLE."""

    @classmethod
    def _missing_(cls, value: object) -> Any:
        known = cls.__members__.get(value.upper()) if isinstance(value, str) else None
        if known is None:
            names = ", ".join(name for name in cls.__members__
                              if name != "UNSPECIFIED")
            raise ValueError(f"{value!r} is not a {cls.__name__}: give one of {names}")
        return known


class Receipt(_Names):
    """The promise of an acknowledgement: how long the acknowledged work lasts."""
    UNSPECIFIED = "UNSPECIFIED"  # an older daemon
    MEMORY = "MEMORY"  # it ends with the daemon
    LOGGED = "LOGGED"  # it is on the disk


class Durability(_Names):
    UNSPECIFIED = "UNSPECIFIED"
    VOLATILE = "VOLATILE"  # ends with the daemon
    DURABLE = "DURABLE"  # continues after the next start


class ProcessState(_Names):
    UNSPECIFIED = "UNSPECIFIED"
    READY = "READY"
    RUNNING = "RUNNING"
    BLOCKED = "BLOCKED"
    IDLE = "IDLE"
    DORMANT = "DORMANT"
    QUARANTINED = "QUARANTINED"
    ENDED = "ENDED"


class ProcessEnd(_Names):
    """How an ended process has ended: with a result (DONE), or as in
    FailureReason."""
    UNSPECIFIED = "UNSPECIFIED"  # it lives
    DONE = "DONE"
    FAILED = "FAILED"
    EXCEPTION = "EXCEPTION"
    CANCELLED = "CANCELLED"
    TERMINATED = "TERMINATED"
    INIT_REFUSED = "INIT_REFUSED"
    LIMIT_REACHED = "LIMIT_REACHED"


class FailureReason(_Names):
    UNSPECIFIED = "UNSPECIFIED"
    FAILED = "FAILED"
    EXCEPTION = "EXCEPTION"
    CANCELLED = "CANCELLED"
    TERMINATED = "TERMINATED"
    INIT_REFUSED = "INIT_REFUSED"
    LIMIT_REACHED = "LIMIT_REACHED"


class Answer(_Names):
    """The fate of a completion. Only ACCEPTED reached the process."""
    UNSPECIFIED = "UNSPECIFIED"
    ACCEPTED = "ACCEPTED"
    DUPLICATE = "DUPLICATE"  # the same completion was accepted before
    CONFLICT = "CONFLICT"  # another completion was accepted before
    SUPERSEDED = "SUPERSEDED"  # a newer attempt was handed out
    EXPIRED = "EXPIRED"  # the yield had ended
    UNKNOWN = "UNKNOWN"  # no such yield is known, or no longer


class NameConflict(_Names):
    """The action of `submit` if another process holds the name."""
    FAIL = "FAIL"  # NameTaken
    DELIVER = "DELIVER"  # `messages` go to the holder


@dataclasses.dataclass(frozen=True)
class Message:
    """A first message for `submit`."""
    topic: str = ""
    payload: Payload = Payload()


@dataclasses.dataclass(frozen=True)
class Start:
    """The process that `call` starts if no process holds the name."""
    process_type: str
    input: Data = None
    method: str = ""
    priority: int | None = None
    durability: str | None = None
    labels: Mapping[str, str] | None = None


@dataclasses.dataclass(frozen=True)
class Submitted:
    """The answer to `submit`. All methods take it in place of a PID."""
    pid: str
    duplicate: bool  # request_id was seen before; this call started nothing
    delivered: bool  # `pid` held the name and has received the messages
    durability: Durability
    receipt: Receipt

    def __str__(self) -> str:
        return self.pid


Target = Union[str, Submitted]

# Of a process, by key: at most 8. A key has 1 to 63 characters of a-z, 0-9 and ._-/,
# and begins and ends with a letter or a digit; a value has 0 to 63 bytes.
Labels = Mapping[str, str]
# None stands for any value.
LabelFilter = Mapping[str, Union[str, None]]


@dataclasses.dataclass(frozen=True)
class Sent:
    duplicate: bool  # message_id was seen before; this call delivered nothing
    receipt: Receipt
    # Of a message to a group: the members that have it, and the members whose
    # mailboxes were full. 0 of a message to one process.
    delivered: int = 0
    refused: int = 0


@dataclasses.dataclass(frozen=True)
class Reply:
    """The answer of a process to `call`."""
    payload: Payload
    pid: str
    duplicate: bool  # the answer to an earlier call with this message_id
    receipt: Receipt
    started: bool = False  # this call has started the process

    @property
    def text(self) -> str:
        return self.payload.text

    def json(self) -> Any:
        return self.payload.json()


@dataclasses.dataclass(frozen=True)
class Completed:
    """The answer to `complete_yield`."""
    answer: Answer
    receipt: Receipt


@dataclasses.dataclass(frozen=True)
class Failure:
    reason: FailureReason
    code: grpc.StatusCode
    message: str


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a process has ended: either `result` or `failure` is set."""
    pid: str
    result: Payload | None
    failure: Failure | None
    create_time: datetime.datetime | None
    end_time: datetime.datetime | None
    steps: int
    receipt: Receipt

    @property
    def text(self) -> str:
        """The result as UTF-8. Raises ValueError if there is no result."""
        return self._result().text

    def json(self) -> Any:
        """The result as JSON. Raises ValueError if it is none."""
        return self._result().json()

    def _result(self) -> Payload:
        if self.result is None:
            raise ValueError(f"process {self.pid} has ended without a result")
        return self.result


@dataclasses.dataclass(frozen=True)
class Process:
    """A process, as process.proto describes it."""
    pid: str
    process_type: str
    method: str
    state: ProcessState
    parent_pid: str
    create_time: datetime.datetime | None
    steps: int
    mailbox_messages: int
    mailbox_bytes: int
    yields_outstanding: int
    cancel_requested: bool
    priority: int
    owner: str
    durability: Durability
    # `ps`: at most one, the name that it has held longest.
    names: tuple[str, ...]
    # The following are known only to `describe`.
    plugin: str
    plugin_version: str
    linked_pids: tuple[str, ...]
    monitored_pids: tuple[str, ...]
    monitor_pids: tuple[str, ...]
    quarantine_reason: str
    # Known everywhere.
    labels: Labels
    # The following are of an ended process. Its method, parent, priority, mailbox and
    # yields are not known any more.
    end: ProcessEnd
    end_time: datetime.datetime | None
    end_code: grpc.StatusCode  # OK: it ended with a result
    end_message: str  # of its failure, cut


@dataclasses.dataclass(frozen=True)
class Yield:
    """An external command that waits for its completion."""
    token: str
    pid: str
    process_type: str
    command: str
    payload: Payload
    create_time: datetime.datetime | None
    deadline: datetime.datetime | None  # None: it never times out
    attempts: int
    worker: str  # the worker that holds it
    last_error: str


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """A part of the live processes. `first`: forget all that were known before.
    `last`: the set is complete."""
    processes: tuple[Process, ...]
    first: bool
    last: bool


@dataclasses.dataclass(frozen=True)
class Started:
    pid: str
    process_type: str
    method: str
    parent_pid: str
    priority: int
    create_time: datetime.datetime | None
    owner: str
    labels: Labels


@dataclasses.dataclass(frozen=True)
class Ended:
    pid: str
    process_type: str
    parent_pid: str
    create_time: datetime.datetime | None
    end_time: datetime.datetime | None
    steps: int
    failure: Failure | None  # None: it ended with a result
    owner: str
    labels: Labels


@dataclasses.dataclass(frozen=True)
class Missed:
    """Events are missing; a new snapshot follows. 0: their number is unknown."""
    count: int


@dataclasses.dataclass(frozen=True)
class Publication:
    """What a process has published. `missed`: the publications that were missed
    since the one before; None: an unknown number, because the connection broke."""
    topic: str
    payload: Payload
    publisher_pid: str
    sequence: int  # in this subscription, from 1; missed ones have numbers, too
    missed: int | None
    publish_time: datetime.datetime | None
    owner: str


WatchEvent = Union[Snapshot, Started, Ended, Missed]
