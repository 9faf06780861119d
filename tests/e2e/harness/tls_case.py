"""Tests with an authority and a certificate of the daemon's."""

import grpc
from harness.case import EmptyCase
from harness.certificates import Authority
from harness.waiting import WAIT_SECONDS, eventually


class TlsCase(EmptyCase):

    def setUp(self):
        super().setUp()
        self.authority = Authority(self.directory)
        self.server = self.authority.issue("actord")

    def tls(self, *options):
        return ("--tls-certificate", self.server.certificate, "--tls-key",
                self.server.key, *options)

    def mutual_tls(self, *options):
        return self.tls("--tls-client-ca", self.authority.certificate, *options)

    def assert_not_connected(self, daemon, credentials):
        channel = (grpc.insecure_channel(daemon.address) if credentials is None
                   else grpc.secure_channel(daemon.address, credentials))
        with channel:
            check = channel.unary_unary("/grpc.health.v1.Health/Check")
            with self.assertRaises(grpc.RpcError) as caught:
                check(b"", timeout=WAIT_SECONDS)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE,
                         caught.exception)

    def assert_logs(self, daemon, text):
        eventually(lambda: text in daemon.log(), text)
