"""How each method of the service can ask for what belongs to another owner."""

import collections.abc
import dataclasses

import grpc
from actord.v1 import (call_pb2, client_pb2, dead_letter_pb2, failure_pb2,
                       history_pb2, name_pb2, outcome_pb2, payload_pb2, process_pb2, quarantine_pb2, topic_pb2, watch_pb2,
                       work_pb2, yield_pb2)
from harness.bulk import SendStream, SubmitStream, send_item, submit_item
from harness.connection import CALL_SECONDS, refusal_of
from harness.waiting import eventually
from harness.work import RemoteWorker


@dataclasses.dataclass
class Thing:
    """What belongs to somebody else, or does not exist."""
    pid: str
    name: str
    token: str
    letter: str
    owner: str
    request_id: str
    message_id: str
    pages: dict  # page tokens, by method
    resume: str
    connection: int
    # PIDs of durable processes, some of them in quarantine.
    durable: tuple = ()
    # The owner publishes something under the topic `name`.
    publish: collections.abc.Callable = lambda: None

    def hide(self, answer):
        """The answer without the texts that were asked for."""
        number = self.letter.split(".")[1]
        text = str(answer).replace(f"dead letter {number}:", "dead letter ?:").replace(
            f"connection {self.connection} ", "connection ? ")
        for what in (self.token, self.pid, self.letter, self.name, self.owner,
                     *self.durable):
            text = text.replace(what, "?")
        return text


def answer_of(call, what=str):
    try:
        return "OK", what(call())
    except grpc.RpcError as error:
        refusal = refusal_of(error)
        return refusal.code, refusal.reason, refusal.message, refusal.fields


