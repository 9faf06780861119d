"""Two tenants and an administrator at one daemon, with actorctl."""

import json
import subprocess

from harness import places
from harness.case import CLI_SECONDS
from harness.tokens import TokenCase


class TwoTenants(TokenCase):

    def setUp(self):
        super().setUp()
        secrets = {"alice": self.token("client", name="alice"),
                   "bob": self.token("client", name="bob"),
                   "ops": self.token("admin", name="ops")}
        self.daemon = self.serve()
        self.files = {}
        for who, secret in secrets.items():
            self.files[who] = self.text_file(secret + "\n", who + ".token")
            self.files[who].chmod(0o600)

    def run_as(self, who, *words, status=0):
        done = subprocess.run(
            [str(places.ACTORCTL), *words, "--token-file", str(self.files[who])],
            capture_output=True, text=True, timeout=CLI_SECONDS, check=False,
            cwd=self.directory,
            env=places.clean_environment(ACTORD_ADDRESS=self.daemon.address))
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_do_not_meet(self):
        pids = {who: self.run_as(who, "submit", "counter", "1", "--name",
                                 "main").stdout.split()[0]
                for who in ("alice", "bob")}
        self.assertNotEqual(pids["alice"], pids["bob"])
        for who in ("alice", "bob"):
            self.assertEqual(self.run_as(who, "ps", "-o", "name").stdout.split(),
                             [pids[who]])
            self.assertIn(pids[who], self.run_as(who, "describe", "@main").stdout)
        for command in ("describe", "cancel", "terminate", "await"):
            done = self.run_as("alice", command, pids["bob"], status=1)
            self.assertIn("has ended", done.stderr)
        self.run_as("bob", "describe", pids["bob"])
        # The administrator sees both, and whose they are.
        wide = self.run_as("ops", "ps", "-o", "wide").stdout
        self.assertRegex(wide, rf"{pids['alice']} .* alice +VOLATILE +counter 1")
        self.assertRegex(wide, rf"{pids['bob']} .* bob +VOLATILE +counter 1")
        described = self.run_as("ops", "describe", "@main@bob").stdout
        self.assertRegex(described, r"Owner: +bob\n")
        self.assertIn(pids["bob"], described)
        names = self.run_as("ops", "names", "-o", "name").stdout.split()
        self.assertEqual(sorted(names), ["@main@alice", "@main@bob"])
        listed = json.loads(self.run_as("ops", "names", "-o", "json").stdout)
        self.assertEqual(sorted(one["owner"] for one in listed), ["alice", "bob"])
        self.run_as("bob", "terminate", "@main")
        self.run_as("ops", "terminate", "@main@alice")
