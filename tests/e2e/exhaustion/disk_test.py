"""The disk of the log is full: the daemon serves, drops lines and counts them, and
says how many are missing when there is room again."""

import json
import os
import resource
import subprocess
import unittest

from harness import places
from harness.case import EmptyCase
from harness.daemon import Daemon
from harness.tokens import TokenCase
from harness.waiting import eventually

DISK_BYTES = 64 << 10
LINES = 400
LINE_BYTES = 500


def log_lines(actor, count=LINES):
    """A process logs `count` lines. Returns the codes of its commands."""
    outcome = actor.run("probe", json.dumps(
        {"command": "log.write", "count": count, "payload":
         {"level": "info", "message": "x" * LINE_BYTES}}).encode(), method="yield")
    return {each["code"] for each in json.loads(outcome.result.data)}


class SmallDisk:
    """A file for a log on a disk that can be filled: a small file system, or a limit
    on the size of the daemon's files, which takes no privilege."""

    def __init__(self, case, mount):
        self.directory = case.directory / "disk"
        self.directory.mkdir()
        self.is_mounted = mount
        if mount:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}",
                            "actord-test", self.directory], check=True)
            case.addCleanup(subprocess.run, ["umount", "-l", self.directory],
                            check=True)
        self.log = open(self.directory / "log", "ab")  # pylint: disable=consider-using-with
        case.addCleanup(self.log.close)

    def limit(self, daemon):
        """To be called when the daemon has started, which copies its plugins."""
        if not self.is_mounted:
            # As a shell leaves it, the signal of this limit ends a program.
            resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE,
                             (DISK_BYTES, resource.RLIM_INFINITY))

    def make_room(self, daemon):
        if self.is_mounted:
            subprocess.run(["mount", "-o", f"remount,size={16 * DISK_BYTES}",
                            self.directory], check=True)
        else:
            resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE,
                             (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    def lines(self):
        return (self.directory / "log").read_text().splitlines()

    def whole_lines(self):
        """How many lines of the process are there."""
        return sum(is_json(line) and LINE_BYTES * "x" in line for line in self.lines())


class FullDisk(EmptyCase):

    def start(self, *options, **popen):
        daemon = Daemon(self.directory,
                        ("--plugin", places.PROBE, "--plugin-dir", places.PLUGINS,
                         "--log-format", "json", *options), popen=popen)
        self.addCleanup(self._end, daemon, 0)
        return daemon

    def dropped(self, actor):
        return actor.status().counters.log_lines_dropped_total

    @unittest.skipUnless(os.geteuid() == 0, "only root mounts file systems")
    def test_daemon_serves_counts_and_recovers_with_a_full_file_system(self):
        self.serve_on(SmallDisk(self, mount=True))

    def test_daemon_serves_counts_and_recovers_at_a_limit_of_files(self):
        self.serve_on(SmallDisk(self, mount=False))

    def serve_on(self, disk):
        daemon = self.start(stderr=disk.log)
        disk.limit(daemon)
        actor = self.connect(daemon)
        kept = actor.submit("counter")
        self.assertEqual(log_lines(actor), {"OK"})
        eventually(lambda: self.dropped(actor) > 0
                   and disk.whole_lines() + self.dropped(actor) >= LINES,
                   "all lines, dropped or written")
        before = self.dropped(actor)
        # New work, and what exists, as if nothing had happened.
        actor.send(kept, "add", b"5")
        self.assertEqual(actor.run("echo", b"1").result.data, b"1")
        self.assertEqual(log_lines(actor, 10), {"OK"})
        eventually(lambda: self.dropped(actor) == before + 10, "ten more")

        disk.make_room(daemon)
        self.assertEqual(log_lines(actor, 3), {"OK"})
        eventually(lambda: any("dropped" in line for line in disk.lines()),
                   "the notice")
        notice = next(json.loads(line) for line in disk.lines() if "dropped" in line)
        self.assertEqual(notice["level"], "warning")
        self.assertRegex(notice["message"], f"^{self.dropped(actor)} log lines "
                         "dropped: standard error was blocked or full")
        self.assertEqual(self.dropped(actor), before + 10)
        # The notice comes before the lines that follow it. A dropped line may also be
        # a warning about a busy machine.
        eventually(lambda: disk.whole_lines() + self.dropped(actor) >= LINES + 10 + 3,
                   "the lines of the process")
        # The disk took the beginning of one line at most, and that line stands
        # alone.
        self.assertLessEqual(sum(not is_json(line) for line in disk.lines()), 1)
        self.assertEqual(actor.run("echo", b"2").result.data, b"2")


class FullDiskOfAudit(TokenCase):

    def test_audit_lines_are_counted_like_all_others(self):
        admin = self.token("admin")
        with open("/dev/full", "wb") as full:
            daemon = Daemon(self.directory, ("--plugin-dir", places.PLUGINS,
                                             "--auth-tokens", self.token_file),
                            popen={"stderr": full})
        self.addCleanup(self._end, daemon, 0)
        actor = self.connect_with(daemon, admin)

        def dropped():
            return actor.status().counters.log_lines_dropped_total

        before = dropped()
        for _ in range(5):
            actor.terminate(actor.submit("counter"), "full disk")
        eventually(lambda: dropped() >= before + 5, "the audit lines")
        self.assertEqual(actor.run("echo", b"1").result.data, b"1")


def is_json(line):
    try:
        json.loads(line)
        return True
    except ValueError:
        return False


if __name__ == "__main__":
    unittest.main()
