"""Tests of SubmitStream."""

from harness.bulk import SubmitStream
from harness.case import DaemonCase
from harness.waiting import eventually


class SubmitCase(DaemonCase):

    def stream(self, **more):
        stream = SubmitStream(self.actor.stub, **more)
        self.addCleanup(stream.cancel)
        return stream

    def counters(self):
        return self.actor.status().counters

    def assert_no_stream_left(self):
        eventually(lambda: self.counters().streams_open == 0,
                   "the end of all streams")
