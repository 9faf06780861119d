"""actorctl against a real daemon: what it prints where, and what it exits with."""

import json
import signal
import subprocess
import unittest

from actord.v1 import process_pb2
from harness import places
from harness.case import DaemonCase
from harness.waiting import eventually

DONE, FAILED, USAGE, NOT_FOUND, UNAVAILABLE, DEADLINE = 0, 1, 2, 3, 5, 6
INTERRUPTED = 130
NOBODY = "127.0.0.1:1"  # nothing listens there


class CliCase(DaemonCase):

    def output(self, *words, **more):
        """Standard output of a command that is done and complains about nothing."""
        done = self.actorctl(*words, **more)
        self.assertEqual(done.stderr, "" if isinstance(done.stderr, str) else b"")
        return done.stdout

    def json(self, *words, **more):
        return json.loads(self.output(*words, "-o", "json", **more))

    def assert_complains(self, status, message, *words, **more):
        """Nothing but one complaint on standard error."""
        done = self.actorctl(*words, status=status, **more)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"^actorctl: .*" + message)
        self.assertNotIn("\x1b", done.stderr)
        return done.stderr


class Submit(CliCase):

    def test_prints_the_pid(self):
        pid = self.output("submit", "counter", "40").strip()
        self.assertEqual(self.actor.process(pid).process_type, "counter")

    def test_wait_prints_the_result_byte_for_byte(self):
        text = '{"hello":   "world"}'
        self.assertEqual(self.output("submit", "echo", text, "--wait"), text)

    def test_wait_for_a_process_that_fails(self):
        self.assert_complains(FAILED, r"FAILED_PRECONDITION: no stock \(FAILED\)",
                              "submit", "echo", "no stock", "--method", "fail",
                              "--wait")

    def test_input_from_a_file(self):
        data = bytes(range(256))
        (self.directory / "data").write_bytes(data)
        done = self.actorctl("submit", "echo", "@data", "--wait", stdin=b"")
        self.assertEqual(done.stdout, data)
        self.assert_complains(USAGE, "INPUT: none: No such file", "submit",
                              "echo", "@none")

    def test_input_from_standard_input(self):
        self.assertEqual(
            self.output("submit", "echo", "-", "--wait", stdin="piped"), "piped")

    def test_content_type_is_told_from_the_data_or_said(self):
        for data, options, content_type in (
                ('{"a": 1}', (), "application/json"),
                ("text", (), "text/plain"),
                ("text", ("--content-type", "text/html"), "text/html")):
            outcome = self.json("submit", "echo", data, "--wait", *options)
            self.assertEqual(outcome["result"]["content_type"], content_type)

    def test_request_id_starts_one_process(self):
        words = ("submit", "counter", "1", "--request-id", "id")
        first, second = self.json(*words), self.json(*words)
        self.assertEqual(first["pid"], second["pid"])
        self.assertEqual((first["duplicate"], second["duplicate"]),
                         (False, True))

    def test_refusals(self):
        self.assert_complains(NOT_FOUND, r"\(UNKNOWN_PROCESS_TYPE\)",
                              "submit", "ghost")
        self.assert_complains(FAILED, r"not an integer.*\(INIT_REFUSED\)",
                              "submit", "counter", "a dozen")
        self.assert_complains(USAGE, "TYPE is required", "submit")


