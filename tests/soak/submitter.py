"""A client that submits jobs by SubmitStream and awaits their outcomes.

Its journal: "submit NUMBERS" before they are submitted, and then "result NUMBER TEXT"
or "refuse NUMBER REASON". A job without either is to be submitted again with the same
request id.
"""

import time

import numbers_text
from child import Control, Journal, connect, order
from harness.bulk import SubmitStream, submit_item

PAUSE_SECONDS = 0.2
MAX_OPEN = 40  # jobs without an outcome
STREAM_SECONDS = 8  # then it is closed and opened again
FINISH_SECONDS = 60


def job_item(number, receiver):
    """The submission of a job, always the same for one number."""
    text = "%d:%d" % number
    return submit_item("soak.job", f"{text} {receiver}".encode(), request_id=text)


def text_of(outcome):
    """The result without the number; or an error."""
    if outcome.WhichOneof("end") == "failure":
        return f"error {outcome.failure.message}"
    return outcome.result.data.decode().partition(" ")[2]


class Submitter:

    def __init__(self, told):
        self._client, self._receiver = told["client"], told["receiver"]
        self._actor = connect(told)
        self._journal = Journal(told["journal"])
        self._control = Control()
        self._last = 0

    def run(self):
        while True:
            if not self._control.going.is_set():
                self._control.rest()
            self._run_stream()

    def _run_stream(self):
        """A stream until it is to be closed, and the outcomes of all its jobs."""
        stream = SubmitStream(self._actor.stub)
        counts, told = [], set()
        until = time.monotonic() + STREAM_SECONDS
        while (self._control.going.is_set() and time.monotonic() < until
               and not stream.over):
            if len(counts) - len(told) < MAX_OPEN:
                self._submit(stream, counts)
            self._tell(stream, counts, told)
            time.sleep(PAUSE_SECONDS)
        stream.half_close()
        error = stream.wait(FINISH_SECONDS)
        self._tell(stream, counts, told)
        if error is not None:
            self._journal.enter("unknown", repr(error)[:200].replace("\n", " "))

    def _submit(self, stream, counts):
        fresh = range(self._last + 1, self._last + 4)
        self._last += len(fresh)
        self._journal.enter("submit", numbers_text.write(self._client, fresh))
        stream.submit(*(job_item((self._client, count), self._receiver)
                        for count in fresh), await_outcomes=True)
        counts += fresh

    def _tell(self, stream, counts, told):
        with stream.changed:
            outcomes, refused = dict(stream.outcomes), dict(stream.refused)
        for index in outcomes.keys() - told:
            self._journal.enter("result", f"{self._client}:{counts[index]}",
                                text_of(outcomes[index]))
        for index in refused.keys() - told:
            self._journal.enter("refuse", f"{self._client}:{counts[index]}",
                                refused[index].reason)
        told |= outcomes.keys() | refused.keys()


if __name__ == "__main__":
    Submitter(order()).run()
