"""The base of the tests: every test has a directory and daemons of its own."""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import grpc
from actord.v1 import process_pb2
from harness import places
from harness.connection import Connection, refusal_of
from harness.daemon import Daemon
from harness.waiting import WAIT_SECONDS

# Commands that tests complete themselves.
EXTERNAL = ("--external", "payment.*", "--external", "manual.*")
CLI_SECONDS = 2 * WAIT_SECONDS

DURABLE = process_pb2.DURABILITY_DURABLE


class EmptyCase(unittest.TestCase):
    """A test without a daemon, or a test that starts the programs that it needs."""

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="actord-e2e-"))
        self.addCleanup(shutil.rmtree, self.directory)
        self._daemons = 0
        self.daemon = None

    def text_file(self, text, name="actord.toml"):
        """Writes a file into the test's directory and returns its path."""
        path = self.directory / name
        path.write_text(text)
        return path

    def start_daemon(self, *options, plugins=True, environment=None,
                     exit_status=0, actord=places.ACTORD, port=0):
        """Starts a daemon, by default with the example plugins and the probe.
        When the test is over it has to end, upon SIGTERM if it still runs, with
        `exit_status`, or with any if this is None. `actord`: a script that becomes actord.
        `port`: the one to listen on; 0: any."""
        self._daemons += 1
        directory = self.directory / f"daemon{self._daemons}"
        directory.mkdir()
        if plugins:
            options = ("--plugin-dir", places.PLUGINS, "--plugin",
                       places.PROBE, *EXTERNAL, *options)
        daemon = Daemon(directory, options, environment, actord=actord,
                        port=port)
        self.addCleanup(self._end, daemon, exit_status)
        return daemon

    def _end(self, daemon, exit_status):
        try:
            status = daemon.stop()
        finally:
            # CTest shows it if the test fails.
            print(f"--- log of the daemon at {daemon.address}\n{daemon.log()}",
                  file=sys.stderr)
        if exit_status is not None:
            self.assertEqual(status, exit_status, "the daemon's exit status")

    def connect(self, daemon, options=(), credentials=None):
        connection = Connection(daemon.address, options, credentials)
        self.addCleanup(connection.close)
        return connection

    def assert_refused(self, call, *, code, reason, message, field=None):
        """`call()` has to fail with all that the API promises for `code`: reason
        and domain, a field violation if the argument is invalid, a retry delay if
        it is worth another try. Returns the refusal."""
        with self.assertRaises(grpc.RpcError) as caught:
            call()
        refusal = refusal_of(caught.exception)
        self.assertEqual(refusal.code, code, refusal)
        self.assertEqual(refusal.reason, reason, refusal)
        self.assertEqual(refusal.domain, "actord", refusal)
        self.assertRegex(refusal.message, message)
        if code == grpc.StatusCode.INVALID_ARGUMENT:
            self.assertEqual(refusal.fields, {field: refusal.message}, refusal)
        else:
            self.assertEqual(refusal.fields, {}, refusal)
        if code in (grpc.StatusCode.RESOURCE_EXHAUSTED,
                    grpc.StatusCode.UNAVAILABLE):
            self.assertGreater(refusal.retry_seconds, 0)
            self.assertLessEqual(refusal.retry_seconds, 60)
        else:
            self.assertIsNone(refusal.retry_seconds, refusal)
        return refusal

    def actorctl(self, *words, stdin="", status=0, environment=None,
                 seconds=CLI_SECONDS):
        """Runs actorctl, against the daemon if there is one, and checks its exit
        status; None: any."""
        more = dict(environment or {})
        if self.daemon is not None:
            more.setdefault("ACTORD_ADDRESS", self.daemon.address)
        done = subprocess.run(
            [str(places.ACTORCTL), *(str(word) for word in words)], input=stdin,
            capture_output=True, text=not isinstance(stdin, bytes),
            timeout=seconds, cwd=self.directory,
            env=places.clean_environment(**more))
        self.assertEqual(
            done.returncode, done.returncode if status is None else status,
            f"{words}\nstdout: {done.stdout[-2000:]}\n"
            f"stderr: {done.stderr[-2000:]}")
        return done


class StoreCase(EmptyCase):

    def setUp(self):
        super().setUp()
        self.store = self.directory / "store"
        self.start_with = ()
        self.listen_port = 0  # any

    def start(self, exit_status=0):
        self.daemon = self.start_daemon("--store", self.store, *self.start_with,
                                        exit_status=exit_status, port=self.listen_port)
        self.actor = self.connect(self.daemon)
        return self.actor

    def kill(self):
        """The daemon ends where it is."""
        self.actor.close()
        self.daemon.signal(signal.SIGKILL)
        self.daemon.wait()

    def counter(self, start=0, **fields):
        return self.actor.submit("counter", b"%d" % start, durability=DURABLE,
                                 **fields)

    def value(self, pid):
        return int(self.actor.call(pid, "get").result.data)


class DaemonCase(EmptyCase):
    """A test with one daemon, and a connection to it."""

    OPTIONS = ()
    ENVIRONMENT = None  # or harness.daemon.MEASURED

    def setUp(self):
        super().setUp()
        self.daemon = self.start_daemon(*self.OPTIONS,
                                        environment=self.ENVIRONMENT)
        self.actor = self.connect(self.daemon)

    def answer(self, outcome):
        """The JSON of an outcome that is a result."""
        self.assertEqual(outcome.WhichOneof("end"), "result", outcome)
        return json.loads(outcome.result.data)

    def assert_serves(self):
        """The daemon does its work as if nothing had happened."""
        outcome = self.actor.run("echo", b'"still here"')
        self.assertEqual(outcome.result.data, b'"still here"')
