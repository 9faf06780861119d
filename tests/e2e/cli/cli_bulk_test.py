"""actorctl with --from-file: many processes and messages from a file."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import unittest

from harness import places
from harness.case import DaemonCase
from harness.cli import DEADLINE, FAILED, INTERRUPTED, UNAVAILABLE, USAGE
from harness.waiting import SANITIZED, WAIT_SECONDS, eventually


class BulkCase(DaemonCase):

    def file(self, *lines):
        path = self.directory / "items.jsonl"
        path.write_text("".join(line + "\n" for line in lines))
        return path

    def lines(self, done):
        return [json.loads(line) for line in done.stdout.splitlines()]


def read_to_the_end(screen):
    """All that was written to a pseudo-terminal whose other end is closed."""
    shown = b""
    try:
        while piece := os.read(screen, 4096):
            shown += piece
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(screen)
    return shown.decode()


def read_until(screen, words):
    """The text written to a pseudo-terminal, up to these words."""
    shown = b""
    while words not in shown:
        if not select.select([screen], [], [], WAIT_SECONDS)[0]:
            raise TimeoutError(f"waited for {words} behind {shown}")
        shown += os.read(screen, 4096)


class Submit(BulkCase):

    def counters(self):
        return self.actor.status().counters

    def test_items_have_priorities(self):
        path = self.file('{"priority": 3}', "{}")
        done = self.actorctl("submit", "counter", "--from-file", path,
                             "--priority", "30", "-o", "jsonl")
        self.assertEqual({line["line"]: self.actor.process(line["pid"]).priority
                          for line in self.lines(done)}, {1: 3, 2: 30})

    def test_items_have_names(self):
        path = self.file('{"name": "one"}', '{"name": "one"}')
        done = self.actorctl("submit", "counter", "--from-file", path,
                             "--in-flight", "1", "-o", "jsonl", status=FAILED)
        first, second = self.lines(done)
        self.assertEqual(second["error"]["reason"], "NAME_TAKEN")
        path = self.file('{"name": "one", "on_name_conflict": "deliver"}')
        done = self.actorctl("submit", "counter", "--from-file", path, "--message",
                             "5", "--topic", "add", "-o", "jsonl")
        [again] = self.lines(done)
        self.assertEqual((again["pid"], first["delivered"], again["delivered"]),
                         (first["pid"], False, True))
        self.assertEqual(self.actor.call("@one", "get").result.data, b"5")

    def test_hundred_thousand(self):
        # With a sanitizer 100,000 take minutes.
        count = 20_000 if SANITIZED else 100_000
        path = self.file(*(f'{{"input": {i}}}' for i in range(count)))
        done = self.actorctl("submit", "echo", "--from-file", path, "--wait",
                             "-o", "jsonl", seconds=250)
        results = {line["line"]: line["outcome"]["result"]["json"]
                   for line in self.lines(done)}
        self.assertEqual(results, {i + 1: i for i in range(count)})
        self.assertRegex(
            done.stderr, rf"^actorctl: succeeded {count:,}, failed 0 in .*/s\)\n$")
        counters = self.actor.status().counters
        self.assertEqual(counters.processes_started_total, count)
        self.assertEqual(counters.processes_live, 0)

    def test_pids_are_printed(self):
        path = self.file('{"input": 1}', '{"type": "probe", "method": "idle"}')
        done = self.actorctl("submit", "counter", "--from-file", path, "-o",
                             "name")
        self.assertEqual(set(done.stdout.split()), {
            process["pid"] for process in json.loads(
                self.actorctl("ps", "-o", "json").stdout)})
        self.assertIn("submitted 2, failed 0", done.stderr)

    def test_standard_input(self):
        done = self.actorctl("submit", "echo", "--from-file", "-", "--wait",
                             "-o", "jsonl", stdin='{"input": "a"}\n\n{}')
        self.assertEqual(sorted(line["line"] for line in self.lines(done)),
                         [1, 3])

    def test_bad_lines_are_told_and_the_others_go_on(self):
        path = self.file(
            '{"input": 1}', "nonsense", '{"inptu": 1}', '{"type": 7}',
            '{"type": "ghost"}', '{"method": "fail", "input": "no stock"}',
            '["input"]', '{"input": 8}')
        done = self.actorctl("submit", "echo", "--from-file", path, "--wait",
                             "-o", "jsonl", status=FAILED)
        lines = {line["line"]: line for line in self.lines(done)}
        self.assertEqual(sorted(lines), list(range(1, 9)))
        self.assertEqual(lines[1]["outcome"]["result"]["json"], 1)
        self.assertEqual(lines[8]["outcome"]["result"]["json"], 8)
        self.assertEqual(lines[5]["error"]["reason"], "UNKNOWN_PROCESS_TYPE")
        self.assertEqual(lines[6]["outcome"]["failure"]["reason"], "FAILED")
        for number in (2, 3, 4, 5, 6, 7):
            self.assertRegex(done.stderr, rf"items\.jsonl:{number}: .+\n")
        self.assertIn('unknown key "inptu"; the keys are input, labels, ',
                      done.stderr)
        self.assertIn("succeeded 2, failed 6", done.stderr)

    def test_many_bad_lines_do_not_flood_the_terminal(self):
        path = self.file(*(["nonsense"] * 1000))
        done = self.actorctl("submit", "echo", "--from-file", path,
                             status=FAILED)
        self.assertEqual(done.stdout, "")
        self.assertLess(len(done.stderr.splitlines()), 30)
        self.assertIn("further failures are not shown", done.stderr)
        self.assertIn("submitted 0, failed 1,000", done.stderr)

    def test_file_that_is_missing(self):
        done = self.actorctl("submit", "echo", "--from-file", "none",
                             status=USAGE)
        self.assertIn("none: No such file", done.stderr)

    def test_daemon_that_is_not_there_stops_it_early(self):
        path = self.file(*(['{"input": 1}'] * 5000))
        done = self.actorctl("submit", "echo", "--from-file", path,
                             "--address", "127.0.0.1:1", status=UNAVAILABLE)
        self.assertRegex(done.stderr, r"stopped at .*items\.jsonl:\d+: cannot reach")

    def test_timeout_is_of_the_whole(self):
        path = self.file('{"type": "probe", "method": "idle"}')
        done = self.actorctl("submit", "--from-file", path, "--wait",
                             "--timeout", "300ms", status=DEADLINE)
        self.assertIn("succeeded 0, failed 1", done.stderr)

    def test_interruption_tells_how_far_it_came(self):
        path = self.file('{"input": 1}', '{"type": "probe", "method": "idle"}')
        screen, terminal = pty.openpty()
        client = subprocess.Popen(
            [places.ACTORCTL, "submit", "echo", "--from-file", path, "--wait"],
            stdout=subprocess.PIPE, stderr=terminal, text=True,
            env=places.clean_environment(ACTORD_ADDRESS=self.daemon.address,
                                         TERM="xterm"))
        os.close(terminal)
        # It knows of the first process's end, and that is all that there is.
        read_until(screen, b"1 of 2 begun")
        with self.assertRaises(subprocess.TimeoutExpired):
            client.wait(0.3)
        client.send_signal(signal.SIGINT)
        stdout, _ = client.communicate(timeout=WAIT_SECONDS)
        stderr = read_to_the_end(screen)
        self.assertEqual((client.returncode, stdout), (INTERRUPTED, ""), stderr)
        self.assertIn("succeeded 1, failed 1", stderr)

    def test_shutdown_in_the_middle_is_accounted_for(self):
        path = self.file(*(['{"input": 1}'] * 200_000))
        # It keeps the daemon there, draining, until its payment is taken.
        order = self.actor.submit(
            "order", b'{"order": "o", "amount_cents": 1, "hold_ms": 0}')
        [payment] = eventually(lambda: self.actor.yields(pid=order), "a payment")
        with open(self.directory / "out", "w+", encoding="utf-8") as output:
            client = subprocess.Popen(
                [places.ACTORCTL, "submit", "echo", "--from-file", path,
                 "--wait", "-o", "jsonl"], stdout=output,
                stderr=subprocess.PIPE, text=True, env=places.clean_environment(
                    ACTORD_ADDRESS=self.daemon.address))
            eventually(lambda: self.counters().processes_ended_total > 500,
                       "the first of them")
            self.daemon.signal(signal.SIGTERM)
            _, complaints = client.communicate(timeout=WAIT_SECONDS)
            output.seek(0)
            lines = [json.loads(line) for line in output]
        self.assertEqual(client.returncode, UNAVAILABLE, complaints)
        self.assertRegex(complaints, r"stopped at .*items\.jsonl:\d+: the daemon is "
                         "shutting down")
        accepted = [line for line in lines if "pid" in line]
        self.assertEqual(len(accepted), self.counters().processes_started_total - 1)
        self.assertEqual(len(accepted), self.counters().processes_ended_total)
        for line in accepted:
            ends = {"result", "failure"} & line["outcome"].keys()
            self.assertEqual(len(ends), 1, line)
        self.assertEqual({line["error"]["reason"] for line in lines
                          if "pid" not in line}, {"DRAINING"})
        self.assertEqual(self.actor.complete(payment.token, b"x"), "ACCEPTED")
        self.assertEqual(self.daemon.wait(), 0)

    def test_progress_is_shown_on_a_terminal_only(self):
        path = self.file(*(['{"input": 1500}'] * 3))
        screen, terminal = pty.openpty()
        done = subprocess.run(
            [places.ACTORCTL, "submit", "probe", "--method", "sleep",
             "--from-file", path, "--wait", "-o", "name"],
            stdout=subprocess.PIPE, stderr=terminal, check=False,
            env=places.clean_environment(ACTORD_ADDRESS=self.daemon.address,
                                         TERM="xterm"))
        os.close(terminal)
        shown = read_to_the_end(screen)
        self.assertEqual((done.returncode, len(done.stdout.split())), (0, 3))
        *progress, summary, _ = re.split("[\r\n]+", shown)
        self.assertIn("succeeded 3, failed 0", summary)
        self.assertTrue(any("3" in bar for bar in progress), shown)


class Send(BulkCase):

    def test_messages_to_one_process_keep_the_files_order(self):
        pid = self.actor.submit("probe", method="collect")
        path = self.file(*(f'{{"topic": "t{i % 3}", "payload": {i}}}'
                           for i in range(1000)))
        done = self.actorctl("send", pid, "--from-file", path)
        self.assertEqual(done.stdout, "")
        self.assertIn("sent 1,000, failed 0", done.stderr)
        self.actor.send(pid, "stop")
        collected = self.answer(self.actor.wait(pid))
        self.assertEqual([one["payload"] for one in collected],
                         [str(i) for i in range(1000)])
        self.assertEqual(collected[4]["topic"], "t1")

    def test_bad_lines(self):
        pid = self.actor.submit("probe", method="collect")
        path = self.file(f'{{"pid": "{pid}", "payload": 1}}', "{}",
                         '{"pid": "nonsense"}', '{"pid": "7.1.1.1"}')
        done = self.actorctl("send", "--from-file", path, "-o", "jsonl",
                             status=FAILED)
        errors = {line["line"]: line.get("error", {}).get("reason")
                  for line in self.lines(done)}
        self.assertEqual(errors, {1: None, 2: "", 3: "INVALID_PID",
                                  4: "PROCESS_NOT_FOUND"})


if __name__ == "__main__":
    unittest.main()
