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

from harness import places
from harness.connection import Connection
from harness.daemon import Daemon
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
    "--external", "soak.work", "--command-policy",
    "soak.* max_attempts=1000 lease=2s backoff=50ms max_backoff=200ms")
_PR_SET_PDEATHSIG = 1
OWNER = "soak"
RECEIVERS = 4  # that live as long as the daemon
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
        (self.directory / "daemon").mkdir()
        self.daemon = Daemon(
            self.directory / "daemon",
            ("--config", self.config, "--auth-tokens", self.tokens,
             "--plugin-dir", self.plugins, *OPTIONS),
            popen={"preexec_fn": _end_with_parent})
        try:
            self.admin = self.connect(self.token_files["admin"])
            self.receivers = [self.admin.submit("soak.receiver", method="steady")
                              for _ in range(RECEIVERS)]
        except BaseException:
            self.daemon.stop()
            raise

    def write_config(self, more=""):
        self.config.write_text(
            f"[limits]\nmax_mailbox_messages = {self.mailbox_limit}\n{more}")

    def install(self, name):
        fresh = self.directory / "fresh"
        shutil.copyfile(places.TEST_PLUGINS / f"{name}.so", fresh)
        return fresh.rename(self.plugins / f"{name}.so")

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
        connection = Connection(self.daemon.address)
        present(connection, token_file.read_text())
        return connection

    def descriptors(self):
        return len(list(pathlib.Path(f"/proc/{self.daemon.process.pid}/fd").iterdir()))

    def threads(self):
        return len(list(
            pathlib.Path(f"/proc/{self.daemon.process.pid}/task").iterdir()))

    def processor_seconds(self):
        stat = pathlib.Path(f"/proc/{self.daemon.process.pid}/stat").read_text()
        user, system = stat.rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def end(self):
        """Returns the exit status of the daemon, which is asked to end."""
        self.admin.close()
        return self.daemon.stop()


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
        self.say("targets", *targets)

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
