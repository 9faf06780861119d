"""What a soak runs on: a daemon with tokens, a configuration and plugins in a
directory of its own, and the programs that are its clients."""

import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

from actord.v1 import process_pb2
from child import RECONNECT, persist, target_word
from harness import places
from harness.connection import Connection
from harness.daemon import Daemon, free_port, processor_seconds
from harness.tokens import present
from harness.waiting import eventually, pause

TTL = "60s"
# How long a client may take to carry out an order.
CHILD_SECONDS = 120
# All that the daemon keeps for a time expires within the warm-up of a long run, so
# that its memory can be flat.
OPTIONS = (
    "--result-ttl", TTL, "--request-id-ttl", TTL, "--yield-answer-ttl", TTL,
    "--watch-retention", "10s", "--dead-letter-max-count", "1000000",
    "--dead-letter-max-bytes", "256MiB", "--max-connections-per-address", "60",
    "--store-result-ttl", TTL, "--store-request-id-ttl", TTL,
    "--store-checkpoint-interval", "5s", "--store-passivate-after", "1s",
    "--store-segment-bytes", "4MiB", "--store-disk-reserve", "8MiB",
    "--external", "soak.work", "--command-policy",
    "soak.* max_attempts=1000 lease=2s backoff=50ms max_backoff=200ms")
_PR_SET_PDEATHSIG = 1
OWNER = "soak"
# The receivers that are not flaky: (process type, whether they are durable, count).
# Most durable ones get messages so seldom that they are dormant in between.
RECEIVERS = (("soak.receiver", True, 24), ("soak.replayer", True, 2),
             ("soak.receiver", False, 3))
KILLED_AT_START_SECONDS = (0, 0.3)
MAILBOX_LIMITS = (300, 2000)


def _end_with_parent():
    """The daemon ends with the soak, also if the soak is killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Stage:
    """The daemon, its files, and a connection of an administrator to it."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.plugins = self.directory / "plugins"
        self.plugins.mkdir()
        self.install("soak_1")
        self.config = self.directory / "actord.toml"
        self.mailbox_limit = MAILBOX_LIMITS[-1]
        self.write_config()
        self.tokens = self.directory / "tokens.toml"
        self.token_files = {role: self.new_token(role)
                            for role in ("admin", "client", "worker")}
        self.store = self.directory / "store"
        self._port, self._lives = free_port(), 0
        self.daemon = self._start_daemon()
        try:
            self.admin = self.connect(self.token_files["admin"])
            self.receivers = []  # (PID, whether it is durable)
            for type_name, durable, count in RECEIVERS:
                self._submit_receivers(type_name, durable, count)
        except BaseException:
            self.daemon.stop()
            raise

    def _start_daemon(self):
        self._lives += 1
        directory = self.directory / f"daemon{self._lives}"
        directory.mkdir()
        return Daemon(directory, self._options(), port=self._port,
                      popen={"preexec_fn": _end_with_parent})

    def _options(self):
        return ("--config", self.config, "--auth-tokens", self.tokens,
                "--plugin-dir", self.plugins, "--store", self.store, *OPTIONS)

    def _submit_receivers(self, type_name, durable, count):
        self.receivers += [(self.admin.submit(
            type_name, method="steady",
            durability=(process_pb2.DURABILITY_DURABLE if durable
                        else process_pb2.DURABILITY_VOLATILE)), durable)
            for _ in range(count)]

    @property
    def durable(self):
        """The PIDs of the receivers that survive the daemon."""
        return [pid for pid, durable in self.receivers if durable]

    def kill_daemon(self):
        self.daemon.signal(signal.SIGKILL)
        self.daemon.wait()

    def kill_a_start(self, rng):
        """Starts the daemon and kills it before it serves, or soon afterwards."""
        with subprocess.Popen(
                [str(word) for word in (places.ACTORD, "--listen",
                                        f"127.0.0.1:{self._port}", *self._options())],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, preexec_fn=_end_with_parent,
                env=places.clean_environment(XDG_CACHE_HOME=str(places.CACHE))) as start:
            time.sleep(rng.uniform(*KILLED_AT_START_SECONDS))
            start.kill()

    def start_again(self):
        """The daemon serves again. Its volatile receivers are new ones."""
        self.daemon = self._start_daemon()
        persist(self.admin.status)
        self.receivers = [each for each in self.receivers if each[1]]
        for type_name, durable, count in RECEIVERS:
            if not durable:
                self._submit_receivers(type_name, durable, count)

    def write_config(self, more=""):
        self.config.write_text(
            f"[limits]\nmax_mailbox_messages = {self.mailbox_limit}\n{more}")

    def install(self, name):
        fresh = self.directory / "fresh"
        shutil.copyfile(places.TEST_PLUGINS / f"{name}.so", fresh)
        return fresh.rename(self.plugins / "soak.so")  # one at a start

    def token_command(self, *words):
        return subprocess.run(
            [str(places.ACTORCTL), "token", words[0], "--file", str(self.tokens),
             *words[1:]], capture_output=True, text=True, check=True,
            timeout=CHILD_SECONDS, env=places.clean_environment()).stdout.strip()

    def new_token(self, role):
        """Makes a token and returns the file that holds it. All tokens have one name,
        because the processes of one client are not to be reached by another."""
        path = self.directory / f"{role}.token"
        path.touch(mode=0o600)
        path.write_text(self.token_command("new", "--name", OWNER, "--role", role))
        return path

    def connect(self, token_file):
        connection = Connection(self.daemon.address, RECONNECT)
        present(connection, token_file.read_text())
        return connection

    def descriptors(self):
        return len(list(pathlib.Path(f"/proc/{self.daemon.process.pid}/fd").iterdir()))

    def threads(self):
        return len(list(
            pathlib.Path(f"/proc/{self.daemon.process.pid}/task").iterdir()))

    def processor_seconds(self):
        return processor_seconds(self.daemon.process.pid)

    def end(self):
        """Returns the exit status of the daemon, which is asked to end."""
        self.admin.close()
        return self.daemon.stop()

    def verify_store(self):
        """Returns what is wrong with the store of the daemon, which has ended."""
        done = subprocess.run(
            [str(places.ACTORCTL), "store", "verify", str(self.store)],
            capture_output=True, text=True, timeout=CHILD_SECONDS, check=False,
            env=places.clean_environment())
        return ([] if done.returncode == 0 else
                [f"the store is not intact: {done.stdout[-500:]} {done.stderr[-500:]}"])


