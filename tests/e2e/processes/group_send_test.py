"""Messages from outside to a group: all members get them, and a refusal says why."""

import signal
import unittest

import grpc
from actord.v1 import payload_pb2, process_pb2
from harness.bulk import SendStream, send_item
from harness.case import DURABLE, DaemonCase, StoreCase
from harness.cli import NOT_FOUND, CliCase
from harness.connection import CALL_SECONDS
from harness.tokens import TokenCase
from harness.waiting import eventually

INVALID = grpc.StatusCode.INVALID_ARGUMENT
UNKNOWN = grpc.StatusCode.NOT_FOUND
FULL = grpc.StatusCode.RESOURCE_EXHAUSTED
DENIED = grpc.StatusCode.PERMISSION_DENIED
FIVE = payload_pb2.Payload(data=b"5")


def send(actor, group, topic="", **fields):
    return actor.stub.Send(
        process_pb2.SendRequest(pid=group, topic=topic, **fields),
        timeout=CALL_SECONDS)


def join(actor, group, count=1):
    """Starts members of the group; returns their PIDs."""
    pids = [actor.submit("probe", group.encode(), "collect") for _ in range(count)]
    for pid in pids:
        # The group has the process when its first step is over.
        eventually(lambda pid=pid: actor.process(pid).steps >= 2, "the member")
    return pids


class Groups(DaemonCase):

    def topics_of(self, pid):
        self.actor.send(pid, "stop")
        return [each["topic"] for each in self.answer(self.actor.wait(pid))]

    def test_every_member_gets_each_message_once(self):
        members = join(self.actor, "workers", 5)
        others = join(self.actor, "others")
        for topic in ("a", "b", "c"):
            sent = send(self.actor, "#workers", topic)
            self.assertEqual((sent.delivered, sent.refused, sent.duplicate),
                             (5, 0, False))
        for pid in members:
            self.assertEqual(self.topics_of(pid), ["a", "b", "c"])
        self.assertEqual(self.topics_of(others[0]), [])

    def test_a_member_that_has_ended_gets_none(self):
        first, second = join(self.actor, "g", 2)
        self.actor.terminate(first)
        self.actor.wait(first)
        self.assertEqual(send(self.actor, "#g", "m").delivered, 1)
        self.assertEqual(self.topics_of(second), ["m"])
        self.assert_refused(lambda: send(self.actor, "#g"), code=UNKNOWN,
                            reason="NAME_NOT_FOUND", message="no live member")

    def test_a_message_to_one_process_has_no_counts(self):
        sent = send(self.actor, join(self.actor, "g")[0])
        self.assertEqual((sent.delivered, sent.refused), (0, 0))

    def test_refuses_an_id_a_call_and_a_wrong_name(self):
        join(self.actor, "g")
        self.assert_refused(lambda: send(self.actor, "#g", message_id="m-1"),
                            code=INVALID, reason="INVALID_FIELD",
                            message="group", field="message_id")
        self.assert_refused(lambda: self.actor.call("#g", "echo"), code=INVALID,
                            reason="INVALID_PID", message="only Send", field="pid")
        for wrong in ("#", "#a b", "#" + "x" * 129, "##g"):
            self.assert_refused(lambda wrong=wrong: send(self.actor, wrong),
                                code=INVALID, reason="INVALID_PID",
                                message="must follow the #", field="pid")

    def test_items_of_a_stream_keep_their_order(self):
        members = join(self.actor, "g", 3)
        stream = SendStream(self.actor.stub)
        self.addCleanup(stream.cancel)
        stream.send(send_item(members[0], "before"), send_item("#g", "to all"),
                    send_item("#nobody", "lost"), send_item(members[0], "after"))
        stream.finish()
        self.assertEqual(stream.acked, 4)
        self.assertEqual(list(stream.refused), [2])
        self.assertEqual(self.topics_of(members[0]), ["before", "to all", "after"])
        for pid in members[1:]:
            self.assertEqual(self.topics_of(pid), ["to all"])


