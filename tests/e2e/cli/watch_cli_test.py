"""actorctl watch: what lives, starts and ends, on a terminal and for programs."""

import json
import queue
import signal
import subprocess
import threading
import time
import unittest

from harness import places
from harness.cli import DEADLINE, FAILED, INTERRUPTED, USAGE, CliCase
from harness.waiting import WAIT_SECONDS


class Background:
    """actorctl watch, whose lines come as they are written."""

    def __init__(self, case, *words, address=None):
        self.process = subprocess.Popen(
            [str(places.ACTORCTL), "watch", *words], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            cwd=case.directory, env=places.clean_environment(
                ACTORD_ADDRESS=address or case.daemon.address))
        case.addCleanup(self._end)
        self._queues = {}
        for name in ("stdout", "stderr"):
            lines = self._queues[name] = queue.Queue()
            threading.Thread(target=self._read, daemon=True,
                             args=(getattr(self.process, name), lines)).start()

    def _read(self, stream, lines):
        with stream:
            for line in stream:
                lines.put(line)

    def _end(self):
        self.process.kill()
        self.process.wait()

    def line(self, name="stdout"):
        return self._queues[name].get(timeout=WAIT_SECONDS)

    def event(self):
        return json.loads(self.line())

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(WAIT_SECONDS)


class WatchCommand(CliCase):

    def test_lines_come_as_it_happens(self):
        stays = self.actor.submit("counter")
        watch = Background(self)
        self.assertRegex(watch.line(), "^EVENT +TIME +PID +TYPE +HOW +STEPS$")
        self.assertRegex(watch.line(), f"^LIVE +\\S+ +{stays} +counter ")
        done = self.actor.submit("echo", b"1")
        self.assertRegex(watch.line(), f"^STARTED +\\S+ +{done} +echo$")
        self.assertRegex(watch.line(), f"^ENDED +\\S+ +{done} +echo +DONE +1$")
        failed = self.actor.submit("probe", b"no more", method="fail")
        self.assertRegex(watch.line(), f"^STARTED +\\S+ +{failed} +probe$")
        self.assertRegex(watch.line(), f"^ENDED +\\S+ +{failed} +probe +"
                                       "FAILED: no more +1$")
        self.assertEqual(watch.interrupt(), INTERRUPTED)
        self.assertRegex(watch.line("stderr"),
                         r"^actorctl: to go on here: --resume [0-9a-f]{40}$")

    def test_it_goes_on_where_it_ended(self):
        watch = Background(self, "-o", "jsonl")
        self.assertEqual([watch.event()["event"] for _ in range(2)],
                         ["SNAPSHOT", "SNAPSHOT_END"])
        pid = self.actor.submit("counter")
        self.assertEqual(watch.event()["pid"], pid)
        watch.interrupt()
        token = watch.line("stderr").split()[-1]
        self.actor.terminate(pid, "enough")
        self.actor.wait(pid)
        done = self.actorctl("watch", "--resume", token, "--count", "1", "-o",
                             "jsonl")
        ended = json.loads(done.stdout)
        self.assertEqual((ended["event"], ended["pid"]), ("ENDED", pid))
        self.assertEqual((ended["failure"]["reason"],
                          ended["failure"]["message"]),
                         ("TERMINATED", "enough"))

    def test_filters(self):
        parent = self.actor.submit("probe", b"2", method="children")
        self.actor.wait(parent)
        watch = Background(self, "--type", "counter", "--no-snapshot",
                           "--count", "2", "-o", "name")
        # It prints nothing before, so ask for as long as it is not there.
        pids = []
        deadline = time.monotonic() + WAIT_SECONDS
        while watch.process.poll() is None and time.monotonic() < deadline:
            pids.append(self.actor.submit("counter"))
            self.actor.run("echo")
        self.assertEqual(watch.process.wait(WAIT_SECONDS), 0)
        lines = [watch.line().strip() for _ in range(2)]
        self.assertLessEqual(set(lines), set(pids))

    def test_a_daemon_that_begins_anew(self):
        socket = f"unix:{self.directory}/socket"
        first = self.start_daemon("--listen", socket)
        self.connect(first).submit("counter")
        watch = Background(self, "-o", "jsonl", address=socket)
        self.assertEqual([watch.event()["event"] for _ in range(3)],
                         ["SNAPSHOT", "LIVE", "SNAPSHOT_END"])
        self.assertEqual(first.stop(), 0)
        self.assertEqual(watch.event()["event"], "ENDED")
        self.assertRegex(watch.line("stderr"),
                         "^actorctl: (no connection to the daemon at unix:.*|"
                         "the daemon at unix:.* is not available: .*); "
                         "trying again in ")
        second = self.start_daemon("--listen", socket)
        while watch.line("stderr") != "actorctl: connected again\n":
            pass
        self.assertEqual(watch.line("stderr"),
                         "actorctl: an unknown number of events were missed; "
                         "what lives now follows\n")
        missed = watch.event()
        self.assertEqual((missed["event"], missed["count"]), ("MISSED", 0))
        self.assertEqual([watch.event()["event"] for _ in range(2)],
                         ["SNAPSHOT", "SNAPSHOT_END"])
        pid = self.connect(second).submit("counter")
        events = [watch.event()]
        while events[-1]["pid"] != pid:
            events.append(watch.event())
        self.assertEqual(events[-1]["event"], "STARTED")

    def test_how_it_ends(self):
        # The one line on standard error is the token.
        self.actorctl("watch", "--for", "100ms")
        self.actorctl("watch", "--timeout", "100ms", status=DEADLINE)
        done = self.actorctl("watch", "--resume", "x", status=FAILED)
        self.assertIn("INVALID_RESUME_TOKEN", done.stderr)
        self.assert_complains(USAGE, "--for", "watch", "--for", "tomorrow")
        self.assert_complains(FAILED, "INVALID_PID", "watch", "--parent", "x")
        usage = self.output("watch", "--help")
        for word in ("--type", "--parent", "--no-snapshot", "--resume", "--for",
                     "--count", "Examples:"):
            self.assertIn(word, usage)
        self.assertIn("--no-snapshot", self.output("__complete", "watch", "--no"))


if __name__ == "__main__":
    unittest.main()
