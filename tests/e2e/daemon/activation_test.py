"""The sockets that a service manager gives the daemon, the reports that it gets, and
the rights to a Unix socket."""

import os
import signal
import socket
import stat
import subprocess
import sys
import unittest

from harness import places
from harness.case import EmptyCase
from harness.connection import Connection
from harness.daemon import STOP_SECONDS, run_actord
from harness.waiting import eventually

# Does what systemd does: the sockets from descriptor 3 on, and the number of the
# process, which execve keeps.
MANAGER = """
import os, sys
numbers = [int(word) for word in sys.argv[1].split()]
high = [os.dup2(number, 100 + i) for i, number in enumerate(numbers)]
for i, number in enumerate(high):
    os.dup2(number, 3 + i)
    os.set_inheritable(number, False)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"""


class Activation(EmptyCase):

    def start(self, *sockets, options=()):
        """Starts a daemon that inherits the sockets, and nothing else to listen
        on."""
        ready = self.directory / "ready"
        numbers = [each.fileno() for each in sockets]
        log_path = self.directory / "log"

        with open(log_path, "wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", MANAGER, " ".join(map(str, numbers)),
                 places.ACTORD, "--plugin", places.PLUGINS / "echo.so",
                 "--port-file", ready, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=numbers,
                env=places.clean_environment(LISTEN_FDS=str(len(sockets))))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.log = log_path.read_text
        eventually(lambda: ready.exists() or process.poll() is not None,
                   "its start")
        self.assertIsNone(process.poll(), log_path.read_text())
        return process, ready.read_text().split()

    def assert_answers(self, address):
        connection = Connection(address)
        try:
            self.assertEqual(connection.run("echo", b"1").result.data, b"1")
        finally:
            connection.close()

    def test_daemon_serves_on_inherited_sockets(self):
        path = self.directory / "s"
        with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as unix:
            tcp.bind(("127.0.0.1", 0))
            tcp.listen()
            unix.bind(str(path))
            unix.listen()
            port = tcp.getsockname()[1]
            process, ports = self.start(tcp, unix)
        self.assertEqual(ports, [str(port)])
        self.assertIn(f"serves on 127.0.0.1:{port}, unix:{path} with",
                      self.log())
        self.assert_answers(f"127.0.0.1:{port}")
        self.assert_answers(f"unix:{path}")
        process.terminate()
        self.assertEqual(process.wait(STOP_SECONDS), 0)
        # The manager's file stays for the next start.
        self.assertTrue(stat.S_ISSOCK(path.stat().st_mode))

    def test_shutdown_does_not_connect_to_see_the_exit(self):
        with socket.socket() as tcp:
            tcp.bind(("127.0.0.1", 0))
            tcp.listen()
            process, [port] = self.start(tcp)
            done = self.actorctl("shutdown", "--address", f"127.0.0.1:{port}")
            self.assertIn("a service manager holds its sockets", done.stderr)
            self.assertEqual(process.wait(STOP_SECONDS), 0)
            # No connection waits for the next daemon.
            tcp.settimeout(0)
            with self.assertRaises(BlockingIOError):
                tcp.accept()

    def test_addresses_are_served_besides(self):
        with socket.socket() as tcp:
            tcp.bind(("127.0.0.1", 0))
            tcp.listen()
            port = tcp.getsockname()[1]
            _, ports = self.start(tcp, options=("--listen", "127.0.0.1:0"))
        self.assertEqual(len(ports), 2)
        self.assertEqual(ports[0], str(port))
        for each in ports:
            self.assert_answers(f"127.0.0.1:{each}")

    def test_descriptor_that_is_no_listening_socket(self):
        with socket.socket() as tcp:
            with self.assertRaisesRegex(AssertionError,
                                        "descriptor 3 is no listening stream"):
                self.start(tcp)

    def test_variables_of_another_process_are_ignored(self):
        done = run_actord("--listen", "256.1.1.1:1",
                          environment={"LISTEN_PID": "1", "LISTEN_FDS": "1"})
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertNotIn("LISTEN_FDS", done.stderr)


