"""What all commands of actorctl have in common: formats, usage, exit statuses."""

import json
import os
import signal
import subprocess
import unittest

import yaml
from harness import places
from harness.cli import (CliCase, FAILED, INTERRUPTED, UNAVAILABLE, USAGE,
                         awaits_signals)
from harness.waiting import WAIT_SECONDS, eventually

NOBODY = "127.0.0.1:1"  # nothing listens there


class Formats(CliCase):
    """Every command that prints data prints it in every format."""

    def commands(self):
        pid = self.actor.submit("counter")
        ended = self.actor.submit("echo", b'{"a": [1, "x: y"]}')
        self.actor.wait(ended)
        waiting = self.actor.submit("probe", b'{"command": "manual.do"}', "yield")
        eventually(lambda: self.actor.yields(pid=waiting), "the yield")
        return (("status",), ("health",), ("ps",), ("describe", pid),
                ("yields",), ("await", ended), ("submit", "echo", "1"),
                ("submit", "echo", "1", "--wait"), ("version",))

    def test_json(self):
        for words in self.commands():
            with self.subTest(words=words):
                json.loads(self.output(*words, "-o", "json"))

    def test_json_lines(self):
        for words in self.commands():
            with self.subTest(words=words):
                lines = self.output(*words, "-o", "jsonl").splitlines()
                self.assertTrue(lines)
                for line in lines:
                    json.loads(line)

    def test_yaml_says_what_json_says(self):
        for words in self.commands():
            if words[0] in ("submit", "status"):
                continue  # another PID, another time
            with self.subTest(words=words):
                text = self.output(*words, "-o", "yaml")
                self.assertEqual(yaml.safe_load(text), self.json(*words), text)

    def test_yaml_and_json_keep_every_character_and_number(self):
        characters = [chr(code) for code in range(0x10000)
                      if not 0xd800 <= code < 0xe000] + ["\U0001f600", "\U0010ffff"]
        value = {
            "alone": characters,
            "keys": {"".join(characters[at:at + 16]): at
                     for at in range(0, len(characters), 16)},
            "k" * 1030: {"\x85" * 1030: ["nested", {"k" * 2000: None}]},
            "numbers": [0, -1, 2**64 - 1, 1.5, 1e300, -1e-300, 2.0],
            "words": ["yes", "No", "~", "null", "1e3", "0x1", "1:30", "<<", "=",
                      "2026-01-01", "- a", "a: b", "# a", "!a", "&a", "*a", "%a",
                      "---", "...", " a", "a ", ""]}
        pid = self.actor.submit(
            "echo", json.dumps(value, ensure_ascii=False).encode())
        self.actor.wait(pid)
        # Bytes: Python's text files take CR for a line end.
        for format_name, read in (("json", json.loads), ("jsonl", json.loads),
                                  ("yaml", yaml.safe_load)):
            with self.subTest(format=format_name):
                written = self.output("await", pid, "-o", format_name, stdin=b"")
                self.assertNotRegex(
                    written.decode(), "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e"
                    "\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")
                self.assertEqual(
                    read(written.decode())["result"]["json"], value)

    def test_name_and_table(self):
        for words in self.commands():
            with self.subTest(words=words):
                for name in self.output(*words, "-o", "name").splitlines():
                    self.assertRegex(name, r"^[^\s{}]+$")
                for format_name in ("table", "wide"):
                    self.assertTrue(self.output(*words, "-o", format_name))

    def test_unknown_format_is_usage(self):
        self.assert_complains(USAGE, "", "status", "-o", "xml")


