"""Sending in bulk with asyncio."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable

import grpc
import grpc.aio

from actord import errors, wire
from actord.attempts import Patience
from actord.send_book import Refused, SendBook
from actord.values import UNSET, Data, Payload, Target

if TYPE_CHECKING:
    from actord.aio.client import Client


class SendStream:
    """Same as actord.SendStream, with `async with` and awaited methods."""

    def __init__(self, client: Client, max_unacknowledged: int,
                 timeout: float | None) -> None:
        self._client = client
        self._timeout = timeout
        self._book = SendBook(max_unacknowledged)
        self._changed = asyncio.Condition()
        self._error: Exception | None = None
        self._closing = False
        self._session = 0  # number of the open stream
        self._task = asyncio.create_task(self._run(), name="actord send stream")

    async def send(self, pid: Target, payload: Data = None, *, topic: str = "",
                   json: Any = UNSET, content_type: str | None = None,
                   message_id: str | None = None) -> int:
        """Same as actord.SendStream.send."""
        request = wire.send_request(
            pid, topic, Payload.of(payload, json=json, content_type=content_type),
            message_id)
        async with self._changed:
            if self._closing:
                raise ValueError("the stream is closed")
            await self._wait_for(lambda: self._book.has_room, "room for an item")
            index = self._book.add(request)
            self._changed.notify_all()
            return index

    async def flush(self) -> None:
        """Same as actord.SendStream.flush."""
        async with self._changed:
            await self._wait_for(lambda: not self._book.unacknowledged,
                                 "acknowledgements")

    @property
    def acknowledged(self) -> int:
        """Same as actord.SendStream.acknowledged."""
        return self._book.acknowledged

    def take_refusals(self) -> list[Refused]:
        """Same as actord.SendStream.take_refusals."""
        return self._book.take_refusals()

    async def close(self) -> None:
        """Does the same as leaving the `with` block."""
        try:
            await self.flush()
        finally:
            await self._end()
        refusals = self.take_refusals()
        if refusals:
            raise errors.ItemsRefused(refusals)

    async def __aenter__(self) -> SendStream:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        if kind is None:
            await self.close()
        else:
            await self._end()

    async def _wait_for(self, condition: Callable[[], bool], what: str) -> None:
        def decided() -> bool:
            return self._error is not None or condition()

        try:
            async with asyncio.timeout(self._timeout):
                await self._changed.wait_for(decided)
        except TimeoutError:
            raise errors.DeadlineExceeded(
                f"no {what} within {self._timeout} s",
                code=grpc.StatusCode.DEADLINE_EXCEEDED) from None
        if self._error is not None:
            raise self._error

    async def _end(self) -> None:
        """Half-closes if everything is acknowledged, and otherwise cancels."""
        async with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._book.unacknowledged:
            self._task.cancel()
        await asyncio.wait([self._task], timeout=self._client.timeout)

    async def _run(self) -> None:
        try:
            await self._converse()
        except ValueError as error:  # the client is closed
            self._error = error
        finally:  # also if the client is closed
            if self._error is None and not self._closing:
                self._error = errors.Unavailable(
                    "the stream has ended", code=grpc.StatusCode.UNAVAILABLE)
            async with self._changed:
                self._changed.notify_all()

    async def _converse(self) -> None:
        patience = Patience(self._client.timeout)
        while True:
            try:
                async for response in self._open():
                    patience.answered()
                    async with self._changed:
                        self._book.received(response)
                        self._changed.notify_all()
                return  # half-closed
            except grpc.RpcError as error:
                broken = errors.of_rpc(error, self._client.endpoint)
            async with self._changed:
                self._session += 1  # the old stream takes no further item
                self._changed.notify_all()
                pause = patience.pause_after(broken)
                if (self._closing or pause is None
                        or not self._book.can_continue(broken)):
                    self._error = broken
                    return
                self._book.reopen()
            await asyncio.sleep(pause)

    def _open(self) -> Any:
        self._session += 1
        return self._client.stub.SendStream(
            self._batches(self._session),
            metadata=self._client.endpoint.metadata)

    async def _batches(self, session: int) -> AsyncIterator[Any]:
        """Yields the waiting items while this stream is the open one."""
        while True:
            async with self._changed:
                await self._changed.wait_for(
                    lambda: session != self._session or self._closing
                    or self._book.can_send)
                if session != self._session or not self._book.can_send:
                    return
                batch = self._book.next_batch()
            yield batch
