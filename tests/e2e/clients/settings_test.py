"""The settings of the Python package: which are refused, and their defaults."""

import socket
import unittest

import actord
from harness.case import EmptyCase


class Settings(EmptyCase):

    def test_impossible_settings_are_refused(self):
        token = "atk_zzzzzzzz_" + 43 * "a" + "_00000000"
        for settings, words in [
                ({"address": "http://127.0.0.1:7600"}, "URL"),
                ({"address": "a b"}, "not a host name"),
                ({"address": "localhost:"}, "not a port"),
                ({"address": "[::g]"}, "not an IPv6"),
                ({"address": "127.0.0.1:0"}, "not a port"),
                ({"address": "[::g]:1"}, "not an IPv6"),
                ({"address": "unix:"}, "1 to 107 bytes"),
                ({"token": token}, "must be one token"),
                ({"token": token, "token_file": "f"}, "not both"),
                ({"tls_cert": "c"}, "needs tls_ca"),
                ({"tls_ca": "a", "tls_cert": "c"}, "belong together")]:
            with self.subTest(settings=settings):
                with self.assertRaisesRegex(ValueError, words) as caught:
                    actord.Client(**settings)
                self.assertNotIn(token, str(caught.exception))

    def test_a_host_alone_has_the_default_port(self):
        for given, address in [("localhost", "localhost:7600"),
                               ("[::1]", "[::1]:7600"), ("10.0.0.1:1", "10.0.0.1:1"),
                               ("unix:name", "unix:name")]:
            with actord.Client(given) as client:
                self.assertEqual(client.endpoint.address, address)

    def test_no_daemon_is_unavailable(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            with actord.Client(address, max_attempts=2) as client:
                with self.assertRaises(actord.Unavailable) as caught:
                    client.submit("echo")
                with self.assertRaisesRegex(ValueError, "at least 0 seconds, not -1"):
                    client.submit("echo", timeout=-1)
        self.assertEqual(caught.exception.reason, "")
        self.assertIsNone(caught.exception.retry_delay)
        self.assertRegex(
            caught.exception.message,
            f"^cannot reach the daemon at {address}: .*is actord running[?]$")


if __name__ == "__main__":
    unittest.main()
