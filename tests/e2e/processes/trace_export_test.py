"""The spans of calls and steps, as a collector of OpenTelemetry gets them."""

import json
import time

import grpc
from actord.v1 import payload_pb2, process_pb2
from admin.api import Api
from admin.pages import admin_port
from harness.bulk import SendStream, SubmitStream, send_item, submit_item
from harness.case import DURABLE, EmptyCase
from harness.connection import CALL_SECONDS
from harness.daemon import free_port, run_actord
from harness.waiting import eventually
from harness.work import RemoteWorker
from processes.collector import Collector, HostileCollector

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
CLIENT = "00f067aa0ba902b7"
SAMPLED = (("traceparent", f"00-{TRACE_ID}-{CLIENT}-01"), ("tracestate", "a=b"))
UNSAMPLED = (("traceparent", f"00-{TRACE_ID}-{CLIENT}-00"),)
ORDER = {"command": "manual.do"}
SUBMIT = "actord.v1.ActorService/Submit"


class TracedStub:
    """The streams of a stub, with the trace SAMPLED."""

    def __init__(self, stub):
        self.SubmitStream = lambda requests: stub.SubmitStream(
            requests, metadata=SAMPLED)
        self.SendStream = lambda requests: stub.SendStream(
            requests, metadata=SAMPLED)


