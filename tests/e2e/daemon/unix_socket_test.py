"""Daemons that want the same Unix socket: one serves, in any order of starts and ends."""

import os
import socket
import subprocess
import unittest

from harness import places
from harness.case import EmptyCase
from harness.connection import Connection
from harness.daemon import STOP_SECONDS, run_actord
from harness.waiting import eventually

ROUNDS = 12
AT_ONCE = 5
CANNOT_LISTEN = 69


class Starting:
    """A daemon that serves nothing but the socket, if it gets it."""

    def __init__(self, directory, number, path):
        self.ready = directory / f"ready{number}"
        self.log_path = directory / f"log{number}"
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [places.ACTORD, "--listen", f"unix:{path}", "--plugin",
                 places.PLUGINS / "echo.so", "--workers", "1", "--port-file",
                 self.ready], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=places.clean_environment())

    def has_decided(self):
        return self.ready.exists() or self.process.poll() is not None

    def serves(self):
        return self.process.poll() is None

    def end(self):
        self.process.terminate()
        return self.process.wait(STOP_SECONDS)

    def log(self):
        return self.log_path.read_text(errors="replace")


class UnixSocketCase(EmptyCase):

    def setUp(self):
        super().setUp()
        self.path = self.directory / "s"
        self.started = 0

    def start(self):
        self.started += 1
        daemon = Starting(self.directory, self.started, self.path)
        self.addCleanup(daemon.process.wait)
        self.addCleanup(daemon.process.kill)
        return daemon

    def leave_a_socket(self):
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(self.path))

    def assert_answers(self):
        connection = Connection(f"unix:{self.path}")
        try:
            self.assertEqual(connection.run("echo", b"1").result.data, b"1")
        finally:
            connection.close()

    def left(self):
        return sorted(name for name in os.listdir(self.directory)
                      if name.startswith("s"))


class AtOnce(UnixSocketCase):

    def one_of_many_serves(self):
        daemons = [self.start() for _ in range(AT_ONCE)]
        for daemon in daemons:
            eventually(daemon.has_decided, "its start")
        serving = [daemon for daemon in daemons if daemon.serves()]
        self.assertEqual(len(serving), 1, [each.log() for each in daemons])
        for daemon in daemons:
            if daemon in serving:
                continue
            self.assertEqual(daemon.process.returncode, CANNOT_LISTEN)
            self.assertIn(
                f"cannot listen on unix:{self.path}: another daemon serves "
                f"there, or is about to: it holds {self.path}.lock",
                daemon.log())
        self.assert_answers()
        self.assertEqual(serving[0].end(), 0)
        self.assertEqual(self.left(), [])

    def test_one_of_many_serves(self):
        for _ in range(ROUNDS):
            self.one_of_many_serves()

    def test_one_of_many_replaces_a_socket_that_was_left(self):
        for _ in range(ROUNDS):
            self.leave_a_socket()
            self.one_of_many_serves()

    def test_one_of_many_replaces_what_a_killed_daemon_left(self):
        for _ in range(ROUNDS // 3):
            killed = self.start()
            eventually(killed.has_decided, "its start")
            killed.process.kill()
            killed.process.wait()
            self.assertEqual(self.left(), ["s", "s.lock"])
            self.one_of_many_serves()

    def test_successor_serves_whenever_its_predecessor_ends(self):
        former = self.start()
        eventually(former.has_decided, "the first start")
        for _ in range(ROUNDS):
            former.process.terminate()
            # Until one finds the path free.
            def successor():
                daemon = self.start()
                eventually(daemon.has_decided, "its start")
                return daemon if daemon.serves() else None
            daemon = eventually(successor, "a successor")
            self.assertEqual(former.process.wait(STOP_SECONDS), 0)
            self.assert_answers()
            former = daemon
        self.assertEqual(former.end(), 0)
        self.assertEqual(self.left(), [])


class Alone(UnixSocketCase):

    def assert_refused(self, status, message, *options):
        done = run_actord("--listen", f"unix:{self.path}", *options)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(message, done.stderr)

    def test_start_that_fails_leaves_no_lock(self):
        self.assert_refused(78, "/nowhere", "--plugin-dir", "/nowhere")
        self.assertEqual(self.left(), [])

    def test_socket_of_another_program_stays(self):
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(self.path))
            server.listen(0)
            # Also when it does not accept: here is all that may wait.
            with socket.socket(socket.AF_UNIX) as waiting:
                waiting.connect(str(self.path))
                for _ in range(2):
                    self.assert_refused(CANNOT_LISTEN, "Address already in use")
        self.assertEqual(self.left(), ["s"])

    def test_socket_of_another_kind_stays(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
            server.bind(str(self.path))
            self.assert_refused(CANNOT_LISTEN, "Protocol wrong type for socket")
        self.assertEqual(self.left(), ["s"])

    def test_path_that_is_listed_twice(self):
        self.assert_refused(78, f"unix:{self.path} is listed twice",
                            "--listen", f"unix:{self.path}")
        self.assertEqual(self.left(), [])

    def test_directory_that_is_not_there(self):
        self.path = self.directory / "no" / "s"
        self.assert_refused(
            CANNOT_LISTEN, f"cannot listen on unix:{self.path}: cannot lock "
            f"{self.path}.lock: No such file or directory")


if __name__ == "__main__":
    unittest.main()
