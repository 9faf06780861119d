"""Owners: of what belongs to another client, every method answers as of what does
not exist. The methods come from the descriptor: one without an entry in Asks fails."""

import re
import signal

import grpc
from actord.v1 import (actor_service_pb2, client_pb2, history_pb2, log_pb2,
                       outcome_pb2, process_pb2, quarantine_pb2, status_pb2, watch_pb2)
from admin.api import UNARY, Api
from admin.pages import admin_port
from daemon.access_test import call, of_all_owners
from harness import places
from harness.asks import Asks, Thing
from harness.case import DURABLE
from harness.connection import CALL_SECONDS, refusal_of
from harness.tokens import bearer, present
from harness.waiting import eventually
from harness.watch import Known
from harness.work import RemoteWorker
from owners.tenants import HERALD, NAME, ORDER, Tenants

METHODS = [method.name for method in
           actor_service_pb2.DESCRIPTOR.services_by_name["ActorService"].methods]
STATUS = "/actord.v1.ActorService/GetStatus"
DENIED = grpc.StatusCode.PERMISSION_DENIED
MALFORMED = {"noSuchField": 1}


def other_pid(pid):
    """A PID of the same run of the daemon that was never given out."""
    node, run, slot, generation = pid.split(".")
    return f"{node}.{run}.{int(slot, 16) + 0x1000:x}.{generation}"


class EveryMethod(Tenants):

    def serve_tenants(self, *options):
        """Serves with a store. Two processes of bob are in the quarantine, whose
        type the daemon does not have."""
        store = ("--store", self.directory / "store", *options)
        daemon = super().serve_tenants("--plugin", places.CRASHER, *store)
        bob = self.connect_with(daemon, self.bob_token)
        self.quarantined = [bob.submit("crasher", method="later", durability=DURABLE)
                            for _ in range(2)]
        daemon.stop()
        return super().serve_tenants(*store)

    def begin(self, actor, count=2):
        """The same, and a member of a group, durable processes, and what bob
        publishes."""
        thing = super().begin(actor, count)
        member = actor.submit("probe", NAME.encode(), "collect")
        eventually(lambda: actor.process(member).steps == 2, "the member")
        lives, ended = (actor.submit("counter", b"5", durability=DURABLE)
                        for _ in range(2))
        actor.call(lives, "add")
        actor.send(ended, "stop")
        actor.wait(ended)
        herald = actor.submit(HERALD)
        pages = {
            "ListQuarantine": actor.stub.ListQuarantine(
                quarantine_pb2.ListQuarantineRequest(page_size=1)),
            "RetryQuarantine": actor.stub.RetryQuarantine(
                quarantine_pb2.RetryQuarantineRequest(page_size=1))}
        thing.pages |= {name: page.next_page_token for name, page in pages.items()}
        thing.durable = (lives, *self.quarantined, ended)
        thing.publish = lambda: actor.call(herald, NAME)
        return thing

    def state_of(self, actor):
        return super().state_of(actor), actor.stub.ListQuarantine(
            quarantine_pb2.ListQuarantineRequest()).processes

    def test_answers_of_foreign_things_as_of_unknown_ones(self):
        foreign = self.begin(self.bob)
        self.assertTrue(all(foreign.pages.values()), foreign.pages)
        pid = other_pid(foreign.pid)
        run, number = foreign.letter.split(".")
        unknown = Thing(
            pid, "nothing", pid + foreign.token[len(foreign.pid):],
            f"{run}.{int(number) + 100000}", "nobody-of-this-name", "new", "new",
            dict.fromkeys(foreign.pages, "0" * 32), "0" * 40, foreign.connection + 1000,
            tuple(map(other_pid, foreign.durable)))
        before = self.state_of(self.bob)
        connections = self.connections_of(self.bob_ops)
        asks = Asks(self.alice.stub, self.alice.submit("counter", b"1"))
        for method in METHODS:
            with self.subTest(method=method):
                ask = getattr(asks, method, None)
                self.assertIsNotNone(ask, "the table Asks has no entry")
                of_unknown = [unknown.hide(answer) for answer in ask(unknown)]
                of_foreign = [foreign.hide(answer) for answer in ask(foreign)]
                self.assertEqual(of_foreign, of_unknown)
        self.assertEqual(self.state_of(self.bob), before, "nothing has happened")
        self.assertEqual(self.connections_of(self.bob_ops), connections)

    def test_answers_of_own_things(self):
        """The same questions find things that exist, so the test above asks
        for something."""
        thing = self.begin(self.bob)
        thing.message_id = "new"
        asks = Asks(self.bob.stub, thing.pid)
        self.assertEqual(asks.Subscribe(thing), [("OK", str([NAME, "own"]))])
        histories = [answer[0] for answer in asks.ReadHistory(thing)]
        self.assertEqual(histories.count("OK"), len(thing.durable), histories)
        for answers in (asks.ListQuarantine(thing), asks.RetryQuarantine(thing)):
            for pid in self.quarantined:
                self.assertIn(pid, str(answers))
        # The live ones.
        thing.durable = thing.durable[:-1]
        for method in ("Send", "GetProcess", "ListProcesses", "ListNames",
                       "ListYields", "ListCalls", "ListDeadLetters",
                       "GetDeadLetter", "ListFailures", "WatchProcesses"):
            with self.subTest(method=method):
                for answer in getattr(asks, method)(thing):
                    self.assertEqual(answer[0], "OK", answer)