class Child:
    """A client program. It is killed by `end` at the latest."""

    _clients = 0

    def __init__(self, stage, program, role, seed, targets, **more):
        Child._clients += 1
        self.client, self.program = Child._clients, program
        self.stopped, self.killed, self.ready = False, False, False
        self.journal = stage.directory / f"{program}{self.client}.journal"
        self._read_bytes = 0
        self._quiet = threading.Event()
        self._errors = stage.directory / f"{program}{self.client}.log"
        told = {"address": stage.daemon.address, "client": self.client, "seed": seed,
                "token_file": str(stage.token_files[role]),
                "journal": str(self.journal), **more}
        with open(self._errors, "wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-B", "-m", program, json.dumps(told)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                text=True, cwd=pathlib.Path(__file__).parent)
        threading.Thread(target=self._read_output, daemon=True).start()
        self.tell(targets)

    def tell(self, targets):
        self.say("targets", *(target_word(*each) for each in targets))

    def _read_output(self):
        for _ in self.process.stdout:
            self.ready = True
            self._quiet.set()

    def say(self, *words):
        try:
            self.process.stdin.write(" ".join(map(str, words)) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it was killed, which `ended` tells

    def go(self):
        if self.program != "task_worker":  # which is quiet when it has no task
            self._quiet.clear()
        self.say("go")

    def wait_until_quiet(self):
        eventually(lambda: self._quiet.is_set() or self.process.poll() is not None,
                   f"{self.program} {self.client} to be quiet", CHILD_SECONDS)

    def stop(self):
        pause(self.process)
        self.stopped = True

    def cont(self):
        self.process.send_signal(signal.SIGCONT)
        self.stopped = False

    def kill(self):
        self.killed = True
        self.process.kill()
        self.process.wait()  # so that it has ended for everybody who asks

    def ended(self):
        """None while it runs; "" if it was killed; else why it has ended."""
        if self.process.poll() is None:
            return None
        if self.killed:
            return ""
        return (f"{self.program} {self.client} ended with {self.process.returncode}: "
                + self._errors.read_text(errors="replace")[-2000:])

    def entries(self):
        """The words of each whole line of the journal since the last time."""
        if not self.journal.exists():
            return []
        with open(self.journal, "rb") as file:
            file.seek(self._read_bytes)
            text = file.read()
        whole = text[:text.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        return [line.split(" ") for line in whole.decode().splitlines()]

    def end(self):
        self.process.kill()
        self.process.wait()
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # a line that it did not live to read


def wait_until(condition, what, seconds=CHILD_SECONDS):
    """As `eventually`, more seldom: each look costs the daemon something."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds} s for {what}")
        time.sleep(0.1)
