"""TLS: which clients are served and refused, and the log lines about them."""

import os
import re
import socket
import ssl
import subprocess
import unittest

from harness import places
from harness.case import EmptyCase
from harness.certificates import Authority, raw_context
from harness.connection import Connection
from harness.daemon import run_actord
from harness.raw_client import PREFACE
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
        lines = re.findall(r"TLS handshake of 127\.0\.0\.1:\d+ failed: (.*)",
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
        self.assert_logs(daemon, f"TLS handshake of 127.0.0.1:{port} failed: "
                                 "it spoke HTTP/1.1 without TLS")

    def test_versions_and_protocols(self):
        daemon = self.start_daemon(*self.tls())
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = raw_context(self.authority)
            context.minimum_version = context.maximum_version = version
            with self.wrapped(daemon, context) as client:
                self.assertEqual(client.selected_alpn_protocol(), "h2")
                self.assertNotEqual(client.recv(9), b"")

    def read_to_the_end(self, client):
        try:
            while client.recv(4096):
                pass
        except (ssl.SSLError, ConnectionError):
            pass

    def test_other_protocols_over_tls_are_logged(self):
        line = r"TLS handshake of 127\.0\.0\.1:\d+ failed: it does not offer HTTP/2"
        for protocols in (["http/1.1"], []):
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                with self.subTest(protocols=protocols, version=version):
                    daemon = self.start_daemon(*self.tls())
                    context = raw_context(self.authority)
                    context.minimum_version = context.maximum_version = version
                    context.set_alpn_protocols(protocols)
                    try:
                        self.read_to_the_end(self.wrapped(daemon, context))
                    except (ssl.SSLError, ConnectionError):
                        pass
                    eventually(lambda: re.search(line, daemon.log()), line)

    def test_http1_after_the_promise_of_http2_is_logged(self):
        line = re.compile(r"connection of 127\.0\.0\.1:\d+ closed: its TLS "
                          r"handshake agreed on HTTP/2, and then it sent other bytes")
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with self.subTest(version=version):
                daemon = self.start_daemon(*self.tls())
                context = raw_context(self.authority)
                context.minimum_version = context.maximum_version = version

                def is_logged():
                    client = self.wrapped(daemon, context)
                    client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                    self.read_to_the_end(client)
                    return line.search(daemon.log())

                # If gRPC writes its settings after the bytes have come, they look
                # like an answer (tls_handshake.h): one client in some twenty.
                eventually(is_logged, "the line")

    def test_clients_that_the_deadline_ends_are_logged(self):
        daemon = self.start_daemon(*self.tls("--handshake-timeout", "500ms"))
        for begin, text in (
                (b"", "closed: it has sent nothing for 500ms"),
                (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                 "failed: it did not finish within connections.handshake_timeout")):
            with socket.create_connection(("127.0.0.1", daemon.port),
                                          timeout=WAIT_SECONDS) as client:
                client.sendall(begin)
                self.read_to_the_end(client)
                port = client.getsockname()[1]
                self.assert_logs(daemon, f"of 127.0.0.1:{port} {text}")
        client = self.wrapped(daemon, raw_context(self.authority))
        self.read_to_the_end(client)
        self.assert_logs(daemon, "closed: after its TLS handshake it sent nothing")

    def test_clients_of_http2_that_end_early_are_not_logged(self):
        daemon = self.start_daemon(*self.tls())
        for first_bytes in (b"", PREFACE + b"\0\0\0" + SETTINGS_FRAME):
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                context = raw_context(self.authority)
                context.minimum_version = context.maximum_version = version
                with self.wrapped(daemon, context) as client:
                    client.sendall(first_bytes)
                    self.assertNotEqual(client.recv(9), b"")
        actor = self.connect(daemon,
                             credentials=self.authority.channel_credentials())
        eventually(lambda: actor.status().counters.connections_open == 1,
                   "the ends of the others")
        self.assertNotIn("connection of ", daemon.log())
        self.assertNotIn("TLS handshake", daemon.log())

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
        self.assert_logs(daemon, "asked for a renegotiation of TLS, and was refused")
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


class Documentation(EmptyCase):

    def test_first_example_works_as_it_stands(self):
        text = (places.SOURCE / "docs" / "tls.md").read_text(encoding="utf-8")
        section = text.split("\n## First certificates\n")[1].split("\n## ")[0]
        make, use = re.findall(r"^```sh\n(.*?)^```$", section, re.M | re.S)
        *make, start = make.splitlines()
        environment = places.clean_environment(
            PATH=f"{places.ACTORCTL.parent}:{os.environ['PATH']}")

        def run(script, folder, **more):
            done = subprocess.run(
                ["bash", "-c", "set -euo pipefail\n" + script], cwd=folder,
                capture_output=True, text=True, timeout=WAIT_SECONDS,
                check=False, env={**environment, **more})
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        run("\n".join(make), self.directory)
        folder = self.directory / "tls"
        # Its port is one of its own; by default it listens on 127.0.0.1, too.
        command, *options = start.split()
        self.assertEqual(command, "actord")
        daemon = self.start_daemon(
            *(folder / word if "." in word else word for word in options))
        self.assertIn("actord", run(use, folder, ACTORD_ADDRESS=daemon.address))
        with self.assertRaises(AssertionError):
            run("actorctl --tls-ca ca.pem status", folder,
                ACTORD_ADDRESS=daemon.address)


if __name__ == "__main__":
    unittest.main()