class Processes(CliCase):

    def test_send_and_await(self):
        pid = self.output("submit", "counter", "40").strip()
        self.assertEqual(self.output("send", pid, "2", "--topic", "add"), "")
        self.assertEqual(self.output("send", pid, "--topic", "stop"), "")
        self.assertEqual(self.output("await", pid), "42")
        self.assertEqual(self.output("await", pid, pid), "42\n42\n")

    def test_await_that_takes_too_long(self):
        pid = self.actor.submit("counter")
        self.assert_complains(DEADLINE, "", "await", pid, "--timeout", "200ms")
        self.assertEqual(self.actor.process(pid).pid, pid)

    def test_await_of_several_tells_the_worst(self):
        good = self.actor.submit("echo", b"1")
        bad = self.actor.submit("echo", b"no", method="fail")
        done = self.actorctl("await", good, bad, status=FAILED)
        self.assertEqual(done.stdout, "1\n")
        self.assertIn(f"process {bad} failed", done.stderr)
        done = self.actorctl("await", bad, "7.1.1.1", "-o", "jsonl",
                             status=NOT_FOUND)
        [line] = done.stdout.splitlines()
        self.assertEqual(json.loads(line)["failure"]["reason"], "FAILED")

    def test_ps_lists_and_filters(self):
        counter = self.actor.submit("counter")
        idle = self.actor.submit("probe", method="idle")
        heading, *rows = self.output("ps").splitlines()
        self.assertEqual(heading.split(), ["PID", "TYPE", "METHOD", "STATE",
                                           "AGE", "STEPS", "MAILBOX", "YIELDS"])
        self.assertEqual({row.split()[0] for row in rows}, {counter, idle})
        self.assertEqual(self.output("ps", "--type", "probe", "-o", "name"),
                         idle + "\n")
        self.assertEqual(self.output("ps", "--state", "blocked"), "")
        self.assertEqual(
            len(self.output("ps", "--limit", "1", "-o", "name").splitlines()), 1)
        self.assertIn("PARENT", self.output("ps", "-o", "wide"))

    def test_ps_goes_through_all_pages(self):
        calls = [self.actor.stub.Submit.future(
            process_pb2.SubmitRequest(process_type="counter"))
                 for _ in range(2100)]
        pids = {call.result().pid for call in calls}
        listed = self.output("ps", "-o", "name").splitlines()
        self.assertEqual(len(listed), 2100)
        self.assertEqual(set(listed), pids)

    def test_describe(self):
        pid = self.actor.submit("counter")
        described = self.json("describe", pid)
        self.assertEqual(described["pid"], pid)
        self.assertEqual(described["process_type"], "counter")
        self.assertIn("Type:", self.output("describe", pid))
        self.assert_complains(NOT_FOUND, r"\(PROCESS_NOT_FOUND\)", "describe",
                              "7.1.1.1")
        self.assert_complains(FAILED, r"is not a PID.*\(INVALID_PID\)",
                              "describe", "nonsense")

    def test_cancel_and_terminate(self):
        pids = [self.actor.submit("probe", method="idle") for _ in range(3)]
        self.assertEqual(self.output("cancel", *pids[:2], "--reason", "enough"),
                         "")
        self.assertEqual(self.output("terminate", pids[2], "-o", "name"),
                         pids[2] + "\n")
        for pid, reason in zip(pids, ("CANCELLED", "CANCELLED", "TERMINATED")):
            failure = json.loads(self.actorctl(
                "await", pid, "-o", "json", status=FAILED).stdout)["failure"]
            self.assertEqual(failure["reason"], reason)
        self.assert_complains(FAILED, r"\(PROCESS_ENDED\)", "cancel", pids[0])


class Yields(CliCase):

    def waiting(self, count=1):
        order = {"command": "manual.do", "payload": {"n": 1}, "count": count}
        pid = self.actor.submit("probe", json.dumps(order).encode(), "yield")
        return pid, [one.token for one in eventually(
            lambda: self.actor.yields(pid=pid), "the yields")]

    def test_list(self):
        pid, [token] = self.waiting()
        [listed] = self.json("yields")
        self.assertEqual((listed["token"], listed["pid"], listed["command"]),
                         (token, pid, "manual.do"))
        self.assertEqual(listed["payload"]["json"], {"n": 1})
        self.assertEqual(self.output("yields", "--command", "manual.*", "-o",
                                     "name"), token + "\n")
        self.assertEqual(self.output("yields", "--command", "payment.*"), "")
        self.assertEqual(self.output("yields", "--pid", pid, "-o", "name"),
                         token + "\n")

    def test_complete_and_its_answers(self):
        pid, [token] = self.waiting()
        self.assertEqual(self.output("complete", token, "paid"), "ACCEPTED\n")
        self.assertEqual(self.output("complete", token, "paid"), "DUPLICATE\n")
        done = self.actorctl("complete", token, "other", status=FAILED)
        self.assertEqual(done.stdout, "CONFLICT\n")
        done = self.actorctl("complete", token + "9", "paid", status=NOT_FOUND)
        self.assertEqual(done.stdout, "UNKNOWN\n")
        self.assertEqual(json.loads(self.output("await", pid)),
                         {"code": "OK", "payload": "paid"})

    def test_complete_of_what_has_expired(self):
        pid, [token] = self.waiting()
        self.actor.terminate(pid)
        self.actor.wait(pid)
        done = self.actorctl("complete", token, "late", status=FAILED)
        self.assertEqual(done.stdout, "EXPIRED\n")

    def test_complete_with_an_error(self):
        pid, [token] = self.waiting()
        self.output("complete", token, "--error", "FAILED_PRECONDITION",
                    "--message", "card refused")
        self.assertEqual(json.loads(self.output("await", pid)), {
            "code": "FAILED_PRECONDITION", "message": "card refused"})
        self.assert_complains(USAGE, "", "complete", token, "--error", "BAD")
        self.assert_complains(USAGE, "", "complete", token, "x", "--error",
                              "ABORTED")


