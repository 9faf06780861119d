"""A client that sends numbered messages, by Send and by SendStream.

Its journal: "attempt NUMBERS [durable]" before they are sent, and then "accept
NUMBERS" and "refuse NUMBERS REASON". A message without an answer may have arrived.

A message to a durable process has a message id, and is sent again until it has an
answer. It is durable if all processes on its way are.
"""

import random
import time

import grpc
import numbers_text
from child import (DURABLE, PERSIST_SECONDS, Control, Journal, connect, is_lost,
                   order)
from harness.bulk import SendStream, send_item
from harness.connection import refusal_of

PAUSE_SECONDS = 0.05
STREAM_BATCHES = 40  # then it is closed and opened again
MAX_BATCH = 500  # messages
ANSWER_SECONDS = 30


class Sender:

    def __init__(self, told):
        self._client = told["client"]
        self._actor = connect(told)
        self._journal = Journal(told["journal"])
        self._random = random.Random(told["seed"])
        self._control = Control()
        self._last = 0
        self._stream, self._sent, self._batches = None, 0, 0

    def run(self):
        while True:
            if not self._control.going.is_set():
                self._close_stream()
                self._control.rest()
            count, self._control.burst = self._control.burst, 0
            self._send(count or self._random.randint(1, 10), bool(count))
            time.sleep(PAUSE_SECONDS)

    def _send(self, count, burst):
        if not self._control.targets:
            return
        counts = range(self._last + 1, self._last + count + 1)
        self._last += count
        to, repeats = self._random.choice(self._control.targets)
        topic, end, durable = "m", "", repeats
        if self._random.random() < 0.25:
            then, too = self._random.choice(self._control.targets)
            topic, end, durable = "via", f" {then}", repeats and too
        items = []
        for each in counts:
            number = f"{self._client}:{each}"
            items.append(send_item(to, topic, (number + end).encode(),
                                   message_id=number if repeats else ""))
        self._journal.enter("attempt", numbers_text.write(self._client, counts),
                            *[DURABLE][:durable])
        send = (self._send_by_stream if burst or self._random.random() < 0.6
                else self._send_singly)
        open_counts = send(counts, items)
        deadline = time.monotonic() + PERSIST_SECONDS
        while repeats and open_counts and time.monotonic() < deadline:
            self._journal.enter("repeat", len(open_counts))
            time.sleep(PAUSE_SECONDS)
            open_counts = send(open_counts, [items[each - counts[0]]
                                             for each in open_counts])

    def _send_singly(self, counts, items):
        """Returns the counts that have no answer."""
        without_answer = []
        for count, item in zip(counts, items):
            try:
                self._actor.stub.Send(item, timeout=ANSWER_SECONDS)
            except grpc.RpcError as error:
                if is_lost(error):
                    self._journal.enter("unknown", str(error.code()))
                    without_answer.append(count)
                else:
                    self._say("refuse", [count], refusal_of(error).reason)
            else:
                self._say("accept", [count])
        return without_answer

    def _send_by_stream(self, counts, items):
        """Returns the counts that have no answer."""
        if self._batches >= STREAM_BATCHES:
            self._close_stream()
        if self._stream is None:
            self._stream, self._sent, self._batches = (
                SendStream(self._actor.stub), 0, 0)
        stream, first = self._stream, self._sent
        for begin in range(0, len(items), MAX_BATCH):
            stream.send(*items[begin:begin + MAX_BATCH])
        self._sent += len(items)
        self._batches += 1
        try:
            stream.wait_for_acks(self._sent, ANSWER_SECONDS)
        except TimeoutError:  # or the stream has ended
            self._journal.enter("unknown", repr(stream.error)[:200].replace("\n", " "))
            self._stream = None
            stream.cancel()
        with stream.changed:
            acked, refused = stream.acked - first, dict(stream.refused)
        answered = list(counts)[:max(0, acked)]
        self._say("accept", [count for index, count in enumerate(answered, first)
                             if index not in refused])
        for index, refusal in refused.items():
            if index >= first:
                self._say("refuse", [counts[index - first]], refusal.reason)
        return [count for index, count in enumerate(counts, first)
                if index >= stream.acked and index not in refused]

    def _say(self, word, counts, *more):
        text = numbers_text.write(self._client, counts)
        if text:
            self._journal.enter(word, text, *more)

    def _close_stream(self):
        if self._stream is None:
            return
        error = self._stream.finish()
        if error is not None:
            self._journal.enter("unknown", repr(error)[:200].replace("\n", " "))
        self._stream = None


if __name__ == "__main__":
    Sender(order()).run()
