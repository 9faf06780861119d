"""Waiting for a condition with a deadline."""

import os
import signal
import time

# Whether the build under test has AddressSanitizer, and is not optimised.
SANITIZED = "ASAN_OPTIONS" in os.environ
# For what takes no time to speak of unless the machine is busy.
WAIT_SECONDS = 100 if SANITIZED else 30


def eventually(condition, what, seconds=WAIT_SECONDS):
    """Polls until `condition()` is true and returns its value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds} s for {what}")
        time.sleep(0.01)


def pause(process):
    """SIGSTOP. Returns when all of this child has stopped: until one of its threads
    comes to look at the signal, the others go on."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)
