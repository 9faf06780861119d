"""The JSON API with the clients of Connect for Node. Its packages come from npm;
without them the test is skipped."""

import json
import os
import pathlib
import shutil
import subprocess

from admin.pages import admin_port
from harness import places
from harness.tokens import TokenCase
from harness.waiting import WAIT_SECONDS
from work.npm import install_packages, packages_directory

SOURCE = pathlib.Path(__file__).parent / "connect"


class ConnectClients(TokenCase):

    def test_call_and_get_errors_deadlines_and_details(self):
        directory = packages_directory("connect")
        install_packages(self, SOURCE, directory)
        # Beside its packages, because Node looks for them there alone.
        program = directory / "calls.mjs"
        if not program.exists() or program.read_bytes() != (
                SOURCE / "calls.mjs").read_bytes():
            shutil.copy(SOURCE / "calls.mjs", program)
        token = self.token("client")
        port = admin_port(self.serve("--admin-listen", "127.0.0.1:0",
                                     "--admin-api"))
        done = subprocess.run(
            ["node", program, f"http://127.0.0.1:{port}",
             os.environ["ACTORD_E2E_DESCRIPTORS"], token],
            capture_output=True, text=True, timeout=WAIT_SECONDS,
            env=places.clean_environment(), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = json.loads(done.stdout)
        # Either side may be the first to notice that the deadline has passed.
        seen["deadline"].pop("reasons")
        self.assertEqual(seen, {
            "result": '"x"', "started": "2",
            "unknown": {"code": "InvalidArgument", "reasons": ["INVALID_PID"]},
            "deadline": {"code": "DeadlineExceeded"},
            "canceled": {"code": "Canceled", "reasons": []},
            "tokenless": {"code": "Unauthenticated",
                          "reasons": ["TOKEN_MISSING"]}})