class UnixMode(EmptyCase):

    def test_mode_and_group_of_the_socket(self):
        path = self.directory / "s"
        group = os.getgid()
        daemon = self.start_daemon("--listen", f"unix:{path}", "--unix-mode",
                                   "0620", "--unix-group", str(group))
        status = path.stat()
        self.assertEqual(stat.S_IMODE(status.st_mode), 0o620)
        self.assertEqual(status.st_gid, group)
        self.assertTrue(daemon.running())

    def test_group_that_is_not_there(self):
        done = run_actord("--listen", f"unix:{self.directory}/s",
                          "--unix-group", "no-such-group")
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertIn("there is no group no-such-group", done.stderr)
        self.assertEqual(os.listdir(self.directory), [])

    def test_mode_that_is_no_mode(self):
        for mode in ("888", "1777", "rw"):
            done = run_actord("--unix-mode", mode)
            self.assertEqual(done.returncode, 64, done.stderr)


class Reports(EmptyCase):

    def setUp(self):
        super().setUp()
        self.heard = []

    def listen(self, name):
        """Makes a socket of a service manager; returns its NOTIFY_SOCKET."""
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(name)
        manager.settimeout(0.1)
        self.manager = manager
        return name.replace("\0", "@")

    def hears(self, wanted):
        """Whether a message with the line has come since the last call."""
        try:
            while True:
                self.heard += self.manager.recv(1000).decode().splitlines()
        except TimeoutError:
            pass
        if wanted not in self.heard:
            return False
        del self.heard[:self.heard.index(wanted) + 1]
        return True

    def test_manager_hears_of_start_reload_life_and_end(self):
        config = self.text_file("[limits]\nmax_processes = 1000\n")
        notify = self.listen(str(self.directory / "notify"))
        daemon = self.start_daemon("--config", config, "--drain-timeout", "20s",
                                   "--force-timeout", "4s",
                                   environment={"NOTIFY_SOCKET": notify,
                                                "WATCHDOG_USEC": "2000000"})
        eventually(lambda: self.hears("READY=1"), "READY")
        self.assertTrue(self.heard[0].startswith("STATUS=serves on 127.0.0.1:"), self.heard)
        for _ in range(3):
            eventually(lambda: self.hears("WATCHDOG=1"), "a sign of life")
        config.write_text("[limits]\nmax_processes = 2000\n")
        daemon.signal(signal.SIGHUP)
        eventually(lambda: self.hears("RELOADING=1"), "RELOADING")
        eventually(lambda: self.hears("READY=1"), "the end of the reload")
        daemon.wait_for_line("max_processes = 2000")
        daemon.signal(signal.SIGTERM)
        eventually(lambda: self.hears("STOPPING=1"), "STOPPING")
        extension = next(line for line in self.heard if line.startswith("EXTEND"))
        microseconds = int(extension.removeprefix("EXTEND_TIMEOUT_USEC="))
        self.assertLess(abs(microseconds - 25_000_000), 2_000_000)
        self.assertEqual(daemon.wait(), 0)

    def test_manager_hears_of_an_end_by_a_client(self):
        notify = self.listen(f"\0actord-{os.getpid()}")
        daemon = self.start_daemon(environment={"NOTIFY_SOCKET": notify})
        eventually(lambda: self.hears("READY=1"), "READY")
        subprocess.run([places.ACTORCTL, "--address", daemon.address, "shutdown"],
                       check=True, capture_output=True, env=places.clean_environment())
        eventually(lambda: self.hears("STOPPING=1"), "STOPPING")

    def test_manager_does_not_hear_of_a_start_that_fails(self):
        notify = self.listen(str(self.directory / "notify"))
        done = run_actord("--plugin", "/nowhere.so", environment={"NOTIFY_SOCKET": notify})
        self.assertEqual(done.returncode, 78)
        self.assertFalse(self.hears("READY=1"))
        self.assertEqual(self.heard, [])


if __name__ == "__main__":
    unittest.main()
