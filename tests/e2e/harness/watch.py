"""A watch of processes, and a subscription, made of the generated stubs, and what
they make of it."""

import contextlib

from actord.v1 import topic_pb2, watch_pb2
from harness.responses import Responses
from harness.waiting import WAIT_SECONDS


class Known:
    """What responses have told: `live` has the PIDs of what lives, as the rules in
    watch.proto make it; `events` the kinds and PIDs of all events, `starts` and
    `ends` the events by PID; `token` is the last."""

    def __init__(self):
        self.live, self.processes = set(), {}
        self.events, self.starts, self.ends = [], {}, {}
        self.missed, self.snapshots, self.complete = [], 0, False
        self.mistakes = []  # what breaks the promises of the API
        self.token = ""

    def take_over(self, other):
        """All events except the lines about gaps and beginnings."""
        self.live = set(other.live)
        self.events = list(other.events)
        self.starts, self.ends = dict(other.starts), dict(other.ends)
        self.complete, self.token = other.complete, other.token

    def add(self, response):
        if not response.resume_token:
            self.mistakes.append("no token")
        self.token = response.resume_token
        update = response.WhichOneof("update")
        if update == "snapshot":
            self._add_page(response.snapshot)
        elif update == "events":
            self._add_events(response.events.events)
        elif update == "missed":
            self.missed.append(response.missed.count)

    def _add_page(self, page):
        if page.first:
            self.snapshots += 1
            self.live, self.processes, self.complete = set(), {}, False
        for process in page.processes:
            if process.pid in self.processes:
                self.mistakes.append(f"{process.pid} is on two pages")
            self.processes[process.pid] = process
            self.live.add(process.pid)
        if page.last:
            self.complete = True

    def _add_events(self, events):
        if not 1 <= len(events) <= 1000:
            self.mistakes.append(f"{len(events)} events in one response")
        for event in events:
            kind = event.WhichOneof("event")
            told = getattr(event, kind)
            self.events.append((kind, told.pid))
            if kind == "started":
                if told.pid in self.starts or told.pid in self.ends:
                    self.mistakes.append(f"{told.pid} starts once more")
                self.starts[told.pid] = told
                self.live.add(told.pid)
            else:
                if told.pid in self.ends:
                    self.mistakes.append(f"{told.pid} ends once more")
                self.ends[told.pid] = told
                self.live.discard(told.pid)


class Watch(Known, Responses):
    """One WatchProcesses call. `goes_on`, of a Known: that is taken over, and the
    call begins with its token."""

    def __init__(self, stub, reads=True, goes_on=None, **request):
        Known.__init__(self)
        Responses.__init__(self)
        if goes_on is not None:
            with getattr(goes_on, "changed", contextlib.nullcontext()):
                self.take_over(goes_on)
            request["resume_token"] = self.token
        self.call = stub.WatchProcesses(
            watch_pb2.WatchProcessesRequest(**request))
        if reads:
            self.read_on()

    def _add(self, response):
        self.add(response)

    def wait_until_begun(self):
        self.wait_for(lambda: self.complete or
                      (self.responses and not self.snapshots), "its beginning")
        return self

    def wait_until_live(self, pids, seconds=WAIT_SECONDS):
        pids = set(pids)
        self.wait_for(lambda: self.complete and self.live == pids,
                      f"{len(pids)} that live", seconds)

    def wait_for_end_of(self, pid):
        self.wait_for(lambda: pid in self.ends, f"the end of {pid}")
        return self.ends[pid]


class Subscriber(Responses):
    """Publications: `got` has topic and data of each; `missed` the counts that were
    told, each with the number of publications before it."""

    def __init__(self, stub, *patterns, reads=True):
        super().__init__()
        self.publications, self.missed = [], []
        self.call = stub.Subscribe(topic_pb2.SubscribeRequest(patterns=patterns))
        # Empty: the subscription is open.
        first = next(self.call)
        if first.publications or first.missed:
            raise AssertionError(f"the first response is not empty: {first}")
        if reads:
            self.read_on()

    @property
    def got(self):
        return [(one.topic, one.payload.data) for one in self.publications]

    def _add(self, response):
        for publication in response.publications:
            if publication.missed:
                self.missed.append((len(self.publications), publication.missed))
            self.publications.append(publication)
        if response.missed:
            self.missed.append((len(self.publications), response.missed))

    def wait_until_got(self, *got):
        self.wait_for(lambda: len(self.got) >= len(got), f"{got}, not {self.got}")
        if self.got != list(got):
            raise AssertionError(f"got {self.got}, not {list(got)}")
