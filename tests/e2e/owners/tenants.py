"""A daemon with the tokens of several owners, and what one of them can have."""

from actord.v1 import client_pb2, process_pb2, watch_pb2, work_pb2, yield_pb2
from harness.asks import Thing
from harness.connection import CALL_SECONDS
from harness.tokens import TokenCase
from harness.waiting import eventually
from harness.work import RemoteWorker

NAME, REQUEST_ID, MESSAGE_ID = "service", "request-1", "message-1"
ORDER = b'{"order":"1","amount_cents":1,"hold_ms":1,"payment_timeout_ms":15000}'
HERALD = "probe.herald"


class Tenants(TokenCase):

    def setUp(self):
        super().setUp()
        # An administrator who sees only his own processes may call every method.
        self.alice_token = self.token("admin", "--see", "own", name="alice")
        self.bob_token = self.token("client", name="bob")
        bob_ops = self.token("operator", "--see", "own", name="bob")
        ops, carol = self.token("admin", name="ops"), self.token(
            "client", "--see", "all", name="carol")
        self.carol_token, self.ops_token = carol, ops
        workers = {name: self.token("worker", "--work", "payment.*", name=name)
                   for name in ("tills", "others")}
        self.daemon = self.serve_tenants()
        self.alice = self.connect_with(self.daemon, self.alice_token)
        self.bob = self.connect_with(self.daemon, self.bob_token)
        self.bob_ops = self.connect_with(self.daemon, bob_ops)
        self.admin = self.connect_with(self.daemon, ops)
        self.carol = self.connect_with(self.daemon, carol)
        self.workers = {name: self.connect_with(self.daemon, token)
                        for name, token in workers.items()}

    def serve_tenants(self, *options):
        return self.serve("--admin-listen", "127.0.0.1:0", "--admin-api",
                          "--admin-link-key", self.directory / "link.key", *options)

    def begin(self, actor, count=2):
        """Starts what a client can have; returns it."""
        def order(**fields):
            return actor.submit("order", ORDER, labels={"tenant": "acme"},
                                durability=process_pb2.DURABILITY_VOLATILE, **fields)
        pids = [order(name=f"{NAME}/{i}" if i else NAME) for i in range(count)]
        actor.submit("counter", b"7", request_id=REQUEST_ID)
        actor.submit("counter", b"9", request_id="s" + REQUEST_ID)
        own = actor.submit("counter", b"1")
        for message_id in (MESSAGE_ID, "s" + MESSAGE_ID):
            actor.stub.Send(process_pb2.SendRequest(
                pid=own, topic="add", message_id=message_id), timeout=CALL_SECONDS)
        for _ in range(count):
            ended = order()
            actor.send(ended)
            actor.terminate(ended)
        letters = eventually(
            lambda: [one for one in [actor.dead_letters().dead_letters]
                     if len(one) == count], "the dead letters")[0]
        yields = eventually(lambda: [one for one in [actor.yields()]
                                     if len(one) == count], "the yields")[0]
        for _ in range(count):
            actor.submit("probe", b"no", "fail")
        eventually(lambda: len(actor.failures().failures) == count, "the failures")
        for _ in range(count):
            actor.send(actor.submit("probe", method="answer"), "call", NAME.encode())
        eventually(lambda: len(actor.pending_calls().calls) == count, "the calls")
        actor.status()
        for _ in range(count):
            worker = RemoteWorker(self.bob_ops.stub, "payment.*")
            self.addCleanup(worker.close)
        pages = {
            "ListWorkers": self.bob_ops.stub.ListWorkers(
                work_pb2.ListWorkersRequest(page_size=1)),
            "ListClients": self.bob_ops.stub.ListClients(
                client_pb2.ListClientsRequest(page_size=1)),
            "ListProcesses": actor.stub.ListProcesses(
                process_pb2.ListProcessesRequest(page_size=1)),
            "ListNames": actor.names(page_size=1),
            "ListYields": actor.stub.ListYields(
                yield_pb2.ListYieldsRequest(page_size=1)),
            "ListCalls": actor.pending_calls(page_size=1),
            "ListDeadLetters": actor.dead_letters(page_size=1),
            "ListFailures": actor.failures(page_size=1)}
        watch = actor.stub.WatchProcesses(watch_pb2.WatchProcessesRequest())
        resume = next(watch).resume_token
        watch.cancel()
        return Thing(pids[0], NAME, yields[0].token, letters[0].id, "bob", REQUEST_ID,
                     MESSAGE_ID,
                     {name: page.next_page_token for name, page in pages.items()},
                     resume, pages["ListClients"].clients[0].connection)

    def connections_of(self, actor):
        """The connections that the client sees, with the owners of their tokens."""
        return [(one.connection, one.token.name) for one in actor.stub.ListClients(
            client_pb2.ListClientsRequest(), timeout=CALL_SECONDS).clients]

    def state_of(self, actor):
        """All that a client can see of what it has."""
        return (sorted((p.pid, p.steps, p.mailbox_messages, p.cancel_requested)
                       for p in actor.stub.ListProcesses(
                           process_pb2.ListProcessesRequest()).processes
                       if p.process_type != HERALD),
                actor.names().names, actor.yields(), actor.pending_calls().calls,
                actor.dead_letters().dead_letters, actor.failures().failures)
