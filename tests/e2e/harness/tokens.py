"""Tokens: made with actorctl, presented by connections, and looked for where they
must not be."""

import base64
import os
import re
import subprocess
import zlib

import grpc
from harness import places
from harness.case import CLI_SECONDS, EmptyCase
from harness.connection import refusal_of


def wrong_secret(token):
    """A well-formed token with the ID of `token`."""
    text = token[:13] + base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")
    return f"{text}_{zlib.crc32(text.encode()):08x}"


def unknown_token():
    return wrong_secret("atk_zzzzzzzz_")


def bearer(token):
    return (("authorization", f"Bearer {token}"),)


class _Present(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor,
               grpc.StreamUnaryClientInterceptor, grpc.StreamStreamClientInterceptor):
    """Presents a token with each call."""

    def __init__(self, token):
        self._token = token

    def _go_on(self, continuation, details, request):
        return continuation(
            details._replace(metadata=(details.metadata or ()) + bearer(self._token)),
            request)

    intercept_unary_unary = intercept_unary_stream = _go_on
    intercept_stream_unary = intercept_stream_stream = _go_on


def present(connection, token):
    """The connection presents the token with each further call."""
    connection.present(_Present(token))


class TokenCase(EmptyCase):
    """A test with a file of tokens, whose secrets are in no log at its end."""

    def setUp(self):
        super().setUp()
        self.token_file = self.directory / "tokens.toml"
        self.secrets = []
        self.daemon = None

    def token(self, role, *words, name=None):
        """Makes a token and returns its text."""
        done = self.token_command("new", "--name", name or role, "--role", role,
                                  *words)
        text = done.stdout.strip()
        self.secrets.append(text[13:56])
        return text

    def token_command(self, command, *words):
        return subprocess.run(
            [str(places.ACTORCTL), "token", command, "--file",
             str(self.token_file), *words], capture_output=True, text=True,
            check=True, timeout=CLI_SECONDS, env=places.clean_environment())

    def revoke(self, token):
        self.token_command("revoke", token[4:12])

    def expire(self, token):
        """The token has expired long ago."""
        text = self.token_file.read_text()
        table = f'id = "{token[4:12]}"\n'
        self.assertIn(table, text)
        self.token_file.write_text(
            text.replace(table, table + "expires = 2020-01-01T00:00:00Z\n"))

    def serve(self, *options, **more):
        """Starts the daemon; its log must not hold a secret in the end."""
        daemon = self.start_daemon("--auth-tokens", self.token_file, *options,
                                   **more)
        self.addCleanup(self._look_for_secrets, daemon)
        return daemon

    def _look_for_secrets(self, daemon):
        self.assert_no_secret(daemon.log())

    def assert_no_secret(self, text):
        for secret in self.secrets:
            self.assertNotIn(secret, text)
        self.assertIsNone(re.search(r"atk_[0-9a-z]{8}_[A-Za-z0-9_-]{20}", text))

    def connect_with(self, daemon, token):
        connection = self.connect(daemon)
        present(connection, token)
        return connection

    def assert_code(self, call, code, reason):
        with self.assertRaises(grpc.RpcError) as caught:
            call()
        refusal = refusal_of(caught.exception)
        self.assertEqual((refusal.code, refusal.reason), (code, reason), refusal)
        return refusal

