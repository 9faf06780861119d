"""Watching processes: an iterator that resumes by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actord import wire
from actord.lasting_call import Backlog, LastingCall
from actord.v1 import watch_pb2
from actord.values import LabelFilter, WatchEvent

if TYPE_CHECKING:
    from actord.client import Client


class Events(Backlog[WatchEvent]):
    """The events of a watch, and the position up to which they have been taken. For
    the sync and the asyncio watch."""

    method = "WatchProcesses"
    name = "watch"

    def __init__(self, process_type: str, parent_pid: str,
                 labels: LabelFilter | None, resume_token: str,
                 skip_snapshot: bool, patience: float | None) -> None:
        super().__init__(watch_pb2.WatchProcessesRequest(
            process_type=process_type, parent_pid=parent_pid,
            labels=wire.label_texts(labels), resume_token=resume_token,
            skip_snapshot=skip_snapshot), patience)
        # The token of the response whose events are being taken.
        self._next_token = resume_token

    @property
    def resume_token(self) -> str:
        return str(self.request.resume_token)

    def add(self, response: Any) -> None:
        if self.request.labels:
            wire.check_watched(response, self.request)
        if response.parent_pid:
            # The name may have another holder when the watch resumes.
            self.request.parent_pid = response.parent_pid
        self._next_token = response.resume_token
        self.items.extend(wire.watch_events(response))
        self._advance()

    def take(self) -> WatchEvent:
        event = super().take()
        self._advance()
        return event

    def _advance(self) -> None:
        if not self.items:
            self.request.resume_token = self._next_token


class Watch(LastingCall[Events, WatchEvent]):
    """Iterates over Snapshot, Started, Ended and Missed. Keep a set of PIDs: empty
    it at a Snapshot that says `first`, add the PIDs of Snapshot and Started, remove
    the PID of Ended.

    When the connection breaks, the watch goes on where it was, with the same
    parent if `parent_pid` is a name. It raises Unavailable if the daemon has not
    answered for the timeout of the client. The iteration ends at the end of
    `timeout`, or when another thread calls close().
    """

    def __init__(self, client: Client, process_type: str, parent_pid: str,
                 labels: LabelFilter | None, resume_token: str,
                 skip_snapshot: bool, timeout: float | None) -> None:
        super().__init__(client, Events(process_type, parent_pid, labels,
                                        resume_token, skip_snapshot,
                                        client.timeout), timeout)

    @property
    def resume_token(self) -> str:
        """A later watch with this token and the same filters continues behind the
        last response whose events have all been taken from this one."""
        return self._backlog.resume_token
