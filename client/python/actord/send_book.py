"""The items of a SendStream, for the sync and the asyncio stream.

An item waits, then it is sent, then it is acknowledged. Each open stream begins
with the first item that is not acknowledged, so the daemon's index of an item is
its distance from there.
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


@dataclasses.dataclass(frozen=True)
class Refused:
    """An item that the daemon has refused. It can be sent again."""
    index: int  # 0 is the first item of the stream
    pid: str
    topic: str
    payload: Payload
    error: errors.ActordError


class SendBook:

    def __init__(self, max_unacknowledged: int) -> None:
        if max_unacknowledged < 1:
            raise ValueError("max_unacknowledged is at least 1")
        self._max_unacknowledged = max_unacknowledged
        self._waiting: collections.deque[process_pb2.SendRequest] = (
            collections.deque())
        self._sent: collections.deque[process_pb2.SendRequest] = (
            collections.deque())
        self._first = 0  # index of the first unacknowledged item
        self._stream_first = 0  # index of the first item of the open stream
        self.refusals: list[Refused] = []
        self.duplicates = 0

    @property
    def acknowledged(self) -> int:
        return self._first

    @property
    def unacknowledged(self) -> int:
        return len(self._waiting) + len(self._sent)

    @property
    def has_room(self) -> bool:
        return self.unacknowledged < self._max_unacknowledged

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def add(self, request: process_pb2.SendRequest) -> int:
        """Returns the index of the item."""
        self._waiting.append(request)
        return self._first + self.unacknowledged - 1

    def next_batch(self) -> stream_pb2.SendStreamRequest:
        """Returns a batch of at least one item. Precondition: an item waits."""
        batch: list[process_pb2.SendRequest] = []
        size = 0
        while self._waiting and len(batch) < MAX_ITEMS:
            size += self._waiting[0].ByteSize()
            if batch and size > MAX_BATCH_BYTES:
                break
            batch.append(self._waiting.popleft())
        self._sent.extend(batch)
        return stream_pb2.SendStreamRequest(sends=batch)

    def received(self, response: Any) -> None:
        for refusal in response.refusals:
            index = self._stream_first + refusal.index
            request = self._sent[index - self._first]
            self.refusals.append(Refused(
                index, request.pid, request.topic, wire.payload_of(request.payload),
                errors.of_refusal(refusal.refusal)))
        self.duplicates += len(response.duplicates)
        while self._first < self._stream_first + response.acked_count:
            self._sent.popleft()
            self._first += 1

    def reopen(self) -> None:
        """Sends everything again that is not acknowledged, on a new stream."""
        self._waiting.extendleft(reversed(self._sent))
        self._sent.clear()
        self._stream_first = self._first

    def can_continue(self, error: errors.ActordError) -> bool:
        """Whether another stream may take the unacknowledged items over."""
        return (error.code == grpc.StatusCode.UNAVAILABLE
                and all(request.message_id for request in self._sent))

    def take_refusals(self) -> list[Refused]:
        taken = sorted(self.refusals, key=lambda refused: refused.index)
        self.refusals = []
        return taken
