"""Same as actord.lasting_call, with asyncio."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Generic, Self

import grpc
import grpc.aio

from actord import errors
from actord.attempts import Deadline
from actord.lasting_call import AnyBacklog, Item

if TYPE_CHECKING:
    from actord.aio.client import Client


class LastingCall(Generic[AnyBacklog, Item]):
    """Iterates over the items of the responses. The iteration ends at the end of
    the timeout, or when another task calls close()."""

    def __init__(self, client: Client, backlog: AnyBacklog,
                 timeout: float | None) -> None:
        self._client = client
        self._backlog = backlog
        self._deadline = Deadline(timeout)
        self._closed = asyncio.Event()
        self._call: Any = None

    async def close(self) -> None:
        """Ends the iteration."""
        self._closed.set()
        if self._call is not None:
            self._call.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        while not self._backlog.items:
            if self._closed.is_set():
                raise StopAsyncIteration
            await self._receive()
        item: Item = self._backlog.take()
        return item

    async def _receive(self) -> None:
        """Receives one response, or waits until the next attempt."""
        error = await self._read()
        if error is None:
            return
        self._call = None
        if (self._closed.is_set() or self._deadline.remaining() == 0
                or error.code == grpc.StatusCode.DEADLINE_EXCEEDED):
            self._closed.set()
            return
        pause = self._backlog.pause_after(error)
        try:
            await asyncio.wait_for(self._closed.wait(), pause)
        except asyncio.TimeoutError:
            pass

    async def _read(self) -> errors.ActordError | None:
        """Returns the error that has ended the call, or None."""
        if self._call is None:
            self._call = self._backlog.open(self._client, self._deadline)
        try:
            response = await self._call.read()
        except grpc.RpcError as error:
            return errors.of_rpc(error, self._client.endpoint)
        except asyncio.CancelledError:
            # gRPC raises it also for a call that close() has cancelled.
            if self._closed.is_set() and not _is_cancelling():
                return errors.ActordError("closed",
                                          code=grpc.StatusCode.CANCELLED)
            raise
        if response is grpc.aio.EOF:
            return self._backlog.ended()
        try:
            self._backlog.received(response)
        except errors.DaemonTooOld:
            await self.close()
            raise
        return None


def _is_cancelling() -> bool:
    """Whether somebody cancels this task."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
