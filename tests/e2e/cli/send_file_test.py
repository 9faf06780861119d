"""actorctl send --from-file: the order, the receipts and the failures of lines."""

import json
import signal
import subprocess
import unittest

from actord.v1 import process_pb2
from harness import places
from harness.case import DURABLE, DaemonCase, StoreCase
from harness.cli import FAILED, INTERRUPTED, UNAVAILABLE
from harness.waiting import WAIT_SECONDS, eventually

VOLATILE = process_pb2.DURABILITY_VOLATILE


def lines_of(text):
    return {line["line"]: line for line in map(json.loads, text.splitlines())}


class FileMixin:

    def file(self, lines):
        return self.text_file("".join(f"{json.dumps(line)}\n" for line in lines),
                              "lines.jsonl")

    def collector(self):
        return self.actor.submit("probe", method="collect")

    def collected(self, pid):
        self.actor.send(pid, "stop")
        return [one["payload"] for one in self.answer(self.actor.wait(pid))]

    def start_sending(self, *words):
        """Returns the client, which has had an answer, and the file of its output."""
        path = self.directory / "out"
        with open(path, "w", encoding="utf-8") as output:
            client = subprocess.Popen(
                [places.ACTORCTL, "send", *words, "-o", "jsonl"], stdout=output,
                stderr=subprocess.PIPE, text=True,
                env=places.clean_environment(ACTORD_ADDRESS=self.daemon.address))
        eventually(lambda: path.stat().st_size > 0, "the first answers")
        return client, path


class Order(FileMixin, DaemonCase):

    OPTIONS = ("--max-mailbox-messages", "20")

    def test_full_mailboxes_cost_no_message_and_no_order(self):
        pids = [self.collector() for _ in range(3)]
        path = self.file({"pid": pid, "payload": number} | (
            {"message_id": f"{pid}-{number}"} if number % 7 == 3 else {})
            for number in range(600) for pid in pids)
        done = self.actorctl("send", "--from-file", path, "-o", "jsonl")
        self.assertIn("sent 1,800, failed 0 in ", done.stderr)
        self.assertEqual(len(lines_of(done.stdout)), 1800)
        for pid in pids:
            eventually(lambda pid=pid: self.actor.process(pid).mailbox_messages == 0,
                       "an empty mailbox")
            self.assertEqual(self.collected(pid),
                             [str(number) for number in range(600)])

    def test_line_that_is_refused_for_good_leaves_the_others_alone(self):
        pid = self.collector()
        payloads = [1, "x" * 1_500_000, 2, "y" * 5_000_000, 3]
        path = self.file({"payload": payload} for payload in payloads)
        done = self.actorctl("send", pid, "--from-file", path, "-o", "jsonl",
                             status=FAILED)
        lines = lines_of(done.stdout)
        self.assertEqual({number: line.get("error", {}).get("reason")
                          for number, line in lines.items()},
                         {1: None, 2: "PAYLOAD_TOO_LARGE", 3: None,
                          4: "PAYLOAD_TOO_LARGE", 5: None})
        self.assertIn("sent 3, failed 2 in ", done.stderr)
        self.assertEqual(self.collected(pid), ["1", "2", "3"])

    def test_message_id_is_delivered_once(self):
        pid = self.actor.submit("counter", b"0")
        path = self.file({"topic": "add", "payload": 1, "message_id": f"m{number}"}
                         for number in (1, 2, 1))
        for _ in range(2):
            self.actorctl("send", pid, "--from-file", path)
        self.assertEqual(self.actor.call(pid, "get").result.data, b"2")

    def test_unknown_key_is_named_with_the_known_ones(self):
        done = self.actorctl("send", "--from-file", self.file([{"playload": 1}]),
                             status=FAILED)
        self.assertIn('lines.jsonl:1: unknown key "playload"; the keys are '
                      "message_id, payload, pid and topic", done.stderr)

    def test_interruption_tells_which_lines_have_no_answer(self):
        pid = self.collector()
        path = self.file({"payload": number} for number in range(100_000))
        client, output = self.start_sending(pid, "--from-file", path)
        self.daemon.signal(signal.SIGSTOP)
        self.addCleanup(self.daemon.signal, signal.SIGCONT)
        with self.assertRaises(subprocess.TimeoutExpired):
            client.wait(0.3)
        client.send_signal(signal.SIGINT)
        _, stderr = client.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(client.returncode, INTERRUPTED, stderr)
        self.assertRegex(stderr, r"sent [\d,]+, failed [\d,]+ \([\d,]+ not answered, "
                         "which may have arrived\\) in ")
        self.assertIn("not answered, so it may or may not have arrived",
                      output.read_text())


class Receipts(FileMixin, StoreCase):

    def test_each_line_has_the_receipt_of_its_process(self):
        self.start()
        durable = self.counter()
        volatile = self.actor.submit("counter", b"0", durability=VOLATILE)
        self.actor.submit("counter", b"0", name="lasting", durability=DURABLE)
        receivers = [durable, volatile, "@lasting", volatile, durable] * 40
        path = self.file({"pid": receiver, "topic": "add", "payload": 1}
                         for receiver in receivers)
        done = self.actorctl("send", "--from-file", path, "-o", "jsonl")
        lines = lines_of(done.stdout)
        self.assertEqual(
            [(line["pid"], line["receipt"]) for _, line in sorted(lines.items())],
            [(receiver, "MEMORY" if receiver == volatile else "LOGGED")
             for receiver in receivers])
        self.assertEqual(self.value(durable), 80)

    def test_line_without_an_answer_is_not_sent(self):
        self.start(exit_status=-signal.SIGKILL)
        pid = self.counter()
        count = 200_000
        path = self.file([{"topic": "add", "payload": 1}] * count)
        client, output = self.start_sending(pid, "--from-file", path,
                                            "--in-flight", "2000")
        self.daemon.signal(signal.SIGKILL)
        _, stderr = client.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(client.returncode, UNAVAILABLE, stderr)
        self.assertRegex(stderr, r"stopped at .*lines\.jsonl:\d+: cannot reach")
        self.kill()
        self.start()
        lines = [json.loads(line) for line in output.read_text().splitlines()]
        self.assertEqual(len({line["line"] for line in lines}), len(lines))
        sent = sum("receipt" in line for line in lines)
        unanswered = sum("not answered" in line.get("error", {}).get("message", "")
                         for line in lines)
        self.assertGreater(sent, 0)
        self.assertGreater(unanswered, 0)
        self.assertLess(len(lines), count)
        self.assertGreaterEqual(self.value(pid), sent)
        self.assertLessEqual(self.value(pid), sent + unanswered)


if __name__ == "__main__":
    unittest.main()
