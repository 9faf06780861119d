"""Quotas: a client that floods is refused with the exact delay, or is read later, and
the other clients do not notice."""

import json
import signal
import time

import grpc
from actord.v1 import client_pb2
from harness.bulk import SendStream, SubmitStream, send_item, submit_item
from harness.connection import Connection, refusal_of
from harness.tokens import TokenCase, present
from harness.waiting import eventually

ORDER = b'{"order":"1","amount_cents":1,"hold_ms":1,"payment_timeout_ms":15000}'
EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED


class Quotas(TokenCase):

    def begin(self, *options, **more):
        """A daemon, and two clients of one quota each; the second connection of
        the first client has another token."""
        tokens = [self.token("client", name=name)
                  for name in ("alice", "alice", "bob")]
        watcher = self.token("operator", name="watcher")
        self.daemon = self.serve(*options, **more)
        self.alice, self.alice_too, self.bob, self.watcher = (
            self.connect_with(self.daemon, token)
            for token in (*tokens, watcher))

    def refused(self, call, quota, limit):
        """`call` has to be refused; returns the delay."""
        refusal = self.assert_code(call, EXHAUSTED, "CLIENT_QUOTA")
        return self.check(refusal, quota, limit)

    def check(self, refusal, quota, limit):
        self.assertEqual((refusal.code, refusal.reason), (EXHAUSTED, "CLIENT_QUOTA"))
        self.assertEqual(refusal.metadata, {"quota": quota, "limit": str(limit)})
        self.assertIn(f"quotas.{quota}", refusal.message)
        return refusal.retry_seconds

    def refusal_of_stream(self, stream):
        refusal = refusal_of(stream.wait())
        self.assertEqual((refusal.code, refusal.reason), (EXHAUSTED, "CLIENT_QUOTA"))
        return refusal

    def counter(self, name):
        """The watcher has the quotas of all clients, and waits as it is told."""
        while True:
            try:
                return getattr(self.watcher.status().counters, name)
            except grpc.RpcError as error:
                refusal = refusal_of(error)
                self.assertEqual(refusal.reason, "CLIENT_QUOTA")
                time.sleep(refusal.retry_seconds)


class Flood(Quotas):

    def test_gets_exact_delays_and_the_other_client_is_not_refused(self):
        self.begin("--quota-requests-per-second", "5", "--quota-request-burst", "2")
        admitted, refused, others = 0, 0, 0
        begun = time.monotonic()
        # So few that a slow machine passes them, too.
        while refused < 12 and time.monotonic() < begun + 60:
            try:
                self.alice.status()
                admitted += 1
                continue
            except grpc.RpcError as error:
                refused += 1
                refusal = refusal_of(error)
            self.assertEqual((refusal.code, refusal.reason),
                             (EXHAUSTED, "CLIENT_QUOTA"))
            self.assertEqual(refusal.metadata,
                             {"quota": "requests_per_second", "limit": "5"})
            self.assertGreater(refusal.retry_seconds, 0)
            self.assertLessEqual(refusal.retry_seconds, 0.2)
            time.sleep(refusal.retry_seconds)
            # After the delay the call is served, no matter which calls came before.
            self.alice.status()
            admitted += 1
            # Within its own quota.
            self.bob.status()
            others += 1
        seconds = time.monotonic() - begun
        self.assertLessEqual(admitted, 2 + 5 * seconds)
        self.assertEqual(refused, 12)
        self.assertEqual(others, 12)
        self.assertEqual(self.counter("client_quota_limit_total"), refused)
        lines = [line for line in self.daemon.log().splitlines()
                 if "CLIENT_QUOTA" in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], r"GetStatus of alice \(token \w+, client\) refused: "
                         r"the client is above its quota of 5 requests a second")

    def test_of_tokens_of_one_name_counts_together(self):
        self.begin("--quota-requests-per-second", "1", "--quota-request-burst", "2")
        self.alice.status()
        self.alice_too.status()
        delay = self.refused(self.alice_too.status, "requests_per_second", 1)
        self.assertLessEqual(delay, 1)
        self.bob.status()

    def test_of_lists_ends_ten_times_sooner(self):
        self.begin("--quota-requests-per-second", "1", "--quota-request-burst", "10")
        self.alice.names()
        delay = self.refused(self.alice.status, "requests_per_second", 1)
        self.assertLessEqual(delay, 1)
        self.assertGreater(self.refused(self.alice.names, "requests_per_second", 1), 5)
        for _ in range(9):
            self.bob.status()

    def test_of_bytes(self):
        self.begin("--quota-bytes-per-second", "100KB", "--quota-bytes-burst", "60KB")
        self.alice.submit("echo", b"x" * 50_000)
        delay = self.refused(lambda: self.alice.submit("echo", b"x" * 50_000),
                             "bytes_per_second", 100_000)
        self.assertLessEqual(delay, 0.5)
        self.bob.submit("echo", b"x" * 50_000)
        time.sleep(delay)
        self.alice.submit("echo", b"x" * 50_000)
        time.sleep(1.2)
        # Larger than the burst, after a rest.
        self.alice.submit("echo", b"x" * 200_000)


