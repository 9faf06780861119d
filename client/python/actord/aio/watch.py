"""Watching processes with asyncio."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio

from actord import errors
from actord.attempts import Deadline
from actord.values import LabelFilter, WatchEvent
from actord.watch import Position

if TYPE_CHECKING:
    from actord.aio.client import Client


class Watch:
    """Same as actord.Watch, with `async for` and `async with`."""

    def __init__(self, client: Client, process_type: str, parent_pid: str,
                 labels: LabelFilter | None, resume_token: str,
                 skip_snapshot: bool, timeout: float | None) -> None:
        self._client = client
        self._position = Position(process_type, parent_pid, labels, resume_token,
                                  skip_snapshot, client.timeout)
        self._deadline = Deadline(timeout)
        self._closed = asyncio.Event()
        self._call: Any = None

    @property
    def resume_token(self) -> str:
        """Same as actord.Watch.resume_token."""
        return self._position.resume_token

    async def close(self) -> None:
        """Ends the iteration."""
        self._closed.set()
        if self._call is not None:
            self._call.cancel()

    async def __aenter__(self) -> Watch:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> WatchEvent:
        while not self._position.events:
            if self._closed.is_set():
                raise StopAsyncIteration
            broken = await self._receive()
            if broken is None:
                continue
            self._call = None
            if (self._closed.is_set() or self._deadline.remaining() == 0
                    or broken.code == grpc.StatusCode.DEADLINE_EXCEEDED):
                self._closed.set()
                continue
            pause = self._position.pause_after(broken)
            try:
                await asyncio.wait_for(self._closed.wait(), pause)
            except asyncio.TimeoutError:
                pass
        return self._position.next_event()

    async def _receive(self) -> errors.ActordError | None:
        """Receives one response. Returns the error that has ended the call, or
        None."""
        if self._call is None:
            self._call = self._client.stub.WatchProcesses(
                self._position.request(), timeout=self._deadline.remaining(),
                metadata=self._client.endpoint.metadata)
        call = self._call
        try:
            response = await call.read()
        except grpc.RpcError as error:
            return errors.of_rpc(error)
        except asyncio.CancelledError:
            # gRPC raises it also for a call that close() has cancelled.
            if self._closed.is_set() and not is_cancelling():
                return errors.ActordError("closed",
                                          code=grpc.StatusCode.CANCELLED)
            raise
        if response is grpc.aio.EOF:
            return errors.Unavailable("the watch has ended",
                                      code=grpc.StatusCode.UNAVAILABLE)
        self._position.received(response)
        return None


def is_cancelling() -> bool:
    """Whether somebody cancels this task."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