class TraceExport(EmptyCase):

    def start(self, url, *options, **more):
        self.daemon = self.start_daemon("--traces-endpoint", url, *options, **more)
        self.actor = self.connect(self.daemon)

    def start_with_collector(self, *options, **more):
        self.collector = Collector(self)
        self.start(self.collector.url, *options, **more)

    def submit(self, method, data=b"", metadata=SAMPLED, **fields):
        request = process_pb2.SubmitRequest(
            process_type=fields.pop("process_type", "probe"), method=method,
            input=payload_pb2.Payload(
                data=data if isinstance(data, bytes) else json.dumps(data).encode()),
            **fields)
        return self.actor.stub.Submit(request, metadata=metadata,
                                      timeout=CALL_SECONDS).pid

    def send(self, pid, topic, metadata=SAMPLED):
        self.actor.stub.Send(process_pb2.SendRequest(pid=pid, topic=topic),
                             metadata=metadata, timeout=CALL_SECONDS)

    def counters(self):
        return self.actor.status().counters

    def only(self, spans, **about):
        """The one span whose members, or attributes, are so."""
        def fits(span, key, value):
            return value == (getattr(span, key) if hasattr(span, key) else
                             span.attributes.get("actord." + key.replace("_", ".")))
        found = [span for span in spans
                 if all(fits(span, key, value) for key, value in about.items())]
        self.assertEqual(len(found), 1, f"{about} in {spans}")
        return found[0]

    def test_chain_is_one_tree(self):
        self.start_with_collector()
        parent = self.submit("spawn", {"type": "probe", "method": "yield",
                                       "input": ORDER})
        worker = RemoteWorker(self.actor.stub, "manual.*", credits=1)
        self.addCleanup(worker.close)
        task = worker.task()
        worker.complete(task)
        spans = self.collector.spans(7)
        self.assertEqual({(span.trace, span.state, span.flags) for span in spans},
                         {(TRACE_ID, "a=b", 1)})
        call = self.only(spans, name=SUBMIT)
        self.assertEqual((call.kind, call.parent), ("SERVER", CLIENT))
        self.assertEqual(call.attributes, {
            "rpc.system": "grpc", "rpc.service": "actord.v1.ActorService",
            "rpc.method": "Submit", "rpc.grpc.status_code": 0})
        init = self.only(spans, name="probe init", process_pid=parent)
        first = self.only(spans, process_pid=parent, step_number=1)
        child_init = self.only(spans, name="probe init", process_pid=task.pid)
        child_first = self.only(spans, process_pid=task.pid, step_number=1)
        child_last = self.only(spans, process_pid=task.pid, step_number=2)
        last = self.only(spans, process_pid=parent, step_number=2)
        self.assertEqual(
            [init.parent, first.parent, child_init.parent, child_first.parent,
             child_last.parent, last.parent],
            [call.id, init.id, first.id, child_init.id, child_first.id, first.id])
        # The span of the worker goes below the step that has asked for it.
        self.assertEqual(task.traceparent,
                         f"00-{TRACE_ID}-{child_first.id}-01")
        self.assertEqual((child_last.kind, child_last.attributes), ("CONSUMER", {
            "actord.process.type": "probe", "actord.process.pid": task.pid,
            "actord.step.number": 2, "actord.step.events": 1}))
        self.assertEqual(child_first.kind, "INTERNAL")
        for span in spans:
            self.assertLessEqual(span.begin, span.end)
            self.assertLess(abs(span.begin / 1e9 - time.time()), 3600)
        self.assertEqual(len({span.id for span in spans}), 7)

    def test_children_of_a_step_and_their_messages(self):
        self.start_with_collector()
        parent = self.submit("children", b"1")
        spans = self.collector.spans(6)
        first = self.only(spans, process_pid=parent, step_number=1)
        child_init = self.only(spans, parent=first.id)
        child_step = self.only(spans, parent=child_init.id)
        hello = self.only(spans, process_pid=parent, step_number=2)
        self.assertEqual(hello.parent, child_step.id)

    def test_messages_of_several_calls_are_linked(self):
        self.start_with_collector()
        pid = self.submit("collect", metadata=())
        for topic in ("one", "two", "three"):
            self.send(pid, topic)
        calls = self.collector.spans(3, kind="SERVER")
        steps = eventually(
            lambda: sum(span.attributes["actord.step.events"] for span in
                        self.collector.spans(kind="CONSUMER")) == 3
            and self.collector.spans(kind="CONSUMER"), "the steps")
        causes = [(TRACE_ID, step.parent) for step in steps]
        for step in steps:
            self.assertEqual(len(step.links) + 1,
                             step.attributes["actord.step.events"])
            causes += step.links
        self.assertEqual(sorted(causes),
                         sorted((TRACE_ID, call.id) for call in calls))

    def test_failures_of_steps_and_of_calls(self):
        self.start_with_collector()
        self.submit("fail", b"because")
        step = self.collector.spans(1, failed=True)[0]
        self.assertEqual((step.name, step.message), ("probe step", "because"))
        with self.assertRaises(grpc.RpcError):
            self.send("1.1.1.1", "x")
        refused = self.collector.spans(1, name="actord.v1.ActorService/Send")[0]
        self.assertEqual(refused.attributes["rpc.grpc.status_code"], 5)
        self.assertFalse(refused.failed, "it is the client's mistake")

    def test_other_calls_end_their_spans(self):
        self.start_with_collector("--admin-listen", "127.0.0.1:0", "--admin-api")
        pid = self.submit("answer", metadata=())
        request = process_pb2.CallRequest(pid=pid, topic="echo")
        self.actor.stub.Call(request, metadata=SAMPLED, timeout=CALL_SECONDS)
        request.topic = "never"
        with self.assertRaises(grpc.RpcError):
            self.actor.stub.Call(request, metadata=SAMPLED, timeout=0.2)
        calls = self.collector.spans(2, name="actord.v1.ActorService/Call")
        self.assertEqual([call.attributes["rpc.grpc.status_code"]
                          for call in calls], [0, 4], "the second was too late")
        api = Api(admin_port(self.daemon))
        headers = dict(SAMPLED) | {"Content-Type": "application/json"}
        api.raw("/actord.v1.ActorService/GetProcess",
                json.dumps({"pid": pid}).encode(), headers=headers)
        api.raw("/actord.v1.ActorService/Await",
                json.dumps({"pid": "1.1.1.1"}).encode(), headers=headers)
        done, refused = (self.collector.spans(
            1, name=f"actord.v1.ActorService/{method}")[0]
                         for method in ("GetProcess", "Await"))
        self.assertEqual(done.attributes, {
            "rpc.system": "connect_rpc", "rpc.service": "actord.v1.ActorService",
            "rpc.method": "GetProcess"})
        self.assertEqual(refused.attributes["rpc.connect_rpc.error_code"],
                         "not_found")
        late = api.raw("/actord.v1.ActorService/Await",
                       json.dumps({"pid": pid}).encode(),
                       headers=headers | {"Connect-Timeout-Ms": "200"})
        self.assertEqual(late.status, 504)
        calls = self.collector.spans(2, name="actord.v1.ActorService/Await")
        self.assertEqual(calls[1].attributes["rpc.connect_rpc.error_code"],
                         "deadline_exceeded")

    def test_streams(self):
        self.start_with_collector()

        stream = SubmitStream(TracedStub(self.actor.stub))
        other = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        stream.submit(submit_item("probe", b"", method="idle"),
                      submit_item("probe", b"", method="idle", traceparent=other))
        inits = self.collector.spans(2, name="probe init")
        self.assertEqual(self.collector.spans(kind="SERVER"), [],
                         "the call has not ended")
        stream.cancel()
        call = self.collector.spans(1, kind="SERVER")[0]
        self.assertEqual((call.name, call.attributes["rpc.grpc.status_code"]),
                         ("actord.v1.ActorService/SubmitStream", 1))
        self.assertEqual({init.parent for init in inits},
                         {call.id, "b7ad6b7169203331"})

    def test_messages_of_streams_and_of_commands(self):
        self.start_with_collector()
        pid = self.submit("collect", metadata=())
        stream = SendStream(TracedStub(self.actor.stub))
        stream.send(send_item(pid, "one"))
        stream.wait_for_acks(1)
        step = self.collector.spans(1, kind="CONSUMER")[0]
        stream.cancel()
        call = self.collector.spans(1, kind="SERVER")[0]
        self.assertEqual((call.name, step.parent),
                         ("actord.v1.ActorService/SendStream", call.id))
        sender = self.submit("send", {"to": pid, "topic": "two"})
        first = eventually(lambda: [
            span for span in self.collector.spans(name="probe step")
            if span.attributes["actord.process.pid"] == sender
            and span.attributes["actord.step.number"] == 1], "the sender")[0]
        sent = self.collector.spans(2, parent=first.id)
        self.assertEqual({span.attributes["actord.process.pid"] for span in sent},
                         {pid, sender}, "the message, and the answer to the command")

    def test_repeated_ids_cause_no_second_step(self):
        self.start_with_collector()
        pid = self.submit("collect", request_id="first")
        self.assertEqual(self.submit("collect", request_id="first"), pid)
        self.collector.spans(2, name=SUBMIT)
        self.assertEqual(len(self.collector.spans(1, name="probe init")), 1)
        request = process_pb2.SendRequest(pid=pid, topic="x", message_id="a")
        for _ in range(2):
            self.actor.stub.Send(request, metadata=SAMPLED, timeout=CALL_SECONDS)
        call = self.collector.spans(2, name="actord.v1.ActorService/Send")[0]
        step = self.collector.spans(1, kind="CONSUMER")[0]
        self.assertEqual(step.parent, call.id)

    def test_durable_processes(self):
        self.start_with_collector("--store", self.directory / "store")
        pid = self.submit("", b"5", process_type="counter", durability=DURABLE)
        self.send(pid, "add")
        spans = self.collector.spans(5)
        added = self.only(spans, process_pid=pid, kind="CONSUMER")
        call = self.only(spans, name="actord.v1.ActorService/Send")
        self.assertEqual(added.parent, call.id)

    def test_traces_that_are_not_sampled_make_no_spans(self):
        self.start_with_collector()
        pid = self.submit("yield", ORDER, metadata=UNSAMPLED)
        found, = eventually(lambda: self.actor.yields(pid=pid), "the yield")
        self.assertEqual(found.traceparent, UNSAMPLED[0][1])
        self.submit("idle", metadata=())
        # A sampled one comes after them.
        self.submit("idle", metadata=SAMPLED)
        self.assertEqual({span.trace for span in self.collector.spans(3)},
                         {TRACE_ID})
        self.assertNotIn(pid, str(self.collector.spans()))

    def test_daemon_begins_traces_of_its_own(self):
        self.start_with_collector("--traces-sample", "1")
        self.submit("idle", metadata=UNSAMPLED)
        pid = self.submit("yield", ORDER, metadata=())
        spans = eventually(lambda: self.collector.spans(name=SUBMIT), "the call")
        self.assertEqual(len(spans), 1, "a client that does not sample decides")
        call, = spans
        self.assertEqual((call.parent, call.flags), ("", 3))
        self.assertNotEqual(call.trace, TRACE_ID)
        init = self.collector.spans(1, name="probe init")[0]
        self.assertEqual((init.trace, init.parent), (call.trace, call.id))
        found, = eventually(lambda: self.actor.yields(pid=pid), "the yield")
        self.assertEqual(found.traceparent[3:35], call.trace)

    def test_spans_name_their_daemon(self):
        self.start_with_collector()
        self.submit("idle")
        self.collector.spans(3)
        resource = self.collector.resources[0]
        self.assertEqual(resource["service.name"], "actord")
        self.assertEqual(resource["service.version"], self.actor.status().version)
        self.assertRegex(resource["service.instance.id"],
                         r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
        path, headers = self.collector.requests[0]
        self.assertEqual((path, headers["Content-Type"]),
                         ("/v1/traces", "application/x-protobuf"))
        eventually(lambda: self.counters().spans_exported_total == 3,
                   "the counter")

    def test_daemon_serves_without_its_collector(self):
        port = free_port()
        self.start(f"http://127.0.0.1:{port}", "--traces-queue", "512")
        for _ in range(400):
            self.submit("idle")
        eventually(lambda: self.counters().spans_dropped_total > 0, "drops")
        self.assertGreater(self.counters().span_export_failures_total, 0)
        self.assertEqual(self.counters().spans_exported_total, 0)
        self.assertEqual(self.actor.run("echo", b"1").result.data, b"1")
        collector = Collector(self, port=port)
        eventually(lambda: len(collector.spans()) > 500, "the spans that waited")
        log = eventually(
            lambda: "takes spans again" in self.daemon.log() and self.daemon.log(),
            "the line of the log")
        self.assertEqual(log.count("does not take spans"), 1, log)

    def test_shutdown_sends_what_waits(self):
        self.start_with_collector()
        pid = self.submit("yield", ORDER)
        eventually(lambda: self.actor.yields(pid=pid), "the yield")
        self.assertEqual(self.daemon.stop(), 0)
        self.only(self.collector.spans(), name=SUBMIT)
        self.only(self.collector.spans(), process_pid=pid, step_number=1)

    def test_hostile_collectors(self):
        for answer in (HostileCollector.hang, HostileCollector.flood,
                       HostileCollector.drip):
            with self.subTest(answer.__name__):
                collector = HostileCollector(self, answer)
                self.start(collector.url)
                before = self.daemon.resident_bytes()
                self.submit("idle")
                eventually(lambda: collector.requests, "the request")
                time.sleep(1)
                self.assertEqual(self.actor.run("echo", b"1").result.data, b"1")
                self.assertEqual(self.counters().spans_exported_total, 0)
                self.assertLess(self.daemon.grown_bytes(before), 64 << 20)
                began = time.monotonic()
                self.assertEqual(self.daemon.stop(), 0)
                self.assertLess(time.monotonic() - began, 15)

    def test_wrong_endpoints_are_refused(self):
        for url, text in (("https://a:1", "needs TLS"), ("a:1", "not a URL"),
                          ("http://a:1/v1/traces", "adds by itself"),
                          ("http://a:b", "not a URL")):
            done = run_actord("--traces-endpoint", url)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(text, done.stderr)