class Streams(Quotas):

    def test_of_sends_are_slowed_and_not_refused(self):
        self.begin("--quota-requests-per-second", "200", "--quota-request-burst", "100")
        pid = self.alice.submit("counter", b"1000000")
        begun = time.monotonic()
        stream = SendStream(self.alice.stub)
        self.addCleanup(stream.cancel)
        for _ in range(5):
            stream.send(*[send_item(pid, "add", b"1")] * 100)
        stream.wait_for_acks(200)
        self.bob.status()
        stream.wait_for_acks(500)
        # 500 items, of which two batches need not wait.
        self.assertGreater(time.monotonic() - begun, 1.4)
        self.assertEqual(stream.refused, {})
        self.assertIsNone(stream.finish())
        self.assertGreaterEqual(self.counter("client_quota_delays_total"), 3)
        self.assertEqual(self.counter("client_quota_limit_total"), 0)

    def test_of_submissions_are_slowed_and_not_refused(self):
        self.begin("--quota-requests-per-second", "200", "--quota-request-burst", "100")
        begun = time.monotonic()
        stream = SubmitStream(self.alice.stub)
        self.addCleanup(stream.cancel)
        for _ in range(5):
            stream.submit(*[submit_item("echo")] * 100)
        stream.wait_for(lambda: len(stream.submitted) == 500, "the submissions")
        self.assertGreater(time.monotonic() - begun, 1.4)
        self.assertEqual(stream.refused, {})
        self.assertIsNone(stream.finish())

    def test_opened_anew_do_not_pass_the_quota(self):
        """What a stream has spent delays the first read of the next one."""
        self.begin("--quota-bytes-per-second", "100KB", "--quota-bytes-burst", "10KB")
        pid = self.alice.submit("counter", b"1000000")
        begun = time.monotonic()
        for _ in range(3):
            stream = SendStream(self.alice.stub)
            self.addCleanup(stream.cancel)
            stream.send(send_item(pid, "add", b"1" * 50_000))
            stream.wait_for_acks(1)
            self.assertIsNone(stream.finish())
        self.assertGreater(time.monotonic() - begun, 0.8)

    def test_are_counted(self):
        self.begin("--quota-streams", "2")
        streams = [SubmitStream(one.stub) for one in (self.alice, self.alice_too)]
        for stream in streams:
            self.addCleanup(stream.cancel)
            stream.wait_for(lambda one=stream: one.max_outstanding, "the greeting")
        refusal = self.refusal_of_stream(SendStream(self.alice.stub))
        self.assertEqual(refusal.metadata, {"quota": "streams", "limit": "2"})
        other = SubmitStream(self.bob.stub)
        self.addCleanup(other.cancel)
        other.wait_for(lambda: other.max_outstanding, "the greeting")
        streams[0].cancel()

        def opens():
            again = SubmitStream(self.alice.stub)
            self.addCleanup(again.cancel)
            eventually(lambda: again.max_outstanding or again.over, "an answer")
            return again.max_outstanding

        eventually(opens, "the place of the stream that has ended")
        self.assertGreaterEqual(self.counter("client_quota_limit_total"), 1)

    def test_that_wait_go_on_when_the_quotas_change_and_end_with_the_daemon(self):
        text = "[quotas]\nrequest_burst = 10\nrequests_per_second = "
        path = self.text_file(f"{text}1\n")
        self.begin("--config", path)
        pid = self.alice.submit("counter", b"1000000")
        stream = SendStream(self.alice.stub)
        self.addCleanup(stream.cancel)
        batch = [send_item(pid, "add", b"1")] * 1000
        stream.send(*batch)
        stream.send(*batch)
        eventually(lambda: self.counter("client_quota_delays_total"), "the delay")
        path.write_text(f"{text}2\n")
        self.daemon.signal(signal.SIGHUP)
        stream.wait_for_acks(2000)
        eventually(lambda: "reloaded: quotas.requests_per_second = 2" in
                   self.daemon.log(), "the line of the reload")
        stream.send(*batch)
        # The next read waits for minutes.
        eventually(lambda: self.counter("client_quota_delays_total") >= 2,
                   "the next delay")
        begun = time.monotonic()
        self.assertEqual(self.daemon.stop(), 0)
        self.assertLess(time.monotonic() - begun, 20)


