"""A plugin in C that was written against an old version of the ABI and knows its
headers alone."""

import json
import subprocess

import grpc
from harness import places
from harness.case import EXTERNAL, EmptyCase
from harness.waiting import eventually

SOURCE = places.SOURCE / "tests" / "contract" / "abi_0684afd"
FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC",
         "-fvisibility=hidden", f"-I{SOURCE}")


class OldAbi(EmptyCase):

    def setUp(self):
        super().setUp()
        self.plugins = self.directory / "plugins"
        self.plugins.mkdir()
        self.build("1")
        self.daemon = self.start_daemon("--plugin-dir", self.plugins, *EXTERNAL,
                                        plugins=False)
        self.actor = self.connect(self.daemon)

    def build(self, version):
        done = subprocess.run(
            ["cc", *FLAGS, f'-DVERSION="{version}"', "ledger.c", "commands.c", "-o",
             str(self.plugins / f"old_{version}.so")], cwd=SOURCE,
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def state(self, pid):
        return json.loads(self.actor.call(pid, "state").result.data)

    def in_version(self, pid, version):
        return eventually(
            lambda: (state := self.state(pid))["version"] == version and state,
            f"the process in version {version}")

    def test_it_is_driven_upgraded_and_cancelled(self):
        pid = self.actor.submit("old.ledger", b"40")
        self.actor.send(pid, "add", b"2")
        self.assertEqual(self.state(pid), {
            "version": "1", "total": 42, "paid": "", "wrong": "", "unseen": 1023})
        # A yield that version 1 makes is completed in version 2.
        self.actor.send(pid, "pay")
        waiting, = eventually(self.actor.yields, "the yield")
        self.assertEqual((waiting.command, waiting.payload.data,
                          waiting.payload.content_type, waiting.process_type),
                         ("payment.charge", b"17", "text/plain", "old.ledger"))
        self.build("2")
        loaded = self.actor.load_plugin("old_2.so")
        self.assertEqual((loaded.plugin.version, loaded.replaced_version,
                          loaded.processes_told), ("2", "1", 1))
        self.assertEqual(list(loaded.process_types), ["old.child", "old.ledger"])
        self.assertEqual(self.in_version(pid, "2")["total"], 42)
        self.assertEqual(self.actor.complete(waiting.token, b"paid"), "ACCEPTED")
        eventually(lambda: self.state(pid)["paid"] == "paid", "the payment")
        # Version 2 makes one, too.
        self.actor.send(pid, "pay")
        waiting, = eventually(self.actor.yields, "the second yield")
        self.assertEqual(
            self.actor.complete(waiting.token, error=(8, "no funds")), "ACCEPTED")
        eventually(lambda: self.state(pid)["paid"] == "no funds", "the error")
        self.actor.send(pid, "add", b"1")
        self.assertEqual(self.state(pid)["total"], 43)
        self.actor.cancel(pid, "enough")
        outcome = self.actor.wait(pid)
        self.assertEqual((outcome.result.data, outcome.result.content_type),
                         (b"43 in version 2, enough", "text/plain"))

    def test_every_function_of_the_daemon_is_where_the_plugin_calls_it(self):
        pid = self.actor.submit("old.ledger")
        self.actor.send(pid, "tour")

        def look():
            state = self.state(pid)
            return (state["wrong"] or state["unseen"] == 0) and state
        try:
            self.assertEqual(eventually(look, "the end of the tour")["wrong"], "")
        except TimeoutError:
            self.fail(self.state(pid))
        self.daemon.wait_for_line("old commands are ready")

    def test_it_can_refuse_to_start(self):
        self.assert_refused(lambda: self.actor.submit("old.ledger", b"refuse"),
                            code=grpc.StatusCode.OUT_OF_RANGE, reason="INIT_REFUSED",
                            message="as it was told")
