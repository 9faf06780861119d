"""Subscribing to what processes publish: an iterator that subscribes again by
itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable

from actord import wire
from actord.lasting_call import Backlog, LastingCall
from actord.v1 import topic_pb2
from actord.values import Publication

if TYPE_CHECKING:
    from actord.client import Client


class Publications(Backlog[Publication]):
    """The publications of a subscription. For the sync and the asyncio
    subscription."""

    method = "Subscribe"
    name = "subscription"

    def __init__(self, patterns: Iterable[str], patience: float | None) -> None:
        if isinstance(patterns, str):
            patterns = (patterns,)
        super().__init__(topic_pb2.SubscribeRequest(patterns=patterns), patience)
        self._was_open = self.is_open = False
        self._missed: int | None = 0  # since the last publication

    def add(self, response: Any) -> None:
        if not self.is_open:  # the first response of a call
            self.is_open = True
            if self._was_open:
                self._missed = None
            self._was_open = True
        for message in response.publications:
            self.items.append(wire.publication_of(message, self._missed))
            self._missed = 0
        if self._missed is not None:
            self._missed += response.missed

    def broken(self) -> None:
        self.is_open = False


class Subscription(LastingCall[Publications, Publication]):
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
        super().__init__(client, Publications(patterns, client.timeout), timeout)
        while not self._backlog.is_open and not self._closed.is_set():
            self._receive()
