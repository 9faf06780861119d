"""TLS: certificates, authorities and revocation lists are replaced while the
daemon serves."""

import signal
import ssl
import time
import unittest

import grpc
from actord.v1 import outcome_pb2
from harness.certificates import Authority, fingerprint, replace
from harness.connection import Connection, refusal_of
from harness.tls_case import TlsCase
from harness.waiting import WAIT_SECONDS, eventually


class Reload(TlsCase):

    def setUp(self):
        super().setUp()
        self.client = self.authority.issue("client")
        self.crl = self.directory / "crl.pem"
        self.authority.write_list(self.crl)

    def serve(self, *options):
        return self.start_daemon(*self.mutual_tls("--tls-crl", self.crl,
                                                  *options))

    def connected(self, daemon, pair=None):
        return self.connect(daemon, credentials=self.authority
                            .channel_credentials(pair or self.client))

    def served_certificate(self, daemon):
        # It is shown before the client is asked for its own.
        return ssl.get_server_certificate(("127.0.0.1", daemon.port),
                                          timeout=WAIT_SECONDS)

    def held(self, actor):
        """A process that ends by a cancel alone, and a call that waits for it."""
        pid = actor.submit("counter")
        return pid, actor.stub.Await.future(
            outcome_pb2.AwaitRequest(pid=pid), timeout=10 * WAIT_SECONDS)

    def test_new_certificate_serves_while_open_calls_go_on(self):
        daemon = self.serve("--tls-reload-interval", "1s")
        actor = self.connected(daemon)
        pid, waiting = self.held(actor)
        first = self.served_certificate(daemon)
        renewed = self.authority.issue("renewed")
        self.server.put(renewed)
        eventually(lambda: self.served_certificate(daemon) != first,
                   "the new certificate")
        self.assert_logs(daemon, "TLS reloaded: tls.certificate is of "
                                 "CN=renewed, valid until ")
        daemon.wait_for_line(f"SHA-256 {fingerprint(renewed)}")
        self.assertEqual(self.connected(daemon).run("echo", b"1").result.data,
                         b"1")
        # The old connection has not noticed.
        self.assertFalse(waiting.done())
        actor.cancel(pid)
        self.assertEqual(waiting.result().outcome.WhichOneof("end"), "result")
        self.assertEqual(actor.status().counters.connections_cut_total, 0)

    def test_sighup_reads_the_files_and_broken_ones_change_nothing(self):
        daemon = self.serve("--tls-reload-interval", "1h")
        first = self.served_certificate(daemon)
        whole = self.server.certificate.read_bytes()
        broken = [whole[:len(whole) // 2], b"", b"rubbish"]
        for count, content in enumerate(broken, 1):
            replace(self.server.certificate, content)
            daemon.signal(signal.SIGHUP)
            eventually(lambda count=count: daemon.log().count(
                "TLS not reloaded, the former files stay in force: "
                f"tls.certificate: {self.server.certificate}: ") == count,
                       "the complaint")
            self.assertEqual(self.served_certificate(daemon), first)
        self.assertEqual(self.connected(daemon).run("echo", b"1").result.data,
                         b"1")
        self.server.put(self.authority.issue("renewed"))
        daemon.signal(signal.SIGHUP)
        self.assert_logs(daemon, "TLS reloaded")
        self.assertNotEqual(self.served_certificate(daemon), first)

    def test_authority_that_is_replaced_lets_its_clients_in_alone(self):
        daemon = self.serve("--tls-reload-interval", "1h")
        successor = Authority(self.directory, "successor")
        newcomer = successor.issue("newcomer")
        self.assert_not_connected(
            daemon, self.authority.channel_credentials(newcomer))
        replace(self.authority.certificate,
                self.authority.certificate.read_bytes()
                + successor.certificate.read_bytes())
        daemon.signal(signal.SIGHUP)
        self.assert_logs(daemon, "TLS reloaded: tls.client_ca has CN=authority")
        self.assertEqual(
            self.connected(daemon, newcomer).run("echo", b"1").result.data, b"1")

    def test_revoked_client_is_cut_and_refused(self):
        daemon = self.serve("--tls-reload-interval", "1h")
        actor = self.connected(daemon)
        _, waiting = self.held(actor)
        other = self.connected(daemon, self.authority.issue("other"))
        self.assertEqual(other.run("echo", b"1").result.data, b"1")
        self.authority.revoke(self.client)
        self.authority.write_list(self.crl)
        daemon.signal(signal.SIGHUP)
        self.assertEqual(waiting.exception(WAIT_SECONDS).code(),
                         grpc.StatusCode.UNAVAILABLE)
        again = Connection(daemon.address, credentials=self.authority
                           .channel_credentials(self.client))
        self.addCleanup(again.close)
        with self.assertRaises(grpc.RpcError) as caught:
            again.submit("echo", b"1")
        refusal = refusal_of(caught.exception)
        self.assertEqual(refusal.code, grpc.StatusCode.UNAUTHENTICATED)
        self.assertEqual(refusal.reason, "CERTIFICATE_REVOKED")
        self.assertIn("the certificate of CN=client is revoked",
                      refusal.message)
        # This connection is cut, too, a moment later.
        eventually(lambda: other.status().counters.connections_cut_total >= 2,
                   "the cut")
        self.assert_logs(daemon, "cut: the certificate of CN=client is revoked")
        self.assertEqual(other.run("echo", b"2").result.data, b"2")

    def test_files_that_are_swapped_all_the_time(self):
        daemon = self.serve("--tls-reload-interval", "1s")
        pairs = [self.authority.issue("one"), self.authority.issue("two")]
        end = time.monotonic() + 3
        connected = 0
        while time.monotonic() < end:
            self.server.put(pairs[connected % 2])
            daemon.signal(signal.SIGHUP)
            actor = Connection(daemon.address, credentials=self.authority
                               .channel_credentials(self.client))
            self.assertEqual(actor.run("echo", b"1").result.data, b"1")
            actor.close()
            connected += 1
        self.assertGreater(connected, 2)


if __name__ == "__main__":
    unittest.main()
