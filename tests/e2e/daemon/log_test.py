"""Standard error that nobody reads, or nobody any more: neither processes nor the end
of the daemon wait for it."""

import fcntl
import json
import os
import re
import signal
import time
import unittest

from actord.v1 import process_pb2
from harness import places
from harness.case import EXTERNAL, EmptyCase
from harness.crash_case import without_core_files
from harness.daemon import Daemon
from harness.waiting import eventually

LINES = 10_000  # of one process
LINE_BYTES = 500
# The text that may wait for standard error, and a pipe besides.
WAITING_BYTES = 2 << 20
# Between two warnings of the watchdog about processes of one type.
WARNING_PAUSE_SECONDS = 10
NOTICE = re.compile(r"(\d+) log lines? dropped")


class LogCase(EmptyCase):

    def start(self, *options, exit_status=0, **popen):
        daemon = Daemon(self.directory,
                        ("--plugin", places.PROBE, "--max-yields", "16000",
                         "--plugin-dir", places.PLUGINS, *EXTERNAL, *options),
                        popen=popen)
        self.addCleanup(self._end, daemon, exit_status)
        return daemon


class PipeThatNobodyReads(LogCase):

    def start_and_log(self, exit_status=0):
        """Starts a daemon with a process that logs more than may wait, which it
        does without waiting."""
        self.read_end, write_end = os.pipe()
        self.addCleanup(lambda: self.read_end and os.close(self.read_end))
        self.daemon = self.start("--drain-timeout", "500ms", "--force-timeout",
                                 "1s", exit_status=exit_status,
                                 stderr=write_end)
        os.close(write_end)
        self.actor = self.connect(self.daemon)
        outcome = self.actor.run("probe", json.dumps(
            {"command": "log.write", "count": LINES, "payload":
             {"level": "info", "message": "x" * LINE_BYTES}}).encode(),
            method="yield")
        self.assertEqual(
            {each["code"] for each in json.loads(outcome.result.data)}, {"OK"})

    def dropped(self):
        return self.actor.status().counters.log_lines_dropped_total

    def test_processes_go_on_and_sigterm_ends_the_daemon(self):
        self.start_and_log()
        self.assertGreater(self.dropped(),
                           LINES - 2 * WAITING_BYTES // LINE_BYTES)
        self.daemon.signal(signal.SIGTERM)
        self.assertEqual(self.daemon.wait(), 0)

    def test_step_that_does_not_return_is_left_behind(self):
        self.start_and_log(exit_status=75)
        pid = self.actor.submit("probe.blocking", b"3600000")
        eventually(lambda: self.actor.process(pid).state
                   == process_pb2.PROCESS_STATE_RUNNING, "the step to run")
        self.daemon.signal(signal.SIGTERM)
        self.assertEqual(self.daemon.wait(), 75)

    def test_reader_that_comes_late_reads_how_much_is_missing(self):
        began = time.monotonic()
        self.start_and_log()
        dropped = self.dropped()
        self.assertGreater(dropped, 0)
        with open(self.read_end, "rb", closefd=True) as pipe:
            self.read_end = None
            text, told = b"", 0
            while told < dropped:
                text += os.read(pipe.fileno(), 1 << 16)
                told = sum(int(count) for count
                           in NOTICE.findall(text.decode()))
            self.assertEqual(told, dropped)
            # Lines that are written now are read again.
            self.daemon.signal(signal.SIGTERM)
            text += pipe.read()
        self.assertEqual(self.daemon.wait(), 0)
        lines = text.decode().splitlines()
        # The watchdog warns of the long step, and again after each pause. A
        # warning that was not written is one of the dropped lines.
        warnings = 1 + int((time.monotonic() - began) / WARNING_PAUSE_SECONDS)
        warned = sum("has kept a worker" in line for line in lines)
        written = sum("x" * LINE_BYTES in line for line in lines)
        self.assertGreaterEqual(written, LINES - dropped)
        self.assertLessEqual(written, LINES - dropped + warnings - warned)
        self.assertRegex(lines[-1], "ended: ")
        for line in lines:
            self.assertRegex(line, r"^\d{4}-\S+Z (debug|info|warning|error) ")


class Crash(LogCase):

    def test_lines_logged_before_the_crash_are_written(self):
        read_end, write_end = os.pipe()
        # A small pipe and a slow reader: most of it is still to be written when
        # the process aborts.
        fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
        daemon = self.start(exit_status=-signal.SIGABRT, stderr=write_end,
                            preexec_fn=without_core_files)
        os.close(write_end)
        self.connect(daemon).submit("probe", b"%d" % LINES, method="abort")
        text = b""
        with open(read_end, "rb", buffering=0) as pipe:
            while piece := pipe.read(4096):
                text += piece
                time.sleep(0.0002)
        self.assertEqual(daemon.wait(), -signal.SIGABRT)
        self.assertEqual(re.findall(r"line (\d+)\n", text.decode()),
                         [str(number) for number in range(LINES)])


if __name__ == "__main__":
    unittest.main()
