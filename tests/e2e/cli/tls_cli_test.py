"""actorctl and the examples with TLS: what they take, and what they say when a
handshake fails."""

import os
import subprocess
import sys
import unittest

from harness import places
from harness.certificates import Authority
from harness.tls_case import TlsCase
from harness.waiting import WAIT_SECONDS

UNAVAILABLE = 5
USAGE = 2
EXAMPLES = places.SOURCE / "client" / "examples"


class TlsCli(TlsCase):

    def setUp(self):
        super().setUp()
        self.client = self.authority.issue("client")

    def run_status(self, daemon, *options, environment=None, status=0):
        done = subprocess.run(
            [str(places.ACTORCTL), "--address", daemon.address, "--timeout",
             f"{WAIT_SECONDS}s", "health", *map(str, options)],
            capture_output=True, text=True, timeout=2 * WAIT_SECONDS,
            env=places.clean_environment(**(environment or {})), check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        # One line, and nothing of gRPC's own log.
        self.assertLessEqual(done.stderr.count("\n"), 1, done.stderr)
        return done

    def options(self, authority=None, client=None):
        client = client or self.client
        return ("--tls-ca", (authority or self.authority).certificate,
                "--tls-certificate", client.certificate, "--tls-key",
                client.key)

    def assert_says(self, daemon, text, *options):
        done = self.run_status(daemon, *options, status=UNAVAILABLE)
        self.assertIn("cannot reach the daemon at", done.stderr)
        self.assertIn(text, done.stderr)

    def test_options_and_variables(self):
        daemon = self.start_daemon(*self.mutual_tls())
        self.run_status(daemon, *self.options())
        self.run_status(daemon, *self.options(), "--tls-server-name",
                        "localhost")
        self.run_status(daemon, environment={
            "ACTORD_CLIENT_TLS_CA": str(self.authority.certificate),
            "ACTORD_CLIENT_TLS_CERTIFICATE": str(self.client.certificate),
            "ACTORD_CLIENT_TLS_KEY": str(self.client.key)})
        done = self.run_status(daemon, "--tls-key", self.client.key,
                               status=USAGE)
        self.assertIn("--tls-key needs --tls-ca", done.stderr)

    def test_failed_handshakes_say_what_is_wrong(self):
        daemon = self.start_daemon(*self.mutual_tls())
        stranger = Authority(self.directory, "stranger")
        self.assert_says(daemon, "--tls-ca is not the authority of the daemon's "
                                 "certificate", *self.options(stranger))
        self.assert_says(daemon, "the daemon's certificate is of another name: "
                                 "give one of its names as --tls-server-name",
                         *self.options(), "--tls-server-name", "elsewhere")
        self.assert_says(daemon, "if the daemon requires a certificate, give "
                                 "--tls-certificate and --tls-key",
                         "--tls-ca", self.authority.certificate)
        self.assert_says(daemon, "if the daemon does not accept the certificate, "
                                 "give one of an authority in its tls.client_ca",
                         *self.options(client=stranger.issue("foreign")))
        self.assert_says(daemon, "if the daemon serves TLS, give --tls-ca")

    def test_an_expired_certificate_of_the_client(self):
        old = self.authority.issue("old", end="20200101000000Z")
        mutual = self.start_daemon(*self.mutual_tls())
        self.assert_says(mutual, "the daemon closed the connection; "
                                 "--tls-certificate: the certificate of CN=old "
                                 "expired at 2020-01-01T00:00:00Z; put a renewed "
                                 "one there", *self.options(client=old))
        # A daemon that asks for no certificate serves.
        self.run_status(self.start_daemon(*self.tls()), *self.options(client=old))

    def test_a_key_of_another_certificate(self):
        daemon = self.start_daemon(*self.mutual_tls())
        other = self.authority.issue("other")
        done = self.run_status(
            daemon, "--tls-ca", self.authority.certificate, "--tls-certificate",
            self.client.certificate, "--tls-key", other.key, status=USAGE)
        self.assertIn(f"--tls-key: {other.key}: the key does not belong to the "
                      f"certificate of CN=client in {self.client.certificate}",
                      done.stderr)

    def test_tls_to_a_daemon_without_tls(self):
        daemon = self.start_daemon()
        self.assert_says(daemon, "it answers without TLS: leave --tls-ca out",
                         *self.options())

    def test_python_examples(self):
        daemon = self.start_daemon(*self.mutual_tls())
        variables = {
            "ACTORD_CLIENT_TLS_CA": str(self.authority.certificate),
            "ACTORD_CLIENT_TLS_CERTIFICATE": str(self.client.certificate),
            "ACTORD_CLIENT_TLS_KEY": str(self.client.key),
            "ACTORD_CLIENT_TLS_SERVER_NAME": "localhost",
            "PYTHONPATH": os.environ["PYTHONPATH"]}
        done = subprocess.run(
            [sys.executable, EXAMPLES / "python" / "service.py",
             daemon.address], input="a 2\na 3\na\n", capture_output=True,
            text=True, timeout=2 * WAIT_SECONDS, check=False,
            env=places.clean_environment(**variables))
        self.assertEqual(done.stdout, "a 5\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
