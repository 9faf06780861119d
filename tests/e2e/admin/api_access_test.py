"""Who may call what over the JSON API: the same as over gRPC."""

import grpc
from admin.api import PREFIX, UNARY, Api, payload
from admin.pages import admin_port
from daemon.access_test import ROLES, documented
from harness.tokens import TokenCase, unknown_token
from harness.waiting import eventually

LISTEN = ("--admin-listen", "127.0.0.1:0", "--admin-api")
MALFORMED = {"noSuchField": 1}


class ApiAccess(TokenCase):

    def test_methods_are_for_the_documented_roles_alone(self):
        tokens = {role: self.token(role) for role in ROLES}
        expired = self.token("admin", name="old")
        self.expire(expired)
        sock = self.directory / "admin.sock"
        daemon = self.serve(*LISTEN, "--admin-listen", f"unix:{sock}")
        port = admin_port(daemon)
        roles_of = documented()
        for method in UNARY:
            # The call is refused before the request is read.
            for reason, token in (("TOKEN_MISSING", None),
                                  ("TOKEN_MALFORMED", tokens["admin"][:-1]),
                                  ("TOKEN_INVALID", unknown_token()),
                                  ("TOKEN_EXPIRED", expired)):
                answer = Api(port, token).call(method, MALFORMED)
                self.assertEqual(answer.refusal,
                                 (401, "unauthenticated", reason), method)
                self.assertEqual(answer.headers["WWW-Authenticate"], "Bearer")
            for role in ROLES:
                refusal = Api(port, tokens[role]).call(method, MALFORMED).refusal
                self.assertEqual(
                    refusal, (400, "invalid_argument", "INVALID_FIELD")
                    if role in roles_of[method] else
                    (403, "permission_denied", "ROLE_NOT_ALLOWED"), (method, role))
        self.check_headers(port, tokens["admin"])
        # The daemon's own user needs no token on a Unix socket.
        self.assertEqual(Api(sock).call("Shutdown", MALFORMED).status, 400)
        self.assertEqual(Api(sock).call("GetStatus").status, 200)
        self.assertEqual(Api(sock, unknown_token()).call("GetStatus").status, 401)

    def test_a_caller_learns_its_own_rights(self):
        roles_of = documented()
        tokens = {role: self.token(role, name=f"the-{role}") for role in ROLES}
        port = admin_port(self.serve(*LISTEN))
        self.assertNotIn("worker", roles_of["GetStatus"])
        del tokens["worker"]
        for role, token in tokens.items():
            caller = Api(port, token).call("GetStatus", {"withCaller": True}).json["caller"]
            self.assertEqual((caller["name"], caller["role"]), (f"the-{role}", role))
            self.assertEqual(set(caller["methods"]),
                             {method for method, roles in roles_of.items() if role in roles})
            self.assertEqual(caller.get("seesPayloads", False), role in roles_of["Await"])
        self.assertNotIn("caller", Api(port, tokens["admin"]).call("GetStatus").json)
        # Without tokens everybody may do everything.
        port = admin_port(self.start_daemon(*LISTEN))
        caller = Api(port).call("GetStatus", {"withCaller": True}).json["caller"]
        self.assertEqual((set(caller["methods"]), caller["seesPayloads"]),
                         (set(roles_of), True))
        self.assertNotIn("role", caller)

    def check_headers(self, port, admin):
        for values in ((f"Basic {admin}",), (f"Bearer {admin}",) * 2):
            connection = Api(port).connection()
            connection.putrequest("POST", PREFIX + "GetStatus")
            connection.putheader("Content-Type", "application/json")
            connection.putheader("Content-Length", "2")
            for value in values:
                connection.putheader("Authorization", value)
            connection.endheaders(b"{}")
            self.assertEqual(Api.end(connection).refusal,
                             (401, "unauthenticated", "TOKEN_MALFORMED"))

    def test_calls_have_owners_quotas_and_audit_lines(self):
        alice, bob, admin = (self.token("client", name="alice"),
                             self.token("client", name="bob"),
                             self.token("admin", name="root-of-all"))
        viewer = self.token("viewer")
        daemon = self.serve(*LISTEN, "--quota-requests-per-second", "1",
                            "--quota-request-burst", "30")
        port = admin_port(daemon)
        of = {name: Api(port, token) for name, token in (
            ("alice", alice), ("bob", bob), ("admin", admin), ("viewer", viewer))}
        pid = of["alice"].call("Submit", {"processType": "counter",
                                          "input": payload(b"1")}).json["pid"]
        # As of a process that does not exist.
        self.assertEqual(of["bob"].call("GetProcess", {"pid": pid}).refusal,
                         (400, "failed_precondition", "PROCESS_ENDED"))
        self.assert_code(lambda: self.connect_with(daemon, bob).process(pid),
                         grpc.StatusCode.FAILED_PRECONDITION, "PROCESS_ENDED")
        self.assertEqual(
            of["alice"].call("GetProcess", {"pid": pid}).json["process"]["pid"],
            pid)
        self.assertEqual(
            of["admin"].call("GetProcess", {"pid": pid}).json["process"]["owner"],
            "alice")
        self.assertEqual(of["admin"].call("Cancel", {
            "pid": pid, "reason": "enough"}).status, 200)
        daemon.wait_for_line(
            f'audit: Cancel {{pid: "{pid}" reason: "enough"}} by root-of-all '
            f"(token {admin[4:12]}, admin): done")
        # Each call has one line, also if the new level hides lines.
        for level in ("LOG_LEVEL_ERROR", "LOG_LEVEL_DEBUG"):
            self.assertEqual(of["admin"].call(
                "SetLogLevel", {"level": level}).status, 200)
        eventually(lambda: "log level: debug, was error" in daemon.log(), "the line")
        for level in ("LOG_LEVEL_ERROR", "LOG_LEVEL_DEBUG"):
            self.assertEqual(daemon.log().count(
                f"audit: SetLogLevel {{level: {level}}} by root-of-all"), 1)
        self.assertIn(f"root-of-all (token {admin[4:12]}, admin)",
                      daemon.log().split("log level: ")[-1].splitlines()[0])
        # The quota of requests is that of the client, on either port.
        for _ in range(40):
            answer = of["bob"].call("GetStatus")
            if answer.status != 200:
                break
        self.assertEqual(answer.refusal,
                         (429, "resource_exhausted", "CLIENT_QUOTA"))
        self.assertGreater(int(answer.headers["Retry-After"]), 0)
        self.assertEqual(of["alice"].call("GetStatus").status, 200)
        self.assert_no_secret(daemon.log())
