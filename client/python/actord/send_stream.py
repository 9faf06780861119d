"""Sending in bulk, with flow control."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Iterator

import grpc

from actord import errors, wire
from actord.attempts import Deadline, Patience
from actord.channels import connecting
from actord.send_book import Refused, SendBook
from actord.values import UNSET, Data, Payload, Target

if TYPE_CHECKING:
    from actord.client import Client


class SendStream:
    """Messages of one stream to one process arrive in order. Use it as a context
    manager, in one thread or several:

        with client.send_stream() as stream:
            for number in numbers:
                stream.send(pid, topic="add", json=number)

    `send` waits while `max_unacknowledged` items are not acknowledged. When the
    connection breaks, the unacknowledged items are sent again on another; their
    message_ids prevent that one is delivered twice. An item to a "#group" has none;
    while one is not acknowledged, a lost connection ends the stream. Leaving the block waits for
    all acknowledgements, and raises ItemsRefused if the daemon has refused items
    that take_refusals() has not returned before.
    """

    def __init__(self, client: Client, max_unacknowledged: int,
                 timeout: float | None) -> None:
        self._client = client
        self._timeout = timeout
        self._book = SendBook(max_unacknowledged)
        self._changed = threading.Condition()
        self._error: Exception | None = None
        self._closing = False
        self._session = 0  # number of the open stream
        self._call: Any = None
        self._thread = threading.Thread(target=self._run, daemon=True,
                                        name="actord send stream")
        self._thread.start()

    def send(self, pid: Target, payload: Data = None, *, topic: str = "",
             json: Any = UNSET, content_type: str | None = None,
             message_id: str | None = None) -> int:
        """Adds an item and returns its index. Raises DeadlineExceeded if there is
        no room for it within the timeout."""
        request = wire.send_request(
            pid, topic, Payload.of(payload, json=json, content_type=content_type),
            message_id)
        with self._changed:
            if self._closing:
                raise ValueError("the stream is closed")
            self._wait_for(lambda: self._book.has_room, "room for an item")
            index = self._book.add(request)
            self._changed.notify_all()
            return index

    def flush(self) -> None:
        """Waits until every item is acknowledged or refused."""
        with self._changed:
            self._wait_for(lambda: not self._book.unacknowledged,
                           "acknowledgements")

    @property
    def acknowledged(self) -> int:
        """How many items, from the first on, are delivered or refused."""
        return self._book.acknowledged

    def take_refusals(self) -> list[Refused]:
        """The items that the daemon has refused since the last call."""
        with self._changed:
            return self._book.take_refusals()

    def close(self) -> None:
        """Does the same as leaving the `with` block."""
        try:
            self.flush()
        finally:
            self._end()
        refusals = self.take_refusals()
        if refusals:
            raise errors.ItemsRefused(refusals)

    def __enter__(self) -> SendStream:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._end()

    def _wait_for(self, condition: Any, what: str) -> None:
        deadline = Deadline(self._timeout)
        while self._error is None and not condition():
            if not self._changed.wait(deadline.remaining()):
                raise errors.DeadlineExceeded(
                    f"no {what} within {self._timeout} s",
                    code=grpc.StatusCode.DEADLINE_EXCEEDED)
        if self._error is not None:
            raise self._error

    def _end(self) -> None:
        """Half-closes if everything is acknowledged, and otherwise cancels."""
        with self._changed:
            self._closing = True
            if self._book.unacknowledged and self._call is not None:
                self._call.cancel()
            self._changed.notify_all()
        self._thread.join(self._client.timeout)

    def _run(self) -> None:
        patience = Patience(self._client.timeout)
        while True:
            try:
                for response in self._open():
                    patience.answered()
                    with self._changed:
                        self._book.received(response)
                        self._changed.notify_all()
                return  # half-closed
            except grpc.RpcError as error:
                failure = errors.of_rpc(error, self._client.endpoint)
            except ValueError as error:  # the client is closed
                with self._changed:
                    self._error = error
                    self._changed.notify_all()
                return
            with self._changed:
                self._session += 1  # the old stream takes no further item
                self._changed.notify_all()
                pause = patience.pause_after(failure)
                if (self._closing or pause is None
                        or not self._book.can_continue(failure)):
                    self._error = failure
                    return
                self._book.reopen()
            with connecting(self._client.channel):
                time.sleep(pause)

    def _open(self) -> Any:
        with self._changed:
            self._session += 1
            self._call = self._client.stub.SendStream(
                self._batches(self._session),
                metadata=self._client.endpoint.metadata)
            return self._call

    def _batches(self, session: int) -> Iterator[Any]:
        """Yields the waiting items while this stream is the open one."""
        while True:
            with self._changed:
                while (session == self._session and not self._closing
                       and not self._book.can_send):
                    self._changed.wait()
                if session != self._session or not self._book.can_send:
                    return
                batch = self._book.next_batch()
            yield batch
