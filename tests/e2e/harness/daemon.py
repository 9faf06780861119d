"""The built daemon as a child process."""

import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import time

from harness import places
from harness.waiting import SANITIZED, WAIT_SECONDS, eventually

START_SECONDS = WAIT_SECONDS
STOP_SECONDS = WAIT_SECONDS
# For a daemon whose memory is measured: AddressSanitizer is not to hold on to what
# the daemon has freed.
MEASURED = {"ASAN_OPTIONS": ":".join(filter(None, [
    os.environ.get("ASAN_OPTIONS"), "quarantine_size_mb=1"]))}
# The memory for its books: 30 MiB were seen.
SANITIZER_BYTES = 64 << 20 if SANITIZED else 0
PORTS = (20000, 32000)  # below those that the system gives to clients


def free_port():
    """A port of loopback for a daemon that is to have the same one after a restart:
    the system gives it to nobody meanwhile."""
    while True:
        port = random.randint(*PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def processor_seconds(pid):
    """The processor time that a process has taken so far."""
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    user, system = stat.rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class Daemon:
    """Runs from the constructor on. The owner has to call `stop` or `wait`."""

    def __init__(self, directory, options=(), environment=None,
                 actord=places.ACTORD, popen=None, port=0):
        """`popen`: what the process gets besides, or instead of what it has by
        default. `port`: the one to listen on; 0: any."""
        self.directory = pathlib.Path(directory)
        self.log_path = self.directory / "daemon.log"
        self._port_file = self.directory / "port"
        command = [actord, "--listen", f"127.0.0.1:{port}",
                   "--port-file", self._port_file, *options]
        started = time.monotonic()
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [str(word) for word in command],
                **({"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log,
                    "cwd": self.directory,
                    "env": places.clean_environment(
                        **({"XDG_CACHE_HOME": str(places.CACHE)}
                           | (environment or {})))}
                   | (popen or {})))
        try:
            self.port = eventually(self._read_port, "the daemon's port",
                                   START_SECONDS)
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        self.start_seconds = time.monotonic() - started
        self.address = f"127.0.0.1:{self.port}"

    def _read_port(self):
        if self.process.poll() is not None:
            raise RuntimeError(
                f"actord ended with {self.process.returncode}:\n{self.log()}")
        try:
            return int(self._port_file.read_text())
        except (FileNotFoundError, ValueError):
            return None

    def log(self):
        return self.log_path.read_text(errors="replace")

    def wait_for_line(self, text):
        """The log is written by a thread of its own, a moment after the event."""
        eventually(lambda: text in self.log(), f"{text!r} in the log")

    def wait_for_match(self, pattern):
        eventually(lambda: re.search(pattern, self.log()), f"{pattern!r} in the log")

    def signal(self, number):
        self.process.send_signal(number)
        if number == signal.SIGSTOP:
            # Its threads stop a moment after the signal.
            eventually(self._is_stopped, "the stop of all threads")

    def _is_stopped(self):
        threads = pathlib.Path(f"/proc/{self.process.pid}/task")
        try:
            return all(stat.read_text().rpartition(")")[2].split()[0] == "T"
                       for stat in threads.glob("*/stat"))
        except FileNotFoundError:  # a thread that has just ended
            return False

    def running(self):
        return self.process.poll() is None

    def grown_bytes(self, before):
        """By how much its memory has grown since it was `before`, less what a
        sanitizer takes for its books."""
        return self.resident_bytes() - before - SANITIZER_BYTES

    def resident_bytes(self):
        """Memory that it has now."""
        return self._memory("VmRSS")

    def peak_bytes(self):
        """The most memory that it had at a time."""
        return self._memory("VmHWM")

    def _memory(self, field):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(field + r":\s+(\d+) kB", status)[1]) << 10

    def wait(self, seconds=STOP_SECONDS):
        """Waits for the end and returns the exit status."""
        return self.process.wait(seconds)

    def stop(self):
        """SIGTERM, and the exit status; a daemon that stays is killed."""
        if self.running():
            self.signal(signal.SIGTERM)
        try:
            return self.wait()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


def run_actord(*options, environment=None, seconds=START_SECONDS, cwd=None,
               preexec_fn=None):
    """Runs actord to its end, for tests that expect it not to serve."""
    return subprocess.run(
        [str(places.ACTORD), *(str(option) for option in options)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=seconds, cwd=cwd, preexec_fn=preexec_fn,
        env=places.clean_environment(**(environment or {})))