class OfAllOwners(Tenants):

    def test_calls_need_a_token_that_sees_them_all(self):
        needed = of_all_owners()
        # The table Asks has nothing to ask of them.
        self.assertEqual(
            needed, {method for method, ask in vars(Asks).items()
                     if ask is Asks.Shutdown})
        port, plain = admin_port(self.daemon), self.connect(self.daemon)
        may = self.alice.stub.GetStatus(status_pb2.GetStatusRequest(with_caller=True),
                                        timeout=CALL_SECONDS).caller.methods
        for method in METHODS:
            refusal = call(plain, method, bearer(self.alice_token))
            over_json = None
            if method in UNARY:
                over_json = Api(port, self.alice_token).call(method, MALFORMED).refusal
            with self.subTest(method=method):
                if method in needed:
                    self.assertEqual(refusal, (DENIED, "ALL_OWNERS_NEEDED"))
                    self.assertIn(over_json, (None, (
                        403, "permission_denied", "ALL_OWNERS_NEEDED")))
                else:
                    self.assertEqual(refusal[0], grpc.StatusCode.INVALID_ARGUMENT)
                # The answer says which methods remain.
                self.assertEqual(method in needed, method not in may)
                self.assertEqual(call(plain, method, bearer(self.ops_token))[0],
                                 grpc.StatusCode.INVALID_ARGUMENT)

    def test_log_is_hidden_from_the_operator_of_one_owner(self):
        with self.assertRaises(grpc.RpcError) as caught:
            self.bob_ops.stub.ListLogLines(log_pb2.ListLogLinesRequest(),
                                           timeout=CALL_SECONDS)
        self.assertEqual(
            refusal_of(caught.exception).message,
            "ListLogLines is about all owners and needs a token with see = \"all\"; "
            "the token sees only the owner bob")
        self.assertTrue(self.admin.stub.ListLogLines(
            log_pb2.ListLogLinesRequest(), timeout=CALL_SECONDS).lines)


class Pids(Tenants):
    """A client that sees its own gets one answer for every PID of this run that it
    does not see."""

    def test_of_others_of_no_one_and_of_its_own_past_are_answered_alike(self):
        foreign = self.bob.submit("counter", b"1")
        foreign_past = self.bob.submit("counter", b"1")
        own_past = self.alice.submit("counter", b"1")
        for actor, pid in ((self.bob, foreign_past), (self.alice, own_past)):
            actor.terminate(pid)
            actor.wait(pid)
        node, run, slot, generation = foreign.split(".")
        later = f"{node}.{run}.{slot}.{int(generation, 16) + 2:x}"
        asks = Asks(self.alice.stub, self.alice.submit("counter", b"1"))
        requests = {
            "Send": process_pb2.SendRequest(topic="add"),
            "Call": process_pb2.CallRequest(topic="add"),
            "Cancel": outcome_pb2.CancelRequest(),
            "Terminate": outcome_pb2.TerminateRequest(),
            "GetProcess": process_pb2.GetProcessRequest(),
            "RecordProcess": history_pb2.RecordProcessRequest()}
        for method, request in requests.items():
            answers = {}
            for pid in (own_past, foreign, foreign_past, later, other_pid(foreign)):
                request.pid = pid
                [answer] = asks.ask(method, request)
                answers[str(answer).replace(pid, "?")] = pid
            with self.subTest(method=method):
                self.assertEqual(len(answers), 1, answers)
                self.assertIn("PROCESS_ENDED", next(iter(answers)))
            # A process of another run of the daemon is unknown.
            request.pid = f"{node}.{int(run, 16) ^ 1:x}.{slot}.{generation}"
            self.assertIn("PROCESS_NOT_FOUND", str(asks.ask(method, request)))
            # A client who sees all gets different answers for a process that
            # has ended and for a process that never was.
            request.pid = other_pid(foreign)
            self.assertIn("PROCESS_NOT_FOUND",
                          str(Asks(self.admin.stub, own_past).ask(method, request)))

    def test_of_its_own_past_have_their_results(self):
        past = self.bob.submit("echo", b"7")
        outcome = outcome_pb2.AwaitRequest(pid=past)
        result = self.bob.stub.Await(outcome, timeout=CALL_SECONDS)
        self.assertEqual(result.outcome.result.data, b"7")
        unknown = outcome_pb2.AwaitRequest(pid=other_pid(past))
        [of_foreign] = Asks(self.alice.stub, past).ask("Await", outcome)
        [of_unknown] = Asks(self.alice.stub, past).ask("Await", unknown)
        self.assertEqual(str(of_foreign).replace(past, "?"),
                         str(of_unknown).replace(unknown.pid, "?"))
        self.assertIn("RESULT_NOT_KEPT", str(of_foreign))


