"""Streams of sends and submissions made of the generated stubs."""

import queue
import threading

from actord.v1 import payload_pb2, process_pb2, stream_pb2
from harness.waiting import WAIT_SECONDS


def send_item(pid, topic="", payload=b"", **fields):
    return process_pb2.SendRequest(
        pid=pid, topic=topic, payload=payload_pb2.Payload(data=payload),
        **fields)


def submit_item(process_type, payload=b"", **fields):
    return process_pb2.SubmitRequest(
        process_type=process_type, input=payload_pb2.Payload(data=payload),
        **fields)


class _Stream:
    """A call whose responses are read by a thread until it ends with `error`;
    with reads=False they are not read before `read_on`."""

    def __init__(self, method, reads=True):
        self._requests = queue.Queue()
        self.taken = 0  # requests that gRPC has taken
        self.responses = []
        self.changed = threading.Condition()
        self.error, self.over = None, False
        self.call = method(self._take())
        if reads:
            self.read_on()

    def _take(self):
        for request in iter(self._requests.get, None):
            self.taken += 1
            yield request

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

    def wait_for(self, condition, what):
        with self.changed:
            if not self.changed.wait_for(lambda: condition() or self.over,
                                         WAIT_SECONDS) or not condition():
                raise TimeoutError(f"waited for {what}: {self.error}")

    def write(self, request):
        self._requests.put(request)

    def half_close(self):
        self._requests.put(None)

    def wait(self):
        """Waits for the end; returns the error, or None."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.over, WAIT_SECONDS):
                raise TimeoutError("the stream did not end")
        return self.error

    def finish(self):
        """Says that it was all, and waits for the end."""
        self.half_close()
        return self.wait()

    def cancel(self):
        self.call.cancel()
        self._requests.put(None)


class SendStream(_Stream):

    def __init__(self, stub, **more):
        self.acked, self.refused, self.duplicates = 0, {}, []
        super().__init__(stub.SendStream, **more)

    def _add(self, response):
        self.acked = response.acked_count
        self.duplicates += response.duplicates
        for refusal in response.refusals:
            self.refused[refusal.index] = refusal.refusal

    def send(self, *items):
        self.write(stream_pb2.SendStreamRequest(sends=items))

    def wait_for_acks(self, count):
        self.wait_for(lambda: self.acked >= count, f"{count} acks")


class SubmitStream(_Stream):

    def __init__(self, stub, **more):
        self.max_outstanding = None
        self.submitted, self.refused = {}, {}
        self.outcomes, self.outcome_refused = {}, {}
        self.repeated = []  # indices that were told of twice
        super().__init__(stub.SubmitStream, **more)

    def _add(self, response):
        if response.max_outstanding:
            self.max_outstanding = response.max_outstanding
        for news in response.news:
            for field, told in (("submitted", self.submitted),
                                ("refusal", self.refused),
                                ("outcome", self.outcomes),
                                ("outcome_refusal", self.outcome_refused)):
                if news.HasField(field):
                    if news.index in told:
                        self.repeated.append(news.index)
                    told[news.index] = getattr(news, field)

    def submit(self, *items, await_outcomes=False):
        self.write(stream_pb2.SubmitStreamRequest(
            submissions=items, await_outcomes=await_outcomes))
