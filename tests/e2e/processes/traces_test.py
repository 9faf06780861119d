"""The trace of a call, on its way to a remote worker and into the log."""

import json

from actord.v1 import payload_pb2, process_pb2
from admin.api import Api, payload
from admin.pages import admin_port
from harness.bulk import SubmitStream, submit_item
from harness.case import EmptyCase
from harness.connection import CALL_SECONDS
from harness.waiting import eventually
from harness.work import RemoteWorker

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE_ID}-00f067aa0ba902b7-01"
OTHER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
STATE = "rojo=00f067aa0ba902b7"
ORDER = json.dumps({"command": "manual.do"}).encode()


class TracedStub:
    """The streams of a stub, with the trace PARENT."""

    def __init__(self, stub):
        metadata = (("traceparent", PARENT),)
        self.SubmitStream = lambda requests: stub.SubmitStream(
            requests, metadata=metadata)


class Traces(EmptyCase):

    def start(self, *options):
        self.daemon = self.start_daemon("--admin-listen", "127.0.0.1:0",
                                        "--admin-api", *options)
        self.actor = self.connect(self.daemon)

    def submit(self, metadata=(), method="yield", data=ORDER, **fields):
        request = process_pb2.SubmitRequest(
            process_type="probe", method=method,
            input=payload_pb2.Payload(data=data), **fields)
        return self.actor.stub.Submit(request, metadata=metadata,
                                      timeout=CALL_SECONDS).pid

    def trace_of(self, pid):
        """The trace of the yield of this process."""
        [found] = eventually(lambda: self.actor.yields(pid=pid), "the yield")
        return found.traceparent, found.tracestate

    def test_worker_sees_the_trace_of_the_submission(self):
        self.start()
        pid = self.submit((("traceparent", PARENT), ("tracestate", STATE),
                           ("tracestate", "congo=1")))
        self.assertEqual(self.trace_of(pid), (PARENT, STATE + ",congo=1"))
        worker = RemoteWorker(self.actor.stub, "manual.*", credits=1)
        self.addCleanup(worker.close)
        task = worker.task()
        self.assertEqual((task.pid, task.traceparent, task.tracestate),
                         (pid, PARENT, STATE + ",congo=1"))
        # The field of the request goes before the metadata of the call.
        pid = self.submit((("traceparent", PARENT),), traceparent=OTHER,
                          tracestate="a=b")
        self.assertEqual(self.trace_of(pid), (OTHER, "a=b"))

    def test_broken_traces_are_none(self):
        self.start()
        for metadata in ((), (("traceparent", PARENT.upper()),),
                         (("traceparent", PARENT + "0"),),
                         (("tracestate", STATE),),
                         (("traceparent", PARENT), ("traceparent", PARENT))):
            self.assertEqual(self.trace_of(self.submit(metadata)), ("", ""))

    def test_items_of_streams_have_their_own(self):
        self.start()
        stream = SubmitStream(TracedStub(self.actor.stub))
        self.addCleanup(stream.cancel)
        stream.submit(submit_item("probe", ORDER, method="yield"),
                      submit_item("probe", ORDER, method="yield",
                                  traceparent=OTHER))
        eventually(lambda: len(self.actor.yields()) == 2, "both yields")
        self.assertEqual({one.traceparent for one in self.actor.yields()},
                         {PARENT, OTHER})

    def test_headers_of_http_count(self):
        self.start()
        api = Api(admin_port(self.daemon))
        answer = api.raw("/v1/processes/probe?method=yield", ORDER,
                         headers={"traceparent": PARENT, "tracestate": STATE})
        self.assertEqual(self.trace_of(answer.json["pid"]), (PARENT, STATE))
        answer = api.raw("/actord.v1.ActorService/Submit", json.dumps(
            {"processType": "probe", "method": "yield",
             "input": payload(ORDER)}).encode(),
            headers={"traceparent": OTHER, "Content-Type": "application/json"})
        self.assertEqual(self.trace_of(answer.json["pid"]), (OTHER, ""))

    def test_failure_names_its_trace(self):
        self.start()
        pid = self.submit((("traceparent", PARENT),), "fail", b"because")
        eventually(lambda: f"process {pid} (probe, trace {TRACE_ID}) failed"
                   in self.daemon.log(), "the line of the log")
        [failure] = self.actor.failures().failures
        self.assertEqual(failure.trace_id, TRACE_ID)

    def test_metadata_is_not_read_if_propagation_is_off(self):
        self.start("--traces-propagate=false")
        pid = self.submit((("traceparent", PARENT),))
        self.assertEqual(self.trace_of(pid), ("", ""))
        pid = self.submit((("traceparent", PARENT),), traceparent=OTHER)
        self.assertEqual(self.trace_of(pid), (OTHER, ""))
