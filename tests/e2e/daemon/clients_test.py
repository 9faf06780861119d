"""The list of connected clients, and the end of one connection."""

import concurrent.futures
import os
import re
import socket
import subprocess
import threading
import time
import unittest

import grpc
from actord.v1 import client_pb2, process_pb2, status_pb2, watch_pb2
from harness import places
from harness.case import DaemonCase
from harness.connection import CALL_SECONDS, Connection
from harness.raw_client import PREFACE
from harness.tls_case import TlsCase
from harness.tokens import TokenCase, bearer
from harness.waiting import eventually

HANDSHAKE = client_pb2.CLIENT_STATE_HANDSHAKE
IDLE = client_pb2.CLIENT_STATE_IDLE
ACTIVE = client_pb2.CLIENT_STATE_ACTIVE


def clients(actor, metadata=(), **fields):
    return actor.stub.ListClients(client_pb2.ListClientsRequest(**fields),
                                  metadata=metadata, timeout=CALL_SECONDS)


def others(actor, metadata=()):
    """All connections but that of the call."""
    return [one for one in clients(actor, metadata).clients if not one.is_own]


def watch(actor, metadata=()):
    """A stream that stays open; returns it when the daemon has begun it."""
    stream = actor.stub.WatchProcesses(watch_pb2.WatchProcessesRequest(),
                                       metadata=metadata)
    next(stream)
    return stream


class Tcp(DaemonCase):

    def setUp(self):
        super().setUp()
        self.started = time.time()

    def test_own_connection(self):
        [own] = clients(self.actor).clients
        self.assertTrue(own.is_own)
        self.assertGreater(own.connection, 0)
        self.assertRegex(own.address, r"^127\.0\.0\.1:\d+$")
        self.assertEqual(own.listener, self.daemon.address)
        self.assertEqual(own.state, ACTIVE)
        self.assertEqual((own.calls_begun, own.calls_open, own.streams_open),
                         (1, 1, 0))
        self.assertAlmostEqual(own.connect_time.seconds, self.started, delta=60)
        self.assertGreater(own.received_bytes, 50)
        # The answer to the first call has been sent now.
        self.assertGreater(clients(self.actor).clients[0].sent_bytes, 50)
        for absent in ("tls", "token", "unix_peer"):
            self.assertFalse(own.HasField(absent), absent)

    def test_calls_and_streams_of_others(self):
        other = self.connect(self.daemon)
        [known] = eventually(lambda: [one for one in others(self.actor)
                                      if one.state == IDLE], "the end of a call")
        before = known.calls_begun
        stream = watch(other)
        payload = b'"' + b"x" * 100_000 + b'"'
        other.run("echo", payload)
        # gRPC clears a call up after its client has the answer.
        eventually(lambda: others(self.actor)[0].calls_open == 1, "the end of it")
        [known] = others(self.actor)
        self.assertEqual((known.state, known.calls_open, known.streams_open),
                         (ACTIVE, 1, 1))
        # Submit and Await.
        self.assertEqual(known.calls_begun, before + 3)
        self.assertGreater(known.received_bytes, 100_000)
        self.assertGreater(known.sent_bytes, 100_000)
        stream.cancel()
        eventually(lambda: others(self.actor)[0].state == IDLE,
                   "the end of the stream")
        [known] = others(self.actor)
        self.assertEqual((known.calls_open, known.streams_open), (0, 0))
        other.close()
        eventually(lambda: not others(self.actor), "the end of the connection")

    def test_client_that_says_nothing_is_in_its_handshake(self):
        with socket.create_connection(("127.0.0.1", self.daemon.port)) as client:
            port = client.getsockname()[1]
            eventually(lambda: others(self.actor), "the connection")
            [known] = others(self.actor)
            self.assertEqual(known.address, f"127.0.0.1:{port}")
            self.assertEqual(known.state, HANDSHAKE)
            client.sendall(PREFACE)
            eventually(lambda: others(self.actor)[0].state == IDLE, "its preface")

    def test_pages(self):
        for _ in range(5):
            self.connect(self.daemon)
        everything = [one.connection for one in clients(self.actor).clients]
        self.assertEqual(len(everything), 6)
        self.assertEqual(everything, sorted(everything))
        found, token, pages = [], "", 0
        while True:
            page = clients(self.actor, page_size=2, page_token=token)
            self.assertLessEqual(len(page.clients), 2)
            found += [one.connection for one in page.clients]
            pages += 1
            token = page.next_page_token
            if not token:
                break
        self.assertEqual(found, everything)
        self.assertLessEqual(pages, 4)
        self.assert_refused(lambda: clients(self.actor, page_token="x"),
                            code=grpc.StatusCode.INVALID_ARGUMENT,
                            reason="INVALID_PAGE_TOKEN",
                            message="next_page_token", field="page_token")
        self.assert_refused(lambda: clients(self.actor, page_size=-1),
                            code=grpc.StatusCode.INVALID_ARGUMENT,
                            reason="INVALID_FIELD", message="negative",
                            field="page_size")

    def cut(self, connection):
        return self.actor.stub.CutClient(
            client_pb2.CutClientRequest(connection=connection),
            timeout=CALL_SECONDS)

    def test_cut(self):
        other = self.connect(self.daemon)
        stream = watch(other)
        [known] = others(self.actor)
        self.cut(known.connection)
        with self.assertRaises(grpc.RpcError) as caught:
            for _ in stream:
                pass
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
        eventually(lambda: all(one.connection != known.connection
                               for one in others(self.actor)), "its end")
        self.daemon.wait_for_line(f"connection {known.connection} of "
                                  f"{known.address} cut: a client at ")
        self.assertEqual(self.actor.status().counters.connections_cut_total, 1)
        # The client may come again.
        self.assertEqual(other.run("echo", b"1").result.data, b"1")
        self.assert_refused(lambda: self.cut(known.connection),
                            code=grpc.StatusCode.NOT_FOUND,
                            reason="CONNECTION_NOT_FOUND",
                            message=f"connection {known.connection} is not open")
        self.assert_refused(lambda: self.cut(0),
                            code=grpc.StatusCode.INVALID_ARGUMENT,
                            reason="INVALID_FIELD", message="is required",
                            field="connection")