class Bytes(Quotas):
    """What the processes of a client hold. An order waits for an external yield, and
    takes no messages meanwhile."""

    def test_in_mailboxes_are_limited(self):
        self.begin("--quota-mailbox-bytes", "10KiB")
        orders = [self.alice.submit("order", ORDER) for _ in range(2)]
        other = self.bob.submit("order", ORDER)
        for pid in orders:
            self.alice.send(pid, "note", b"x" * 4000)
        delay = self.refused(lambda: self.alice.send(orders[0], "note", b"x" * 4000),
                             "mailbox_bytes", 10240)
        self.assertEqual(delay, 0.1)
        self.bob.send(other, "note", b"x" * 4000)
        stream = SendStream(self.alice.stub)
        self.addCleanup(stream.cancel)
        stream.send(send_item(orders[1], "note", b"x" * 4000))
        stream.wait_for_acks(1)
        self.assertIn("CLIENT_QUOTA", str(stream.refused))
        self.assertIsNone(stream.finish())
        self.assertEqual(self.counter("mailbox_owner_limit_total"), 2)
        # The end of a process gives its bytes back.
        self.alice.terminate(orders[0])
        eventually(lambda: self.alice.dead_letters().dead_letters, "the dead letter")
        self.alice.send(orders[1], "note", b"x" * 4000)

    def test_of_external_yields_are_limited(self):
        self.begin("--quota-yield-bytes", "3000")
        for one in (self.alice, self.bob):
            one.submit("order", ORDER)
            eventually(one.yields, "the yield")
            one.submit("order", ORDER)
        self.alice.submit("order", ORDER)
        eventually(lambda: self.counter("yield_owner_limit_total"), "the refusal")
        self.assertLess(len(self.alice.yields()), 3)


class Connections(Quotas):

    def test_above_the_quota_are_refused_and_cut(self):
        self.check_quota()

    def check_quota(self):
        self.begin("--quota-connections", "1")
        self.alice.status()
        self.bob.status()
        self.assertEqual(self.refused(self.alice_too.status, "connections", 1), 1)

        def calls_begun(name):
            return [one.connection for one in self.watcher.stub.ListClients(
                client_pb2.ListClientsRequest()).clients if one.token.name == name]
        first, second = calls_begun("alice")
        # A client that goes on calling comes back with another one, also refused.
        eventually(lambda: second not in calls_begun("alice"), "the cut")

        def answer():
            try:
                return self.alice_too.status()
            except grpc.RpcError as error:  # lost before the client saw the cut?
                return refusal_of(error) if refusal_of(error).reason else None
        self.check(eventually(answer, "the answer"), "connections", 1)
        self.alice.status()
        self.assertIn(first, calls_begun("alice"))
        self.assertGreaterEqual(self.counter("client_quota_limit_total"), 2)
        # The end of the first one makes room.
        self.alice.close()
        eventually(lambda: hasattr(answer(), "counters"), "a free place")


class ConnectionsOverAUnixSocket(Connections):

    def test_above_the_quota_are_refused_and_cut(self):
        self.check_quota()

    def serve(self, *options, **more):
        return super().serve("--listen", f"unix:{self.directory}/s", *options, **more)

    def connect_with(self, daemon, token):
        connection = Connection(f"unix:{self.directory / 's'}")
        self.addCleanup(connection.close)
        present(connection, token)
        return connection


