"""What the daemon does when the system has no thread for it, at the start and later."""

import os
import resource
import shutil
import signal
import subprocess
import unittest

from actord.v1 import process_pb2, status_pb2
from harness import places
from harness.case import EmptyCase
from harness.daemon import Daemon
from harness.waiting import WAIT_SECONDS, eventually

CLEAN, INTERNAL, DRAIN_RAN_OUT = 0, 70, 75
# A limit on threads does not bind root, and other users may have any number of
# them already: a user of this test alone.
OTHER_USER = 100_000 + os.getpid()
# At its end LeakSanitizer starts a thread, which these daemons may not.
NO_LEAK_CHECK = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"),
                                       "detect_leaks=0"]))


class OtherUser:
    """How to start a daemon on which a limit of threads works."""

    def __init__(self, directory):
        # The directory of the build may be closed to that user.
        self.directory = directory / "other"
        self.directory.mkdir()
        self.is_root = os.geteuid() == 0
        self.actord = shutil.copy(places.ACTORD, self.directory)
        self.probe = shutil.copy(places.PROBE, self.directory)
        if self.is_root:
            directory.chmod(0o755)
            shutil.chown(self.directory, OTHER_USER)

    def options(self):
        return {"user": OTHER_USER} if self.is_root else {}


class ThreadsCase(EmptyCase):

    def setUp(self):
        super().setUp()
        self.user = OtherUser(self.directory)

    def start(self, *options, exit_status):
        daemon = Daemon(self.user.directory,
                        ("--plugin", self.user.probe, *options),
                        environment={"ASAN_OPTIONS": NO_LEAK_CHECK},
                        actord=self.user.actord, popen=self.user.options())
        self.addCleanup(self._end, daemon, exit_status)
        return daemon

    def no_more_threads(self, daemon):
        self._limit(daemon, "1")

    def threads_again(self, daemon):
        """Gives back what no_more_threads took."""
        # The daemon has the hard limit of this test.
        _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
        self._limit(daemon, "unlimited" if hard == resource.RLIM_INFINITY
                    else str(hard))

    def _limit(self, daemon, soft):
        # By that user, because this needs no privilege then.
        subprocess.run(["prlimit", "--pid", str(daemon.process.pid),
                        f"--nproc={soft}:"], check=True, **self.user.options())


class NoThreadAtTheStart(ThreadsCase):

    def begin(self, limit):
        """Starts a daemon that may have `limit` threads. Returns its message and its
        exit status, or None if it serves."""
        ready = self.user.directory / f"ready{limit}"
        process = subprocess.Popen(
            ["prlimit", f"--nproc={limit}:{limit}", self.user.actord, "--listen",
             "127.0.0.1:0", "--workers", "2", "--external", "x.*",
             "--port-file", ready], stderr=subprocess.PIPE, text=True,
            env=places.clean_environment(ASAN_OPTIONS=NO_LEAK_CHECK),
            **self.user.options())
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        eventually(lambda: ready.exists() or process.poll() is not None,
                   "the start")
        if process.poll() is not None:
            return process.stderr.read(), process.returncode
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(WAIT_SECONDS), CLEAN)
        return process.stderr.read(), None

    def test_it_serves_or_says_what_is_missing(self):
        served = refused = 0
        for limit in range(1, 200):
            log, status = self.begin(limit)
            if status is None:
                served += 1
            else:
                refused += 1
                self.assertEqual((status, served), (INTERNAL, 0), log)
                self.assertRegex(log, "thread.*: Resource temporarily "
                                 "unavailable")
            # Without root others of this user count, and there may be many.
            if served == 3 or not self.user.is_root and limit == 20:
                break
        self.assertGreaterEqual(refused, 8)


class NoThreadLater(ThreadsCase):

    def blocked(self, drain_timeout="500ms", exit_status=DRAIN_RAN_OUT):
        """A daemon both of whose workers are kept in a step, without a thread for
        anything else."""
        daemon = self.start("--workers", "2", "--drain-timeout", drain_timeout,
                            "--force-timeout", "1s", exit_status=exit_status)
        actor = self.connect(daemon)
        self.no_more_threads(daemon)
        self.file = self.user.directory / "go on"
        pids = [actor.submit("probe.blocking", str(self.file).encode(),
                             method="until") for _ in range(2)]
        for pid in pids:
            eventually(lambda pid=pid: actor.process(pid).state
                       == process_pb2.PROCESS_STATE_RUNNING, "the step to run")
        return daemon, actor

    def test_sigterm_ends_it_when_steps_do_not_return(self):
        daemon, _ = self.blocked()
        daemon.signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(), DRAIN_RAN_OUT)
        daemon.wait_for_line("exiting although 2 steps")
        daemon.wait_for_line("that runs workers: Resource temporarily unavailable")

    def test_sigterm_drains_what_returns(self):
        daemon, _ = self.blocked("1h", exit_status=CLEAN)
        daemon.signal(signal.SIGTERM)
        eventually(lambda: "ending: " in daemon.log(), "the drain")
        self.file.touch()
        self.assertEqual(daemon.wait(), CLEAN)
        # Processes that ended before the drain began are not counted. Without
        # threads gRPC does not always finish its own shutdown.
        daemon.wait_for_match("ended: [0-2] processes ended "
                              "in time, 0 had to be forced|exiting although gRPC")

    def test_both_modes_of_shutdown_are_answered(self):
        for mode in (status_pb2.ShutdownRequest.MODE_DRAIN,
                     status_pb2.ShutdownRequest.MODE_NOW):
            with self.subTest(mode=mode):
                daemon, actor = self.blocked()
                response = actor.shutdown(mode)
                self.assertEqual(
                    (response.ended_count, response.forced_count), (0, 2))
                self.assertEqual(daemon.wait(), DRAIN_RAN_OUT)


if __name__ == "__main__":
    unittest.main()
