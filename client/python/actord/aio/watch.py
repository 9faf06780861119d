"""Watching processes with asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actord.aio.lasting_call import LastingCall
from actord.values import LabelFilter, WatchEvent
from actord.watch import Events

if TYPE_CHECKING:
    from actord.aio.client import Client


class Watch(LastingCall[Events, WatchEvent]):
    """Same as actord.Watch, with `async for` and `async with`."""

    def __init__(self, client: Client, process_type: str, parent_pid: str,
                 labels: LabelFilter | None, resume_token: str,
                 skip_snapshot: bool, timeout: float | None) -> None:
        super().__init__(client, Events(process_type, parent_pid, labels,
                                        resume_token, skip_snapshot,
                                        client.timeout), timeout)

    @property
    def resume_token(self) -> str:
        """Same as actord.Watch.resume_token."""
        return self._backlog.resume_token
