"""Lines that processes write into the log: by out.Log and by log.write."""

import json
import signal
import subprocess
import unittest

from harness import places
from harness.case import DURABLE, EmptyCase
from harness.cli import CliCase
from harness.waiting import eventually

DIARIST = "probe.diarist"
CLI_SECONDS = 60


class ProcessLog(CliCase):

    def wait_for_line(self, text):
        """Waits until the log has the text."""
        eventually(lambda: text in self.daemon.log(), text)

    def test_line_names_the_process(self):
        plain = self.actor.submit(DIARIST)
        named = self.actor.submit(DIARIST, name="diaries/7")
        self.actor.send(plain, "warning", b"no name")
        self.actor.send(named, "error", b"a name\nand a line \x1b[2J")
        self.wait_for_line(f"warning process {plain} ({DIARIST}): no name")
        self.wait_for_line(f"error   process {named} ({DIARIST} @diaries/7): a name")
        self.assertNotIn("\x1b[2J", self.daemon.log())

    def test_command_names_the_process(self):
        self.actor.run("probe", json.dumps(
            {"command": "log.write", "count": 1, "payload":
             {"level": "warning", "message": "by a command"}}).encode(),
            method="yield")
        eventually(lambda: "(probe): by a command" in self.daemon.log(), "the line")

    def test_level_of_the_log_decides(self):
        pid = self.actor.submit(DIARIST)
        self.actor.send(pid, "debug", b"unheard")
        self.actor.send(pid, "info", b"heard")
        self.wait_for_line(": heard")
        self.assertNotIn("unheard", self.daemon.log())
        self.output("log-level", "debug")
        self.actor.send(pid, "debug", b"now it is there")
        self.wait_for_line(f"debug   process {pid} ({DIARIST}): now it is there")

    def test_long_line_says_what_is_missing(self):
        pid = self.actor.submit(DIARIST)
        self.actor.send(pid, "info", b"x" * 100_000)
        self.wait_for_line(f"x... ({100_000 - (15 << 10)} more bytes)")


    def test_lines_of_a_failed_step_come_before_its_failure(self):
        pid = self.actor.submit(DIARIST, name="diaries/8")
        self.actor.send(pid, "warning", b"all is well")
        self.actor.send(pid, "fail", b"the card was refused")
        process = f"process {pid} ({DIARIST} @diaries/8)"
        self.wait_for_line(f"{process} failed: FAILED, ABORTED: as told")
        log = self.daemon.log()
        marked = f"info    {process}, in the step that failed: the card was refused"
        self.assertLess(log.index(marked), log.index(f"{process} failed: "))
        self.assertEqual(log.count("the card was refused"), 1)


class JsonLog(EmptyCase):

    def entries(self, daemon, text):
        """The lines with the text, as soon as there is one."""
        def find():
            lines = [json.loads(line) for line in daemon.log().splitlines()]
            return [line for line in lines if text in line["message"]]
        return eventually(find, text)

    def test_lines_about_a_process_have_it_as_fields(self):
        daemon = self.start_daemon("--log-format", "json")
        actor = self.connect(daemon)
        hostile = "\n{\"level\":\"error\"}\u202e"
        plain = actor.submit(DIARIST)
        named = actor.submit(DIARIST, name="diaries/7")
        actor.send(plain, "info", b"no name")
        actor.send(named, "warning", f"a name {hostile}".encode())
        [entry] = self.entries(daemon, "no name")
        self.assertEqual(
            {key: entry.get(key) for key in ("level", "pid", "type", "name")},
            {"level": "info", "pid": plain, "type": DIARIST, "name": None})
        [entry] = self.entries(daemon, "a name ")
        self.assertEqual((entry["pid"], entry["name"]), (named, "diaries/7"))
        self.assertTrue(entry["message"].endswith(hostile))
        failed = actor.submit("probe", b"split tank", method="fail")
        actor.wait(failed)
        [entry] = self.entries(daemon, "split tank")
        self.assertEqual((entry["pid"], entry["type"], entry["code"]),
                         (failed, "probe", "FAILED_PRECONDITION"))
        # Lines that are about no process have no process.
        [entry] = self.entries(daemon, " serves on ")
        self.assertEqual(set(entry), {"time", "level", "message"})


class DurableProcessLog(EmptyCase):

    def test_killed_daemon_writes_no_line_twice(self):
        store = self.directory / "store"
        daemon = self.start_daemon("--store", store, exit_status=None)
        actor = self.connect(daemon)
        pid = actor.submit(DIARIST, durability=DURABLE, name="diary")
        for number in range(50):
            actor.send(pid, "info", b"line %d" % number)
        eventually(lambda: "): line 49" in daemon.log(), "the lines")
        daemon.signal(signal.SIGKILL)
        daemon.wait()
        before = daemon.log()

        daemon = self.start_daemon("--store", store)
        actor = self.connect(daemon)
        actor.send(pid, "info", b"line 50")
        eventually(lambda: "): line 50" in daemon.log(), "the last line")
        lines = [line for line in (before + daemon.log()).splitlines()
                 if f"process {pid} ({DIARIST} @diary): line " in line]
        self.assertEqual([line.rsplit(" ", 1)[1] for line in lines],
                         [str(number) for number in range(51)])
        done = subprocess.run(
            [str(places.ACTORCTL), "history", pid, "--address", daemon.address],
            capture_output=True, text=True, timeout=CLI_SECONDS,
            env=places.clean_environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"  LOG +- +- +info line 50\n")


    def test_failed_step_writes_its_lines_once(self):
        store = self.directory / "store"
        daemon = self.start_daemon("--store", store, exit_status=None)
        actor = self.connect(daemon)
        pid = actor.submit(DIARIST, durability=DURABLE, name="diary")
        actor.send(pid, "info", b"well")
        actor.send(pid, "fail", b"ill")
        process = f"process {pid} ({DIARIST} @diary)"
        eventually(lambda: f"{process} failed: " in daemon.log(), "the failure")
        self.assertEqual(daemon.log().count(f"{process}, in the step that failed: ill"), 1)
        daemon.signal(signal.SIGKILL)
        daemon.wait()

        daemon = self.start_daemon("--store", store)
        self.assertEqual(self.connect(daemon).wait(pid).failure.message, "as told")
        self.assertNotIn("in the step that failed", daemon.log())


if __name__ == "__main__":
    unittest.main()
