"""The base of tests that let the daemon crash, and read what it says then."""

import json
import os
import re
import resource
import signal

import grpc
from harness import places
from harness.case import EmptyCase
from harness.waiting import SANITIZED

# The daemon's own handlers report, not those of a sanitizer.
LEAVES_SIGNALS = {"ASAN_OPTIONS": ":".join(filter(None, [
    os.environ.get("ASAN_OPTIONS"),
    *(f"handle_{name}=0" for name in ("segv", "sigbus", "sigfpe", "sigill", "abort")),
    "use_sigaltstack=0"]))}
# From the crash to the end of the program; the daemon's own limit for its report
# is 5 s.
END_SECONDS = 60 if SANITIZED else 15
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
FRAME = re.compile(r"crash: #(\d+) at (\S+?)\+0x[0-9a-f]+(?: \((\S+)\+0x[0-9a-f]+\))?$")


def without_core_files():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Report:
    """The lines of a report in a log: `first` says what crashed and where, `frames`
    are pairs of a file and a function, which may be None."""

    def __init__(self, messages):
        self.first, self.header, *rest = messages
        self.thread = re.fullmatch(r"crash: backtrace of thread (.+)", self.header)[1]
        self.cut = "frames; the outer frames are left out" in rest[-1]
        self.lines = rest[:-1] if self.cut else rest
        found = [FRAME.search(line) for line in self.lines]
        self.frames = [(match[2], match[3] or "") for match in found if match]

    def functions(self):
        return " ".join(name for _, name in self.frames)


class CrashCase(EmptyCase):

    def setUp(self):
        super().setUp()
        os.environ.pop("CRASHER", None)

    def serve(self, *options, number=signal.SIGSEGV, environment=None):
        """Starts a daemon that is to end by the signal `number`."""
        self.number = number
        self.daemon = self.start_daemon(
            "--plugin", places.CRASHER, *options, plugins=False,
            environment={**LEAVES_SIGNALS, **(environment or {})},
            exit_status=-number, actord=self.without_cores())
        self.actor = self.connect(self.daemon)

    def without_cores(self):
        """A script that becomes actord."""
        path = self.text_file(
            f'#!/bin/sh\nulimit -c 0\nexec "{places.ACTORD}" "$@"\n', "actord.sh")
        path.chmod(0o755)
        return path

    def crash(self, method, how):
        """Submits a process that crashes the daemon, and returns its PID."""
        try:
            pid = self.actor.submit("crasher", how.encode(), method=method)
        except grpc.RpcError:
            self.assertEqual(method, "init")
            return None
        try:
            self.actor.send(pid)
        except grpc.RpcError:
            pass  # it crashed before it answered
        return pid

    def report(self, as_json=False):
        """Waits for the end, by the signal, and reads the report in the log."""
        self.assertEqual(self.daemon.wait(END_SECONDS), -self.number)
        return self.report_in(self.daemon.log(), as_json)

    def report_in(self, log, as_json=False):
        messages = []
        for line in log.splitlines():
            if as_json:
                entry = json.loads(line)
                if entry["level"] == "fatal":
                    self.assertRegex(entry["time"], f"^{TIME}$")
                    self.assertEqual(sorted(entry), ["level", "message", "time"])
                    messages.append(entry["message"])
            elif match := re.fullmatch(f"{TIME} fatal   (.+)", line):
                messages.append(match[1])
        self.assertGreater(len(messages), 2, log)
        for message in messages:
            self.assertTrue(message.startswith("crash: "), message)
        return Report(messages)
