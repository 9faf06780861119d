"""A client of actord, an actor-runtime daemon.

    import actord

    with actord.Client() as client:
        print(client.run("echo", "hello", timeout=10).text)

Client drives processes, Worker carries out external commands; `actord.aio` has
both for asyncio. `actord.v1` has the messages of the API, from which this package
was made. It is tested with the oldest daemon of this API, that of commit 0684afd,
and with the daemon of its own commit. A call that a daemon does not have raises
DaemonTooOld, and so do durability, labels and the deadline of a cancel with a daemon
that ignores them. What else an older daemon ignores is in docs/clients.md, "Which
daemons".
"""

try:
    import google.protobuf
    import grpc
except ModuleNotFoundError as error:
    raise ImportError(
        "actord needs grpcio: use /usr/bin/python3 with Debian's python3-grpcio, or "
        "pip install grpcio protobuf", name=error.name) from error
try:
    from actord import error_details_pb2 as _
except ImportError as error:
    if error.name != "actord":
        raise
    raise ImportError(
        "the package has no stubs, because it is the one of the sources: make one with "
        "python3 client/python/setup.py --package DIR, and put DIR into PYTHONPATH",
        name=error.name) from error

from actord.client import Client
from actord.errors import (ActordError, AlreadyExists, CalleeEnded, CallFailed,
                           DaemonTooOld, DeadlineExceeded, FailedPrecondition,
                           InitRefused, InvalidArgument, ItemsRefused, MailboxFull,
                           NameNotFound, NameTaken, NotDurable, NotFound, Overloaded,
                           PayloadTooLarge, PermissionDenied, ProcessEnded,
                           ProcessFailed, ProcessNotFound, ProcessQuarantined,
                           QuotaExceeded, RequestIdReused, ResultNotKept,
                           Unauthenticated, Unavailable, UnknownMethod,
                           UnknownProcessType)
from actord.send_book import Refused
from actord.send_stream import SendStream
from actord.subscription import Subscription
from actord.task_errors import Refuse, Retry
from actord.tasks import Task
from actord.values import (Answer, Completed, Durability, Ended, Failure,
                           FailureReason, Message, Missed, NameConflict, Outcome,
                           Payload, Process, ProcessEnd, ProcessState, Publication,
                           Receipt, Reply, Sent, Snapshot, Start, Started,
                           Submitted, WatchEvent, Yield)
from actord.watch import Watch
from actord.worker import Worker

__all__ = [
    "ActordError", "AlreadyExists", "Answer", "CallFailed", "CalleeEnded", "Client",
    "Completed", "DaemonTooOld", "DeadlineExceeded", "Durability", "Ended",
    "FailedPrecondition", "Failure", "FailureReason", "InitRefused", "InvalidArgument",
    "ItemsRefused", "MailboxFull", "Message", "Missed", "NameConflict", "NameNotFound",
    "NameTaken", "NotDurable", "NotFound", "Outcome", "Overloaded", "Payload",
    "PayloadTooLarge", "PermissionDenied", "Process", "ProcessEnd", "ProcessEnded",
    "ProcessFailed", "ProcessNotFound", "ProcessQuarantined", "ProcessState",
    "Publication", "QuotaExceeded", "Receipt", "Refuse", "Refused", "Reply",
    "RequestIdReused", "ResultNotKept", "Retry", "SendStream", "Sent", "Snapshot",
    "Start", "Started", "Submitted", "Subscription", "Task", "Unauthenticated",
    "Unavailable", "UnknownMethod", "UnknownProcessType", "Watch", "WatchEvent",
    "Worker", "Yield",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Imports `actord.aio` when it is first used."""
    if name == "aio":
        import importlib
        return importlib.import_module("actord.aio")
    raise AttributeError(f"module 'actord' has no attribute {name!r}")
