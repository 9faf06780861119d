"""The items of a SendStream, for the sync and the asyncio stream.

An item waits, then it is sent, then it is acknowledged. Each open stream begins
with the first item that is not acknowledged, so the daemon's index of an item is
its distance from there.

A request that is too large for gRPC of the daemon breaks the stream, and the client
does not know how large that is until it has happened. So a large item is sent alone
until the daemon has taken one of its size: nothing else is lost then, and it is known
which item was too large. The client refuses it and all such items behind it.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import grpc

from actord import errors, wire
from actord.v1 import process_pb2, stream_pb2
from actord.values import Payload

MAX_ITEMS = 1000  # of a batch, as stream.proto says
MAX_BATCH_BYTES = 1 << 20
# Each daemon takes a request of this size, whatever its limits.
SAFE_BYTES = 4 << 20


@dataclasses.dataclass(frozen=True)
class Refused:
    """An item that the daemon has refused, or that is too large for it."""
    index: int  # 0 is the first item of the stream
    pid: str
    topic: str
    payload: Payload
    error: errors.ActordError


@dataclasses.dataclass(frozen=True)
class _Item:
    index: int
    request: process_pb2.SendRequest
    size: int  # bytes of a batch that has this item alone


class SendBook:

    def __init__(self, max_unacknowledged: int) -> None:
        if max_unacknowledged < 1:
            raise ValueError("max_unacknowledged is at least 1")
        self._max_unacknowledged = max_unacknowledged
        self._waiting: collections.deque[_Item] = collections.deque()
        self._sent: collections.deque[_Item] = collections.deque()
        self._next = 0  # index of the next item
        self._acked = 0  # items of the open stream
        self._taken = SAFE_BYTES  # the daemon takes requests of this size
        self._most: int | None = None  # the most that it takes; None: not known
        self.refusals: list[Refused] = []
        self.duplicates = 0

    @property
    def acknowledged(self) -> int:
        first = next(iter(self._sent or self._waiting), None)
        return self._next if first is None else first.index

    @property
    def unacknowledged(self) -> int:
        return len(self._waiting) + len(self._sent)

    @property
    def has_room(self) -> bool:
        return self.unacknowledged < self._max_unacknowledged

    @property
    def can_send(self) -> bool:
        """Whether an item waits, and not for the acknowledgement of another one."""
        if not self._waiting or not self._sent:
            return bool(self._waiting)
        return max(self._waiting[0].size, self._sent[-1].size) <= self._taken

    def add(self, request: process_pb2.SendRequest) -> int:
        """Returns the index of the item."""
        size = stream_pb2.SendStreamRequest(sends=[request]).ByteSize()
        item = _Item(self._next, request, size)
        self._next += 1
        if self._most is not None and size > self._most:
            self._refuse(item, errors.too_large(size, self._most))
        else:
            self._waiting.append(item)
        return item.index

    def next_batch(self) -> stream_pb2.SendStreamRequest:
        """Returns a batch of at least one item. Precondition: can_send."""
        batch: list[_Item] = []
        size = 0
        while self._waiting and len(batch) < MAX_ITEMS:
            size += self._waiting[0].size
            if batch and size > MAX_BATCH_BYTES:
                break
            batch.append(self._waiting.popleft())
        self._sent.extend(batch)
        return stream_pb2.SendStreamRequest(sends=[item.request for item in batch])

    def received(self, response: Any) -> None:
        for refusal in response.refusals:
            self._refuse(self._sent[refusal.index - self._acked],
                         errors.of_refusal(refusal.refusal))
        self.duplicates += len(response.duplicates)
        while self._acked < response.acked_count:
            self._taken = max(self._taken, self._sent.popleft().size)
            self._acked += 1

    def reopen(self) -> None:
        """Sends everything again that is not acknowledged, on a new stream."""
        self._waiting.extendleft(reversed(self._sent))
        self._sent.clear()
        self._acked = 0

    def can_continue(self, error: errors.ActordError) -> bool:
        """Whether another stream may take the unacknowledged items over."""
        if errors.MAX_REQUEST_BYTES in error.metadata:
            if not self._drop_too_large(error):
                return False
        else:
            self._taken, self._most = SAFE_BYTES, None  # another daemon may follow
            if error.code != grpc.StatusCode.UNAVAILABLE:
                return False
        return all(item.request.message_id for item in self._sent)

    def take_refusals(self) -> list[Refused]:
        taken = sorted(self.refusals, key=lambda refused: refused.index)
        self.refusals = []
        return taken

    def _drop_too_large(self, error: errors.ActordError) -> bool:
        """Refuses each item that is as large as the one that has broken the stream.
        False: there is none."""
        most = int(error.metadata[errors.MAX_REQUEST_BYTES])
        items = [*self._sent, *self._waiting]
        self._most = most
        self._sent = collections.deque(
            item for item in self._sent if item.size <= most)
        self._waiting = collections.deque(
            item for item in self._waiting if item.size <= most)
        for item in items:
            if item.size > most:
                self._refuse(item, errors.too_large(item.size, most))
        return self.unacknowledged < len(items)

    def _refuse(self, item: _Item, error: errors.ActordError) -> None:
        self.refusals.append(Refused(
            item.index, item.request.pid, item.request.topic,
            wire.payload_of(item.request.payload), error))
