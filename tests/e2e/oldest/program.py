"""The oldest client: a program with the stubs of the oldest API alone.

Usage: program.py ADDRESS

Drives a daemon with the plugins echo, counter and order and the external commands
payment.*. Ends with an error at the first answer that is not as it was.
"""

import json
import queue
import sys
import threading

import grpc
from actord.v1 import (actor_service_pb2_grpc, dead_letter_pb2, name_pb2, outcome_pb2,
                       payload_pb2, plugin_pb2, process_pb2, status_pb2, stream_pb2,
                       watch_pb2, work_pb2, yield_pb2)
from harness.waiting import WAIT_SECONDS, eventually

ORDER = {"order": "A-1", "amount_cents": 5, "hold_ms": 1}


def expect(what, seen, wanted):
    if seen != wanted:
        raise AssertionError(f"{what}: {seen!r}, not {wanted!r}")


def payload(data=b""):
    return payload_pb2.Payload(data=data)


class Program:

    def __init__(self, stub):
        self.stub = stub

    def submit(self, process_type, data=b"", **fields):
        return self.stub.Submit(process_pb2.SubmitRequest(
            process_type=process_type, input=payload(data), **fields),
            timeout=WAIT_SECONDS)

    def call(self, pid, topic):
        return self.stub.Call(process_pb2.CallRequest(pid=pid, topic=topic),
                              timeout=WAIT_SECONDS).result.data

    def outcome(self, pid):
        return self.stub.Await(outcome_pb2.AwaitRequest(pid=pid),
                               timeout=WAIT_SECONDS).outcome

    def waiting(self, pid):
        [found] = eventually(lambda: self.stub.ListYields(
            yield_pb2.ListYieldsRequest(command="payment.*", pid=pid),
            timeout=WAIT_SECONDS).yields, "the yield")
        return found

    def processes(self):
        first = self.submit("counter", b"40", name="count", request_id="one",
                            priority=20, messages=[process_pb2.Message(
                                topic="add", payload=payload(b"1"))])
        expect("new", (first.duplicate, first.delivered), (False, False))
        again = self.submit("counter", b"40", name="count", request_id="one",
                            priority=20, messages=[process_pb2.Message(
                                topic="add", payload=payload(b"1"))])
        expect("repeated", (again.pid, again.duplicate), (first.pid, True))
        held = self.submit("counter", name="count", messages=[
            process_pb2.Message(topic="add", payload=payload(b"2"))],
            on_name_conflict=process_pb2.SubmitRequest.NAME_CONFLICT_DELIVER)
        expect("delivered", (held.pid, held.delivered), (first.pid, True))
        for duplicate in (False, True):
            sent = self.stub.Send(process_pb2.SendRequest(
                pid="@count", topic="add", payload=payload(b"-1"), message_id="m"))
            expect("sent", sent.duplicate, duplicate)
        expect("answer", self.call("@count", "get"), b"42")
        process = self.stub.GetProcess(
            process_pb2.GetProcessRequest(pid=first.pid)).process
        expect("process", (process.pid, process.process_type, process.priority),
               (first.pid, "counter", 20))
        names = self.stub.ListNames(name_pb2.ListNamesRequest(prefix="co")).names
        expect("names", [(one.name, one.pid) for one in names],
               [("count", first.pid)])
        page = self.stub.ListProcesses(process_pb2.ListProcessesRequest(
            process_type="counter", page_size=10))
        expect("list", [one.pid for one in page.processes], [first.pid])
        self.stub.Cancel(outcome_pb2.CancelRequest(pid=first.pid, reason="enough"))
        outcome = self.outcome(first.pid)
        expect("result", (outcome.WhichOneof("end"), outcome.result.data),
               ("result", b"42"))
        second = self.submit("counter").pid
        self.stub.Terminate(outcome_pb2.TerminateRequest(pid=second, reason="over"))
        expect("failure", (self.outcome(second).failure.reason,
                           self.outcome(second).failure.message),
               (outcome_pb2.FAILURE_REASON_TERMINATED, "over"))

    def refusals(self):
        for call, code in (
                (lambda: self.submit("nothing"), grpc.StatusCode.NOT_FOUND),
                (lambda: self.call("@nobody", "get"), grpc.StatusCode.NOT_FOUND),
                (lambda: self.call("x", "get"), grpc.StatusCode.INVALID_ARGUMENT)):
            try:
                call()
            except grpc.RpcError as error:
                expect("refusal", error.code(), code)
            else:
                raise AssertionError(f"no {code}")

    def yields(self):
        pid = self.submit("order", json.dumps(ORDER).encode()).pid
        waiting = self.waiting(pid)
        expect("command", (waiting.command, waiting.pid, waiting.process_type),
               ("payment.charge", pid, "order"))
        for answer in ("ANSWER_ACCEPTED", "ANSWER_DUPLICATE"):
            response = self.stub.CompleteYield(yield_pb2.CompleteYieldRequest(
                token=waiting.token, result=payload(b"paid")))
            expect("completion", yield_pb2.CompleteYieldResponse.Answer.Name(
                response.answer), answer)
        expect("order", json.loads(self.outcome(pid).result.data)["payment"], "paid")

    def work(self):
        requests = queue.Queue()
        requests.put(work_pb2.WorkRequest(
            subscribe=work_pb2.Subscribe(commands=["payment.*"], worker="oldest"),
            add_credits=2))
        responses = self.stub.Work(iter(requests.get, None), timeout=WAIT_SECONDS)
        expect("subscribed", next(responses).HasField("subscribed"), True)
        pid = self.submit("order", json.dumps(ORDER).encode()).pid
        kinds = []
        for response in responses:
            for task in response.tasks:
                expect("task", (task.command, task.pid, task.attempt),
                       ("payment.charge", pid, 1))
                requests.put(work_pb2.WorkRequest(
                    heartbeats=[work_pb2.TaskHeartbeat(token=task.token)]))
            for answer in response.answers:
                expect("answer", (answer.answer, answer.HasField("refusal")),
                       (yield_pb2.CompleteYieldResponse.ANSWER_ACCEPTED, False))
                kinds.append(answer.kind)
                if len(kinds) == 1:
                    requests.put(work_pb2.WorkRequest(
                        completions=[yield_pb2.CompleteYieldRequest(
                            token=answer.token, result=payload(b"charged"))]))
            if len(kinds) == 2:
                requests.put(work_pb2.WorkRequest(stop=True))
                requests.put(None)
        expect("answers", kinds, [work_pb2.TaskAnswer.KIND_HEARTBEAT,
                                  work_pb2.TaskAnswer.KIND_COMPLETION])
        expect("order", json.loads(self.outcome(pid).result.data)["payment"], "charged")

    def streams(self):
        pid = self.submit("counter").pid
        items = [process_pb2.SendRequest(pid=pid, topic="add", payload=payload(b"1"))
                 for _ in range(100)]
        items.append(process_pb2.SendRequest(pid="@nobody"))
        acked, refused = 0, []
        for response in self.stub.SendStream(
                iter([stream_pb2.SendStreamRequest(sends=items)]),
                timeout=WAIT_SECONDS):
            acked = response.acked_count
            refused += [(one.index, one.refusal.reason) for one in response.refusals]
        expect("acknowledged", (acked, refused), (101, [(100, "NAME_NOT_FOUND")]))
        expect("sum", self.call(pid, "get"), b"100")
        outcomes = {}
        for response in self.stub.SubmitStream(
                iter([stream_pb2.SubmitStreamRequest(
                    submissions=[process_pb2.SubmitRequest(
                        process_type="echo", input=payload(b"%d" % number))
                        for number in range(10)], await_outcomes=True)]),
                timeout=WAIT_SECONDS):
            outcomes |= {news.index: news.outcome.result.data
                         for news in response.news if news.HasField("outcome")}
        expect("outcomes", outcomes, {number: b"%d" % number for number in range(10)})

    def watch(self):
        before = self.submit("counter").pid
        live, events, seen = set(), [], threading.Event()
        token = []

        def read(responses):
            for response in responses:
                token[:] = [response.resume_token]
                if response.WhichOneof("update") == "snapshot":
                    live.update(one.pid for one in response.snapshot.processes)
                    if response.snapshot.last:
                        seen.set()
                for event in response.events.events:
                    kind = event.WhichOneof("event")
                    events.append((kind, getattr(event, kind).pid))

        def read_until_cancelled(responses):
            try:
                read(responses)
            except grpc.RpcError as error:
                expect("end of the watch", error.code(), grpc.StatusCode.CANCELLED)

        responses = self.stub.WatchProcesses(
            watch_pb2.WatchProcessesRequest(process_type="counter"))
        thread = threading.Thread(target=read_until_cancelled, args=(responses,))
        thread.start()
        expect("snapshot", seen.wait(WAIT_SECONDS), True)
        expect("live", before in live, True)
        after = self.submit("counter").pid
        self.stub.Terminate(outcome_pb2.TerminateRequest(pid=after))
        eventually(lambda: len(events) >= 2, "two events")
        expect("events", events, [("started", after), ("ended", after)])
        responses.cancel()
        thread.join()
        # And goes on where it was.
        third = self.submit("counter").pid
        responses = self.stub.WatchProcesses(watch_pb2.WatchProcessesRequest(
            process_type="counter", resume_token=token[0]), timeout=WAIT_SECONDS)
        # The first response may have a token alone.
        resumed = next(one for one in responses if one.WhichOneof("update"))
        expect("resumed",
               [event.started.pid for event in resumed.events.events], [third])
        responses.cancel()

    def daemon(self):
        status = self.stub.GetStatus(status_pb2.GetStatusRequest())
        expect("state", status.state, status_pb2.DAEMON_STATE_SERVING)
        expect("counter", status.counters.processes_started_total > 0, True)
        types = {one.name for one in status.process_types}
        expect("types", {"counter", "echo", "order"} - types, set())
        plugins = self.stub.ListPlugins(plugin_pb2.ListPluginsRequest()).plugins
        names = {one.plugin.name for one in plugins}
        expect("plugins", {"counter", "echo"} - names, set())
        letters = self.stub.ListDeadLetters(
            dead_letter_pb2.ListDeadLettersRequest()).dead_letters
        expect("letters", list(letters), [])
        ended = self.stub.Shutdown(status_pb2.ShutdownRequest(
            mode=status_pb2.ShutdownRequest.MODE_NOW), timeout=WAIT_SECONDS)
        expect("ended", (ended.ended_count, ended.forced_count), (0, 3))


def main():
    with grpc.insecure_channel(sys.argv[1]) as channel:
        grpc.channel_ready_future(channel).result(WAIT_SECONDS)
        program = Program(actor_service_pb2_grpc.ActorServiceStub(channel))
        for part in (program.processes, program.refusals, program.yields,
                     program.work, program.streams, program.watch, program.daemon):
            part()
            print(part.__name__, flush=True)


if __name__ == "__main__":
    main()
