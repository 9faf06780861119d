"""The Python package with TLS and tokens, by arguments and by the environment, and
installed by pip; and its types."""

import asyncio
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
import unittest.mock

import actord
import actord.aio
import grpc
from harness import places
from harness.case import EmptyCase
from harness.certificates import Authority
from harness.tls_case import TlsCase
from harness.tokens import TokenCase, unknown_token
from harness.waiting import WAIT_SECONDS

TYPES = pathlib.Path(__file__).parent / "types"


class Secured(TlsCase, TokenCase):
    """A daemon with mutual TLS and tokens."""

    def setUp(self):
        super().setUp()
        pair = self.authority.issue("python")
        self.tls_files = {"tls_ca": self.authority.certificate,
                          "tls_cert": pair.certificate, "tls_key": pair.key}
        self.client_token = self.token("client", "--submit", "echo")
        self.served = self.serve(*self.mutual_tls())

    def client(self, **settings):
        client = actord.Client(self.served.address, timeout=WAIT_SECONDS,
                               max_attempts=2, **settings)
        self.addCleanup(client.close)
        return client

    def secret_file(self, text, mode=0o600):
        path = self.directory / "secret"
        path.write_text(text + "\n")
        path.chmod(mode)
        return path

    def test_arguments(self):
        client = self.client(token=self.client_token, **self.tls_files)
        self.assertEqual(client.run("echo", "a").text, "a")
        with self.assertRaises(actord.PermissionDenied) as caught:
            client.submit("counter", "1")
        self.assertEqual(caught.exception.reason, "NAME_NOT_ALLOWED")
        with client.send_stream() as stream:
            stream.flush()
        with self.assertRaises(actord.Unauthenticated) as caught:
            self.client(**self.tls_files).submit("echo", "a")
        self.assertEqual(caught.exception.reason, "TOKEN_MISSING")
        with self.assertRaises(actord.Unauthenticated) as caught:
            self.client(token=unknown_token(), **self.tls_files).submit("echo")
        self.assertEqual(caught.exception.reason, "TOKEN_INVALID")
        # A certificate is required, and so is the name in the daemon's.
        self.assertRaises(actord.Unavailable, lambda: self.client(
            tls_ca=self.tls_files["tls_ca"]).submit("echo"))
        self.assertRaises(actord.Unavailable, lambda: self.client(
            tls_server_name="other.example", token=self.client_token,
            **self.tls_files).submit("echo"))
        self.assertNotIn(self.client_token, repr(client.endpoint))

    def test_environment(self):
        variables = {
            "ACTORD_ADDRESS": self.served.address,
            "ACTORD_TOKEN_FILE": str(self.secret_file(self.client_token)),
            "ACTORD_CLIENT_TLS_CA": str(self.tls_files["tls_ca"]),
            "ACTORD_CLIENT_TLS_CERTIFICATE": str(self.tls_files["tls_cert"]),
            "ACTORD_CLIENT_TLS_KEY": str(self.tls_files["tls_key"]),
            "ACTORD_CLIENT_TLS_SERVER_NAME": "localhost"}

        async def run():
            async with actord.aio.Client() as client:
                return (await client.run("echo", "b", timeout=WAIT_SECONDS)).text

        with unittest.mock.patch.dict(os.environ, variables):
            with actord.Client() as client:
                self.assertEqual(
                    client.run("echo", "a", timeout=WAIT_SECONDS).text, "a")
            self.assertEqual(asyncio.run(run()), "b")

    def test_a_worker_is_told_that_its_token_does_not_suffice(self):
        worker = actord.Worker(self.client(token=self.client_token,
                                           **self.tls_files))
        worker.command("manual.*")(print)
        with self.assertRaises(actord.PermissionDenied):
            worker.start()

    def test_tokens_that_others_can_read_are_not_used(self):
        for settings, words in [
                ({"token_file": self.secret_file(self.client_token, 0o644)},
                 "0640 at most"),
                ({"token": self.client_token, "address": "example.com:7600"},
                 "plain text")]:
            with self.subTest(words=words):
                with self.assertRaisesRegex(ValueError, words) as caught:
                    actord.Client(**settings)
                self.assert_no_secret(str(caught.exception))
        plain = actord.Client(self.served.address, max_attempts=1)
        self.addCleanup(plain.close)
        with self.assertRaises(actord.Unavailable) as caught:
            plain.submit("echo")
        self.assertEqual(caught.exception.code, grpc.StatusCode.UNAVAILABLE)


