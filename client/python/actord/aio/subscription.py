"""Subscribing to what processes publish, with asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, Self

from actord.aio.lasting_call import LastingCall
from actord.subscription import Publications
from actord.values import Publication

if TYPE_CHECKING:
    from actord.aio.client import Client


class Subscription(LastingCall[Publications, Publication]):
    """Same as actord.Subscription, with `async for`. `async with` enters when the
    subscription is open; without it, the first step of the iteration opens it."""

    def __init__(self, client: Client, patterns: Iterable[str],
                 timeout: float | None) -> None:
        super().__init__(client, Publications(patterns, client.timeout), timeout)

    async def __aenter__(self) -> Self:
        while not self._backlog.is_open and not self._closed.is_set():
            await self._receive()
        return self
