"""Streams of sends and submissions made of the generated stubs."""

import queue

from actord.v1 import payload_pb2, process_pb2, stream_pb2
from harness.responses import Responses
from harness.waiting import WAIT_SECONDS


def send_item(pid, topic="", payload=b"", **fields):
    return process_pb2.SendRequest(
        pid=pid, topic=topic, payload=payload_pb2.Payload(data=payload),
        **fields)


def submit_item(process_type, payload=b"", **fields):
    return process_pb2.SubmitRequest(
        process_type=process_type, input=payload_pb2.Payload(data=payload),
        **fields)


class _Stream(Responses):
    """A call whose responses are read until it ends with `error`; with
    reads=False they are not read before `read_on`."""

    def __init__(self, method, reads=True):
        super().__init__()
        self._requests = queue.Queue()
        self.taken = 0  # requests that gRPC has taken
        self.call = method(self._take())
        if reads:
            self.read_on()

    def _take(self):
        for request in iter(self._requests.get, None):
            self.taken += 1
            yield request

    def write(self, request):
        self._requests.put(request)

    def half_close(self):
        self._requests.put(None)

    def finish(self):
        """Says that it was all, and waits for the end."""
        self.half_close()
        return self.wait()

    def cancel(self):
        super().cancel()
        self._requests.put(None)


class SendStream(_Stream):

    def __init__(self, stub, **more):
        self.acked, self.refused, self.duplicates = 0, {}, []
        self.receipts = []  # of the acknowledgements
        super().__init__(stub.SendStream, **more)

    def _add(self, response):
        self.acked = response.acked_count
        self.duplicates += response.duplicates
        self.receipts.append(response.receipt)
        for refusal in response.refusals:
            self.refused[refusal.index] = refusal.refusal

    def send(self, *items):
        self.write(stream_pb2.SendStreamRequest(sends=items))

    def wait_for_acks(self, count, seconds=WAIT_SECONDS):
        self.wait_for(lambda: self.acked >= count, f"{count} acks", seconds)


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
