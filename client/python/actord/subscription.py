"""Subscribing to what processes publish: an iterator that subscribes again by
itself."""

from __future__ import annotations

import collections
import threading
from typing import TYPE_CHECKING, Any, Iterable

import grpc

from actord import errors, wire
from actord.attempts import Deadline, Patience
from actord.v1 import topic_pb2
from actord.values import Publication
from actord.watch import pause_after

if TYPE_CHECKING:
    from actord.client import Client


class Backlog:
    """What has been received and not been taken. For the sync and the asyncio
    subscription."""

    def __init__(self, patterns: Iterable[str], patience: float | None) -> None:
        if isinstance(patterns, str):
            patterns = (patterns,)
        self.request = topic_pb2.SubscribeRequest(patterns=patterns)
        self.publications: collections.deque[Publication] = collections.deque()
        self._patience = Patience(patience)
        self._was_open = self.is_open = False
        self._missed: int | None = 0  # since the last publication

    def received(self, response: Any) -> None:
        self._patience.answered()
        if not self.is_open:  # the first response of a call
            self.is_open = True
            if self._was_open:
                self._missed = None
            self._was_open = True
        for message in response.publications:
            self.publications.append(
                wire.publication_of(message, self._missed))
            self._missed = 0
        if self._missed is not None:
            self._missed += response.missed

    def pause_after(self, error: errors.ActordError) -> float:
        """Seconds until the next attempt. Raises the error if there is none."""
        self.is_open = False
        return pause_after(self._patience, error)


class Subscription:
    """Iterates over the publications under the topics, from the moment on at which
    Client.subscribe has returned it.

    If the program takes them too slowly, the daemon drops the oldest: `missed` of
    the next publication says how many. When the connection breaks, the program is
    subscribed again; `missed` is then None. It raises Unavailable if the daemon has
    not answered for the timeout of the client. The iteration ends at the end of
    `timeout`, or when another thread calls close().
    """

    def __init__(self, client: Client, patterns: Iterable[str],
                 timeout: float | None) -> None:
        self._client = client
        self._backlog = Backlog(patterns, client.timeout)
        self._deadline = Deadline(timeout)
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._call: Any = None
        while not self._backlog.is_open and not self._closed.is_set():
            self._receive()

    def close(self) -> None:
        with self._lock:
            self._closed.set()
            if self._call is not None:
                self._call.cancel()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Subscription:
        return self

    def __next__(self) -> Publication:
        while not self._backlog.publications:
            if self._closed.is_set():
                raise StopIteration
            self._receive()
        return self._backlog.publications.popleft()

    def _receive(self) -> None:
        try:
            self._backlog.received(next(self._open_call()))
        except StopIteration:
            self._pause(errors.Unavailable(
                "the subscription has ended", code=grpc.StatusCode.UNAVAILABLE))
        except grpc.RpcError as error:
            self._pause(errors.of_rpc(error))

    def _open_call(self) -> Any:
        with self._lock:
            if self._call is None:
                self._call = self._client.stub.Subscribe(
                    self._backlog.request, timeout=self._deadline.remaining(),
                    metadata=self._client.endpoint.metadata)
                if self._closed.is_set():
                    self._call.cancel()
            return self._call

    def _pause(self, error: errors.ActordError) -> None:
        self._call = None
        if (self._closed.is_set() or self._deadline.remaining() == 0
                or error.code == grpc.StatusCode.DEADLINE_EXCEEDED):
            self._closed.set()
            return
        self._closed.wait(self._backlog.pause_after(error))
