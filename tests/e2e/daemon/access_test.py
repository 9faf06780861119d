"""Who may call what: all methods with all roles, and without a valid token. The
methods come from the descriptor and the rules from docs/access.md, so a new method
is covered by itself."""

import json
import os
import re

import grpc
from actord.v1 import actor_service_pb2
from harness import places
from harness.connection import CALL_SECONDS, refusal_of
from harness.daemon import run_actord
from harness.tokens import TokenCase, bearer, unknown_token, wrong_secret
from harness.waiting import eventually

SERVICE = actor_service_pb2.DESCRIPTOR.services_by_name["ActorService"]
METHODS = [method.name for method in SERVICE.methods]
ROLES = ("viewer", "client", "worker", "operator", "admin")
# Field 1 as a text of 127 bytes, which are missing: no request can be read from it.
GARBAGE = b"\x0a\x7f"
ROW = re.compile(r"\| `(\w+)` \| [a-z ]+ \|" + r" ?([a-z ]*?) ?\|" * 6 + "$", re.M)
UNAUTHENTICATED = grpc.StatusCode.UNAUTHENTICATED
DENIED = grpc.StatusCode.PERMISSION_DENIED
INVALID = grpc.StatusCode.INVALID_ARGUMENT


def rows():
    """The rows of the table of methods in docs/access.md."""
    return ROW.findall((places.SOURCE / "docs" / "access.md").read_text())


def documented():
    """The roles that may call each method, as docs/access.md says."""
    return {name: {role for role, cell in zip(ROLES, cells) if cell}
            for name, *cells in rows()}


def of_all_owners():
    """The methods that need a token which sees all owners, by the same page."""
    return {name for name, *_, cell in rows() if cell == "needed"}


def call(connection, method, metadata=()):
    """Calls any method with a request that cannot be read; returns code and reason
    of the end."""
    stream = connection.channel.stream_stream(f"/{SERVICE.full_name}/{method}")(
        iter([GARBAGE]), metadata=metadata, timeout=CALL_SECONDS)
    try:
        for _ in stream:
            pass
    except grpc.RpcError as error:
        refusal = refusal_of(error)
        return refusal.code, refusal.reason
    return grpc.StatusCode.OK, ""


class EveryMethod(TokenCase):

    def test_without_a_valid_token_is_refused(self):
        valid, expired = self.token("admin"), self.token("admin")
        self.expire(expired)
        connection = self.connect(self.serve())
        wrong = wrong_secret(valid)
        self.secrets.append(wrong[13:56])
        for what, metadata, reason in (
                ("none", (), "TOKEN_MISSING"),
                ("another scheme", (("authorization", "Basic YTpi"),),
                 "TOKEN_MALFORMED"),
                ("a cut token", bearer(valid[:-1]), "TOKEN_MALFORMED"),
                ("two tokens", bearer(valid) * 2, "TOKEN_MALFORMED"),
                ("a wrong secret", bearer(wrong), "TOKEN_INVALID"),
                ("an unknown token", bearer(unknown_token()), "TOKEN_INVALID"),
                ("an expired token", bearer(expired), "TOKEN_EXPIRED")):
            for method in METHODS:
                with self.subTest(method=method, token=what):
                    self.assertEqual(call(connection, method, metadata),
                                     (UNAUTHENTICATED, reason))

    def test_is_for_the_documented_roles_alone(self):
        tokens = {role: self.token(role) for role in ROLES}
        connection = self.connect(self.serve())
        roles_of = documented()
        self.assertEqual(sorted(roles_of), sorted(METHODS))
        for method in METHODS:
            for role in ROLES:
                with self.subTest(method=method, role=role):
                    code, reason = call(connection, method, bearer(tokens[role]))
                    if role in roles_of[method]:
                        self.assertEqual(code, INVALID, reason)
                    else:
                        self.assertEqual((code, reason),
                                         (DENIED, "ROLE_NOT_ALLOWED"))

    def test_is_served_and_counted_by_observe(self):
        viewer, admin = self.token("viewer"), self.token("admin")
        daemon = self.serve("--auth-mode", "observe")
        connection = self.connect(daemon)
        for method in METHODS:
            for metadata in ((), bearer(viewer), bearer(unknown_token())):
                with self.subTest(method=method):
                    self.assertEqual(call(connection, method, metadata)[0], INVALID)
        roles_of = documented()
        too_weak = sum("viewer" not in roles_of[method] for method in METHODS)
        counters = self.connect_with(daemon, admin).status().counters
        self.assertEqual(counters.calls_observed_total,
                         2 * len(METHODS) + too_weak)
        self.assertEqual(counters.calls_denied_total, 0)
        # One line for each token, reason and method.
        for method in METHODS:
            call(connection, method)
        wanted = 2 * len(METHODS) + too_weak
        eventually(lambda: daemon.log().count("would be refused") >= wanted,
                   "a line for each")
        self.assertEqual(daemon.log().count("would be refused"), wanted)

    def test_is_open_without_tokens(self):
        connection = self.connect(self.start_daemon())
        for method in METHODS:
            with self.subTest(method=method):
                self.assertEqual(call(connection, method, bearer(unknown_token()))[0],
                                 INVALID)


