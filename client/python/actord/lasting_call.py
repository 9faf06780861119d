"""A call that delivers responses for days and is made again whenever it breaks:
the call of a watch or of a subscription. For the sync and the asyncio client."""

from __future__ import annotations

import abc
import collections
import threading
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import grpc

from actord import errors
from actord.attempts import Deadline, Patience
from actord.channels import connecting

if TYPE_CHECKING:
    from actord.client import Client

Item = TypeVar("Item")


class Backlog(abc.ABC, Generic[Item]):
    """What has been received and not been taken, and the request of the next call.
    Not thread-safe."""

    method = ""  # of the API
    name = ""  # what has ended if the daemon ends the call without an error

    def __init__(self, request: Any, patience: float | None) -> None:
        self.request = request
        self.items: collections.deque[Item] = collections.deque()
        self._patience = Patience(patience)

    def open(self, client: Any, deadline: Deadline) -> Any:
        """Makes the call."""
        return getattr(client.stub, self.method)(
            self.request, timeout=deadline.remaining(),
            metadata=client.endpoint.metadata)

    def received(self, response: Any) -> None:
        self._patience.answered()
        self.add(response)

    def pause_after(self, error: errors.ActordError) -> float:
        """Seconds until the next call. Raises the error if there is none."""
        self.broken()
        if error.retry_delay is None and error.code != grpc.StatusCode.UNAVAILABLE:
            raise error
        pause = self._patience.pause_after(error)
        if pause is None:
            raise error
        return pause

    def ended(self) -> errors.ActordError:
        """The error of a call that the daemon has ended without one."""
        return errors.Unavailable(f"the {self.name} has ended",
                                  code=grpc.StatusCode.UNAVAILABLE)

    def take(self) -> Item:
        """The next item. Precondition: there is one."""
        return self.items.popleft()

    @abc.abstractmethod
    def add(self, response: Any) -> None:
        """Adds the items of a response."""

    def broken(self) -> None:
        """The call has ended, and another may follow."""


AnyBacklog = TypeVar("AnyBacklog", bound=Backlog[Any])


class LastingCall(Generic[AnyBacklog, Item]):
    """Iterates over the items of the responses. The iteration ends at the end of
    the timeout, or when another thread calls close()."""

    def __init__(self, client: Client, backlog: AnyBacklog,
                 timeout: float | None) -> None:
        self._client = client
        self._backlog = backlog
        self._deadline = Deadline(timeout)
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._call: Any = None

    def close(self) -> None:
        """Ends the iteration."""
        with self._lock:
            self._closed.set()
            if self._call is not None:
                self._call.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        while not self._backlog.items:
            if self._closed.is_set():
                raise StopIteration
            self._receive()
        item: Item = self._backlog.take()
        return item

    def _receive(self) -> None:
        """Receives one response, or waits until the next attempt."""
        try:
            self._backlog.received(next(self._open_call()))
        except StopIteration:
            self._pause(self._backlog.ended())
        except grpc.RpcError as error:
            self._pause(errors.of_rpc(error, self._client.endpoint))
        except errors.DaemonTooOld:
            self.close()
            raise

    def _open_call(self) -> Any:
        with self._lock:
            if self._call is None:
                self._call = self._backlog.open(self._client, self._deadline)
                if self._closed.is_set():
                    self._call.cancel()
            return self._call

    def _pause(self, error: errors.ActordError) -> None:
        self._call = None
        if (self._closed.is_set() or self._deadline.remaining() == 0
                or error.code == grpc.StatusCode.DEADLINE_EXCEEDED):
            self._closed.set()
            return
        pause = self._backlog.pause_after(error)
        with connecting(self._client.channel):
            self._closed.wait(pause)