class Usage(CliCase):

    def test_wrong_command_lines(self):
        for words in ([], ["fly"], ["submit", "echo", "--nonsense"], ["await"],
                      ["complete"], ["dead-letters", "drop"],
                      ["dead-letters", "list", "--reason", "bad"], ["ps", "--state", "asleep"],
                      ["status", "--timeout", "soon"],
                      ["shutdown", "--mode", "later"],
                      ["submit", "echo", "-", "--from-file", "-"]):
            with self.subTest(words=words):
                self.assert_complains(USAGE, "", *words)

    def test_help(self):
        text = self.output("--help")
        for command in ("submit", "send", "await", "ps", "describe", "cancel",
                        "terminate", "dead-letters", "yields", "complete", "status", "token",
                        "shutdown", "health", "completion", "version"):
            self.assertIn(command, text)
            self.assertIn("Usage:", self.output(command, "--help"))

    def test_address_of_option_and_environment(self):
        self.assertEqual(self.output("health", "--address", self.daemon.address,
                                     environment={"ACTORD_ADDRESS": NOBODY}),
                         "SERVING\n")
        self.assert_complains(UNAVAILABLE, "cannot reach the daemon at " + NOBODY,
                              "health", environment={"ACTORD_ADDRESS": NOBODY})
        self.assert_complains(UNAVAILABLE, "127.0.0.1:1", "submit", "echo",
                              "--address", NOBODY)

    def test_address_that_is_none(self):
        for address, why in ((self.daemon.address + "/x", "is not a port"),
                             (self.daemon.address + "\x1b[31m", r"\?\[31m\" is not a port"),
                             ("localhost:", "port is missing, as in localhost:7600"),
                             ("http://" + self.daemon.address, "is a URL"),
                             ("::1", "needs brackets")):
            with self.subTest(address=address):
                self.assert_complains(USAGE, why, "status", "--address", address)
                self.assert_complains(USAGE, why, "status",
                                      environment={"ACTORD_ADDRESS": address})

    def test_text_of_strangers_does_not_act_on_a_terminal(self):
        failed = self.actor.submit("probe", "a\x1b[2J\x85\u202e\u2028z".encode(), "fail")
        self.assert_complains(FAILED, r"a\?\[2J\?\?\?z", "await", failed)

    def test_interruption(self):
        pid = self.actor.submit("counter")
        for number in (signal.SIGINT, signal.SIGTERM):
            client = subprocess.Popen(
                [places.ACTORCTL, "await", pid], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, env=places.clean_environment(
                    ACTORD_ADDRESS=self.daemon.address))
            eventually(lambda: awaits_signals(client, number), "its start")
            with self.assertRaises(subprocess.TimeoutExpired):
                client.wait(0.5)
            client.send_signal(number)
            stdout, stderr = client.communicate(timeout=WAIT_SECONDS)
            self.assertEqual((client.returncode, stdout, stderr),
                             (INTERRUPTED, "", "actorctl: interrupted\n"))
        self.assertEqual(self.actor.process(pid).pid, pid)

    def test_no_colour_and_no_progress_without_a_terminal(self):
        for words in (("status",), ("ps",), ("yields",)):
            done = self.actorctl(*words)
            self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(
                [places.ACTORCTL, "status"], stdout=full, check=False,
                stderr=subprocess.PIPE, text=True, env=places.clean_environment(
                    ACTORD_ADDRESS=self.daemon.address))
        self.assertEqual(done.returncode, FAILED)
        self.assertIn("cannot write to standard output", done.stderr)

    def test_completion_in_bash(self):
        script = self.output("completion", "bash")
        self.assertEqual(self.completed(script, "actorctl", "yie"), ["yields"])
        self.assertIn("--wait", self.completed(script, "actorctl", "submit", "--"))
        self.assertEqual(self.completed(script, "actorctl", "shutdown", "--mode",
                                        "n"), ["now"])
        self.assertEqual(self.completed(script, "actorctl", "-o", "ya"),
                         ["yaml"])
        self.assertEqual(self.completed(script, "actorctl", "dead-letters", ""),
                         ["list", "show", "resend", "drop"])
        self.assertIn("--newest", self.completed(
            script, "actorctl", "dead-letters", "list", "--n"))
        self.assertEqual(self.completed(script, "actorctl", "dead-letters", "list",
                                        "--reason", "mail"), ["mailbox-full"])

    def completed(self, script, *words):
        """What bash offers for the last of the words."""
        done = subprocess.run(
            ["bash", "--norc", "-euc", script + """
COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
_actorctl "$1" "${@: -1}"  # as bash calls it
printf '%s\\n' "${COMPREPLY[@]}"
""", "bash", *words], capture_output=True, text=True, check=True,
            env=places.clean_environment(
                PATH=f"{places.ACTORCTL.parent}:{os.environ['PATH']}"))
        self.assertEqual(done.stderr, "")
        return done.stdout.split()


if __name__ == "__main__":
    unittest.main()
