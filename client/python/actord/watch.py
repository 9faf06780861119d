"""Watching processes: an iterator that resumes by itself."""

from __future__ import annotations

import collections
import threading
from typing import TYPE_CHECKING, Any

import grpc

from actord import errors, wire
from actord.attempts import Deadline, Patience
from actord.v1 import watch_pb2
from actord.values import LabelFilter, WatchEvent

if TYPE_CHECKING:
    from actord.client import Client


def pause_after(patience: Patience, error: errors.ActordError) -> float:
    """Seconds until the next attempt to open a stream that has broken. Raises the
    error if there is none."""
    if error.retry_delay is None and error.code != grpc.StatusCode.UNAVAILABLE:
        raise error
    pause = patience.pause_after(error)
    if pause is None:
        raise error
    return pause


class Position:
    """The identity of a watch, and the position up to which its events have been
    delivered. For the sync and the asyncio watch."""

    def __init__(self, process_type: str, parent_pid: str,
                 labels: LabelFilter | None, resume_token: str,
                 skip_snapshot: bool, patience: float | None) -> None:
        self._request = watch_pb2.WatchProcessesRequest(
            process_type=process_type, parent_pid=parent_pid,
            labels=wire.label_texts(labels), resume_token=resume_token,
            skip_snapshot=skip_snapshot)
        self._patience = Patience(patience)
        # The token of the response whose events are being delivered.
        self._next_token = resume_token
        self.events: collections.deque[WatchEvent] = collections.deque()

    @property
    def resume_token(self) -> str:
        return self._request.resume_token

    def request(self) -> watch_pb2.WatchProcessesRequest:
        return self._request

    def received(self, response: Any) -> None:
        self._patience.answered()
        self._next_token = response.resume_token
        self.events.extend(wire.watch_events(response))
        self._advance()

    def next_event(self) -> WatchEvent:
        event = self.events.popleft()
        self._advance()
        return event

    def pause_after(self, error: errors.ActordError) -> float:
        """Seconds until the next attempt. Raises the error if there is none."""
        return pause_after(self._patience, error)

    def _advance(self) -> None:
        if not self.events:
            self._request.resume_token = self._next_token


class Watch:
    """Iterates over Snapshot, Started, Ended and Missed. Keep a set of PIDs: empty
    it at a Snapshot that says `first`, add the PIDs of Snapshot and Started, remove
    the PID of Ended.

    When the connection breaks, the watch goes on where it was. It raises
    Unavailable if the daemon has not answered for the timeout of the client. The
    iteration ends at the end of `timeout`, or when another thread calls close().
    """

    def __init__(self, client: Client, process_type: str, parent_pid: str,
                 labels: LabelFilter | None, resume_token: str,
                 skip_snapshot: bool, timeout: float | None) -> None:
        self._client = client
        self._position = Position(process_type, parent_pid, labels, resume_token,
                                  skip_snapshot, client.timeout)
        self._deadline = Deadline(timeout)
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._call: Any = None

    @property
    def resume_token(self) -> str:
        """A later watch with this token and the same filters continues behind the
        last response whose events have all been taken from this one."""
        return self._position.resume_token

    def close(self) -> None:
        with self._lock:
            self._closed.set()
            if self._call is not None:
                self._call.cancel()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Watch:
        return self

    def __next__(self) -> WatchEvent:
        while not self._position.events:
            if self._closed.is_set():
                raise StopIteration
            try:
                self._position.received(next(self._open_call()))
            except StopIteration:
                self._call = None  # a daemon ends a watch with an error
                self._pause(errors.Unavailable(
                    "the watch has ended", code=grpc.StatusCode.UNAVAILABLE))
            except grpc.RpcError as error:
                self._call = None
                self._pause(errors.of_rpc(error))
        return self._position.next_event()

    def _open_call(self) -> Any:
        with self._lock:
            if self._call is None:
                self._call = self._client.stub.WatchProcesses(
                    self._position.request(), timeout=self._deadline.remaining(),
                    metadata=self._client.endpoint.metadata)
                if self._closed.is_set():
                    self._call.cancel()
            return self._call

    def _pause(self, error: errors.ActordError) -> None:
        if (self._closed.is_set() or self._deadline.remaining() == 0
                or error.code == grpc.StatusCode.DEADLINE_EXCEEDED):
            self._closed.set()
            return
        self._closed.wait(self._position.pause_after(error))