class UnixSockets(DaemonCase):

    def setUp(self):
        super().setUp()
        self.path = self.directory / "s"
        self.local = self.start_daemon("--listen", f"unix:{self.path}")

    def unix(self):
        connection = Connection(f"unix:{self.path}")
        self.addCleanup(connection.close)
        return connection

    def test_calls_are_those_of_each_connection(self):
        actors = [self.unix() for _ in range(4)]
        streams = []
        for count, actor in enumerate(actors):
            streams += [watch(actor) for _ in range(count)]
        found = clients(self.connect(self.local)).clients
        local = [one for one in found if one.HasField("unix_peer")]
        self.assertEqual([one.calls_open for one in local], [0, 1, 2, 3])
        self.assertEqual([one.state for one in local], [IDLE] + 3 * [ACTIVE])
        for one in local:
            self.assertEqual((one.unix_peer.uid, one.unix_peer.gid,
                              one.unix_peer.pid),
                             (os.getuid(), os.getgid(), os.getpid()))
            self.assertEqual(one.listener, f"unix:{self.path}")
            self.assertEqual(one.address, "")
            self.assertFalse(one.is_own)
            for absent in ("received_bytes", "sent_bytes"):
                self.assertFalse(one.HasField(absent), absent)
        self.assertEqual([one.streams_open for one in local], [0, 1, 2, 3])
        own = [one for one in clients(actors[2]).clients if one.is_own]
        self.assertEqual([one.connection for one in own], [local[2].connection])
        for stream in streams:
            stream.cancel()

    def test_numbers_hold_while_connections_come_and_go_at_once(self):
        """Each thread knows how many calls it holds open, and so which row of the
        list is its own."""
        failures = []

        def come_and_go(calls):
            try:
                for _ in range(5):
                    actor = Connection(f"unix:{self.path}")
                    streams = [watch(actor) for _ in range(calls)]
                    # And the list itself.
                    if calls + 1 not in [one.calls_open
                                         for one in clients(actor).clients]:
                        failures.append(calls)
                    for stream in streams:
                        stream.cancel()
                    actor.close()
            except Exception as error:  # shown by the test
                failures.append(error)
        threads = [threading.Thread(target=come_and_go, args=(10 * n,))
                   for n in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_cut(self):
        actors = [self.unix() for _ in range(2)]
        streams = [watch(actor) for actor in actors]
        tcp = self.connect(self.local)
        first = clients(tcp).clients[0]
        tcp.stub.CutClient(
            client_pb2.CutClientRequest(connection=first.connection),
            timeout=CALL_SECONDS)
        with self.assertRaises(grpc.RpcError) as caught:
            for _ in streams[0]:
                pass
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
        self.local.wait_for_line(f"connection {first.connection} of "
                                 f"unix:{first.connection} (uid {os.getuid()}, "
                                 f"pid {os.getpid()}) cut: a client at ")
        # The other one goes on.
        tcp.submit("probe", method="idle")
        next(streams[1])
        streams[1].cancel()


class Tls(TlsCase):

    def test_version_and_proved_name(self):
        daemon = self.start_daemon(*self.mutual_tls())
        actor = self.connect(
            daemon, credentials=self.authority.channel_credentials(
                self.authority.issue("someone")))
        [own] = clients(actor).clients
        self.assertTrue(own.is_own)
        self.assertEqual(own.tls.version, "TLSv1.3")
        self.assertEqual(own.tls.name, "localhost")
        self.assertIn("someone", own.tls.subject)

    def test_without_a_certificate(self):
        daemon = self.start_daemon(*self.tls())
        actor = self.connect(daemon,
                             credentials=self.authority.channel_credentials())
        with socket.create_connection(("127.0.0.1", daemon.port)):
            eventually(lambda: others(actor), "the connection")
            [silent] = others(actor)
            self.assertEqual(silent.state, HANDSHAKE)
            self.assertFalse(silent.HasField("tls"))
            self.assertFalse(silent.HasField("calls_open"))
            [own] = [one for one in clients(actor).clients if one.is_own]
            self.assertEqual((own.tls.version, own.tls.name), ("TLSv1.3", ""))


class Tokens(TokenCase):

    def test_token_of_each_connection(self):
        first = self.token("operator", name="ops")
        second = self.token("client", name="billing")
        admin = self.token("admin", name="root")
        daemon = self.serve()
        actor, other = self.connect(daemon), self.connect(daemon)

        def tokens():
            return [(one.token.name, one.token.role, one.token.id)
                    for one in clients(actor, bearer(first)).clients]
        mine = ("ops", "operator", first[4:12])
        self.assertEqual(tokens(), [mine, ("", "", "")])
        stream = watch(other, bearer(second))
        self.assertEqual(tokens(),
                         [mine, ("billing", "client", second[4:12])])
        stream.cancel()
        # The newest one.
        other.stub.GetStatus(status_pb2.GetStatusRequest(),
                             metadata=bearer(admin), timeout=CALL_SECONDS)
        eventually(lambda: tokens()[1][0] == "root", "the other token")
        other.stub.GetStatus(status_pb2.GetStatusRequest(),
                             metadata=bearer(second), timeout=CALL_SECONDS)
        # At most a second late: repeated until the next round.

        def again():
            other.stub.GetStatus(status_pb2.GetStatusRequest(),
                                 metadata=bearer(second), timeout=CALL_SECONDS)
            return tokens()[1][0] == "billing"
        eventually(again, "the token of before")

    def test_cut_is_audited(self):
        admin = self.token("admin", name="root")
        daemon = self.serve()
        actor, other = self.connect(daemon), self.connect(daemon)
        [known] = others(actor, bearer(admin))
        actor.stub.CutClient(
            client_pb2.CutClientRequest(connection=known.connection),
            metadata=bearer(admin), timeout=CALL_SECONDS)
        eventually(lambda: not others(actor, bearer(admin)), "its end")
        other.close()
        who = f"root (token {admin[4:12]}, admin)"
        daemon.wait_for_line(f"connection {known.connection} of "
                             f"{known.address} cut: {who} asked for it")
        daemon.wait_for_line(f"audit: CutClient {{connection: {known.connection}}} "
                             f"by {who}: done")
        # To list is no deed.
        self.assertNotIn("audit: ListClients", daemon.log())


class WhoWaits(TokenCase):
    """A program outside that waits for an answer, as ListCalls shows it."""

    def test_is_named_to_those_who_may_list_clients(self):
        tokens = {role: self.token(role, name=name) for role, name in
                  (("client", "billing"), ("operator", "olga"), ("viewer", "vera"))}
        daemon = self.serve("--plugin", places.PROBE)
        billing, olga, vera = (self.connect_with(daemon, token)
                               for token in tokens.values())
        pid = billing.submit("probe", method="collect", name="desk")
        start = process_pb2.SubmitRequest(process_type="probe", method="collect")
        for request in (process_pb2.CallRequest(pid=pid, topic="ask"),
                        process_pb2.CallRequest(pid="@desk", topic="ask",
                                                start_if_absent=start)):
            call = billing.stub.Call.future(request, timeout=CALL_SECONDS)
            waiting, = eventually(lambda: olga.pending_calls().calls, "the call")
            self.assertEqual((waiting.owner, waiting.outside.name),
                             ("billing", "billing"))
            client, = (one for one in clients(olga).clients
                       if one.connection == waiting.outside.connection)
            self.assertEqual(client.address, waiting.outside.address)
            self.assertEqual(client.token.name, "billing")
            unnamed, = vera.pending_calls().calls
            self.assertEqual((unnamed.owner, unnamed.HasField("outside")),
                             ("billing", False))
            call.cancel()
            eventually(lambda: not olga.pending_calls().calls, "the end of the call")


if __name__ == "__main__":
    unittest.main()


class FloodingClient(TokenCase):
    """What actorctl shows of a client that floods over several connections."""

    def test_its_connections_are_summed(self):
        billing, olga = (self.token(role, name=name) for role, name in
                         (("client", "billing"), ("operator", "olga")))
        daemon = self.serve("--quota-processes", "7")
        first, second = (self.connect_with(daemon, billing) for _ in range(2))
        token_file = self.directory / "olga.token"
        token_file.touch(0o600)
        token_file.write_text(olga)
        pid = first.submit("counter")
        stop = threading.Event()

        def flood(actor):
            while not stop.is_set():
                actor.call(pid, "get")

        def actorctl(*words):
            return subprocess.run(
                [str(places.ACTORCTL), "--address", daemon.address, "--token-file",
                 str(token_file), *words], capture_output=True, text=True, check=True,
                timeout=CALL_SECONDS, env=places.clean_environment()).stdout

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            try:
                running = [pool.submit(flood, actor) for actor in (first, second)]
                listed = actorctl("clients", "--sort", "calls", "--limit", "1")
                in_json = actorctl("clients", "--rates", "-o", "jsonl")
            finally:
                stop.set()
            for one in running:
                one.result()
        rows, sums = listed.strip().split("\n\n")
        self.assertRegex(rows, r"^CONNECTION .*\n.* billing \(client\)$")
        heading, row = sums.splitlines()
        self.assertIn("CONNECTIONS  CALLS/S", heading)
        found = re.match(r"billing \(client\) +2 +([\d,]+) ", row)
        self.assertGreater(int(found[1].replace(",", "")), 5)
        self.assertNotIn("connections", in_json, "programs add up by themselves")
        self.assertRegex(actorctl("status"), r" processes of a client +- +- +- +free +0 "
                                             r"(.|\n)* calls of a client +[- ]+not set ")