class Daemon(CliCase):

    def test_status(self):
        status = self.json("status")
        self.assertEqual(status["state"], "SERVING")
        self.assertIn("echo", {one["name"] for one in status["process_types"]})
        self.assertIn("SERVING", self.output("status"))
        self.assertIn("Limits", self.output("status", "-o", "wide"))

    def test_health(self):
        self.assertEqual(self.output("health"), "SERVING\n")
        self.assert_complains(NOT_FOUND, "", "health", "--service", "ghost")

    def test_shutdown(self):
        self.actor.submit("counter")
        self.assertEqual(self.output("shutdown"), "ended 1, forced 0\n")
        self.assertEqual(self.daemon.wait(), 0)
        self.assert_complains(UNAVAILABLE, "cannot reach the daemon at "
                              + self.daemon.address, "status")

    def test_shutdown_now_and_with_a_deadline(self):
        for options in (("--mode", "now"), ("--deadline", "100ms")):
            daemon = self.start_daemon(
                exit_status=75 if "--deadline" in options else 0)
            self.connect(daemon).submit("probe.cancel", method="stubborn")
            self.assertEqual(
                self.json("shutdown", *options, "--address", daemon.address),
                {"ended_count": 0, "forced_count": 1})


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
                self.assertEqual(read_yaml(text), self.json(*words), text)

    def test_name_and_table(self):
        for words in self.commands():
            with self.subTest(words=words):
                for name in self.output(*words, "-o", "name").splitlines():
                    self.assertRegex(name, r"^[^\s{}]+$")
                for format_name in ("table", "wide"):
                    self.assertTrue(self.output(*words, "-o", format_name))

    def test_unknown_format_is_usage(self):
        self.assert_complains(USAGE, "", "status", "-o", "xml")


def read_yaml(text):
    """Reads the subset of YAML that actorctl writes: blocks of mappings and
    sequences whose scalars are JSON or plain words."""
    lines = [(len(line) - len(line.lstrip(" ")), line.strip())
             for line in text.splitlines() if line.strip() not in ("", "---")]

    def scalar(word):
        try:
            return json.loads(word)
        except json.JSONDecodeError:
            return word

    def block(at, indent):
        if lines[at][1].startswith("- ") or lines[at][1] == "-":
            items = []
            while (at < len(lines) and lines[at][0] == indent
                   and lines[at][1].startswith("-")):
                rest = lines[at][1][1:].lstrip(" ")
                inner = indent + len(lines[at][1]) - len(rest)
                if is_entry(rest) or rest.startswith("- "):
                    lines[at] = (inner, rest)
                    item, at = block(at, inner)
                else:
                    item, at = scalar(rest), at + 1
                items.append(item)
            return items, at
        if not is_entry(lines[at][1]):
            return scalar(lines[at][1]), at + 1
        mapping = {}
        while (at < len(lines) and lines[at][0] == indent
               and not lines[at][1].startswith("- ")):
            key, _, rest = lines[at][1].partition(":")
            if rest.strip():
                mapping[scalar(key)], at = scalar(rest.strip()), at + 1
            else:
                mapping[scalar(key)], at = block(at + 1, lines[at + 1][0])
        return mapping, at

    def is_entry(word):
        return not word.startswith('"') and (": " in word or word.endswith(":"))

    value, end = block(0, lines[0][0])
    if end != len(lines):
        raise ValueError(f"line {end + 1} belongs nowhere: {lines[end]}")
    return value


class Usage(CliCase):

    def test_wrong_command_lines(self):
        for words in ([], ["fly"], ["submit", "echo", "--nonsense"], ["await"],
                      ["complete"], ["ps", "--state", "asleep"],
                      ["status", "--timeout", "soon"],
                      ["shutdown", "--mode", "later"],
                      ["submit", "echo", "-", "--from-file", "-"]):
            with self.subTest(words=words):
                self.assert_complains(USAGE, "", *words)

    def test_help(self):
        text = self.output("--help")
        for command in ("submit", "send", "await", "ps", "describe", "cancel",
                        "terminate", "yields", "complete", "status", "shutdown",
                        "health", "completion", "version"):
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

    def test_interruption(self):
        pid = self.actor.submit("counter")
        for number in (signal.SIGINT, signal.SIGTERM):
            client = subprocess.Popen(
                [places.ACTORCTL, "await", pid], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, env=places.clean_environment(
                    ACTORD_ADDRESS=self.daemon.address))
            with self.assertRaises(subprocess.TimeoutExpired):
                client.wait(0.5)
            client.send_signal(number)
            stdout, stderr = client.communicate(timeout=10)
            self.assertEqual((client.returncode, stdout, stderr),
                             (INTERRUPTED, "", "actorctl: interrupted\n"))
        self.assertEqual(self.actor.process(pid).pid, pid)

    def test_no_colour_and_no_progress_without_a_terminal(self):
        for words in (("status",), ("ps",), ("yields",)):
            self.assertNotIn("\x1b", self.output(*words))

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

    def completed(self, script, *words):
        """What bash offers for the last of the words."""
        done = subprocess.run(
            ["bash", "--norc", "-euc", script + """
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_actorctl actorctl "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
""", "bash", *words], capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()


if __name__ == "__main__":
    unittest.main()
