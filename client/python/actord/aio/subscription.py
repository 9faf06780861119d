"""Subscribing to what processes publish, with asyncio."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Iterable

import grpc
import grpc.aio

from actord import errors
from actord.aio.watch import is_cancelling
from actord.attempts import Deadline
from actord.subscription import Backlog
from actord.values import Publication

if TYPE_CHECKING:
    from actord.aio.client import Client


class Subscription:
    """Same as actord.Subscription, with `async for`. `async with` enters when the
    subscription is open; without it, the first step of the iteration opens it."""

    def __init__(self, client: Client, patterns: Iterable[str],
                 timeout: float | None) -> None:
        self._client = client
        self._backlog = Backlog(patterns, client.timeout)
        self._deadline = Deadline(timeout)
        self._closed = asyncio.Event()
        self._call: Any = None

    async def close(self) -> None:
        """Ends the iteration."""
        self._closed.set()
        if self._call is not None:
            self._call.cancel()

    async def __aenter__(self) -> Subscription:
        while not self._backlog.is_open and not self._closed.is_set():
            await self._receive()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Publication:
        while not self._backlog.publications:
            if self._closed.is_set():
                raise StopAsyncIteration
            await self._receive()
        return self._backlog.publications.popleft()

    async def _receive(self) -> None:
        """Receives one response, or waits until the next attempt."""
        broken = await self._read()
        if broken is None:
            return
        self._call = None
        if (self._closed.is_set() or self._deadline.remaining() == 0
                or broken.code == grpc.StatusCode.DEADLINE_EXCEEDED):
            self._closed.set()
            return
        pause = self._backlog.pause_after(broken)
        try:
            await asyncio.wait_for(self._closed.wait(), pause)
        except asyncio.TimeoutError:
            pass

    async def _read(self) -> errors.ActordError | None:
        """Returns the error that has ended the call, or None."""
        if self._call is None:
            self._call = self._client.stub.Subscribe(
                self._backlog.request, timeout=self._deadline.remaining(),
                metadata=self._client.endpoint.metadata)
        try:
            response = await self._call.read()
        except grpc.RpcError as error:
            return errors.of_rpc(error)
        except asyncio.CancelledError:
            # gRPC raises it also for a call that close() has cancelled.
            if self._closed.is_set() and not is_cancelling():
                return errors.ActordError("closed",
                                          code=grpc.StatusCode.CANCELLED)
            raise
        if response is grpc.aio.EOF:
            return errors.Unavailable("the subscription has ended",
                                      code=grpc.StatusCode.UNAVAILABLE)
        self._backlog.received(response)
        return None