class Audit(TokenCase):

    def test_each_call_that_operates_or_administers_is_one_line(self):
        admin = self.token("admin", name="root-of-all")
        viewer = self.token("viewer")
        daemon = self.serve("--plugin-dir", places.PLUGINS)
        actor = self.connect_with(daemon, admin)
        pid = actor.submit("counter", b"1")
        actor.cancel(pid, "because \"we\"\ncan")
        letter = self._dead_letter(actor)
        self.assert_code(lambda: actor.resend(letter),
                         grpc.StatusCode.FAILED_PRECONDITION, "PROCESS_ENDED")
        actor.drop_dead_letters(letter)
        self.assert_code(lambda: actor.load_plugin("/none.so"), DENIED,
                         "PLUGIN_NOT_ALLOWED")
        self.assert_code(lambda: self.connect_with(daemon, viewer).cancel(pid),
                         DENIED, "ROLE_NOT_ALLOWED")
        actor.shutdown()
        daemon.wait()
        lines = re.findall(r"audit: .*", daemon.log())
        by = rf" by root-of-all \(token {admin[4:12]}, admin\): "
        for line, expected in zip(lines, (
                rf'audit: Cancel {{pid: "{pid}" reason: "because .*"}}{by}done',
                rf'audit: Terminate {{pid: ".*" reason: "no reason"}}{by}done',
                rf'audit: ResendDeadLetter {{id: "{letter}"}}{by}failed with '
                "FAILED_PRECONDITION PROCESS_ENDED",
                rf'audit: DropDeadLetters {{ids: "{letter}"}}{by}done',
                rf'audit: LoadPlugin {{path: "/none.so"}}{by}failed with '
                "PERMISSION_DENIED PLUGIN_NOT_ALLOWED",
                rf"audit: Shutdown {{mode: MODE_DRAIN}}{by}done"), strict=True):
            self.assertRegex(line, expected)
        self.assertRegex(
            daemon.log(), r"Cancel of 127\.0\.0\.1:\d+, viewer \(token "
            rf"{viewer[4:12]}, viewer\) refused: .* \(ROLE_NOT_ALLOWED\)")

    def test_json_has_the_caller_as_fields(self):
        admin = self.token("admin", name="root-of-all")
        viewer_token = self.token("viewer")
        daemon = self.serve("--plugin-dir", places.PLUGINS, "--log-format", "json")
        actor = self.connect_with(daemon, admin)
        actor.cancel(actor.submit("counter", b"1"))
        self.assert_code(lambda: actor.load_plugin("/none.so"), DENIED,
                         "PLUGIN_NOT_ALLOWED")
        viewer = self.connect_with(daemon, viewer_token)
        self.assert_code(lambda: viewer.cancel("1.1.1.1"), DENIED,
                         "ROLE_NOT_ALLOWED")
        actor.shutdown()
        daemon.wait()
        entries = [json.loads(line) for line in daemon.log().splitlines()]
        audit = {entry["method"]: entry for entry in entries
                 if entry["message"].startswith("audit: ")}
        self.assertEqual(set(audit), {"Cancel", "LoadPlugin", "Shutdown"})
        for method, code in (("Cancel", "OK"), ("LoadPlugin", "PERMISSION_DENIED")):
            entry = audit[method]
            self.assertEqual((entry["client"], entry["code"]),
                             ("root-of-all", code))
            self.assertRegex(entry["peer"], r"^127\.0\.0\.1:\d+$")
        [refused] = [entry for entry in entries
                     if entry.get("code") == "ROLE_NOT_ALLOWED"]
        self.assertEqual(refused["method"], "Cancel")

    def _dead_letter(self, actor):
        """Ends a process with a message in its mailbox."""
        pid = actor.submit("order",
                           b'{"order": "1", "amount_cents": 1, "hold_ms": 60000}')
        actor.send(pid)
        actor.terminate(pid, "no reason")
        return eventually(lambda: actor.dead_letters().dead_letters,
                          "the dead letter")[0].id


