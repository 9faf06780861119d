"""TLS: which clients are served and refused, and the log lines about them."""

import os
import re
import socket
import ssl
import subprocess
import unittest

from harness.certificates import Authority, raw_context
from harness.connection import Connection
from harness.daemon import run_actord
from harness.tls_case import TlsCase
from harness.waiting import WAIT_SECONDS, eventually

WRONG_CONFIGURATION = 78
# The bytes that follow the length in the header of an HTTP/2 SETTINGS frame.
SETTINGS_FRAME = bytes([4, 0, 0, 0, 0, 0])


class Clients(TlsCase):

    def test_client_with_a_certificate_is_served_and_others_are_not(self):
        path = self.directory / "s"
        daemon = self.start_daemon(*self.mutual_tls("--listen", f"unix:{path}"))
        client = self.authority.issue("client")
        actor = self.connect(
            daemon, credentials=self.authority.channel_credentials(client))
        self.assertEqual(actor.run("echo", b"1").result.data, b"1")

        self.assert_not_connected(daemon, self.authority.channel_credentials())
        self.assert_logs(daemon, "it presented no certificate, and "
                                 "tls.client_ca requires one")
        stranger = Authority(self.directory, "stranger")
        foreign = stranger.issue("foreign")
        self.assert_not_connected(
            daemon, self.authority.channel_credentials(foreign))
        self.assert_logs(daemon, "its certificate is expired or is not of an "
                                 "authority in tls.client_ca")
        self.assert_not_connected(daemon, stranger.channel_credentials(client))
        self.assert_not_connected(daemon, None)
        self.assert_logs(daemon, "it spoke no TLS")

        # Nobody listens in on a Unix socket.
        local = Connection(f"unix:{path}")
        self.addCleanup(local.close)
        self.assertEqual(local.run("echo", b"2").result.data, b"2")
        self.assertEqual(actor.run("echo", b"3").result.data, b"3")
        self.assertNotIn("anyone who reaches", daemon.log())

    def test_tls_without_client_certificates(self):
        daemon = self.start_daemon(*self.tls())
        actor = self.connect(daemon,
                             credentials=self.authority.channel_credentials())
        self.assertEqual(actor.run("echo", b"1").result.data, b"1")

    def test_tls_to_a_daemon_without_tls(self):
        daemon = self.start_daemon()
        self.assert_not_connected(daemon, self.authority.channel_credentials())
        self.assertEqual(self.connect(daemon).run("echo", b"1").result.data,
                         b"1")


