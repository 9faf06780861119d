"""actorctl work: a program as a remote worker."""

import json
import os
import signal
import subprocess
import unittest

from harness import places
from harness.cli import DEADLINE, FAILED, INTERRUPTED, USAGE, CliCase
from harness.waiting import WAIT_SECONDS, eventually


class WorkCommand(CliCase):

    OPTIONS = ("--command-policy", "manual.short lease=2s",
               "--command-policy", "* max_attempts=2 backoff=10ms")

    def yielding(self, command="manual.do", **order):
        order["command"] = command
        return self.actor.submit("probe", json.dumps(order).encode(), "yield")

    def started(self, *words):
        """actorctl work in the background; SIGKILL at the latest at the end."""
        process = subprocess.Popen(
            [str(places.ACTORCTL), "work", *words], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            cwd=self.directory,
            env=places.clean_environment(ACTORD_ADDRESS=self.daemon.address))

        def end():
            process.kill()
            process.communicate()

        self.addCleanup(end)
        return process

    def script(self, text, name="run.sh"):
        path = self.text_file("#!/bin/sh\n" + text, name)
        path.chmod(0o755)
        return f"./{name}"

    def test_workers_are_listed(self):
        self.assertEqual(self.output("workers", "-o", "name"), "")
        self.started("manual.*", "--exec", "sleep 60", "--name", "till\x1b[2J 4")
        self.yielding("manual.charge")
        eventually(lambda: self.counters_of_tasks() == 1, "the task")
        table = self.output("workers", "--command", "manual.charge")
        self.assertRegex(table, r"WORKER +NAME +STATE +AGE +TASKS +CREDITS +COMMANDS")
        self.assertRegex(table, r"1 +till.*2J 4 +BUSY +\S+ +1 +0 +manual\.\*")
        self.assertNotIn("\x1b", table)
        [told] = json.loads(self.output("workers", "-o", "json"))
        self.assertEqual((told["worker"], told["tasks"], told["commands"]),
                         (1, 1, ["manual.*"]))
        self.assertEqual(self.output("workers", "--command", "payment.charge",
                                     "-o", "name"), "")

    def counters_of_tasks(self):
        return self.actor.status().counters.tasks_leased

    def test_payload_in_result_out(self):
        pid = self.yielding(payload="six words make a short line")
        lines = self.output("work", "manual.*", "--exec", "wc -w", "--count",
                            "1", "-o", "jsonl")
        answer = self.answer(self.actor.wait(pid))
        self.assertEqual((answer["code"], answer["payload"].strip()),
                         ("OK", "6"))
        told = json.loads(lines)
        self.assertEqual((told["end"], told["command"], told["pid"],
                          told["attempt"]), ("ACCEPTED", "manual.do", pid, 1))

    def test_table_and_environment(self):
        pid = self.yielding()
        table = self.output(
            "work", "manual.*", "--count", "1", "--exec",
            'echo "$ACTORD_TASK_COMMAND $ACTORD_TASK_PID $ACTORD_TASK_ATTEMPT '
            '$ACTORD_TASK_MAX_ATTEMPTS $ACTORD_TASK_CONTENT_TYPE '
            '$ACTORD_TASK_IDEMPOTENCY_KEY $ACTORD_TASK_TOKEN"')
        self.assertRegex(table, r"(?m)^END +COMMAND +ATTEMPT +TOKEN +ERROR\n"
                                r"ACCEPTED +manual.do +1 +\S+ *$")
        said = self.answer(self.actor.wait(pid))["payload"].split()
        self.assertEqual(said[:4], ["manual.do", pid, "1", "2"])
        self.assertRegex(said[4], r"^\w+/\w+$")
        self.assertTrue(said[6].startswith(said[5]))

    def test_failures_are_tried_again_until_the_attempts_run_out(self):
        pid = self.yielding()
        lines = self.output(
            "work", "manual.*", "--count", "2", "-o", "jsonl",
            "--exec", "echo first >&2; echo 'no paper' >&2; exit 7")
        self.assertEqual([(told["end"], told["error"])
                          for told in map(json.loads, lines.splitlines())],
                         [("FAILED", "exit status 7: no paper")] * 2)
        self.assertEqual(self.answer(self.actor.wait(pid)), {
            "code": "UNKNOWN",
            "message": "manual.do failed after 2 attempts: "
                       "exit status 7: no paper"})

    def test_the_line_of_a_failure_says_why(self):
        long = "x" * 500
        for program, why in (
                ("printf 'no \\033[2Jpaper\\n' >&2; exit 7",
                 r"exit status 7: no \?\[2Jpaper"),
                ("sh -c 'kill -9 $$'; exit $?", r"exit status 137 \(SIGKILL\).*"),
                ("kill -9 $$", r"ended by signal 9 \(SIGKILL\)"),
                (f"echo {long} >&2; exit 65", r"exit status 65: x{80,120}\.\.\.")):
            self.yielding()
            table = self.output("work", "manual.*", "--count", "1", "--exec",
                                program)
            self.assertRegex(table, rf"(?m)^\S+ +manual.do +1 +\S+ +{why} *$")
            self.assertNotIn("\x1b", table)
            if "65" not in program:  # the second attempt
                self.output("work", "manual.*", "--count", "1", "--exec",
                            "true")

    def test_exit_status_65_is_final(self):
        pid = self.yielding()
        self.output("work", "manual.*", "--count", "1", "--exec",
                    "echo 'card refused' >&2; exit 65")
        self.assertEqual(self.answer(self.actor.wait(pid)), {
            "code": "FAILED_PRECONDITION",
            "message": "exit status 65: card refused"})

    def test_a_program_that_is_killed_or_missing_has_failed(self):
        for program, why in (("kill -9 $$", "ended by signal 9"),
                             ("true; ./nothing", "exit status 127: .*not found")):
            pid = self.yielding()
            self.output("work", "manual.*", "--count", "2", "--exec", program)
            self.assertRegex(self.answer(self.actor.wait(pid))["message"],
                             "failed after 2 attempts: " + why)

    def test_no_task_is_taken_for_a_program_that_does_not_exist(self):
        pid = self.yielding()
        for program in ("./nothing", "no-such-program --flag", "/dev/null x"):
            self.assert_complains(
                USAGE, r"--exec: \S+: there is no such program, or it is not "
                "executable", "work", "manual.*", "--count", "1", "--exec", program)
        self.assertEqual(self.actor.yields(pid=pid)[0].attempts, 0)

    def test_a_program_need_not_read_its_input(self):
        pid = self.yielding(payload="x" * 1_000_000)
        self.output("work", "manual.*", "--count", "1", "--exec", "echo fine")
        self.assertEqual(self.answer(self.actor.wait(pid))["payload"], "fine\n")

    def test_large_data_both_ways(self):
        pid = self.yielding(payload="x" * 900_000)
        self.output("work", "manual.*", "--count", "1", "--exec", "cat")
        self.assertEqual(len(self.answer(self.actor.wait(pid))["payload"]),
                         900_000)
        pid = self.yielding()
        lines = self.output("work", "manual.*", "--count", "1", "-o", "jsonl",
                            "--exec", "head -c 2000000 /dev/zero")
        self.assertEqual([json.loads(line)["end"]
                          for line in lines.splitlines()],
                         ["REFUSED", "ACCEPTED"])
        self.assertRegex(self.answer(self.actor.wait(pid))["message"],
                         "2000000 bytes; the limit is 1048576")

    def test_heartbeats_keep_a_slow_task(self):
        pid = self.yielding("manual.short")
        lines = self.output("work", "manual.*", "--count", "1", "-o", "jsonl",
                            "--exec", "sleep 5; echo done")
        self.assertEqual(json.loads(lines)["attempt"], 1)
        self.assertEqual(self.answer(self.actor.wait(pid))["payload"], "done\n")

    def test_a_task_taken_back_ends_its_program_and_what_it_started(self):
        pid = self.yielding()
        process = self.started(
            "manual.*", "-o", "jsonl", "--exec",
            "sleep 1000 & echo $! > grandchild; echo $$ > child; wait")
        child, grandchild = (self.directory / name
                             for name in ("child", "grandchild"))
        eventually(lambda: child.exists() and child.read_text().strip(),
                   "the program")
        self.actor.terminate(pid)
        told = json.loads(process.stdout.readline())
        self.assertEqual(told["end"], "CANCELLED")
        for path in (child, grandchild):
            number = int(path.read_text())
            eventually(lambda: not running(number), f"the end of {path.name}")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(WAIT_SECONDS), INTERRUPTED)

    def test_tasks_run_side_by_side(self):
        pid = self.yielding(count=4)
        # Each waits for all the others.
        waits = ("touch $ACTORD_TASK_TOKEN.in; "
                 "while [ $(ls | grep -c '[.]in$') -lt 4 ]; do sleep 0.01; done")
        self.output("work", "manual.*", "--count", "4", "--concurrency", "4",
                    "--exec", waits)
        self.assertEqual(len(self.answer(self.actor.wait(pid))), 4)

    def test_an_interruption_lets_it_finish_what_runs(self):
        pid = self.yielding(count=2)
        process = self.started(
            "manual.*", "-o", "jsonl", "--exec",
            "touch begun; while [ ! -e end ]; do sleep 0.01; done; echo done")
        eventually((self.directory / "begun").exists, "the program")
        process.send_signal(signal.SIGINT)
        eventually(lambda: self.actor.status().counters.tasks_leased == 1,
                   "the task")
        (self.directory / "end").touch()
        out, err = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual((process.returncode, err), (INTERRUPTED, ""))
        self.assertEqual([json.loads(line)["end"] for line in out.splitlines()],
                         ["ACCEPTED"])
        self.assertEqual(len(self.actor.yields(pid=pid)), 1)

    def test_it_outlives_the_daemon(self):
        address = f"unix:{self.directory}/socket"
        listen = ("--listen", address, *self.OPTIONS)
        first = self.start_daemon(*listen)
        process = self.started("manual.*", "--address", address,
                               "-o", "jsonl", "--exec", "cat")
        counters = self.connect(first).status
        eventually(lambda: counters().counters.remote_workers == 1,
                   "the worker")
        first.stop()
        self.assertRegex(process.stderr.readline(),
                         r"^actorctl: (no connection to the daemon at unix:.*|"
                         r"the daemon at unix:.* is not available: .*); "
                         r"trying again in \d+m?s$")
        actor = self.connect(self.start_daemon(*listen))
        pid = actor.submit("probe", json.dumps(
            {"command": "manual.do", "payload": "again"}).encode(), "yield")
        self.assertEqual(self.answer(actor.wait(pid))["payload"], "again")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, INTERRUPTED)

    def test_it_says_once_that_no_daemon_answers(self):
        # Three attempts at least: the pauses between them begin with a second.
        done = self.actorctl("work", "manual.*", "--exec", "cat", "--address",
                             f"unix:{self.directory}/nobody", "--timeout", "5s",
                             status=DEADLINE)
        self.assertRegex(done.stderr, r"\Aactorctl: no connection to the daemon at "
                                      r"unix:.*; trying again in \d+m?s\n\Z")

    def test_complaints_and_exit_status(self):
        self.assert_complains(FAILED, "matches no external command.*INVALID_FIELD",
                              "work", "nothing.*", "--exec", "cat")
        self.actorctl("work", "manual.*", status=USAGE)
        self.actorctl("work", "--exec", "cat", status=USAGE)
        self.actorctl("work", "manual.*", "--exec", "cat", "--concurrency", "0",
                      status=USAGE)
        done = self.actorctl("work", "manual.*", "--exec", "cat",
                             "--timeout", "300ms", status=DEADLINE)
        self.assertEqual((done.stdout, done.stderr),
                         ("", "actorctl: no task came within --timeout\n"))
        self.assertIn("work\t", self.output("__complete", "wo"))
        self.assertIn("--concurrency", self.output("__complete", "work", "--con"))
        self.assertIn("Exit status of PROGRAM", self.output("work", "--help"))


def running(pid):
    """Whether the process is there, and no zombie."""
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


if __name__ == "__main__":
    unittest.main()
