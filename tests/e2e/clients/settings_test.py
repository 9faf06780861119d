"""The settings of the Python package: which are refused, and their defaults; and what
is said without a daemon."""

import asyncio
import os
import socket
import unittest
import unittest.mock

import actord
import actord.aio
from admin.pages import admin_port
from harness.case import EmptyCase
from harness.raw_client import Http2Stranger
from harness.tokens import unknown_token

NEXT_STEP = ". Is actord running there?"


class Settings(EmptyCase):

    def assert_refused(self, kind, words, **settings):
        with self.subTest(settings=settings):
            with self.assertRaisesRegex(kind, words) as caught:
                actord.Client(**settings)
            return str(caught.exception)

    def test_impossible_settings_are_refused(self):
        for settings, words in [
                ({"timeout": -1}, "at least 0 seconds, not -1"),
                ({"max_attempts": 0}, "max_attempts is an integer from 1, not 0"),
                ({"token": unknown_token(), "token_file": "f"}, "not both"),
                ({"tls_cert": "c"}, "^tls_cert needs tls_ca, "),
                ({"tls_server_name": "n"}, "^tls_server_name needs tls_ca, "),
                ({"tls_ca": "a", "tls_cert": "c"},
                 "^tls_cert needs tls_key, too: .* belong together$"),
                ({"tls_ca": "a", "tls_key": "k"}, "^tls_key needs tls_cert, too: ")]:
            self.assert_refused(ValueError, words, **settings)
        for settings, text in [
                ({"address": 7600}, "address must be a str, not int"),
                ({"token": b"t"}, "token must be a str, not bytes"),
                ({"tls_ca": 5}, "tls_ca must be a str, not int"),
                ({"timeout": "5"},
                 "a timeout is None or a number of seconds, not '5'")]:
            self.assert_refused(TypeError, f"^{text}$", **settings)

    def test_what_is_no_address_is_refused(self):
        for address, why in [
                ("", "it is empty"),
                ("http://127.0.0.1:7600", "it is a URL"),
                ("/run/actord.sock", "unix: must stand before the path of a socket"),
                ("unix:", "a path has 1 to 107 bytes"),
                ("7600", "the host is missing"),
                (":7600", "the host is missing"),
                ("::1", "an IPv6 address must be in brackets"),
                ("::1:7600", "an IPv6 address must be in brackets"),
                ("[::g]", r"\[::g\] is not an IPv6 address in brackets"),
                ("[::g]:1", r"\[::g\] is not an IPv6 address in brackets"),
                ("a b", "'a b' is not a host name"),
                (" a:1", "' a' is not a host name"),
                ("a:1,b:2", "'a:1,b' is not a host name"),
                ("localhost:", "'' is not a port from 1 to 65535"),
                ("127.0.0.1:0", "'0' is not a port from 1 to 65535")]:
            self.assert_refused(
                ValueError, f"^'.*' is not an address: {why}[.] Expected HOST",
                address=address)

    def test_what_is_no_token_is_refused(self):
        token = unknown_token()
        wrong = token[:20] + ("b" if token[20] == "a" else "a") + token[21:]
        empty = self.text_file("\n", "empty")
        twice = self.text_file(f"{token}\n{token}\n", "twice")
        for path in (empty, twice):
            path.chmod(0o600)
        must = "must be one token of 65 characters, as actorctl token new prints it, and "
        for settings, text in [
                ({"token": ""}, f"token: {must}it is empty"),
                ({"token": token[:-1]}, f"token: {must}this text has 64"),
                ({"token": wrong}, f"token: {must}a character of it is wrong"),
                ({"token_file": empty}, f"token_file: {empty}: {must}it is empty"),
                ({"token_file": twice},
                 f"token_file: {twice}: {must}this text has 131")]:
            said = self.assert_refused(ValueError, f"^{text}$", **settings)
            for secret in (token, wrong):
                self.assertNotIn(secret[13:50], said)
        missing = self.directory / "missing"
        said = f"token_file cannot be read: No such file or directory: '{missing}'"
        self.assert_refused(FileNotFoundError, said, token_file=missing)
        with unittest.mock.patch.dict(os.environ, ACTORD_TOKEN_FILE=str(missing)):
            self.assert_refused(FileNotFoundError,
                                "[$]ACTORD_TOKEN_FILE cannot be read: No such file")

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
        self.assertEqual(
            caught.exception.message,
            f"cannot reach the daemon at {address}: the connection is refused: no "
            "program listens at this address" + NEXT_STEP)

    def test_a_socket_without_a_daemon_is_unavailable(self):
        path = self.directory / "socket"

        def said():
            with actord.Client(f"unix:{path}", max_attempts=1) as client:
                with self.assertRaises(actord.Unavailable) as caught:
                    client.submit("echo")
            return caught.exception.message

        before = f"cannot reach the daemon at unix:{path}: "
        self.assertEqual(said(), before + "there is no such socket" + NEXT_STEP)
        with socket.socket(socket.AF_UNIX) as left_over:
            left_over.bind(str(path))
        self.assertEqual(said(), before + "the connection is refused: no program "
                                          "listens on this socket" + NEXT_STEP)

    def test_the_admin_port_is_not_the_daemon(self):
        port = admin_port(self.start_daemon("--admin-listen", "127.0.0.1:0"))
        with actord.Client(f"127.0.0.1:{port}", max_attempts=1) as client:
            with self.assertRaisesRegex(actord.Unavailable,
                                        "HTTP/1.1 and not gRPC: this may be the admin"):
                client.submit("echo")

    def test_a_program_of_http2_is_not_the_daemon(self):
        stranger = Http2Stranger()
        self.addCleanup(stranger.close)
        with actord.Client(stranger.address, max_attempts=1) as client:
            with self.assertRaisesRegex(actord.ActordError,
                                        "it answers HTTP/2 and not gRPC") as caught:
                client.submit("echo")
        self.assertNotIsInstance(caught.exception, actord.DaemonTooOld)


class Closed(EmptyCase):

    def assert_closed(self, call):
        with self.assertRaisesRegex(ValueError, "^the client is closed$"):
            call()

    def test_a_closed_client_says_so(self):
        client = actord.Client("127.0.0.1:1")
        client.close()

        def stream():
            with client.send_stream() as items:
                items.send("@a", "x")

        worker = actord.Worker(client)
        worker.command("manual.*")(print)
        for call in (lambda: client.submit("echo"), lambda: next(client.ps()),
                     lambda: next(iter(client.watch())),
                     lambda: client.subscribe("a"), stream, worker.run):
            self.assert_closed(call)

    def test_a_closed_asyncio_client_says_so(self):
        async def submit(client):
            await client.submit("echo")

        async def watch(client):
            await anext(aiter(client.watch()))

        async def stream(client):
            async with client.send_stream() as items:
                await items.send("@a", "x")

        async def on_closed(call):
            client = actord.aio.Client("127.0.0.1:1")
            await client.close()
            await call(client)

        for call in (submit, watch, stream):
            self.assert_closed(lambda call=call: asyncio.run(on_closed(call)))

    def test_a_call_that_pauses_notices_the_close(self):
        client = actord.Client("127.0.0.1:1")
        with unittest.mock.patch.object(client, "_pause",
                                        lambda *_: client.close()):
            self.assert_closed(lambda: client.submit("echo"))


if __name__ == "__main__":
    unittest.main()