class Start(TokenCase):

    def test_is_refused_with_a_file_that_is_wrong(self):
        for text, mode, message in (
                ("[[token]]\nrole = 7\n", 0o640, r"tokens\.toml:2: role"),
                ("", 0o644, "has mode 0644"),
                (None, 0, "cannot be opened: No such file")):
            if text is None:
                self.token_file.unlink()
            else:
                self.token_file.write_text(text)
                self.token_file.chmod(mode)
            done = run_actord("--listen", "127.0.0.1:0", "--auth-tokens",
                              self.token_file)
            self.assertEqual(done.returncode, 78, done.stderr)
            self.assertRegex(done.stderr, "auth.tokens: .*" + message)

    def test_is_refused_with_a_mode_that_needs_a_file(self):
        for mode in ("observe", "enforce"):
            done = run_actord("--auth-mode", mode, "--check-config")
            self.assertEqual(done.returncode, 78)
            self.assertIn(f"--auth-mode: {mode} needs a file of tokens", done.stderr)


class Trace(TokenCase):

    def test_of_headers_holds_no_secret(self):
        token = self.token("viewer")
        daemon = self.serve("--log-level", "debug", environment={
            "GRPC_TRACE": "all", "GRPC_VERBOSITY": "DEBUG"})
        self.connect_with(daemon, token).status()
        # The case looks for the secret at its end.
        eventually(lambda: "Bearer atk_[redacted]" in daemon.log(), "the header")


class OwnUser(TokenCase):

    def setUp(self):
        super().setUp()
        self.path = self.directory / "socket"
        self.viewer = self.token("viewer")

    def serve_on_socket(self):
        self.directory.chmod(0o711)
        daemon = self.serve("--listen", f"unix:{self.path}", "--unix-mode", "0666")
        daemon.address = f"unix:{self.path}"
        return daemon

    def test_of_a_unix_socket_needs_no_token(self):
        daemon = self.serve_on_socket()
        actor = self.connect(daemon)
        pid = actor.submit("counter", b"1")
        actor.terminate(pid)
        eventually(lambda: "audit: Terminate" in daemon.log(), "the audit line")
        daemon.wait_for_line("by the daemon's own user (admin): done")
        # A token that is presented counts, also a weak one or a wrong one.
        weak = self.connect_with(daemon, self.viewer)
        weak.status()
        self.assert_code(lambda: weak.terminate(pid), DENIED, "ROLE_NOT_ALLOWED")
        wrong = self.connect_with(daemon, unknown_token())
        self.assert_code(wrong.status, UNAUTHENTICATED, "TOKEN_INVALID")

    def test_alone_needs_no_token(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        daemon = self.serve_on_socket()
        own = self.connect(daemon)
        os.seteuid(12345)
        try:
            stranger = self.connect(daemon)
        finally:
            os.seteuid(0)
        self.assert_code(stranger.status, UNAUTHENTICATED, "TOKEN_MISSING")
        own.status()