class Reload(Quotas):

    def test_counts_streams_and_processes_from_before(self):
        path = self.text_file("")
        self.begin("--config", path)
        stream = SubmitStream(self.alice.stub)
        self.addCleanup(stream.cancel)
        stream.wait_for(lambda: stream.max_outstanding, "the greeting")
        self.alice.submit("counter", b"7")
        path.write_text("[quotas]\nstreams = 1\nprocesses = 1\n")
        self.daemon.signal(signal.SIGHUP)
        self.daemon.wait_for_line("reloaded: quotas.streams = 1, quotas.processes = 1")
        refusal = self.refusal_of_stream(SubmitStream(self.alice.stub))
        self.assertEqual(refusal.metadata, {"quota": "streams", "limit": "1"})
        self.refused(lambda: self.alice.submit("counter", b"7"), "processes", 1)
        self.bob.submit("counter", b"7")
        stream.cancel()

        def opens():
            again = SubmitStream(self.alice.stub)
            self.addCleanup(again.cancel)
            eventually(lambda: again.max_outstanding or again.over, "an answer")
            return again.max_outstanding
        eventually(opens, "the place of the stream that has ended")


class OfTokens(Quotas):

    def test_replace_those_of_the_configuration_for_their_owner(self):
        self.token("client", "--quota", "processes=2", "--quota", "request_burst=50",
                   "--quota", "mailbox_bytes=4096", name="alice")
        self.begin("--quota-processes", "1", "--quota-requests-per-second", "40")
        pids = [one.submit("counter", b"7") for one in (self.alice, self.alice_too)]
        self.refused(lambda: self.alice.submit("counter", b"7"), "processes", 2)
        self.refused(lambda: self.alice.send(pids[0], "add", b"1" * 5000),
                     "mailbox_bytes", 4096)
        self.bob.submit("counter", b"7")
        self.refused(lambda: self.bob.submit("counter", b"7"), "processes", 1)

    def test_hold_and_end_with_the_file(self):
        self.begin()
        self.alice.submit("counter", b"7")
        strict = self.token("client", "--quota", "processes=1", "--quota",
                            "streams=1", name="alice")
        eventually(lambda: "has 5 tokens" in self.daemon.log(), "the reload")
        eventually(lambda: self.is_refused(self.alice), "the quota")
        self.refused(lambda: self.alice.submit("counter", b"7"), "processes", 1)
        self.bob.submit("counter", b"7")
        self.bob.submit("counter", b"7")
        stream = SubmitStream(self.alice.stub)
        self.addCleanup(stream.cancel)
        stream.wait_for(lambda: stream.max_outstanding, "the greeting")
        self.refusal_of_stream(SubmitStream(self.alice_too.stub))
        self.revoke(strict)
        eventually(lambda: not self.is_refused(self.alice), "its end")
        # The streams of the other tokens go on.
        self.assertFalse(stream.over, stream.error)

    def is_refused(self, actor):
        try:
            actor.submit("counter", b"7")
            return False
        except grpc.RpcError as error:
            self.assertEqual(refusal_of(error).reason, "CLIENT_QUOTA")
            return True


class Processes(Quotas):

    def test_of_one_client_are_limited(self):
        self.begin("--quota-processes", "2")
        pids = [one.submit("counter", b"7") for one in (self.alice, self.alice_too)]
        delay = self.refused(lambda: self.alice.submit("counter", b"7"),
                             "processes", 2)
        self.assertEqual(delay, 1)
        for _ in range(2):
            self.bob.submit("counter", b"7")
        self.alice.terminate(pids[0])
        self.alice.wait(pids[0])
        self.alice.submit("counter", b"7")
        self.assertEqual(self.counter("process_owner_limit_total"), 1)

    def test_of_one_client_count_with_their_children(self):
        self.begin("--quota-processes", "2")
        self.alice.submit("counter", b"7")
        spawn = json.dumps({"type": "counter"}).encode()
        answers = [json.loads(one.run("probe", spawn, "spawn").result.data)
                   for one in (self.alice, self.bob)]
        self.assertEqual(answers[0]["code"], "RESOURCE_EXHAUSTED", answers)
        self.assertNotEqual(answers[1].get("code"), "RESOURCE_EXHAUSTED", answers)

    def test_without_tokens_are_warned_of(self):
        for quota in ("requests-per-second", "processes"):
            daemon = self.start_daemon(f"--quota-{quota}", "1")
            self.connect(daemon)
            daemon.wait_for_line("quotas limit nobody")
