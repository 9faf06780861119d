"""The package for Node against the daemon: the programs in clients/node run its
tests, and this module starts the daemons and installs the package."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import unittest

from harness import places
from harness.case import DaemonCase, EmptyCase, StoreCase
from harness.certificates import Authority
from harness.tls_case import TlsCase
from harness.tokens import TokenCase
from harness.waiting import WAIT_SECONDS, pause
from work.npm import actord_project, packages_directory

PROGRAMS = pathlib.Path(__file__).parent / "node"
ARCHIVE = os.environ["ACTORD_E2E_NODE_PACKAGE"]
PAGE = (places.SOURCE / "docs" / "clients.md").read_text(encoding="utf-8")


class NodeCase(EmptyCase):
    """A test with a folder where the package for Node is installed."""

    def setUp(self):
        super().setUp()
        self.project = self.directory / "project"
        actord_project(self, self.project)
        for program in PROGRAMS.iterdir():
            shutil.copy(program, self.project)

    def node(self, program, address=None, **environment):
        """A started program. Its output is read line by line."""
        if address:
            environment["ACTORD_ADDRESS"] = address
        process = subprocess.Popen(
            ["node", program], cwd=self.project, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=places.clean_environment(WAIT_MS=str(WAIT_SECONDS * 1000),
                                         **environment))

        def end():
            process.kill()
            process.communicate()

        self.addCleanup(end)
        return process

    def assert_passes(self, process, **answers):
        """Runs the tests of the program to their end, and does for it what the
        answers of these names do."""
        output = ""
        for line in process.stdout:
            if line.startswith("@"):
                answers[line[1:].strip()]()
                process.stdin.write("done\n")
                process.stdin.flush()
            else:
                output += line
        self.assertEqual(process.wait(WAIT_SECONDS), 0, output)
        passed = re.search(r"^\S* ?pass (\d+)$", output, re.MULTILINE)
        self.assertGreater(int(passed[1]), 0, output)


class Calls(DaemonCase, NodeCase):

    OPTIONS = ("--max-mailbox-messages", "50")

    def test_calls(self):
        self.assert_passes(self.node("calls.test.mjs", self.daemon.address))

    def test_mistakes(self):
        self.assert_passes(self.node("mistakes.test.mjs", self.daemon.address))

    def test_settings(self):
        self.assert_passes(self.node("settings.test.mjs", self.daemon.address))

    def test_starts(self):
        self.assert_passes(self.node("starts.test.mjs", self.daemon.address))

    def test_subscriptions(self):
        self.assert_passes(self.node("subscribe.test.mjs", self.daemon.address))

    def test_streams(self):
        self.assert_passes(
            self.node("streams.test.mjs", self.daemon.address),
            pause=lambda: self.daemon.signal(signal.SIGSTOP),
            resume=lambda: self.daemon.signal(signal.SIGCONT))


class Workers(DaemonCase, NodeCase):

    OPTIONS = ("--command-policy",
               "manual.* max_attempts=3 backoff=10ms max_backoff=20ms lease=2s")

    def test_tasks(self):
        self.assert_passes(self.node("worker.test.mjs", self.daemon.address))

    def test_answers(self):
        self.assert_passes(self.node("answers.test.mjs", self.daemon.address))


class Restarts(StoreCase, NodeCase):

    def test_restarts(self):
        address = f"unix:{self.directory}/socket"
        self.start_with = ("--listen", address)
        self.start(exit_status=-signal.SIGKILL)
        self.assert_passes(
            self.node("restarts.test.mjs", address), kill=self.kill,
            start=lambda: self.start(exit_status=-signal.SIGKILL))


class Secured(TlsCase, TokenCase, NodeCase):

    def test_tls_and_tokens(self):
        pair = self.authority.issue("node")
        token = self.token("client", "--submit", "echo")
        served = self.serve(*self.mutual_tls())
        stranger = Authority(self.directory, "stranger")
        foreign = stranger.issue("foreign")
        files = {"tlsCa": str(self.authority.certificate),
                 "tlsCert": str(pair.certificate), "tlsKey": str(pair.key)}
        old = self.authority.issue("old", end="20200101000000Z")
        self.write_files(pair, old)
        for name, mode in (("secret", 0o600), ("open", 0o644)):
            (self.directory / name).write_text(token + "\n")
            (self.directory / name).chmod(mode)
        self.assert_passes(self.node(
            "secured.test.mjs", served.address,
            ACTORD_TOKEN_FILE=str(self.directory / "secret"),
            ACTORD_CLIENT_TLS_CA=files["tlsCa"],
            ACTORD_CLIENT_TLS_CERTIFICATE=files["tlsCert"],
            ACTORD_CLIENT_TLS_KEY=files["tlsKey"],
            ACTORD_CLIENT_TLS_SERVER_NAME="localhost",
            SECURED=json.dumps({
                "files": files, "token": token, "address": served.address,
                "plainAddress": self.start_daemon().address,
                "stranger": {"tlsCa": str(stranger.certificate),
                             "tlsCert": str(foreign.certificate),
                             "tlsKey": str(foreign.key)},
                "old": {"tlsCert": str(old.certificate), "tlsKey": str(old.key)},
                "tlsAddress": self.start_daemon(*self.tls()).address,
                "directory": str(self.directory),
                "secretFile": str(self.directory / "secret"),
                "openFile": str(self.directory / "open")})))


    def write_files(self, pair, old):
        """Files that are damaged, or contain more than the client needs."""
        ca, own, key, expired = (path.read_bytes() for path in (
            self.authority.certificate, pair.certificate, pair.key, old.certificate))
        damaged = (b"-----BEGIN CERTIFICATE-----\nMIIBAAAA\n"
                   b"-----END CERTIFICATE-----\n")
        for name, content in [
                ("damaged", damaged), ("both", key + own), ("old-and-new", expired + ca),
                ("damaged-behind", ca + damaged),
                ("damaged.key", damaged.replace(b"CERTIFICATE", b"PRIVATE KEY"))]:
            (self.directory / name).write_bytes(content)
        subprocess.run(["openssl", "pkey", "-in", pair.key, "-aes256", "-passout",
                        "pass:x", "-out", self.directory / "locked.key"], check=True)


class Package(NodeCase):

    def test_types_are_those_of_the_code(self):
        # TypeScript does not check the code of packages.
        shutil.copytree(self.project / "node_modules" / "actord",
                        self.project / "package")
        done = subprocess.run(
            ["node", "node_modules/typescript/bin/tsc", "--project", "."],
            cwd=self.project, capture_output=True, text=True, check=False,
            timeout=WAIT_SECONDS)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_the_example_of_the_page_runs(self):
        daemon = self.start_daemon()
        section = PAGE.split("\n## Node\n")[1]
        [example, *_] = re.findall(r"^```js\n(.*?)^```$", section,
                                   re.MULTILINE | re.DOTALL)
        (self.project / "example.mjs").write_text(example)
        output, _ = self.node("example.mjs", daemon.address).communicate(
            timeout=WAIT_SECONDS)
        self.assertEqual(output, "hello\n")

    def test_npm_installs_the_archive(self):
        # Asks no registry: what the archive depends on is there. npm removes what
        # nothing depends on.
        target = self.directory / "target"
        shutil.copytree(packages_directory("actord") / "node_modules",
                        target / "node_modules", symlinks=True)
        done = subprocess.run(
            ["npm", "install", "--offline", "--ignore-scripts", "--no-audit",
             "--no-fund", "--cache", self.directory / "cache", ARCHIVE], cwd=target,
            capture_output=True, text=True, check=False, timeout=WAIT_SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = subprocess.run(
            ["node", "-e", "import('actord').then((a) => console.log(a.Client.name))"],
            cwd=target, capture_output=True, text=True, check=True,
            env=places.clean_environment())
        self.assertEqual(shown.stdout, "Client\n")


if __name__ == "__main__":
    unittest.main()
