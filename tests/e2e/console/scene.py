"""What the tests of the console look at: a daemon with tokens and a store, whose
processes fail, wait, and have strange texts; and one with 100,000 processes."""

import json
import signal

from actord.v1 import process_pb2
from admin.pages import admin_port
from harness.bulk import SubmitStream, submit_item
from harness.case import DURABLE
from harness.daemon import free_port
from harness.tokens import TokenCase
from harness.waiting import eventually
from harness.work import RemoteWorker

MANY = 100_000
# Markup, marks of direction, control characters, and what ends an attribute.
HOSTILE = ("<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script>"
           "'\"><b>\x1b[2J\u202egnp.exe\u2066\u200b\ufeff\x00\x7f${hacked}")
VOLATILE = process_pb2.DURABILITY_VOLATILE


class SceneCase(TokenCase):

    def set_scene(self):
        self.tokens = {role: self.token(role) for role in
                       ("admin", "operator", "viewer", "client", "worker")}
        self.port = free_port()
        self.options = ["--store", self.directory / "store", "--admin-api",
                        "--admin-listen", f"127.0.0.1:{self.port}"]
        self.daemon = self.serve(*self.options, exit_status=-signal.SIGKILL)
        self.first = self.daemon
        self.actor = self.connect_with(self.daemon, self.tokens["admin"])
        self.pids = {}
        self._submit_failing()
        self._submit_waiting()
        self._leave_letters()

    def kill(self):
        self.actor.close()
        self.daemon.signal(signal.SIGKILL)
        self.daemon.wait()

    def start_again(self):
        self.daemon = self.serve(*self.options)

    def _submit_failing(self):
        for number in range(3):
            self.pids["failed"] = self.actor.submit(
                "probe", b"the card of order %d was refused" % number, "fail")
            self.actor.wait(self.pids["failed"])  # so that the last one is the newest
        failed = self.actor.submit("probe", b"no stock", "throw")
        self.actor.wait(failed)

    def _submit_waiting(self):
        """An order whose payment no worker takes, and a task that a worker holds."""
        order = {"order": "17", "amount_cents": 990, "hold_ms": 1,
                 "payment_timeout_ms": 3_600_000}
        self.pids["order"] = self.actor.submit(
            "order", json.dumps(order).encode(), durability=DURABLE, name="orders/17")
        counter = self.actor.submit("counter", b"1", durability=DURABLE)
        for _ in range(3):
            self.actor.call(counter, "add", b"2")
        self.pids["counter"] = counter
        spec = {"children": [{"id": "a", "type": "counter"}]}
        self.pids["tree"] = self.actor.submit(
            "supervisor", json.dumps(spec).encode(), durability=VOLATILE, name="boot")
        self.actor.call(self.pids["tree"], "started")
        # Of an own command, so that each of them has a state of its own.
        worker = self.connect_with(self.daemon, self.tokens["worker"])
        self.worker = RemoteWorker(worker.stub, "manual.held", credits=1,
                                   name="press 4")
        order = {"command": "manual.held", "payload": "sheet 9",
                 "policy": {"lease_ms": 600_000}}
        self.pids["held"] = self.actor.submit("probe", json.dumps(order).encode(), "yield")
        self.worker.task()
        order = {"command": "manual.approve", "payload": {"invoice": 4},
                 "timeout_ms": 3_600_000}
        self.pids["manual"] = self.actor.submit("probe", json.dumps(order).encode(), "yield")
        eventually(lambda: self.actor.status().counters.yields_external_waiting == 3,
                   "the commands that wait")
        self.pids["desk"] = self.actor.submit("probe", method="collect", name="desk")
        self.pids["clerk"] = self.actor.submit("probe", method="answer")
        self.actor.send(self.pids["clerk"], "call", b"desk")
        # And two programs outside, which wait as long as the test lasts.
        request = process_pb2.CallRequest(pid=self.pids["desk"], topic="never")
        self.calls = [self.actor.stub.Call.future(request) for _ in range(2)]
        eventually(lambda: len(self.actor.pending_calls().calls) == 3, "the calls")
        # A step that lasts until the daemon is killed.
        self.pids["press"] = self.actor.submit("probe", method="collect", name="press")
        self.actor.send(self.pids["press"], "hold",
                        str(self.directory / "never").encode())
        self.pids["done"] = self.actor.submit("echo", b"1", durability=VOLATILE)
        self.actor.wait(self.pids["done"])

    def add_hostile(self):
        """Everything that a stranger can name."""
        self.pids["hostile failure"] = self.actor.submit(
            "probe", HOSTILE.encode(), "fail")
        order = {"command": "manual.approve", "payload": HOSTILE}
        self.pids["hostile"] = self.actor.submit("probe", json.dumps(order).encode(), "yield")
        worker = self.connect_with(self.daemon, self.tokens["worker"])
        self.hostile_worker = RemoteWorker(worker.stub, "manual.hostile", credits=1,
                                           name=HOSTILE)
        order = {"command": "manual.hostile", "payload": "",
                 "policy": {"lease_ms": 600_000}}
        self.actor.submit("probe", json.dumps(order).encode(), "yield")
        self.hostile_worker.task()
        self._leave_letter(HOSTILE[:100], HOSTILE.encode())
        spec = {"id": "b", "type": "probe", "method": "idle", "restart": "transient"}
        started = self.actor.call(self.pids["tree"], "start_child",
                                  json.dumps(spec).encode())
        self.actor.cancel(json.loads(started.result.data)["pid"], "Küche")

    def _leave_letters(self):
        self._leave_letter("pay", b'{"cents": 5}')
        self.pids["heir"] = self.actor.submit("probe", method="collect", name="heir")

    def _leave_letter(self, topic, data):
        order = {"order": "18", "amount_cents": 1, "hold_ms": 600_000}
        pid = self.actor.submit("order", json.dumps(order).encode(), durability=VOLATILE)
        before = self.actor.status().counters.dead_letters_kept
        self.actor.send(pid, topic, data)
        self.actor.terminate(pid)
        eventually(lambda: self.actor.status().counters.dead_letters_kept > before,
                   "the dead letter")

    def set_scene_of_many(self):
        """A daemon without tokens and store; returns the port."""
        daemon = self.start_daemon("--admin-listen", "127.0.0.1:0", "--admin-api")
        actor = self.connect(daemon)
        stream = SubmitStream(actor.stub)
        item = submit_item("probe", method="idle")
        for _ in range(MANY // 1000):
            stream.submit(*[item] * 1000)
        stream.half_close()
        eventually(lambda: actor.status().counters.processes_live >= MANY,
                   "all processes")
        return admin_port(daemon)
