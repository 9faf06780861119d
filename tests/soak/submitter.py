"""A client that submits jobs by SubmitStream and awaits their outcomes.

Its journal: "submit NUMBERS [durable]" before they are submitted, and then "result
NUMBER TEXT" or "refuse NUMBER REASON". A job without either is to be submitted again
with the same request id; this program does so when its stream has broken, unless the
job is volatile: the daemon may have lost the id, and the job would run again.
"""

import time

import numbers_text
from actord.v1 import process_pb2
from child import DURABLE, Control, Journal, connect, order
from harness.bulk import SubmitStream, submit_item

PAUSE_SECONDS = 0.2
MAX_OPEN = 40  # jobs without an outcome
STREAM_SECONDS = 8  # then it is closed and opened again
FINISH_SECONDS = 60
VOLATILE_ONCE_IN = 4


def is_durable(number):
    return number[1] % VOLATILE_ONCE_IN != 0


def job_item(number, receiver):
    """The submission of a job, always the same for one number."""
    text = "%d:%d" % number
    return submit_item(
        "soak.order" if number[1] % 2 else "soak.job", f"{text} {receiver}".encode(),
        request_id=text,
        durability=(process_pb2.DURABILITY_DURABLE if is_durable(number)
                    else process_pb2.DURABILITY_VOLATILE))


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
        self._again = []  # durable jobs of a stream that has broken

    def run(self):
        while True:
            if not self._control.going.is_set():
                self._again = []  # the soak finishes them
                self._control.rest()
            self._run_stream()

    def _run_stream(self):
        """A stream until it is to be closed, and the outcomes of all its jobs."""
        stream = SubmitStream(self._actor.stub)
        counts, told = [], set()
        if self._again:
            self._journal.enter("repeat", len(self._again))
            self._submit(stream, counts, self._again)
        until = time.monotonic() + STREAM_SECONDS
        while (self._control.going.is_set() and time.monotonic() < until
               and not stream.over):
            if len(counts) - len(told) < MAX_OPEN:
                fresh = range(self._last + 1, self._last + 4)
                self._last += len(fresh)
                for durable in (True, False):
                    self._enter(fresh, durable)
                self._submit(stream, counts, fresh)
            self._tell(stream, counts, told)
            time.sleep(PAUSE_SECONDS)
        stream.half_close()
        error = stream.wait(FINISH_SECONDS)
        self._tell(stream, counts, told)
        if error is not None:
            self._journal.enter("unknown", repr(error)[:200].replace("\n", " "))
            time.sleep(PAUSE_SECONDS)
        self._again = [count for index, count in enumerate(counts)
                       if index not in told and is_durable((self._client, count))]

    def _enter(self, fresh, durable):
        text = numbers_text.write(self._client, [
            count for count in fresh if is_durable((self._client, count)) == durable])
        if text:
            self._journal.enter("submit", text, *[DURABLE][:durable])

    def _submit(self, stream, counts, more):
        stream.submit(*(job_item((self._client, count), self._receiver)
                        for count in more), await_outcomes=True)
        counts += more

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