class NearNames(Tenants):
    """A name that nobody holds: the error names a near name, of the same owner."""

    def test_are_those_of_the_owner_alone(self):
        self.bob.submit("counter", b"1", name="my-plugin")

        def said(actor, name):
            with self.assertRaises(grpc.RpcError) as caught:
                actor.process(name)
            refusal = refusal_of(caught.exception)
            self.assertEqual(refusal.reason, "NAME_NOT_FOUND")
            return refusal.message

        nobody = 'no process holds the name "my-plugn"'
        meant = nobody + '; did you mean "my-plugin"?'
        self.assertEqual(said(self.bob, "@my-plugn"), meant)
        self.assertEqual(said(self.alice, "@my-plugn"), nobody)
        self.assertEqual(said(self.alice, "@my-plugn@bob"), nobody)
        self.assertEqual(said(self.admin, "@my-plugn"), nobody)
        self.assertEqual(said(self.admin, "@my-plugn@bob"), meant)
        self.assertEqual(said(self.admin, "@my-plugin"),
                         'no process holds the name "my-plugin"; the owner bob has a '
                         'process of this name: @my-plugin@bob')
        self.assertEqual(said(self.alice, "@my-plugin"),
                         'no process holds the name "my-plugin"')
        self.alice.submit("counter", b"1", name="my-plugs")
        self.assertIn('"my-plugs"?', said(self.alice, "@my-plugn"))
        self.assertEqual(said(self.bob, "@my-plugn"), meant)


class Sight(Tenants):

    def test_of_an_administrator_is_all_with_the_owners(self):
        thing = self.begin(self.bob)
        own = self.admin.submit("counter", b"1", name=NAME)
        self.assertEqual(self.admin.process(thing.pid).owner, "bob")
        self.assertEqual(self.admin.process("@" + NAME).pid, own)
        self.assertEqual(self.admin.process(f"@{NAME}@bob").pid, thing.pid)
        self.assertEqual({(one.name, one.owner) for one in self.admin.names().names},
                         {(NAME, "bob"), (NAME + "/1", "bob"), (NAME, "ops")})
        self.assertEqual({one.owner for one in self.admin.yields()}, {"bob"})
        letters = self.admin.dead_letters().dead_letters
        self.assertEqual({one.owner for one in letters}, {"bob"})
        self.assertEqual(self.admin.dead_letter(letters[0].id).owner, "bob")
        known = Known()
        for response in self.admin.stub.WatchProcesses(
                watch_pb2.WatchProcessesRequest(), timeout=CALL_SECONDS):
            known.add(response)
            if known.complete:
                break
        self.assertEqual({one.owner for one in known.processes.values()},
                         {"bob", "ops"})
        # A client that sees one owner is told of no owner.
        self.assertEqual(self.bob.process(thing.pid).owner, "")
        # An administrator may act on all, with an audit line.
        self.admin.cancel(f"@{NAME}@bob", "enough")
        eventually(lambda: re.search("audit: Cancel .* by ops", self.daemon.log()),
                   "the audit line")

    def test_of_a_watch_is_of_its_own_processes(self):
        known = Known()
        watch = self.alice.stub.WatchProcesses(watch_pb2.WatchProcessesRequest(),
                                               timeout=CALL_SECONDS)
        foreign = self.bob.submit("counter", b"1")
        self.bob.terminate(foreign)
        own = self.alice.submit("counter", b"1")
        for response in watch:
            known.add(response)
            if own in known.live:
                break
        watch.cancel()
        self.assertEqual(known.live, {own})
        self.assertNotIn(foreign, [pid for _, pid in known.events])

    def test_of_connections_is_of_those_with_its_own_tokens(self):
        for actor in (self.alice, self.bob, self.carol):
            actor.status()
        anonymous, shared = self.connect(self.daemon), self.connect(self.daemon)
        present(shared, self.alice_token)
        shared.status()
        self.assertEqual([name for _, name in self.connections_of(self.alice)],
                         ["alice", "alice"])
        before = self.connections_of(self.alice)
        # A connection that presents tokens of several owners belongs to none.
        shared.channel.unary_unary(STATUS)(
            b"", metadata=bearer(self.carol_token), timeout=CALL_SECONDS)
        seen = self.connections_of(self.alice)
        self.assertEqual(len(seen), 1)
        [hidden] = set(before) - set(seen)
        everything = self.connections_of(self.admin)
        self.assertEqual(
            {name for _, name in everything},
            {"", "alice", "bob", "carol", "ops"})
        for number, _ in set(everything) - set(seen) | {hidden}:
            self.assert_code(
                lambda number=number: self.alice.stub.CutClient(
                    client_pb2.CutClientRequest(connection=number)),
                grpc.StatusCode.NOT_FOUND, "CONNECTION_NOT_FOUND")
        self.assertEqual({number for number, _ in self.connections_of(self.admin)},
                         {number for number, _ in everything})
        # Its own one.
        second = self.connect_with(self.daemon, self.alice_token)
        second.status()
        [(number, _)] = set(self.connections_of(self.alice)) - set(seen)
        self.alice.stub.CutClient(client_pb2.CutClientRequest(connection=number))
        eventually(lambda: self.connections_of(self.alice) == seen, "its end")
        anonymous.close()

    def test_in_observe_is_of_all_and_nothing_has_an_owner(self):
        self.daemon.stop()
        daemon = self.serve("--auth-mode", "observe")
        stranger, alice = self.connect(daemon), self.connect_with(daemon,
                                                                  self.alice_token)
        pid = stranger.submit("counter", b"1", name=NAME)
        self.assertEqual(alice.process("@" + NAME).pid, pid)
        self.assertEqual(alice.process(pid).owner, "")


