"""Text of strangers with control characters, marks of direction, bytes that are not
UTF-8, and a megabyte: people get it escaped and cut, programs get valid JSON, and
payloads keep every byte."""

import base64
import json
import re
import unittest

import grpc
from harness.cli import FAILED, CliCase
from harness.waiting import eventually

# Characters that act on a terminal, or change how the text around them reads.
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e"
                     "\u2066-\u2069\ufeff]")
TEXT = ("a\x1b[2J\x1b]0;title\x07\x08\x7f\x85\x9b2J\u061c\u200e\u200f\u2028\u202a"
        "\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\rforged\nz")
BYTES = TEXT.encode() + b"\xff\xc0\xaf\xed\xa0\x80"
MEGABYTE = 1 << 20
LONG = (TEXT * MEGABYTE)[:MEGABYTE // 3]
# The longest text of an error or a reason that is kept.
ERROR_BYTES = 4096
# The longest line of a terminal that shows such a text, and of the log.
SHOWN_CHARACTERS = 2 * ERROR_BYTES
LOGGED_CHARACTERS = 6 * (16 << 10) + 200


class HostileText(CliCase):

    OPTIONS = ("--log-level", "debug")

    def assert_shown(self, text):
        """A person can read it."""
        self.assertIsNone(CONTROL.search(text), ascii(text[:2000]))
        for line in text.splitlines():
            self.assertLess(len(line), SHOWN_CHARACTERS)

    def assert_all_formats(self, *words):
        """Returns what the command prints as JSON."""
        for form in ("table", "wide", "yaml", "name"):
            self.assert_shown(self.output(*words, "-o", form))
        text = self.output(*words, "-o", "json")
        self.assertIsNone(CONTROL.search(text), ascii(text[:2000]))
        return json.loads(text)

    def log_text(self):
        return self.daemon.log_path.read_bytes().decode()  # strict

    def assert_log_shown(self):
        text = self.log_text()
        self.assertIsNone(CONTROL.search(text), ascii(text[-2000:]))
        for line in text.splitlines():
            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT\S+Z (debug|info|warning|error) ")
            self.assertLess(len(line), LOGGED_CHARACTERS)

    def test_failures(self):
        for method in ("fail", "throw"):
            for failure in (BYTES, LONG.encode(), b"\xff" * MEGABYTE):
                with self.subTest(method=method, bytes=len(failure)):
                    pid = self.actor.submit("probe", failure, method)
                    outcome = self.actor.wait(pid)
                    # Python refuses to read a message that is not UTF-8. Each
                    # wrong byte became a character of three.
                    self.assertLessEqual(len(outcome.failure.message.encode()),
                                         3 * ERROR_BYTES)
                    done = self.actorctl("await", pid, status=FAILED)
                    self.assert_shown(done.stdout + done.stderr)
        self.assert_log_shown()

    def test_reasons(self):
        for reason in (TEXT, LONG):
            with self.subTest(bytes=len(reason)):
                for end in (self.actor.cancel, self.actor.terminate):
                    pid = self.actor.submit("counter")
                    try:
                        end(pid, reason)
                    except grpc.RpcError as error:
                        self.assertEqual(error.code(),
                                         grpc.StatusCode.INVALID_ARGUMENT)
                        self.assertLess(len(error.details()), ERROR_BYTES)
                        self.actor.terminate(pid)
                    done = self.actorctl("await", pid, status=None)
                    self.assert_shown(done.stdout + done.stderr)
        self.assert_log_shown()

    def test_topics_and_payloads(self):
        waiting = self.actor.submit("probe", json.dumps(
            {"command": "manual.do", "payload": TEXT}).encode(), "yield")
        eventually(lambda: self.actor.yields(pid=waiting), "the yield")
        self.assert_all_formats("yields")
        self.assert_all_formats("describe", waiting)

        collector = self.actor.submit("probe", method="collect")
        self.actor.send(collector, TEXT, b'"text"')
        with self.assertRaises(grpc.RpcError) as caught:
            self.actor.send(collector, LONG, b"")
        self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertLess(len(caught.exception.details()), 500)
        self.actor.send(collector, "stop")
        self.assertEqual(self.answer(self.actor.wait(collector))[0]["topic"], TEXT)
        self.assert_log_shown()

    def test_payloads_keep_every_byte(self):
        for payload in (BYTES, bytes(range(256)) * 4000, b"\xff" * MEGABYTE):
            with self.subTest(bytes=len(payload)):
                pid = self.actor.submit("echo", payload)
                self.assertEqual(self.actor.wait(pid).result.data, payload)
                result = self.json("await", pid)["result"]
                self.assertEqual(base64.b64decode(result["base64"]), payload)

    def test_errors_repeat_a_part_of_what_was_wrong(self):
        for name in (TEXT, LONG):
            with self.subTest(bytes=len(name)):
                for call in (lambda name=name: self.actor.submit(name),
                             lambda name=name: self.actor.submit("echo", method=name),
                             lambda name=name: self.actor.submit("echo", name=name),
                             lambda name=name: self.actor.process(name),
                             lambda name=name: self.actor.process("@" + name),
                             lambda name=name: self.actor.load_plugin("/" + name)):
                    with self.assertRaises(grpc.RpcError) as caught:
                        call()
                    self.assertLess(len(caught.exception.details()), 1000)
        for words in (("submit", TEXT), ("submit", "echo", "--method", TEXT),
                      ("describe", TEXT), ("await", "@" + TEXT),
                      ("plugin", "load", "/" + TEXT), ("ps", "--type", TEXT + "x")):
            with self.subTest(words=words):
                done = self.actorctl(*words, status=None)
                self.assert_shown(done.stdout + done.stderr)
        self.assert_log_shown()

    def test_log_lines_of_processes(self):
        for message in (TEXT, LONG, "\x01" * (MEGABYTE // 6 - 100)):
            with self.subTest(bytes=len(message)):
                outcome = self.actor.run("probe", json.dumps(
                    {"command": "log.write", "payload":
                     {"level": "error", "message": message}},
                    ensure_ascii=False).encode(), "yield")
                self.assertEqual(self.answer(outcome)["code"], "OK")
        eventually(lambda: self.log_text().count(" more bytes)") == 2,
                   "the cut lines")
        self.assertEqual(
            self.actor.status().counters.log_lines_dropped_total, 0)
        self.assertIn(r"a\x1b[2J\x1b]0;title\x07\x08\x7f\x85\x9b2J\u061c\u200e",
                      self.log_text())
        self.assert_log_shown()


class HostileTextInJsonLog(CliCase):

    OPTIONS = ("--log-format", "json", "--log-level", "debug")

    def test_log_is_valid_json_and_keeps_characters(self):
        for message in (TEXT, LONG):
            self.actor.run("probe", json.dumps(
                {"command": "log.write", "payload":
                 {"level": "error", "message": message}},
                ensure_ascii=False).encode(), "yield")
        self.actor.run("probe", BYTES, "fail")
        eventually(lambda: " more bytes)" in self.daemon.log(), "the cut line")
        messages = []
        for line in self.daemon.log_path.read_bytes().decode().splitlines():
            self.assertIsNone(CONTROL.search(line), ascii(line[:2000]))
            messages.append(json.loads(line)["message"])
        self.assertTrue(any(message.endswith(": " + TEXT) for message in messages))


if __name__ == "__main__":
    unittest.main()
