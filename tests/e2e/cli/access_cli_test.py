"""How clients present a token: actorctl, and the examples in Python and Node."""

import shutil
import signal
import subprocess
import sys

from harness import places
from harness.case import CLI_SECONDS
from harness.daemon import run_actord
from harness.tokens import TokenCase
from harness.waiting import WAIT_SECONDS, eventually
from work.npm import actord_project

EXAMPLES = places.SOURCE / "client" / "examples"


class WithAdmin(TokenCase):

    def setUp(self):
        super().setUp()
        self.secret = self.token("admin")
        self.daemon = self.serve("--external", "text.*")
        self.file = self.directory / "token"
        self.file.write_text(self.secret + "\n")
        self.file.chmod(0o600)
        self.actor = self.connect_with(self.daemon, self.secret)


class Actorctl(WithAdmin):

    def run_actorctl(self, *words, status=0, **environment):
        done = subprocess.run(
            [str(places.ACTORCTL), *(str(word) for word in words)],
            capture_output=True, text=True, timeout=CLI_SECONDS,
            cwd=self.directory, check=False,
            env=places.clean_environment(
                **({"ACTORD_ADDRESS": self.daemon.address} | environment)))
        self.assert_no_secret(done.stdout + done.stderr)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_presents_the_token_of_a_file(self):
        self.assertIn("TOKEN_MISSING", self.run_actorctl("ps", status=4).stderr)
        self.run_actorctl("ps", "--token-file", self.file)
        self.run_actorctl("ps", ACTORD_TOKEN_FILE=str(self.file))
        self.run_actorctl("submit", "echo", "1", "--wait", "--token-file", self.file)
        self.run_actorctl("top", "--once", "--token-file", self.file)
        self.run_actorctl("watch", "--for", "100ms", "--token-file", self.file)
        # The option counts more than the variable.
        self.run_actorctl("ps", "--token-file", self.file,
                          ACTORD_TOKEN_FILE="/none")

    def test_bulk_presents_it_too(self):
        items = self.text_file('{"input": 1}\n{"input": 2}\n', "items.jsonl")
        done = self.run_actorctl("submit", "echo", "--from-file", items, "--wait",
                                 "-o", "jsonl", "--token-file", self.file)
        self.assertEqual(len(done.stdout.splitlines()), 2)
        self.assertIn("TOKEN_MISSING",
                      self.run_actorctl("submit", "echo", "--from-file", items,
                                        status=4).stderr)

    def test_work_presents_it_too(self):
        self.run_actorctl("submit", "order", '{"order": "a", "amount_cents": 1}',
                          "--token-file", self.file)
        self.run_actorctl("work", "payment.charge", "--exec", "echo '\"receipt\"'",
                          "--count", "1", "--token-file", self.file)

    def test_refuses_a_file_that_others_can_read(self):
        self.file.chmod(0o644)
        done = self.run_actorctl("ps", "--token-file", self.file, status=2)
        self.assertIn("has mode 0644", done.stderr)

    def test_refuses_a_file_without_one_token(self):
        for text in ("", "secret", self.secret[:-1], f"{self.secret}\n{self.secret}\n"):
            self.file.write_text(text)
            done = self.run_actorctl("ps", "--token-file", self.file, status=2)
            self.assertIn("must hold one token", done.stderr)

    def test_does_not_send_the_token_over_a_network(self):
        done = self.run_actorctl("ps", "--token-file", self.file, "--address",
                                 "192.0.2.1:7600", status=2)
        self.assertIn("the token is not sent to 192.0.2.1:7600: the connection is "
                      "plain text", done.stderr)

    def test_commands_without_a_daemon_read_no_token(self):
        self.run_actorctl("version", ACTORD_TOKEN_FILE="/none")
        self.run_actorctl("token", "list", "--file", self.token_file,
                          ACTORD_TOKEN_FILE="/none")

    def test_the_daemon_shows_no_secret(self):
        done = run_actord("--auth-tokens", self.token_file, "--print-config")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f'tokens = "{self.token_file}"', done.stdout)
        self.assert_no_secret(done.stdout + done.stderr)
        pid = self.daemon.process.pid
        for file in ("cmdline", "environ"):
            with open(f"/proc/{pid}/{file}", "rb") as proc:
                self.assert_no_secret(proc.read().decode(errors="replace"))


class Examples(WithAdmin):

    def start_worker(self, *command, **more):
        process = subprocess.Popen(
            [str(word) for word in command], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, env=places.clean_environment(),
            **more)

        def end():
            process.kill()
            process.communicate()

        self.addCleanup(end)
        return process

    def assert_works(self, process):
        eventually(lambda: self.actor.status().counters.remote_workers == 1
                   or process.poll() is not None, "the worker")
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, 0, out)
        self.assert_no_secret(out)

    def assert_refused(self, process, message):
        out, _ = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, 1, out)
        self.assertIn(message, out)
        self.assert_no_secret(out)

    def payment_worker(self, address, *words):
        return self.start_worker(
            sys.executable, EXAMPLES / "python" / "payment_worker.py", address,
            100, self.directory / "ledger", *words)

    def test_python_worker_presents_the_token(self):
        self.assert_works(self.payment_worker(self.daemon.address, "--token-file",
                                              self.file))

    def test_python_worker_ends_without_a_token(self):
        self.assert_refused(self.payment_worker(self.daemon.address),
                            "TOKEN_MISSING: the call has no token")

    def test_python_worker_does_not_send_the_token_over_a_network(self):
        self.assert_refused(
            self.payment_worker("192.0.2.1:7600", "--token-file", self.file),
            "the token is not sent to 192.0.2.1:7600")
        self.file.chmod(0o644)
        self.assert_refused(
            self.payment_worker(self.daemon.address, "--token-file", self.file),
            "0640 at most")

    def test_python_service_presents_the_token(self):
        done = subprocess.run(
            [sys.executable, str(EXAMPLES / "python" / "service.py"),
             self.daemon.address, str(self.file)], input="ann 40\nann 2\nann\n",
            text=True, capture_output=True, timeout=WAIT_SECONDS, check=True)
        self.assertEqual(done.stdout, "ann 42\n")

    def test_node_worker_presents_the_token(self):
        project = self.directory / "project"
        actord_project(self, project)
        shutil.copytree(EXAMPLES / "node", project, dirs_exist_ok=True)

        def worker(address, *words):
            return self.start_worker("node", project / "worker.js", address, *words)

        self.assert_works(worker(self.daemon.address, self.file))
        self.assert_refused(worker(self.daemon.address), "the call has no token")
        self.assert_refused(worker("192.0.2.1:7600", self.file),
                            "the token is not sent to 192.0.2.1:7600")
