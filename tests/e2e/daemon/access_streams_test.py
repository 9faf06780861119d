"""Tokens and streams: an open stream ends with its token, and the patterns of the
token bind each item."""

import signal
import threading
import time

import grpc
from actord.v1 import backup_pb2, history_pb2, process_pb2, watch_pb2
from harness.bulk import SendStream, SubmitStream, send_item, submit_item
from harness.case import DURABLE
from harness.connection import CALL_SECONDS, refusal_of
from harness.responses import Responses
from harness.tokens import TokenCase
from harness.waiting import WAIT_SECONDS, eventually
from harness.work import RemoteWorker

UNAUTHENTICATED = grpc.StatusCode.UNAUTHENTICATED


class Watch(Responses):

    def __init__(self, stub):
        super().__init__()
        self.call = stub.WatchProcesses(watch_pb2.WatchProcessesRequest())
        self.read_on()
        self.wait_for(lambda: self.responses, "the first page")

    def _add(self, response):
        pass


class History(Responses):

    def __init__(self, stub, pid):
        super().__init__()
        self.call = stub.ReadHistory(history_pb2.ReadHistoryRequest(
            pid=pid, follow=True))
        self.read_on()
        self.wait_for(lambda: self.responses, "the first entries")

    def _add(self, response):
        pass


class Backup:
    """A backup whose client reads the first piece, and the others only when it
    waits for the end."""

    def __init__(self, stub):
        self.error = None  # known when wait has returned
        self.call = stub.Backup(backup_pb2.BackupRequest())
        next(self.call)

    @property
    def over(self):
        return self.call.done()

    def wait(self, seconds):
        timer = threading.Timer(seconds, self.call.cancel)
        timer.start()
        try:
            for _ in self.call:
                pass
        except grpc.RpcError as error:
            return error
        finally:
            timer.cancel()
        return None

    def cancel(self):
        self.call.cancel()


class StreamCase(TokenCase):

    def serve_all(self):
        """A daemon that serves each kind of stream."""
        return self.serve("--store", self.directory / "store")

    def add_streams_of_the_store(self, daemon, token, streams):
        actor = self.connect_with(daemon, token)
        pids = [actor.submit("counter", durability=DURABLE) for _ in range(8)]
        # More than flow control lets through to a client that does not read.
        for pid in pids:
            actor.stub.Send(process_pb2.SendRequest(
                pid=pid, topic="noise", payload={"data": b"0" * 1_000_000}),
                            timeout=CALL_SECONDS)
        streams["ReadHistory"] = History(actor.stub, pids[0])
        streams["Backup"] = Backup(self.connect_with(daemon, token).stub)
        for name in ("ReadHistory", "Backup"):
            self.addCleanup(streams[name].cancel)

    def open_all(self, daemon, token, worker_token=None):
        """One stream of each kind that needs no store, by its name."""
        stub = self.connect_with(daemon, token).stub
        worker = self.connect_with(daemon, worker_token or token).stub
        streams = {"SendStream": SendStream(stub),
                   "SubmitStream": SubmitStream(stub), "Watch": Watch(stub),
                   "Work": RemoteWorker(worker, "payment.*")}
        streams["SubmitStream"].wait_for(
            lambda: streams["SubmitStream"].max_outstanding, "the greeting")
        # The daemon has begun the call when it has answered.
        streams["SendStream"].send(send_item("p-none"))
        streams["SendStream"].wait_for_acks(1)
        for stream in streams.values():
            self.addCleanup(stream.close if isinstance(stream, RemoteWorker)
                            else stream.cancel)
        return streams

    def assert_ended(self, streams, code, reason, why="", seconds=WAIT_SECONDS):
        deadline = time.monotonic() + seconds
        for name, stream in streams.items():
            left = max(0.01, deadline - time.monotonic())
            with self.subTest(stream=name):
                if isinstance(stream, RemoteWorker):
                    self.assertTrue(stream.ended.wait(left))
                    error = stream.error
                else:
                    error = stream.wait(left)
                refusal = refusal_of(error)
                self.assertEqual((refusal.code, refusal.reason), (code, reason),
                                 refusal)
                self.assertIn(why, refusal.message)

    def assert_open(self, streams):
        for name, stream in streams.items():
            with self.subTest(stream=name):
                over = (stream.ended.is_set() if isinstance(stream, RemoteWorker)
                        else stream.over)
                self.assertFalse(over, stream.error)


