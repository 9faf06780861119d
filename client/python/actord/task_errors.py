"""The exceptions with which the function of a command says how it has failed."""

from __future__ import annotations

import datetime
import math
from typing import Any, Union

import grpc

from actord import errors

# Seconds, or a timedelta.
Delay = Union[float, datetime.timedelta]


class Refuse(Exception):
    """An error that another attempt would not change: the process gets it. `code` is a
    grpc.StatusCode, or its name or number: grpc.StatusCode.NOT_FOUND, "NOT_FOUND" or
    5."""

    def __init__(self, message: str, code: errors.Code =
                 grpc.StatusCode.FAILED_PRECONDITION) -> None:
        super().__init__(message)
        self.code = errors.error_code(code)


class Retry(Exception):
    """Another attempt may succeed: after `delay`, which is a number of seconds or a
    timedelta, else after the back-off of the command."""

    def __init__(self, delay: Delay | None = None, message: str = "") -> None:
        super().__init__(message or "the worker asks for another attempt")
        self.delay = None if delay is None else _seconds(delay)

    def __reduce__(self) -> Any:  # from another process, for example
        return type(self), (self.delay, str(self)), self.__dict__


def _seconds(delay: Delay) -> float:
    """Raises TypeError or ValueError unless the delay is one."""
    right = "the delay of a Retry is a number of seconds or a timedelta"
    if isinstance(delay, datetime.timedelta):
        seconds = delay.total_seconds()
    elif isinstance(delay, (int, float)) and not isinstance(delay, bool):
        seconds = delay
    else:
        hint = "; give a text as message=" if isinstance(delay, str) else ""
        raise TypeError(f"{right}, not {delay!r}{hint}")
    if not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError(f"{right}, and at least 0, not {delay!r}")
    return seconds
