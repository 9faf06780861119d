"""Timeouts and repeated attempts, for the sync and the asyncio clients and streams.

A refusal with a retry delay had no effect, so any call is repeated after it. A
call that lost its connection may have had its effect, so only a call is repeated
that has an id or has the same effect when it is made twice.
"""

from __future__ import annotations

import enum
import random
import time
from typing import Union

import grpc

from actord import errors

DEFAULT_SECONDS = 30.0
DEFAULT_ATTEMPTS = 12
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 2.0
# A call that lasted as long was served, so its attempts are counted anew.
_SERVED_SECONDS = 10.0


class Default(enum.Enum):
    """The value of `timeout=` that stands for the client's timeout."""
    TIMEOUT = "the timeout of the client"


Timeout = Union[float, None, Default]


class Deadline:
    """A moment; with None it never comes."""

    def __init__(self, seconds: float | None) -> None:
        if seconds is not None and not isinstance(seconds, (int, float)):
            raise TypeError("a timeout is None or a number of seconds, not "
                            f"{seconds!r}")
        if seconds is not None and not seconds >= 0:
            raise ValueError(f"a timeout is None or at least 0 seconds, not {seconds}")
        self._end = None if seconds is None else time.monotonic() + seconds

    def remaining(self) -> float | None:
        """Seconds until then, at least 0."""
        if self._end is None:
            return None
        return max(0.0, self._end - time.monotonic())


def backoff(count: int, longest: float = _LONGEST_PAUSE_SECONDS) -> float:
    """The pause in seconds after `count` failed attempts. Up to half of it is
    random, so that clients do not come back all at once."""
    pause: float = min(longest, _FIRST_PAUSE_SECONDS * 2 ** min(count - 1, 16))
    return pause * random.uniform(0.5, 1.0)


class Attempts:
    """The attempts of one call."""

    def __init__(self, deadline: Deadline, max_attempts: int,
                 repeatable: bool) -> None:
        self._deadline = deadline
        self._max_attempts = max_attempts
        self._repeatable = repeatable
        self._failed = 0
        self._begin = 0.0

    def timeout(self) -> float | None:
        """The timeout of the attempt that begins now, in seconds."""
        self._begin = time.monotonic()
        return self._deadline.remaining()

    def pause_after(self, error: errors.ActordError) -> float:
        """The pause before the next attempt, in seconds. Raises the error if no
        further attempt follows."""
        if time.monotonic() - self._begin > _SERVED_SECONDS:
            self._failed = 0
        self._failed += 1
        pause = self._pause(error)
        remaining = self._deadline.remaining()
        if (pause is None or self._failed >= self._max_attempts
                or remaining is not None and pause >= remaining):
            raise error
        return pause

    def _pause(self, error: errors.ActordError) -> float | None:
        if error.reason == "CALL_FAILED":
            # The process has had the call. Older daemons name a delay even so.
            return None
        if error.retry_delay is not None:
            return float(error.retry_delay * min(2 ** (self._failed - 1), 16))
        if error.code == grpc.StatusCode.UNAVAILABLE and self._repeatable:
            return backoff(self._failed)
        return None


class Patience:
    """Whether a stream that has lost its connection may go on, and when. Not
    thread-safe."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds  # without an answer; None: without end
        self._failed = 0
        self._last_answer = time.monotonic()

    def answered(self) -> None:
        self._failed = 0
        self._last_answer = time.monotonic()

    def pause_after(self, error: errors.ActordError) -> float | None:
        """Seconds until the next stream. None: it has taken too long."""
        if not self._failed:  # a quiet stream has had its last answer long ago
            self._last_answer = time.monotonic()
        self._failed += 1
        pause = max(error.retry_delay or 0.0, backoff(self._failed))
        away = time.monotonic() - self._last_answer
        if self._seconds is not None and away + pause > self._seconds:
            return None
        return pause