class OpenStreams(StreamCase):

    def test_end_when_their_token_is_revoked(self):
        revoked, kept = self.token("admin"), self.token("admin")
        daemon = self.serve_all()
        ending = self.open_all(daemon, revoked)
        self.add_streams_of_the_store(daemon, revoked, ending)
        staying = self.open_all(daemon, kept)
        self.revoke(revoked)
        self.assert_ended(ending, UNAUTHENTICATED, "TOKEN_INVALID", "revoked")
        self.assert_open(staying)
        counters = self.connect_with(daemon, kept).status().counters
        self.assertEqual((counters.calls_unauthenticated_total,
                          counters.calls_token_expired_total), (6, 0))

    def test_end_when_their_token_expires(self):
        token = self.token("admin", "--expires", "15s")
        kept = self.token("admin")
        daemon = self.serve_all()
        made = time.monotonic()
        streams = self.open_all(daemon, token)
        self.add_streams_of_the_store(daemon, token, streams)
        self.assert_open(streams)
        self.assert_ended(streams, UNAUTHENTICATED, "TOKEN_EXPIRED", "expired")
        self.assertGreater(time.monotonic() - made, 1)
        actor = self.connect_with(daemon, kept)
        self.assertEqual(actor.status().counters.calls_token_expired_total, 6)
        self.assert_code(self.connect_with(daemon, token).status, UNAUTHENTICATED,
                         "TOKEN_EXPIRED")
        counters = actor.status().counters
        self.assertEqual((counters.calls_token_expired_total,
                          counters.calls_unauthenticated_total), (7, 7))

    def test_stay_when_another_part_of_the_file_changes(self):
        token = self.token("admin")
        daemon = self.serve()
        streams = self.open_all(daemon, token)
        self.token("viewer")
        eventually(lambda: "has 2 tokens" in daemon.log(), "the reload")
        daemon.signal(signal.SIGHUP)
        eventually(lambda: daemon.log().count("has 2 tokens") == 2,
                   "the second reload")
        self.assert_open(streams)

    def test_stay_with_a_broken_file(self):
        token = self.token("admin")
        daemon = self.serve()
        streams = self.open_all(daemon, token)
        text = self.token_file.read_text()
        self.token_file.write_text("nonsense")
        eventually(lambda: "tokens not reloaded" in daemon.log(), "the line")
        time.sleep(2.5)  # longer than two looks at the file
        self.assertEqual(daemon.log().count("tokens not reloaded"), 1)
        self.assert_open(streams)
        self.connect_with(daemon, token).status()
        self.token_file.write_text(text)
        eventually(lambda: "tokens reloaded" in daemon.log(), "the reload")

    def test_are_to_be_opened_again_when_the_rights_change(self):
        token = self.token("admin")
        daemon = self.serve()
        streams = self.open_all(daemon, token)
        text = self.token_file.read_text()
        self.assertIn('submit = ["*"]', text)
        self.token_file.write_text(text.replace('submit = ["*"]',
                                                'submit = ["echo"]'))
        self.assert_ended(streams, grpc.StatusCode.UNAVAILABLE, "TOKEN_CHANGED")
        actor = self.connect_with(daemon, token)
        actor.run("echo", b"1")
        self.assert_code(lambda: actor.submit("counter"),
                         grpc.StatusCode.PERMISSION_DENIED, "NAME_NOT_ALLOWED")


class Items(StreamCase):

    def setUp(self):
        super().setUp()
        # Of one owner, so that patterns alone refuse.
        self.admin = self.token("admin")
        self.restricted = self.token("client", "--submit", "echo", "--send",
                                     "counter", name="admin")
        self.worker = self.token("worker", "--work", "payment.*", name="admin")
        self.daemon = self.serve()
        self.actor = self.connect_with(self.daemon, self.admin)

    def test_of_sends_are_refused_one_by_one(self):
        counter = self.actor.submit("counter", b"0")
        order = self.actor.submit(
            "order", b'{"order": "o", "amount_cents": 1, "hold_ms": 0}')
        stream = SendStream(self.connect_with(self.daemon, self.restricted).stub)
        stream.send(send_item(counter, "add", b"1"), send_item(order, "x"),
                    send_item(counter, "add", b"1"))
        self.assertIsNone(stream.finish())
        self.assertEqual({index: refusal.reason
                          for index, refusal in stream.refused.items()},
                         {1: "NAME_NOT_ALLOWED"})
        self.assertEqual(self.actor.call(counter, "add", b"0").result.data, b"2")
        self.actor.terminate(order)

    def test_of_submissions_are_refused_one_by_one(self):
        stream = SubmitStream(self.connect_with(self.daemon, self.restricted).stub)
        stream.submit(submit_item("echo", b"1"), submit_item("counter"),
                      submit_item("echo", b"2"), await_outcomes=True)
        self.assertIsNone(stream.finish())
        self.assertEqual({index: refusal.reason
                          for index, refusal in stream.refused.items()},
                         {1: "NAME_NOT_ALLOWED"})
        self.assertEqual(sorted(stream.outcomes), [0, 2])

    def test_of_workers_are_refused(self):
        stub = self.connect_with(self.daemon, self.worker).stub
        for commands in (("manual.x",), ("*",), ("payment.charge", "manual.*")):
            worker = RemoteWorker(stub, *commands)
            self.assertTrue(worker.ended.wait(WAIT_SECONDS))
            refusal = refusal_of(worker.error)
            self.assertEqual((refusal.code, refusal.reason),
                             (grpc.StatusCode.PERMISSION_DENIED,
                              "NAME_NOT_ALLOWED"))

    def test_of_workers_for_other_commands_are_refused(self):
        other = RemoteWorker(self.actor.stub, "manual.*", credits=1)
        self.addCleanup(other.close)
        self.actor.submit("probe", b'{"command": "manual.do"}', "yield")
        foreign = other.task()
        worker = RemoteWorker(self.connect_with(self.daemon, self.worker).stub,
                              "payment.*", credits=1)
        self.addCleanup(worker.close)
        for answer in (worker.complete, worker.fail, worker.beat):
            self.assertEqual(answer(foreign), "NAME_NOT_ALLOWED")
        self.assertEqual(other.complete(foreign), "ACCEPTED")
        self.actor.submit(
            "order", b'{"order": "o", "amount_cents": 1, "hold_ms": 0}')
        task = worker.task()
        self.assertEqual(task.command, "payment.charge")
        self.assertEqual(worker.complete(task), "ACCEPTED")
