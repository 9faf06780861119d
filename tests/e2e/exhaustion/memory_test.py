"""The system refuses memory: the daemon serves on, or ends with one line and status
70. In the release: a sanitizer takes address space of its own."""

import json
import pathlib
import re
import resource
import subprocess
import time
import unittest

import grpc
from harness import places
from harness.attack_case import FULL, MIB
from harness.case import EmptyCase
from harness.waiting import WAIT_SECONDS

OUT_OF_MEMORY = 70
# The dynamic linker had too little memory for the libraries, so nothing of the
# program has run.
NOT_LOADED = 127
# A store of the default size writes 200 MiB at each start.
SMALL_STORE = ("--store-segment-bytes", "1MiB")
STARTS = 48 if FULL else 8
# More address space than the daemon has when the limit falls.
STEPS = (range(16, -1, -1) if FULL else (8, 2, 1, 0))
LAST_LINE = re.compile(r"out of memory|cannot allocate memory|Cannot allocate memory|"
                       r"no thread left|[Tt]hread.*: Resource temporarily unavailable|"
                       r"bad_alloc|not enough memory", re.I)


def address_space(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmSize:\s+(\d+) kB", status)[1]) << 10


class MemoryAtTheStart(EmptyCase):

    def begin(self, limit, number):
        """Starts a daemon with so much address space. Returns its exit status, or
        None if it serves, and its log."""
        ready = self.directory / f"ready{number}"
        process = subprocess.Popen(
            ["prlimit", f"--as={limit}:{limit}", str(places.ACTORD), "--listen",
             "127.0.0.1:0", "--workers", "2", "--port-file", ready,
             "--store", str(self.directory / f"store{number}"), *SMALL_STORE,
             "--plugin", places.PLUGINS / "echo.so"],
            stderr=subprocess.PIPE, text=True, env=places.clean_environment())
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + WAIT_SECONDS
        while not ready.exists() and process.poll() is None:
            self.assertLess(time.monotonic(), deadline, "the start takes too long")
            time.sleep(0.005)
        status = process.poll()
        # An orderly end may need memory and time; this test is about the start.
        process.kill()
        process.wait()
        return status, process.stderr.read()

    def test_it_serves_or_says_what_is_missing(self):
        idle = self.start_daemon("--workers", "2", "--store", self.directory / "s",
                                 *SMALL_STORE)
        most = address_space(idle.process.pid)
        ends = []
        for number in range(STARTS):
            limit = most * (number + 1) // STARTS
            status, log = self.begin(limit, number)
            ends.append(status)
            with self.subTest(limit=limit):
                self.assertIn(status, (None, NOT_LOADED, OUT_OF_MEMORY), log)
                if status == OUT_OF_MEMORY:
                    self.assertRegex(log.splitlines()[-1], LAST_LINE)
        self.assertIn(OUT_OF_MEMORY, ends)


class MemoryLater(EmptyCase):

    def load(self, daemon, connection):
        """Work of many kinds. A call that fails is a call that the daemon refuses or
        that ends with it."""
        pid = None
        for number in range(200):
            if daemon.process.poll() is not None:
                return
            try:
                if pid is None or number % 20 == 0:
                    pid = connection.submit("probe", method="collect")
                connection.send(pid, payload=b"x" * (100_000 if number % 2 else 10))
                connection.run("echo", b"1")
                connection.status()
            except grpc.RpcError as error:
                self.assertNotEqual(error.code(), grpc.StatusCode.UNIMPLEMENTED,
                                    error)

    @staticmethod
    def has_ended(daemon):
        """A daemon that writes its last line is gone a moment later."""
        try:
            daemon.process.wait(WAIT_SECONDS if "out of memory" in daemon.log() else 0)
        except subprocess.TimeoutExpired:
            return False
        return True

    def test_it_serves_on_or_ends_with_a_line(self):
        for spare in STEPS:
            with self.subTest(spare_mib=spare):
                daemon = self.start_daemon("--workers", "2", "--log-format", "json",
                                           exit_status=None)
                actor = self.connect(daemon)
                actor.run("echo", b"1")
                limit = address_space(daemon.process.pid) + spare * MIB
                resource.prlimit(daemon.process.pid, resource.RLIMIT_AS,
                                 (limit, resource.RLIM_INFINITY))
                self.load(daemon, actor)
                if not self.has_ended(daemon):
                    # It serves again when there is memory.
                    resource.prlimit(daemon.process.pid, resource.RLIMIT_AS,
                                     (resource.RLIM_INFINITY,) * 2)
                    self.assertEqual(
                        self.connect(daemon).run("echo", b"1").result.data, b"1")
                    daemon.stop()
                    continue
                status = daemon.wait()
                self.assertEqual(status, OUT_OF_MEMORY, daemon.log()[-2000:])
                fatal = [line for line in map(json.loads, daemon.log().splitlines())
                         if line["level"] == "fatal"]
                self.assertEqual(len(fatal), 1, daemon.log()[-2000:])
                self.assertIn("out of memory", fatal[0]["message"])


if __name__ == "__main__":
    unittest.main()