class Handshakes(TlsCase):

    def answer(self, daemon, sent):
        """What the daemon answers to these bytes, until it closes."""
        with socket.create_connection(("127.0.0.1", daemon.port),
                                      timeout=WAIT_SECONDS) as client:
            client.sendall(sent)
            received = b""
            try:
                while piece := client.recv(4096):
                    received += piece
            except ConnectionResetError:
                pass
            return received

    def wrapped(self, daemon, context):
        plain = socket.create_connection(("127.0.0.1", daemon.port),
                                         timeout=WAIT_SECONDS)
        self.addCleanup(plain.close)
        return context.wrap_socket(plain, server_hostname="localhost")

    def test_garbage_and_old_versions_are_refused_with_one_line_each(self):
        daemon = self.start_daemon(*self.tls("--handshake-timeout", "30s"))
        actor = self.connect(daemon,
                             credentials=self.authority.channel_credentials())
        for _ in range(3):
            self.answer(daemon, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            self.answer(daemon, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            self.answer(daemon, bytes(range(256)))
            context = raw_context(self.authority)
            context.minimum_version = ssl.TLSVersion.TLSv1_1
            context.maximum_version = ssl.TLSVersion.TLSv1_1
            context.set_ciphers("ALL:@SECLEVEL=0")
            with self.assertRaises((ssl.SSLError, ConnectionError)):
                self.wrapped(daemon, context)
        self.assert_logs(daemon, "it spoke HTTP/1.1 without TLS")
        self.assert_logs(daemon, "it spoke an old version; TLS 1.2 and 1.3")
        self.assertEqual(actor.run("echo", b"1").result.data, b"1")
        # Each line names its client.
        lines = re.findall(r"TLS handshake of ipv4:127\.0\.0\.1:\d+ failed: (.*)",
                           daemon.log())
        self.assertEqual(len(lines), daemon.log().count("TLS handshake"))
        # Each kind once, no matter what strangers send.
        self.assertEqual(len(lines), len(set(lines)), lines)
        self.assertLessEqual(len(lines), 4, lines)

    def test_the_line_names_the_client_among_others(self):
        daemon = self.start_daemon(*self.tls("--handshake-timeout", "30s"))
        # Their handshakes go on meanwhile: half a record each.
        others = [socket.create_connection(("127.0.0.1", daemon.port))
                  for _ in range(20)]
        for other in others:
            self.addCleanup(other.close)
            other.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        with socket.create_connection(("127.0.0.1", daemon.port)) as client:
            client.settimeout(WAIT_SECONDS)
            port = client.getsockname()[1]
            client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            try:
                while client.recv(4096):
                    pass
            except ConnectionResetError:
                pass
        self.assert_logs(daemon, f"TLS handshake of ipv4:127.0.0.1:{port} failed: "
                                 "it spoke HTTP/1.1 without TLS")

    def test_versions_and_protocols(self):
        daemon = self.start_daemon(*self.tls())
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = raw_context(self.authority)
            context.minimum_version = context.maximum_version = version
            with self.wrapped(daemon, context) as client:
                self.assertEqual(client.selected_alpn_protocol(), "h2")
                self.assertNotEqual(client.recv(9), b"")
        context = raw_context(self.authority)
        context.set_alpn_protocols(["http/1.1"])
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            with self.wrapped(daemon, context) as client:
                if client.recv(1) == b"":
                    raise ConnectionError("closed")


    def test_renegotiation_is_refused(self):
        # gRPC sends the refusal when it ends the connection, or says more.
        daemon = self.start_daemon(*self.tls("--handshake-timeout", "2s"))
        actor = self.connect(daemon,
                             credentials=self.authority.channel_credentials())
        client = subprocess.Popen(
            ["openssl", "s_client", "-connect", daemon.address, "-tls1_2",
             "-alpn", "h2", "-CAfile", self.authority.certificate],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        self.addCleanup(client.stdout.close)
        # The program itself ends the connection if data of the server meets a
        # handshake that it has begun. So the first frame comes before.
        said = b""
        while SETTINGS_FRAME not in said:
            block = os.read(client.stdout.fileno(), 65536)
            self.assertNotEqual(block, b"", said)
            said += block
        # This line tells the program to renegotiate. It ends when it is refused.
        client.stdin.write(b"R\n")
        client.stdin.flush()
        said += client.communicate(timeout=WAIT_SECONDS)[0]
        self.assertIn(b"RENEGOTIATING", said)
        self.assertIn(b"no renegotiation", said)
        self.assertEqual(actor.run("echo", b"1").result.data, b"1")


class Start(TlsCase):

    def assert_refused_to_start(self, options, *texts):
        for check in ((), ("--check-config",)):
            done = run_actord("--listen", "127.0.0.1:0", *options, *check)
            self.assertEqual(done.returncode, WRONG_CONFIGURATION, done.stderr)
            for text in texts:
                self.assertIn(text, done.stderr)

    def test_wrong_files_refuse_to_start(self):
        self.assert_refused_to_start(
            ("--tls-certificate", self.server.certificate),
            "tls.certificate is set and tls.key is not")
        missing = self.directory / "missing"
        self.assert_refused_to_start(
            self.tls("--tls-client-ca", missing),
            f"tls.client_ca: {missing}: cannot be read: No such file")
        other = self.authority.issue("other")
        self.assert_refused_to_start(
            ("--tls-certificate", self.server.certificate, "--tls-key",
             other.key),
            f"tls.key: {other.key}: the key does not belong to the certificate "
            "of CN=actord")
        old = self.authority.issue("old", end="20200101000000Z")
        self.assert_refused_to_start(
            ("--tls-certificate", old.certificate, "--tls-key", old.key),
            f"tls.certificate: {old.certificate}: the certificate of CN=old "
            "expired at 2020-01-01T00:00:00Z")
        self.server.key.chmod(0o644)
        self.assert_refused_to_start(
            self.tls(), f"tls.key: {self.server.key}: has mode 0644")

    def test_listening_beyond_this_machine_needs_tls(self):
        done = run_actord("--listen", "0.0.0.0:0")
        self.assertEqual(done.returncode, WRONG_CONFIGURATION, done.stderr)
        self.assertIn("other machines reach 0.0.0.0:0, and there is no TLS",
                      done.stderr)
        daemon = self.start_daemon("--insecure-listen")
        self.assertNotIn("anyone who reaches", daemon.log())

    def test_old_connections_end(self):
        daemon = self.start_daemon("--max-connection-age", "1s")
        actor = self.connect(daemon)
        self.assertEqual(actor.run("echo", b"1").result.data, b"1")
        accepted = actor.status().counters.connections_accepted_total
        eventually(lambda: actor.status().counters.connections_accepted_total
                   > accepted, "a second connection of the same client")
        self.assertEqual(actor.run("echo", b"2").result.data, b"2")


if __name__ == "__main__":
    unittest.main()
