"""The commands of actorctl."""

import json
import unittest

from actord.v1 import process_pb2
from harness.cli import (CliCase, DEADLINE, FAILED, NOT_FOUND, UNAVAILABLE,
                         USAGE)
from harness.waiting import WAIT_SECONDS, eventually


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
        empty = self.actorctl("ps", "--state", "blocked")
        self.assertEqual((empty.stdout, empty.stderr),
                         ("", "no process is live, or none matches\n"))
        self.assertEqual(self.output("ps", "--state", "blocked", "-o", "json"),
                         "[]\n")
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

    def test_priority_is_taken_and_shown(self):
        for given, shown in ((("--priority", "0"), 0), (("--priority", "31"), 31),
                             ((), 16)):
            pid = self.output("submit", "counter", *given).strip()
            self.assertEqual(self.json("describe", pid)["priority"], shown)
            self.assertEqual(self.actor.process(pid).priority, shown)
            row = next(row for row in
                       self.output("ps", "-o", "wide").splitlines()
                       if row.startswith(pid))
            self.assertIn(str(shown), row.split()[-4:])

    def test_a_name_that_is_taken_gets_the_message(self):
        def visit():
            return self.output("submit", "counter", "0", "--name", "visits",
                               "--on-name-conflict", "deliver", "--message", "5",
                               "--topic", "add").strip()
        pid = visit()
        self.assertEqual(visit(), pid)
        self.assertEqual(self.output("call", "@visits", "2", "--topic", "add"), "12")
        self.assert_complains(FAILED, r"\(NAME_TAKEN\)", "submit", "counter",
                              "--name", "visits")

    def test_ps_names_the_plugin(self):
        pid = self.actor.submit("counter")
        [listed] = self.json("ps")
        described = self.json("describe", pid)
        self.assertEqual(described["plugin"], "counter")
        for key in ("plugin", "plugin_version"):
            self.assertEqual(listed[key], described[key])
        self.assertIn(f"counter {described['plugin_version']}",
                      self.output("ps", "-o", "wide"))

    def test_describe(self):
        pid = self.actor.submit("counter")
        described = self.json("describe", pid)
        self.assertEqual(described["pid"], pid)
        self.assertEqual(described["process_type"], "counter")
        self.assertIn("Type:", self.output("describe", pid))
        self.assert_complains(NOT_FOUND, r"\(PROCESS_NOT_FOUND\)", "describe",
                              "7.1.1.1")
        self.assert_complains(FAILED, r"is not a PID.*\(INVALID_PID\); \"actorctl ps\" lists PIDs",
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

    def test_cancel_with_a_deadline_ends_what_ignores_it(self):
        pids = [self.actor.submit("probe.cancel", method="stubborn")
                for _ in range(2)]
        self.output("cancel", *pids, "--deadline", "20ms")
        for pid in pids:
            failure = json.loads(self.actorctl(
                "await", pid, "-o", "json", status=FAILED).stdout)["failure"]
            self.assertEqual(failure["reason"], "TERMINATED")
            self.assertEqual(failure["message"], "the process did not end within "
                                                 "20 ms of its cancel")


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
        self.assertEqual(self.output("yields", "--command", "payment.*", "-o",
                                     "name"), "")
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

    def test_complete_of_a_beginning_and_of_the_only_one(self):
        pid, [token] = self.waiting()
        done = self.actorctl("complete", "-", "paid")
        self.assertEqual(done.stdout, "ACCEPTED\n")
        self.assertEqual(done.stderr, f"{token} (manual.do of probe)\n")
        self.actor.wait(pid)
        pid, tokens = self.waiting(2)
        done = self.actorctl("complete", pid, "paid", status=USAGE)
        self.assertIn(f'2 tokens begin with "{pid}": ', done.stderr)
        for token in tokens:
            self.assertIn(f"{token} (manual.do of probe)", done.stderr)
        self.output("complete", tokens[0], "paid")
        done = self.actorctl("complete", pid + ".", "paid")
        self.assertEqual((done.stdout, done.stderr),
                         ("ACCEPTED\n", f"{tokens[1]} (manual.do of probe)\n"))

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

    def test_shutdown_waits_for_the_exit(self):
        # A plugin keeps each of these daemons from going, until its deadline
        # ends it.
        for options in ((), ("--no-wait",), ("--timeout", "2s")):
            with self.subTest(options=options):
                daemon = self.start_daemon("--force-timeout",
                                           "60s" if options else "1s",
                                           environment={"PROBE_STAYS": "1"},
                                           exit_status=None)
                words = ("shutdown", "--address", daemon.address, *options)
                if "--timeout" in options:
                    done = self.actorctl(*words, status=DEADLINE)
                    self.assertIn("has not exited within", done.stderr)
                else:
                    self.assertEqual(self.output(*words), "ended 0, forced 0\n")
                if options:
                    self.assertIsNone(daemon.process.poll())
                    daemon.process.kill()
                else:
                    daemon.process.wait(WAIT_SECONDS)

    def test_shutdown_now_and_with_a_deadline(self):
        for options in (("--mode", "now"), ("--deadline", "100ms")):
            daemon = self.start_daemon(
                exit_status=75 if "--deadline" in options else 0)
            self.connect(daemon).submit("probe.cancel", method="stubborn")
            self.assertEqual(
                self.json("shutdown", *options, "--address", daemon.address),
                {"ended_count": 0, "forced_count": 1,
                 "kept_count": 0, "has_inherited_sockets": False})


if __name__ == "__main__":
    unittest.main()