class Asks:
    """How each method can ask for a thing: a function for each method, which
    returns its answers. `own`: a process of the one who asks."""

    def __init__(self, stub, own):
        self.stub, self.own = stub, own

    def _unary(self, method, *requests, what=str):
        call = getattr(self.stub, method)
        return [answer_of(lambda request=request: call(request,
                                                       timeout=CALL_SECONDS), what)
                for request in requests]

    def ask(self, method, *requests):
        """The answers to requests of a unary method."""
        return self._unary(method, *requests)

    @staticmethod
    def names(thing):
        """As the name of one's own, and of the thing's owner."""
        return "@" + thing.name, f"@{thing.name}@{thing.owner}"

    def _addresses(self, thing):
        """The PIDs, a name, and a name of the thing's owner."""
        return (thing.pid, *thing.durable, *self.names(thing))

    @staticmethod
    def _groups(thing):
        return "#" + thing.name, f"#{thing.name}@{thing.owner}"

    def _addressed(self, method, request_type, thing, **fields):
        return self._unary(method, *(request_type(pid=address, **fields)
                                     for address in self._addresses(thing)))

    def Submit(self, thing):
        def what(response):
            self.stub.Terminate(outcome_pb2.TerminateRequest(pid=response.pid))
            eventually(lambda: not self.stub.ListNames(
                name_pb2.ListNamesRequest(prefix=thing.name)).names, "the end")
            return response.duplicate, response.delivered
        return [answer for conflict in (process_pb2.SubmitRequest.NAME_CONFLICT_FAIL,
                                        process_pb2.SubmitRequest.NAME_CONFLICT_DELIVER)
                for answer in self._unary("Submit", process_pb2.SubmitRequest(
                    process_type="counter", name=thing.name,
                    on_name_conflict=conflict), what=what)] + self._unary(
            "Submit", process_pb2.SubmitRequest(
                process_type="counter", request_id=thing.request_id,
                input=payload_pb2.Payload(data=b"7")), what=what)

    def Run(self, thing):
        def what(response):
            submitted = response.submitted
            return (submitted.duplicate, submitted.delivered,
                    response.outcome.result.data)
        return self._unary("Run", *(
            outcome_pb2.RunRequest(submit=process_pb2.SubmitRequest(
                process_type="echo", input=payload_pb2.Payload(data=b"7"), **fields))
            for fields in (
                {"name": thing.name},
                {"name": thing.name, "on_name_conflict":
                    process_pb2.SubmitRequest.NAME_CONFLICT_DELIVER},
                {"request_id": "r" + thing.request_id})), what=what)

    def SubmitStream(self, thing):
        stream = SubmitStream(self.stub)
        stream.submit(submit_item("counter", name=thing.name),
                      submit_item("counter", b"9", request_id="s" + thing.request_id))
        stream.wait_for(lambda: len(stream.submitted) + len(stream.refused) == 2,
                        "the news")
        answers = [(index, news.duplicate) for index, news in
                   sorted(stream.submitted.items())] + list(stream.refused.items())
        stream.finish()
        for news in stream.submitted.values():
            self.stub.Terminate(outcome_pb2.TerminateRequest(pid=news.pid))
        return answers

    def Send(self, thing):
        return self._addressed("Send", process_pb2.SendRequest, thing,
                               topic="add") + self._unary(
            "Send", *(process_pb2.SendRequest(pid=group, topic="add")
                      for group in self._groups(thing)),
            process_pb2.SendRequest(pid=self.own, topic="add",
                                    message_id=thing.message_id))

    def SendStream(self, thing):
        stream = SendStream(self.stub)
        items = [send_item(address, "add") for address in
                 (*self._addresses(thing), *self._groups(thing))]
        items.append(send_item(self.own, "add", message_id="s" + thing.message_id))
        stream.send(*items)
        stream.wait_for_acks(len(items))
        stream.finish()
        return [sorted(stream.refused.items()), stream.duplicates]

    def Call(self, thing):
        start = process_pb2.SubmitRequest(
            process_type="counter", input=payload_pb2.Payload(data=b"7"))

        def what(response):
            self.stub.Terminate(outcome_pb2.TerminateRequest(pid=response.pid))
            eventually(lambda: not self.stub.ListNames(
                name_pb2.ListNamesRequest(prefix=thing.name)).names, "the end")
            return response.started, response.result.data
        return self._addressed(
            "Call", process_pb2.CallRequest, thing, topic="add") + self._unary(
            "Call", *(process_pb2.CallRequest(pid=address, topic="get",
                                              start_if_absent=start)
                      for address in self.names(thing)), what=what)

    def Await(self, thing):
        return self._addressed("Await", outcome_pb2.AwaitRequest, thing)

    def Cancel(self, thing):
        deadline = outcome_pb2.CancelRequest()
        deadline.deadline.FromMilliseconds(1)
        return self._addressed("Cancel", outcome_pb2.CancelRequest, thing,
                               deadline=deadline.deadline)

    def Terminate(self, thing):
        return self._addressed("Terminate", outcome_pb2.TerminateRequest, thing)

    def RetryQuarantine(self, thing):
        return self._addressed("RetryQuarantine",
                               quarantine_pb2.RetryQuarantineRequest, thing) + \
            self._unary("RetryQuarantine", quarantine_pb2.RetryQuarantineRequest(),
                        quarantine_pb2.RetryQuarantineRequest(process_type="crasher"),
                        quarantine_pb2.RetryQuarantineRequest(
                            page_token=thing.pages["RetryQuarantine"]))

    def ListQuarantine(self, thing):
        return self._unary("ListQuarantine", quarantine_pb2.ListQuarantineRequest(),
                           quarantine_pb2.ListQuarantineRequest(
                               process_type="crasher"),
                           quarantine_pb2.ListQuarantineRequest(
                               page_token=thing.pages["ListQuarantine"]))

    def GetProcess(self, thing):
        return self._addressed("GetProcess", process_pb2.GetProcessRequest, thing)

    def RecordProcess(self, thing):
        return self._addressed("RecordProcess", history_pb2.RecordProcessRequest,
                               thing) + \
            self._addressed("RecordProcess", history_pb2.RecordProcessRequest,
                            thing, stop=True)

    def ListProcesses(self, thing):
        return self._unary(
            "ListProcesses",
            process_pb2.ListProcessesRequest(parent_pid=thing.pid),
            *(process_pb2.ListProcessesRequest(parent_pid=name)
              for name in self.names(thing)),
            process_pb2.ListProcessesRequest(process_type="order"),
            process_pb2.ListProcessesRequest(labels=["tenant"]),
            process_pb2.ListProcessesRequest(process_type="order",
                                             state=process_pb2.PROCESS_STATE_ENDED),
            process_pb2.ListProcessesRequest(state=process_pb2.PROCESS_STATE_ENDED,
                                             process_type="order",
                                             owner=thing.owner),
            process_pb2.ListProcessesRequest(state=process_pb2.PROCESS_STATE_ENDED,
                                             labels=["tenant"]),
            process_pb2.ListProcessesRequest(
                page_token=thing.pages["ListProcesses"]))

    def ReadHistory(self, thing):
        def first(address):
            return next(self.stub.ReadHistory(
                history_pb2.ReadHistoryRequest(pid=address), timeout=CALL_SECONDS))
        return [answer_of(lambda address=address: first(address))
                for address in self._addresses(thing)]

    def WatchProcesses(self, thing):
        answers = []
        for request in (watch_pb2.WatchProcessesRequest(process_type="order"),
                        watch_pb2.WatchProcessesRequest(parent_pid=thing.pid),
                        *(watch_pb2.WatchProcessesRequest(parent_pid=name)
                          for name in self.names(thing)),
                        watch_pb2.WatchProcessesRequest(labels=["tenant"]),
                        watch_pb2.WatchProcessesRequest(resume_token=thing.resume)):
            call = self.stub.WatchProcesses(request, timeout=CALL_SECONDS)
            answers.append(answer_of(
                lambda call=call: next(call).snapshot.processes))
            call.cancel()
        return answers

    def Subscribe(self, thing):
        """The topics under which its owner, and then the one who asks, have
        published."""
        herald = self.stub.Submit(process_pb2.SubmitRequest(
            process_type="probe.herald"), timeout=CALL_SECONDS).pid
        call = self.stub.Subscribe(
            topic_pb2.SubscribeRequest(patterns=["*", thing.name]),
            timeout=CALL_SECONDS)

        def topics():
            next(call)  # The subscription is open.
            thing.publish()
            self.stub.Call(process_pb2.CallRequest(pid=herald, topic="own"),
                           timeout=CALL_SECONDS)
            seen = []
            while "own" not in seen:
                seen += [one.topic for one in next(call).publications]
            return seen

        answers = [answer_of(topics)]
        call.cancel()
        self.stub.Terminate(outcome_pb2.TerminateRequest(pid=herald),
                            timeout=CALL_SECONDS)
        return answers

    def ListNames(self, thing):
        return self._unary(
            "ListNames", name_pb2.ListNamesRequest(prefix=thing.name),
            name_pb2.ListNamesRequest(page_token=thing.pages["ListNames"]))

    def ListWorkers(self, thing):
        return self._unary(
            "ListWorkers", work_pb2.ListWorkersRequest(),
            work_pb2.ListWorkersRequest(command="manual.approve"),
            work_pb2.ListWorkersRequest(page_token=thing.pages["ListWorkers"]))

    def ListYields(self, thing):
        return self._unary(
            "ListYields", yield_pb2.ListYieldsRequest(),
            yield_pb2.ListYieldsRequest(pid=thing.pid),
            *(yield_pb2.ListYieldsRequest(pid=name) for name in self.names(thing)),
            yield_pb2.ListYieldsRequest(page_token=thing.pages["ListYields"]))

    def ListCalls(self, thing):
        return self._unary(
            "ListCalls", call_pb2.ListCallsRequest(),
            call_pb2.ListCallsRequest(pid=thing.pid),
            call_pb2.ListCallsRequest(callee_pid=thing.pid),
            *(call_pb2.ListCallsRequest(pid=name) for name in self.names(thing)),
            *(call_pb2.ListCallsRequest(callee_pid=name)
              for name in self.names(thing)),
            call_pb2.ListCallsRequest(page_token=thing.pages["ListCalls"]))

    def ListDeadLetters(self, thing):
        return self._unary(
            "ListDeadLetters", dead_letter_pb2.ListDeadLettersRequest(),
            dead_letter_pb2.ListDeadLettersRequest(to_pid=thing.pid),
            *(dead_letter_pb2.ListDeadLettersRequest(to_pid=name)
              for name in self.names(thing)),
            dead_letter_pb2.ListDeadLettersRequest(
                page_token=thing.pages["ListDeadLetters"]))

    def ListFailures(self, thing):
        return self._unary(
            "ListFailures", failure_pb2.ListFailuresRequest(),
            failure_pb2.ListFailuresRequest(pid=thing.pid),
            failure_pb2.ListFailuresRequest(
                page_token=thing.pages["ListFailures"]))

    def GetDeadLetter(self, thing):
        return self._unary("GetDeadLetter",
                           dead_letter_pb2.GetDeadLetterRequest(id=thing.letter))

    def ResendDeadLetter(self, thing):
        return self._unary(
            "ResendDeadLetter",
            dead_letter_pb2.ResendDeadLetterRequest(id=thing.letter),
            dead_letter_pb2.ResendDeadLetterRequest(id=thing.letter, to=self.own))

    def DropDeadLetters(self, thing):
        return self._unary("DropDeadLetters",
                           dead_letter_pb2.DropDeadLettersRequest(ids=[thing.letter]))

    def CompleteYield(self, thing):
        return self._unary("CompleteYield", *(
            yield_pb2.CompleteYieldRequest(
                token=token, result=payload_pb2.Payload(data=b"1"))
            for token in (thing.token, thing.token + ".1")))

    def CreateYieldLink(self, thing):
        return self._unary("CreateYieldLink", *(
            yield_pb2.CreateYieldLinkRequest(token=token)
            for token in (thing.token, thing.token + ".1")))

    def Work(self, thing):
        worker = RemoteWorker(self.stub, "manual.*")
        task = work_pb2.Task(token=thing.token + ".1")
        try:
            return [worker.complete(task), worker.fail(task), worker.beat(task)]
        finally:
            worker.close()

    def ListClients(self, thing):
        def what(response):
            return sorted({one.token.name for one in response.clients})
        return self._unary(
            "ListClients", client_pb2.ListClientsRequest(),
            client_pb2.ListClientsRequest(page_token=thing.pages["ListClients"]),
            what=what)

    def CutClient(self, thing):
        return self._unary("CutClient",
                           client_pb2.CutClientRequest(connection=thing.connection))

    # These show what is the same for every owner: the daemon and its plugins.
    GetStatus = ListPlugins = lambda self, thing: []

    # A caller who sees one owner is refused before the request is read, which
    # OfAllOwners in owners_test.py tests.
    LoadPlugin = Shutdown = Backup = ListLogLines = SetLogLevel = \
        lambda self, thing: []
