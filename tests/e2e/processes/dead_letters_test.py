"""Messages that reached nobody: listed, looked at, sent again, dropped."""

import concurrent.futures
import json
import signal
import unittest

import grpc
from actord.v1 import dead_letter_pb2, process_pb2
from harness.case import DaemonCase
from harness.cli import DONE, FAILED, NOT_FOUND, USAGE, CliCase
from harness.connection import CALL_SECONDS
from harness.waiting import eventually

INVALID = grpc.StatusCode.INVALID_ARGUMENT
UNKNOWN = grpc.StatusCode.NOT_FOUND
ENDED = grpc.StatusCode.FAILED_PRECONDITION
# A process that takes no messages for a minute.
DEAF = json.dumps({"order": "17", "amount_cents": 1, "hold_ms": 60_000}).encode()


def reason_of(letter):
    return dead_letter_pb2.DeadLetterReason.Name(letter.reason).removeprefix(
        "DEAD_LETTER_REASON_")


class DeadLetterCase(DaemonCase):

    def leave(self, *messages):
        """Makes dead letters of (topic, payload) by the end of a process, and
        returns its PID."""
        pid = self.actor.submit("order", DEAF)
        for topic, payload in messages:
            self.actor.send(pid, topic, payload)
        before = self.actor.status().counters.dead_letters_total
        self.actor.terminate(pid)
        eventually(lambda: self.actor.status().counters.dead_letters_total
                   == before + len(messages), "the dead letters")
        return pid

    def kept(self, **fields):
        return list(self.actor.dead_letters(**fields).dead_letters)

    def collected(self, pid):
        self.actor.send(pid, "stop")
        return self.answer(self.actor.wait(pid))