class FullMailboxes(DaemonCase):

    OPTIONS = ("--max-mailbox-messages", "2")

    def test_a_full_mailbox_keeps_the_message_from_one_member_alone(self):
        file = self.directory / "go"
        self.addCleanup(file.touch)
        deaf, taker = join(self.actor, "g", 2)
        self.actor.send(deaf, "hold", str(file).encode())
        eventually(lambda: self.actor.process(deaf).state
                   == process_pb2.PROCESS_STATE_RUNNING, "its step")
        sent = []
        for count in range(1, 5):
            sent.append(send(self.actor, "#g", "m"))
            eventually(lambda count=count:
                       self.actor.process(taker).mailbox_messages == 0, "its step")
        counts = [(one.delivered, one.refused) for one in sent]
        self.assertEqual(counts[0], (2, 0))
        self.assertEqual(counts[-1], (1, 1))
        self.actor.terminate(taker)
        self.actor.wait(taker)
        self.assert_refused(lambda: send(self.actor, "#g"), code=FULL,
                            reason="MAILBOX_FULL", message="mailbox")


class Durable(StoreCase):

    def test_a_durable_member_has_the_message_after_a_crash(self):
        self.start(exit_status=-signal.SIGKILL)
        member = self.actor.submit("probe.rounds", b"30", durability=DURABLE)
        self.actor.send(member, "join", b"g")
        # The answer comes after the step that has joined.
        self.actor.call(member)
        self.actor.submit("probe", b"g", "collect")
        sent = eventually(
            lambda: [one for one in [send(self.actor, "#g", "add", payload=FIVE)]
                     if one.delivered == 2], "both members")[0]
        # A member is volatile.
        self.assertEqual(sent.receipt, process_pb2.RECEIPT_MEMORY)
        total = self.actor.call(member).result.data
        self.assertGreaterEqual(int(total), 35)
        self.kill()
        self.start()
        self.assertEqual(self.actor.call(member).result.data, total)
        sent = send(self.actor, "#g", "add", payload=FIVE)
        self.assertEqual((sent.delivered, sent.receipt),
                         (1, process_pb2.RECEIPT_LOGGED))


class Owners(TokenCase):

    def test_a_group_belongs_to_an_owner(self):
        alice = self.token("client", name="alice")
        bob = self.token("client", name="bob")
        daemon = self.serve()
        alice, bob = (self.connect_with(daemon, one) for one in (alice, bob))
        join(alice, "g", 2)
        for group in ("#g", "#g@alice", "#g@", "#g@nobody"):
            self.assert_code(lambda group=group: send(bob, group), UNKNOWN,
                             "NAME_NOT_FOUND")
        join(bob, "g")
        self.assertEqual(send(bob, "#g").delivered, 1)
        self.assertEqual(send(alice, "#g@alice").delivered, 2)

    def test_one_member_of_a_type_that_is_not_allowed_refuses_all(self):
        admin = self.token("admin", "--see", "own", name="alice")
        narrow = self.token("client", "--send", "counter", name="alice")
        daemon = self.serve()
        admin, narrow = (self.connect_with(daemon, one) for one in (admin, narrow))
        pid, = join(admin, "g")
        self.assert_code(lambda: send(narrow, "#g", "m"), DENIED,
                         "NAME_NOT_ALLOWED")
        self.assertEqual(send(admin, "#g", "own").delivered, 1)
        admin.send(pid, "stop")
        self.assertNotIn(b'"m"', admin.wait(pid).result.data)


class Cli(CliCase):

    def test_send_says_how_many_members_have_the_message(self):
        join(self.actor, "g", 2)
        self.assertEqual(self.output("send", "#g", "x"),
                         "sent to 2 of 2 members\n")
        self.assertEqual(self.json("send", "#g", "x")["delivered"], 2)
        self.assert_complains(NOT_FOUND, "no live member", "send", "#nobody", "x")


if __name__ == "__main__":
    unittest.main()
