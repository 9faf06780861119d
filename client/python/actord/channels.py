"""How gRPC's sync channels connect in time.

A channel notices a new connection only while somebody polls it, and a call that fails
at once does not. A subscription to the channel's connectivity makes a thread of gRPC
poll the channel. The thread ends within 0.4 s after the last subscription. It may
print a traceback if the channel is closed before. The destruction of the channel waits
for the thread. When the program ends, and in the child of a fork, the thread no longer
runs. So a close, the end of the program and a fork first wait for the thread.
"""

from __future__ import annotations

import atexit
import contextlib
import contextvars
import functools
import os
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any, Callable

import grpc

_LONGEST_END_SECONDS = 5.0  # on a busy machine


class _Poll:
    """Stands for gRPC's thread that polls the channel. gRPC gives the thread a copy
    of the context, so the object lives until the thread ends. So does the channel."""

    def __init__(self, channel: Any) -> None:
        self.channel = channel


# A signal may interrupt the thread that holds the lock, and close a client.
_lock = threading.RLock()
_subscriptions: dict[Callable[[Any], None], Any] = {}  # callbacks with channels
_polls: weakref.WeakSet[_Poll] = weakref.WeakSet()
_closed: weakref.WeakSet[Any] = weakref.WeakSet()  # channels
_program_ends = threading.Event()
_own_poll: contextvars.ContextVar[_Poll] = contextvars.ContextVar("actord_poll")


@contextlib.contextmanager
def connecting(channel: Any) -> Iterator[threading.Event]:
    """Meanwhile the channel connects. The event says that it has connected. It never
    says so if the channel is closed or the program ends."""
    is_ready = threading.Event()

    def changed(state: grpc.ChannelConnectivity) -> None:
        if state is grpc.ChannelConnectivity.READY:
            is_ready.set()

    try:
        with _lock:
            if channel not in _closed and not _program_ends.is_set():
                contextvars.copy_context().run(_subscribe, channel, changed)
        yield is_ready
    finally:
        with _lock:
            _unsubscribe(channel, changed)


def close(channel: Any) -> None:
    """Closes the channel, and with it all its calls."""
    _closed.add(channel)
    _end_polls(channel)
    channel.close()


def _subscribe(channel: Any, changed: Callable[[Any], None]) -> None:
    _register_at_fork()
    poll = _Poll(channel)
    _own_poll.set(poll)
    _polls.add(poll)
    _subscriptions[changed] = channel
    channel.subscribe(changed, try_to_connect=True)


def _unsubscribe(channel: Any, changed: Callable[[Any], None]) -> None:
    channel.unsubscribe(changed)
    _subscriptions.pop(changed, None)


def _end_polls(channel: Any = None) -> None:
    """Ends the subscriptions to the channel, and waits for the threads that poll it;
    None: all channels."""
    with _lock:
        for changed, subscribed in list(_subscriptions.items()):
            if channel in (None, subscribed):
                _unsubscribe(subscribed, changed)
    end = time.monotonic() + _LONGEST_END_SECONDS
    while time.monotonic() < end:
        with _lock:
            if not any(channel in (None, poll.channel) for poll in _polls):
                return
        time.sleep(0.01)


@atexit.register
def _end_program() -> None:
    _program_ends.set()
    _end_polls()


def _before_fork() -> None:
    _lock.acquire()  # until the fork is over
    _end_polls()


@functools.cache
def _register_at_fork() -> None:
    """gRPC registers its hook, which may stop the threads that poll, with the first
    channel. Of all hooks, the latest is called first before a fork."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before_fork, after_in_parent=_lock.release,
                            after_in_child=_lock.release)