class Letters(DeadLetterCase):

    def test_letters_of_a_mailbox_can_be_sent_to_another_process(self):
        long_text = b"x" * 300_000
        gone = self.leave(("a", b"1"), ("b", long_text), ("c", b"3"))
        first, second, third = self.kept()
        self.assertEqual([reason_of(letter) for letter in (first, second)],
                         ["DROPPED_AT_END"] * 2)
        self.assertEqual((first.topic, first.to_pid, first.from_pid,
                          first.payload.data, first.is_call),
                         ("a", gone, "", b"1", False))
        self.assertEqual(second.payload.data, long_text[:256])
        self.assertEqual(second.payload_bytes, len(long_text))
        self.assertEqual(self.actor.dead_letter(second.id).payload.data,
                         long_text)

        heir = self.actor.submit("probe", method="collect", name="heir")
        self.assert_refused(lambda: self.actor.resend(second.id), code=ENDED,
                            reason="PROCESS_ENDED", message=gone)
        self.assertEqual(self.actor.resend(second.id, heir), heir)
        self.assertEqual(self.actor.resend(first.id, "@heir"), heir)
        for call in (self.actor.resend, self.actor.dead_letter):
            self.assert_refused(lambda call=call: call(first.id), code=UNKNOWN,
                                reason="DEAD_LETTER_NOT_FOUND",
                                message="there is no dead letter 1: it was sent")
        self.assertEqual([letter.id for letter in self.kept()], [third.id])
        self.assertEqual(self.actor.drop_dead_letters(first.id, third.id), 1)
        self.assertEqual(self.kept(), [])
        self.assertEqual([(m["topic"], len(m["payload"]), m["outside"])
                          for m in self.collected(heir)],
                         [("b", len(long_text), True), ("a", 1, True)])
        counters = self.actor.status().counters
        self.assertEqual((counters.dead_letters_total,
                          counters.dead_letters_kept,
                          counters.dead_letters_kept_bytes,
                          counters.dead_letters_resent_total,
                          counters.dead_letters_dropped_total,
                          counters.dead_letters_forgotten_total),
                         (3, 0, 0, 2, 1, 0))

    def test_a_child_that_outlives_its_parent(self):
        outcome = self.actor.run("probe", b"late_child", "spawn_step")
        [child] = eventually(lambda: self.actor.stub.ListProcesses(
            process_pb2.ListProcessesRequest(parent_pid=outcome.pid),
            timeout=CALL_SECONDS).processes, "the child")
        self.actor.send(child.pid)
        eventually(lambda: self.actor.status().counters.dead_letters_total == 1,
                   "the dead letter")
        [letter] = self.kept()
        self.assertEqual((letter.topic, letter.to_pid, reason_of(letter)),
                         ("hello", outcome.pid, "ENDED"))
        self.assertEqual(letter.from_pid, child.pid)
        self.assertEqual(self.kept(reason=letter.reason), [letter])
        self.assertEqual(self.kept(
            reason=dead_letter_pb2.DEAD_LETTER_REASON_MAILBOX_FULL), [])

    def test_a_refused_send_is_none(self):
        gone = self.actor.submit("echo")
        self.actor.wait(gone)
        with self.assertRaises(grpc.RpcError):
            self.actor.send(gone, "x")
        self.assertEqual(self.kept(), [])
        self.assertEqual(self.actor.status().counters.dead_letters_total, 0)

    def test_pages_filters_and_orders(self):
        first = self.leave(*[(str(i), b"") for i in range(150)])
        self.leave(("other", b""))

        def walk(**fields):
            topics, token = [], ""
            while True:
                page = self.actor.dead_letters(page_token=token, **fields)
                topics += [letter.topic for letter in page.dead_letters]
                token = page.next_page_token
                if not token:
                    return topics

        expected = [str(i) for i in range(150)]
        self.assertEqual(walk(page_size=40), expected + ["other"])
        self.assertEqual(walk(page_size=40, to_pid=first), expected)
        self.assertEqual(walk(page_size=7, newest_first=True),
                         ["other"] + expected[::-1])
        self.assertEqual(len(self.kept()), 100)
        token = self.actor.dead_letters(page_size=1).next_page_token
        self.assert_refused(
            lambda: self.actor.dead_letters(page_token=token, to_pid=first),
            code=INVALID, reason="INVALID_PAGE_TOKEN", field="page_token",
            message="page_token")

    def test_one_of_several_clients_resends_a_letter(self):
        self.leave(*[(str(i), b"") for i in range(200)])
        heir = self.actor.submit("probe", method="collect")
        ids = [letter.id for letter in self.kept(page_size=1000)]
        self.assertEqual(len(ids), 200)

        def resend_all(connection):
            accepted = 0
            for letter_id in ids:
                try:
                    connection.resend(letter_id, heir)
                    accepted += 1
                except grpc.RpcError as error:
                    self.assertEqual(error.code(), UNKNOWN, error)
            return accepted

        connections = [self.connect(self.daemon) for _ in range(4)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            accepted = sum(pool.map(resend_all, connections))
        self.assertEqual(accepted, 200)
        self.assertEqual(sorted(int(m["topic"]) for m in self.collected(heir)),
                         list(range(200)))

    def test_malformed_ids_are_refused(self):
        self.leave(("a", b""))
        [letter] = self.kept()
        for text in ("", "1", "x.1", letter.id + "0x", letter.id + " ",
                     letter.id.replace(".", ".0"), "." + letter.id, "0.0",
                     "ffffffffff.1", "1.99999999999999999999"):
            for field, call in (("id", self.actor.dead_letter),
                                ("id", self.actor.resend),
                                ("ids[0]", self.actor.drop_dead_letters)):
                with self.subTest(text=text, call=call.__name__):
                    self.assert_refused(
                        lambda call=call, text=text: call(text), code=INVALID,
                        reason="INVALID_FIELD", field=field,
                        message="is not the id of a dead letter")
        self.assert_refused(lambda: self.actor.resend(letter.id, "nonsense"),
                            code=INVALID, reason="INVALID_PID", field="to",
                            message="to")
        self.assert_refused(lambda: self.actor.resend(letter.id, "@nobody"),
                            code=UNKNOWN, reason="NAME_NOT_FOUND",
                            message="nobody")
        self.assert_refused(lambda: self.kept(reason=99), code=INVALID,
                            reason="INVALID_FIELD", field="reason",
                            message="not a reason")
        self.assert_refused(lambda: self.actor.drop_dead_letters(
            *[letter.id] * 1001), code=INVALID, reason="INVALID_FIELD",
                            field="ids", message="1001 items")
        self.assertEqual(self.kept(), [letter])

    def test_an_id_of_another_start_means_nothing_here(self):
        self.leave(("a", b""))
        other = self.connect(self.start_daemon())
        [letter] = self.kept()
        for call in (other.dead_letter, other.resend):
            self.assert_refused(lambda call=call: call(letter.id), code=UNKNOWN,
                                reason="DEAD_LETTER_NOT_FOUND",
                                message="another start")
        self.assertEqual(other.drop_dead_letters(letter.id), 0)
        self.assertEqual(self.actor.drop_dead_letters(letter.id), 1)


class Bounds(DeadLetterCase):

    def setUp(self):
        super().setUp()
        self.config = self.text_file("[dead_letters]\nmax_count = 5\n")
        self.daemon = self.start_daemon("--config", self.config)
        self.actor = self.connect(self.daemon)

    def test_the_oldest_go_and_a_reload_holds_at_once(self):
        self.leave(*[(str(i), b"") for i in range(8)])
        self.assertEqual([letter.topic for letter in self.kept()],
                         ["3", "4", "5", "6", "7"])
        self.assertEqual(self.actor.status().limits.max_dead_letters, 5)
        for text, topics in (("max_count = 2", ["6", "7"]),
                             ("max_count = 2\nmax_bytes = 0", [])):
            self.config.write_text(f"[dead_letters]\n{text}\n")
            self.daemon.signal(signal.SIGHUP)
            eventually(lambda topics=topics:
                       [letter.topic for letter in self.kept()] == topics,
                       "the lowered limit")
        self.leave(("none is kept", b""))
        counters = self.actor.status().counters
        self.assertEqual((counters.dead_letters_total,
                          counters.dead_letters_kept,
                          counters.dead_letters_forgotten_total), (9, 0, 9))


class CommandLine(DeadLetterCase, CliCase):

    def test_a_topic_does_not_act_on_a_terminal(self):
        self.leave(("a\x1b[2J\x85\u202e\u2028z", b"5"))
        self.assertIn(" a?[2J???z ", self.output("dead-letters", "list"))

    def test_list_show_resend_drop(self):
        gone = self.leave(("add", b"5"), ("add", b"7"), ("say", b"\xff\xfe"))
        table = self.output("dead-letters", "list", "-o", "wide").splitlines()
        self.assertEqual(table[0].split(), ["ID", "AGE", "REASON", "TO", "TOPIC",
                                            "SIZE", "FROM", "PAYLOAD"])
        self.assertEqual(len(table), 4)
        five, seven, say = self.json("dead-letters", "list", "--to", gone)
        self.assertEqual(five["reason"], "DROPPED_AT_END")
        self.assertEqual(five["payload"]["json"], 5)
        self.assertEqual(
            self.json("dead-letters", "list", "--newest", "--limit", 1), [say])
        self.assertEqual(self.json("dead-letters", "list", "--reason", "ended"),
                         [])
        self.assertIn("Topic:", self.output("dead-letters", "show", five["id"]))
        self.assertEqual(self.output("dead-letters", "show", say["id"],
                                     "--payload", stdin=b""), b"\xff\xfe")

        heir = self.actor.submit("counter", name="heir")
        self.assert_complains(FAILED, "has ended", "dead-letters", "resend",
                              five["id"])
        self.assertEqual(self.output("dead-letters", "resend", five["id"],
                                     seven["id"], "--to", "@heir", "-o", "name"),
                         f"{five['id']}\n{seven['id']}\n")
        self.actor.send(heir, "stop")
        self.assertEqual(self.actor.wait(heir).result.data, b"12")
        self.assert_complains(NOT_FOUND, "no dead letter", "dead-letters", "show",
                              five["id"])
        self.assertEqual(self.json("dead-letters", "drop", "--all"),
                         {"dropped_count": 1})
        self.assertEqual(self.output("dead-letters", "drop", say["id"]),
                         "0 dropped\n")
        self.assertIn("0 kept", self.output("status"))

    def test_usage(self):
        self.assertEqual(self.actorctl("dead-letters").stdout,
                         self.actorctl("dead-letters", "list").stdout)
        self.assert_complains(USAGE, "ID or --all", "dead-letters", "drop")
        self.assert_complains(USAGE, "reason", "dead-letters", "list", "--reason",
                              "bad luck")
        self.actorctl("dead-letters", "resend", "--help", status=DONE)


if __name__ == "__main__":
    unittest.main()