class Handshakes(TlsCase):
    """What the exceptions say when client and daemon do not agree on TLS."""

    def assert_says(self, daemon, hint, **settings):
        def ask():
            with actord.Client(daemon.address, max_attempts=1, **settings) as client:
                client.submit("echo", "a", timeout=WAIT_SECONDS)

        async def ask_async():
            async with actord.aio.Client(daemon.address, max_attempts=1,
                                         **settings) as client:
                await client.submit("echo", "a", timeout=WAIT_SECONDS)

        def stream():
            with actord.Client(daemon.address, timeout=1, **settings) as client:
                next(iter(client.watch()))

        for attempt in (ask, lambda: asyncio.run(ask_async()), stream):
            with self.subTest(hint=hint):
                with self.assertRaises(actord.Unavailable) as caught:
                    attempt()
                self.assertEqual(
                    caught.exception.message,
                    f"cannot reach the daemon at {daemon.address}: {hint}")
                self.assertIn(hint, str(caught.exception))

    def test_each_wrong_setting_is_named(self):
        ca = self.authority.certificate
        stranger = Authority(self.directory, "stranger")
        foreign = stranger.issue("foreign")
        daemon = self.start_daemon(*self.mutual_tls())
        self.assert_says(daemon, "the daemon closed the connection: if it serves TLS, "
                                 "give tls_ca")
        self.assert_says(daemon, "tls_ca is not the authority of the daemon's "
                                 "certificate, or that certificate is expired",
                         tls_ca=stranger.certificate)
        self.assert_says(daemon, "the daemon's certificate is of another name: give "
                                 "one of its names as tls_server_name",
                         tls_ca=ca, tls_server_name="other.example")
        self.assert_says(daemon, "the daemon closed the connection: if it requires a "
                                 "certificate, give tls_cert and tls_key", tls_ca=ca)
        self.assert_says(daemon, "the daemon closed the connection: if it does not "
                                 "accept the certificate, give one of an authority in "
                                 "its tls.client_ca",
                         tls_ca=ca, tls_cert=foreign.certificate, tls_key=foreign.key)

    def test_an_expired_certificate_is_named_when_the_daemon_asks_for_it(self):
        ca = self.authority.certificate
        old = self.authority.issue("old", end="20200101000000Z")
        files = {"tls_ca": ca, "tls_cert": old.certificate, "tls_key": old.key}
        self.assert_says(
            self.start_daemon(*self.mutual_tls()),
            f"the daemon closed the connection: tls_cert: {old.certificate}: the "
            "certificate expired at 2020-01-01T00:00:00Z", **files)
        with actord.Client(self.start_daemon(*self.tls()).address, **files) as client:
            self.assertEqual(client.run("echo", "a", timeout=WAIT_SECONDS).text, "a")

    def test_a_daemon_without_tls(self):
        self.assert_says(
            self.start_daemon(), "the daemon answers without TLS: leave tls_ca and "
            "ACTORD_CLIENT_TLS_CA out", tls_ca=self.authority.certificate)

    def test_a_daemon_that_is_not_there_has_no_hint(self):
        for settings in ({}, {"tls_ca": self.authority.certificate}):
            with actord.Client("127.0.0.1:1", max_attempts=1, **settings) as client:
                with self.assertRaises(actord.Unavailable) as caught:
                    client.submit("echo")
                self.assertNotIn("tls_", caught.exception.message)


class Types(EmptyCase):

    def test_the_package_is_typed(self):
        package = pathlib.Path(actord.__file__).parent.parent
        done = subprocess.run(
            ["/usr/bin/mypy", "--config-file", TYPES / "mypy.ini", "--package",
             "actord", "--module", "program", "--cache-dir",
             self.directory / "cache"], cwd=self.directory, capture_output=True,
            text=True, check=False, timeout=WAIT_SECONDS,
            env=places.clean_environment(
                MYPYPATH=f"{package}:{TYPES}"))
        self.assertEqual((done.returncode, done.stdout.splitlines()[:-1]), (0, []),
                         done.stdout + done.stderr)


class Installed(EmptyCase):

    def test_pip_installs_the_package_whole(self):
        if subprocess.run([sys.executable, "-m", "pip", "--version"],
                          capture_output=True, check=False).returncode != 0:
            # CTest looks for these words and shows the test as skipped.
            print("PIP NOT TESTED: there is no pip", file=sys.stderr)
            self.skipTest("there is no pip")
        # pip builds in the checkout, which a test must not change.
        checkout = self.directory / "checkout"
        for folder in ("client/python", "proto"):
            shutil.copytree(places.SOURCE / folder, checkout / folder)
        target = self.directory / "target"
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps",
             "--no-build-isolation", "--no-index", "--target", target,
             checkout / "client" / "python"], capture_output=True, text=True,
            check=False, env=places.clean_environment(), timeout=WAIT_SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = subprocess.run(
            [sys.executable, "-c", "import actord, actord.aio, actord.v1.work_pb2 "
             "as w; print(actord.__file__, w.__file__)"],
            capture_output=True, text=True, check=True,
            env=places.clean_environment(PYTHONPATH=str(target)))
        self.assertEqual(shown.stdout.split(), [
            f"{target}/actord/__init__.py", f"{target}/actord/v1/work_pb2.py"])
        for name in ("py.typed", "v1/work_pb2.pyi"):
            self.assertTrue((target / "actord" / name).exists(), name)


if __name__ == "__main__":
    unittest.main()
