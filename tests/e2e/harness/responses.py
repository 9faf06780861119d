"""What a stream of the daemon's responses has told, read by a thread."""

import threading

from harness.waiting import WAIT_SECONDS


class Responses:
    """Those of one call, to the end of it, with `error`. Subclasses set `call`,
    and say in `_add` what a response tells."""

    def __init__(self):
        self.responses = []
        self.changed = threading.Condition()
        self.error, self.over = None, False
        self.call = None

    def read_on(self):
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        error = None
        try:
            for response in self.call:
                with self.changed:
                    self.responses.append(response)
                    self._add(response)
                    self.changed.notify_all()
        except Exception as caught:  # as the call ended
            error = caught
        with self.changed:
            self.error, self.over = error, True
            self.changed.notify_all()

    def wait_for(self, condition, what, seconds=WAIT_SECONDS):
        with self.changed:
            if not self.changed.wait_for(lambda: condition() or self.over,
                                         seconds) or not condition():
                raise TimeoutError(f"waited for {what}: {self.error}")

    def wait(self, seconds=2 * WAIT_SECONDS):
        """Waits for the end; returns the error, or None."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.over, seconds):
                raise TimeoutError("the stream did not end")
        return self.error

    def cancel(self):
        self.call.cancel()