class Control(Tenants):

    def test_of_own_processes_is_for_clients(self):
        own = self.bob.submit("counter", b"1")
        self.bob.cancel(own, "done")
        self.bob.terminate(self.bob.submit("counter", b"1"), "done")
        for method in ("Cancel", "Terminate"):
            eventually(lambda method=method: re.search(
                rf"audit: {method} .* by bob \(token .*, client\): done",
                self.daemon.log()), "the audit line")

    def test_of_processes_that_a_client_sees_is_refused(self):
        pid = self.bob.submit("counter", b"1")
        self.assertEqual(self.carol.process(pid).owner, "bob")
        for call in (self.carol.cancel, self.carol.terminate):
            self.assert_code(lambda call=call: call(pid), DENIED, "ROLE_NOT_ALLOWED")
        self.bob.process(pid)


class Workers(Tenants):

    def test_get_the_tasks_of_all_owners_and_answer_those_that_they_held(self):
        tills, other = self.workers["tills"], self.workers["others"]
        pid = self.bob.submit("order", ORDER)
        token = eventually(self.bob.yields, "the yield")[0].token
        self.assertEqual(tills.complete(token, b"1"), "UNKNOWN", "not held yet")
        worker = RemoteWorker(tills.stub, "payment.*", credits=1)
        self.addCleanup(worker.close)
        task = worker.task()
        self.assertEqual(task.pid, pid)
        self.assertEqual(other.complete(task.token, b"1"), "UNKNOWN")
        self.assertEqual(worker.beat(task), "ACCEPTED")
        self.assertEqual(worker.complete(task, b'"receipt"'), "ACCEPTED")
        self.assertEqual(tills.complete(task.token, b'"receipt"'), "DUPLICATE")
        self.assertEqual(other.complete(task.token, b'"receipt"'), "UNKNOWN")


class Switch(Tenants):

    def test_to_enforce_ends_streams_that_would_see_less(self):
        self.daemon.stop()
        configuration = self.text_file('[auth]\nmode = "observe"\n')
        daemon = self.serve("--config", configuration)
        alice = self.connect_with(daemon, self.alice_token)
        call = alice.stub.WatchProcesses(watch_pb2.WatchProcessesRequest(),
                                         timeout=CALL_SECONDS)
        next(call)
        configuration.write_text('[auth]\nmode = "enforce"\n')
        daemon.signal(signal.SIGHUP)
        with self.assertRaises(grpc.RpcError) as caught:
            for _ in call:
                pass
        self.assertEqual(refusal_of(caught.exception).reason, "TOKEN_CHANGED")
