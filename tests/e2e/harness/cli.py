"""actorctl against a daemon: what it prints where, and what it exits with."""

import json

from harness.case import DaemonCase

DONE, FAILED, USAGE, NOT_FOUND, UNAVAILABLE, DEADLINE = 0, 1, 2, 3, 5, 6
INTERRUPTED = 130


def awaits_signals(process, number):
    """Whether actorctl, just started, is ready to be interrupted: it blocks the
    signal in all threads except the thread that waits for it."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("SigBlk:"):
                return int(line.split()[1], 16) >> (number - 1) & 1 == 1
    return False


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
