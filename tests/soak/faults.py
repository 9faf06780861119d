"""The faults of a soak, one at a time and at random."""

import collections
import signal
import socket
import time

import grpc
from actord.v1 import outcome_pb2, watch_pb2
from harness.connection import refusal_of
from harness.flood import FloodProgram
from harness.raw_client import RawClient
from harness.waiting import eventually
from stage import MAILBOX_LIMITS

LIKELINESS = {
    "kill a client": 4, "stop a client": 4, "burst of messages": 4,
    "reload": 2, "reload a broken configuration": 1, "token made and revoked": 1,
    "upgrade": 2, "broken plugin": 1, "flood of connections": 1,
    "flood of resets": 1, "vanishing client": 2}
BURST = 3000  # messages
FLOOD_SECONDS = 1
FLOOD_CONNECTIONS = 80  # more than one address may have
STOP_SECONDS = (0.3, 5)
REVOKE_SECONDS = 30  # the daemon promises 2 s on a machine that is not busy


class Faults:

    def __init__(self, stage, rng, children):
        """`children()`: the client programs that run now."""
        self._stage, self._random, self._children = stage, rng, children
        self._continue_at = []  # (when, child)
        self._floods = []
        self._version = 1
        self.broken = []
        self.counts = collections.Counter()
        self._functions = {
            "kill a client": self._kill, "stop a client": self._stop,
            "burst of messages": self._burst, "reload": self._reload,
            "reload a broken configuration": self._reload_broken,
            "token made and revoked": self._token, "upgrade": self._upgrade,
            "broken plugin": self._broken_plugin,
            "flood of connections": self._flood_connections,
            "flood of resets": self._flood_resets,
            "vanishing client": self._vanish}

    def busy(self):
        """Whether a fault lasts that needs the daemon."""
        return bool(self._floods)

    def one(self):
        """Causes one fault."""
        [name] = self._random.choices(list(LIKELINESS), LIKELINESS.values())
        if self._functions[name]() is not False:
            self.counts[name] += 1

    def tick(self, now=None):
        """Continues clients that were stopped for long enough."""
        now = time.monotonic() if now is None else now
        for when, child in self._continue_at:
            if when <= now:
                child.cont()
        self._continue_at = [each for each in self._continue_at if each[0] > now]
        for flood in [each for each in self._floods
                      if each.process.poll() is not None]:
            flood.end()
            self._floods.remove(flood)

    def rest(self):
        """Ends all faults that last."""
        self.tick(float("inf"))
        for flood in self._floods:
            flood.cuts()  # waits for its end
        self.tick(float("inf"))

    def end(self):
        for flood in self._floods:
            flood.end()

    # --- clients --------------------------------------------------------------

    def _some(self, program=None):
        able = [child for child in self._children()
                if child.ready and not child.stopped and child.ended() is None
                and program in (None, child.program)]
        return self._random.choice(able) if able else None

    def _kill(self):
        child = self._some()
        if child is None:
            return False
        child.kill()

    def _stop(self):
        child = self._some()
        if child is None:
            return False
        child.stop()
        self._continue_at.append(
            (time.monotonic() + self._random.uniform(*STOP_SECONDS), child))

    def _burst(self):
        child = self._some("sender")
        if child is None:
            return False
        child.say("burst", self._random.randint(BURST // 10, BURST))

    def _vanish(self):
        """A client that opens streams and calls and is gone without a word."""
        stage = self._stage
        connection = stage.connect(stage.token_files["admin"])
        watches = [connection.stub.WatchProcesses(watch_pb2.WatchProcessesRequest())
                   for _ in range(3)]
        awaits = [connection.stub.Await.future(
            outcome_pb2.AwaitRequest(pid=pid), timeout=60)
            for pid, _ in stage.receivers]
        for watch in watches:
            next(watch)
        raw = RawClient(stage.daemon.address)
        raw.send(b"\0" * self._random.randint(1, 8))
        raw.reset()
        connection.close()
        for call in awaits:
            call.cancel()

    # --- files that are read again ----------------------------------------------

    def _hup(self, text):
        before = len(self._stage.daemon.log())
        self._stage.daemon.signal(signal.SIGHUP)
        eventually(lambda: text in self._stage.daemon.log()[before:],
                   f"'{text}' in the log")

    def _reload(self):
        stage = self._stage
        stage.mailbox_limit = MAILBOX_LIMITS[
            stage.mailbox_limit == MAILBOX_LIMITS[0]]
        stage.write_config()
        self._hup("configuration reloaded")
        found = stage.admin.status().limits.max_mailbox_messages
        if found != stage.mailbox_limit:
            self.broken.append(f"max_mailbox_messages is {found} after a reload of "
                               f"{stage.mailbox_limit}")

    def _reload_broken(self):
        self._stage.write_config(more="no_such_key = 1\n")
        self._hup("configuration not reloaded")
        self._stage.write_config()

    def _token(self):
        """A token is made, serves, is revoked, and serves no more."""
        stage = self._stage
        path = stage.new_token("viewer")
        guest = stage.connect(path)
        try:
            eventually(lambda: self._served(guest), "a new token to be valid",
                       REVOKE_SECONDS)
            stage.token_command("revoke", path.read_text()[4:12])
            eventually(lambda: not self._served(guest), "a token to be revoked",
                       REVOKE_SECONDS)
        finally:
            guest.close()

    @staticmethod
    def _served(connection):
        try:
            connection.status()
            return True
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.UNAUTHENTICATED:
                return False
            raise

    # --- plugins ----------------------------------------------------------------

    def _upgrade(self):
        self._version = 3 - self._version
        self._stage.admin.load_plugin(
            self._stage.install(f"soak_{self._version}"))

    def _broken_plugin(self):
        path = self._stage.plugins / "broken.so"
        whole = (self._stage.plugins / "soak.so").read_bytes()
        path.write_bytes(whole[:self._random.randint(0, len(whole) // 2)])
        try:
            self._stage.admin.load_plugin(path)
        except grpc.RpcError as error:
            if refusal_of(error).reason == "INVALID_PLUGIN":
                return
            raise
        finally:
            path.unlink()  # or the next start would load it
        self.broken.append("a truncated plugin was loaded")

    # --- floods -----------------------------------------------------------------

    def _flood_connections(self):
        host, port = self._stage.daemon.address.rsplit(":", 1)
        connections = []
        for _ in range(FLOOD_CONNECTIONS):
            each = socket.socket()
            each.bind(("127.0.0.2", 0))  # clients have another address
            connections.append(each)
            each.connect((host, int(port)))
        for each in connections[::2]:
            each.close()
        time.sleep(0.2)
        for each in connections[1::2]:
            each.close()

    def _flood_resets(self):
        if self._floods:
            return False
        self._floods.append(FloodProgram(
            "rapid_reset", self._stage.daemon.address, FLOOD_SECONDS, connections=2))
