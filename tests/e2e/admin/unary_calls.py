"""A refused and a good request for each unary method, to compare what gRPC and other
clients get for them: the code, and the reason of a refusal."""

import base64

import grpc
from actord.v1 import actor_service_pb2
from admin.api import METHODS, UNARY
from google.protobuf import json_format
from harness import places
from harness.connection import CALL_SECONDS, refusal_of
from harness.tokens import TokenCase, bearer
from harness.waiting import eventually

NOBODY = "1.7.7.7"
# An order that takes no messages for ten minutes.
DEAF = b'{"order": "18", "amount_cents": 1, "hold_ms": 600000}'
# Requests that an administrator makes in vain.
REFUSED = {
    "Submit": {"processType": "nothing"}, "Run": {}, "Send": {"pid": "x"},
    "Call": {"pid": NOBODY, "topic": "get"}, "ListNames": {"pageToken": "x"},
    "Await": {"pid": NOBODY}, "Cancel": {"pid": NOBODY}, "Terminate": {"pid": "x"},
    "CompleteYield": {}, "CreateYieldLink": {"token": "x"},
    "ListWorkers": {"pageSize": -1}, "ListYields": {"pid": "x"},
    "ListCalls": {"pageToken": "x"}, "ListDeadLetters": {"toPid": "x"},
    "GetDeadLetter": {"id": "x"}, "ResendDeadLetter": {"id": "x"},
    "DropDeadLetters": {"ids": ["x"]}, "GetProcess": {"pid": NOBODY},
    "RecordProcess": {"pid": NOBODY}, "ListProcesses": {"parentPid": "x"},
    "ListQuarantine": {"pageToken": "x"}, "RetryQuarantine": {"pid": NOBODY},
    "ListFailures": {"pageToken": "x"}, "ListLogLines": {"pageToken": "x"},
    "SetLogLevel": {}, "ListClients": {"pageToken": "x"},
    "CutClient": {"connection": "77777"}, "LoadPlugin": {"path": "/none.so"},
    "Shutdown": {"deadline": "-1s"},
}
# No request of these is wrong, but the role may be.
NOT_OF_A_WORKER = {"GetStatus": {}, "ListPlugins": {}}


def payload(data):
    return {"data": base64.b64encode(data).decode()}


class UnaryCallsCase(TokenCase):

    def start(self):
        self.tokens = {role: self.token(role) for role in ("admin", "worker")}
        self.daemon = self.serve(
            "--admin-listen", "127.0.0.1:0", "--admin-api",
            "--admin-link-key", self.directory / "link.key")
        self.actor = self.connect_with(self.daemon, self.tokens["admin"])

    def requests(self):
        """Lists of method, request and role, in their order. They are about objects
        of their own, so each list gets the same answers."""
        refused = [(method, request, "admin") for method, request in REFUSED.items()]
        refused += [(method, request, "worker")
                    for method, request in NOT_OF_A_WORKER.items()]
        self.assertEqual({method for method, _, _ in refused}, set(UNARY))
        good = self._good()
        self.assertEqual({method for method, _ in good}, set(UNARY) - {"Shutdown"})
        return [*refused, *((method, request, "admin") for method, request in good)]

    def _good(self):
        actor = self.actor
        counter = actor.submit("counter", b"1")
        echo, cancelled, terminated = (actor.submit(kind) for kind in
                                       ("echo", "counter", "counter"))
        asks = actor.submit("probe", b'{"command": "manual.do"}', "yield")
        yields = eventually(lambda: actor.yields(pid=asks), "the yield")
        read, resent, dropped = (self._letter() for _ in range(3))
        return [
            ("Submit", {"processType": "echo", "input": payload(b"1")}),
            ("Run", {"submit": {"processType": "echo", "input": payload(b"1")}}),
            ("Send", {"pid": counter, "topic": "add", "payload": payload(b"1")}),
            ("Call", {"pid": counter, "topic": "get"}),
            ("Await", {"pid": echo}), ("Cancel", {"pid": cancelled}),
            ("Terminate", {"pid": terminated}), ("GetProcess", {"pid": counter}),
            ("RecordProcess", {"pid": counter}),
            ("CreateYieldLink", {"token": yields[0].token, "expiresIn": "60s"}),
            ("CompleteYield", {"token": yields[0].token, "result": payload(b"1")}),
            ("GetDeadLetter", {"id": read}),
            ("ResendDeadLetter", {"id": resent, "to": counter}),
            ("DropDeadLetters", {"ids": [dropped]}),
            ("CutClient", {"connection": self._connection()}),
            ("RetryQuarantine", {}), ("SetLogLevel", {"level": "LOG_LEVEL_INFO"}),
            ("LoadPlugin", {"path": str(places.PLUGINS / "echo.so")}),
            *((method, {}) for method in (
                "GetStatus", "ListCalls", "ListClients", "ListDeadLetters",
                "ListFailures", "ListLogLines", "ListNames", "ListPlugins",
                "ListProcesses", "ListQuarantine", "ListWorkers", "ListYields"))]

    def _letter(self):
        """The id of a new dead letter: a message that its receiver had not taken."""
        pid = self.actor.submit("order", DEAF)
        self.actor.send(pid, "note")
        self.actor.terminate(pid)
        return eventually(lambda: self.actor.dead_letters(to_pid=pid).dead_letters,
                          "the dead letter")[0].id

    def _connection(self):
        """The number of a new connection, as JSON has it."""
        def numbers():
            request = _message("ListClients", {})
            return {one.connection for one in
                    self.actor.stub.ListClients(request, timeout=CALL_SECONDS).clients}
        before = numbers()
        self.connect(self.daemon)
        return str(eventually(lambda: numbers() - before, "the connection").pop())

    def answers_of_grpc(self, requests):
        """Method, code and reason of each, the code as Connect calls it."""
        stub = self.connect(self.daemon).stub
        answers = []
        for method, request, role in requests:
            code, reason = "ok", ""
            try:
                getattr(stub, method)(_message(method, request), timeout=CALL_SECONDS,
                                      metadata=bearer(self.tokens[role]))
            except grpc.RpcError as error:
                refusal = refusal_of(error)
                code, reason = refusal.code.name.lower(), refusal.reason
            answers.append([method, code, reason])
        return answers

    def compare(self, answers, others):
        """`others`: of the same requests."""
        self.assertEqual(answers, others)
        for method, code, reason in answers[:len(UNARY)]:
            self.assertTrue(code != "ok" and reason, (method, code, reason))


def _message(method, request):
    kinds = {one.name: one.input_type.rpartition(".")[2] for one in METHODS}
    pool = actor_service_pb2.DESCRIPTOR.pool
    kind = pool.FindMessageTypeByName(f"actord.v1.{kinds[method]}")
    return json_format.ParseDict(request, kind._concrete_class())
