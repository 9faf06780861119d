"""The JSON API with the clients of Connect for Node. Its packages come from npm;
without them the test is skipped."""

import json
import os
import pathlib
import shutil
import subprocess

from admin.pages import admin_port
from admin.unary_calls import UnaryCallsCase
from harness import places
from harness.waiting import WAIT_SECONDS
from work.npm import install_packages, packages_directory

SOURCE = pathlib.Path(__file__).parent / "connect"


class ConnectClients(UnaryCallsCase):

    def program(self, name):
        """The path of a program in Node; skips the test without its packages."""
        directory = packages_directory("connect")
        install_packages(self, SOURCE, directory)
        # Beside its packages, because Node looks for them there alone.
        program = directory / name
        if not program.exists() or program.read_bytes() != (
                SOURCE / name).read_bytes():
            shutil.copy(SOURCE / name, program)
        return program

    def run_node(self, program, *words, stdin=""):
        done = subprocess.run(
            ["node", program, *words], input=stdin, capture_output=True, text=True,
            timeout=WAIT_SECONDS, env=places.clean_environment(), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_each_method_answers_as_with_grpc(self):
        program = self.program("each_method.mjs")
        self.start()
        expected = self.answers_of_grpc(self.requests())
        requests = [*self.requests(), ("Shutdown", {"mode": "MODE_NOW"}, "admin")]
        seen = self.run_node(
            program, f"http://127.0.0.1:{admin_port(self.daemon)}",
            os.environ["ACTORD_E2E_DESCRIPTORS"], json.dumps(self.tokens),
            stdin=json.dumps(requests))
        self.assertEqual(seen.pop(), ["Shutdown", "ok", ""])
        self.compare(expected, seen)
        self.assertEqual(self.daemon.wait(), 0)

    def test_call_and_get_errors_deadlines_and_details(self):
        program = self.program("calls.mjs")
        token = self.token("client")
        port = admin_port(self.serve("--admin-listen", "127.0.0.1:0",
                                     "--admin-api"))
        seen = self.run_node(program, f"http://127.0.0.1:{port}",
                             os.environ["ACTORD_E2E_DESCRIPTORS"], token)
        # Either side may be the first to notice that the deadline has passed.
        seen["deadline"].pop("reasons")
        self.assertEqual(seen, {
            "result": '"x"', "started": "2",
            "unknown": {"code": "InvalidArgument", "reasons": ["INVALID_PID"]},
            "deadline": {"code": "DeadlineExceeded"},
            "canceled": {"code": "Canceled", "reasons": []},
            "tokenless": {"code": "Unauthenticated",
                          "reasons": ["TOKEN_MISSING"]}})
