"""The JSON API: every method, waits, the end of the daemon, hostile requests."""

import json
import re
import socket

from admin.api import (PREFIX, SERVICE, STREAMS, UNARY, Api, Description, data_of,
                       payload)
from admin.pages import admin_port, get, parse_metrics
from harness.case import EmptyCase
from harness.daemon import run_actord
from harness.waiting import eventually

ORDER = b'{"order": "o", "amount_cents": 1, "hold_ms": 0}'
LISTEN = ("--admin-listen", "127.0.0.1:0", "--admin-api")
MAX_CALLS = 96
SHORT_ROUTES = {"/v1/" + route for route in (
    "processes/{process}", "processes/{process}/outcome",
    "processes/{process}/messages/{topic}", "processes/{process}/call/{topic}",
    "processes", "yields", "calls", "yields/{token}/result", "yields/{token}/error",
    "links/{link}")}


class ApiTest(EmptyCase):

    def start(self, *options):
        self.daemon = self.start_daemon(*LISTEN, *options)
        self.port = admin_port(self.daemon)
        return Api(self.port)

    def waiting_order(self, api):
        """The PID of an order that waits for its payment, and the token."""
        pid = api.call("Submit", {"processType": "order",
                                  "input": payload(ORDER)}).json["pid"]
        found = eventually(lambda: api.call("ListYields", {"pid": pid}).json.get(
            "yields"), "the order's payment")
        return pid, found[0]["token"]

    def test_every_unary_method_is_a_route_and_is_described(self):
        api = self.start()
        calls = "actord_calls_total"
        before = parse_metrics(get(self.port, "/metrics")[2])[calls]
        for method in UNARY:
            with self.subTest(method=method):
                answer = api.call(method, {"noSuchField": 1})
                self.assertEqual(answer.refusal,
                                 (400, "invalid_argument", "INVALID_FIELD"))
                self.assertEqual(answer.detail("BadRequest")["fieldViolations"],
                                 [{"field": "noSuchField",
                                   "description": answer.json["message"]}])
                self.assertIn("noSuchField is not a field of actord.v1.",
                              answer.json["message"])
        after = parse_metrics(get(self.port, "/metrics")[2])[calls]
        self.assertEqual({name for name in after if after[name] == before[name] + 1},
                         set(UNARY))
        for method in STREAMS:
            answer = api.call(method)
            self.assertEqual((answer.status, answer.json["code"]),
                             (501, "unimplemented"), method)
        answer = api.call("NoSuchMethod")
        self.assertEqual((answer.status, answer.json["code"]),
                         (404, "unimplemented"))
        self.check_description(api)

    def check_description(self, api):
        answer = api.raw("/openapi.json", method="GET")
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        description = Description(answer.json)
        self.assertEqual(answer.json["openapi"], "3.1.0")
        self.assertEqual(set(answer.json["paths"]),
                         {PREFIX + method for method in UNARY} |
                         {"/v1/events", "/v1/history", "/v1/publications"} | SHORT_ROUTES)
        self.assertEqual(api.raw("/openapi.json").status, 405)
        for reference in description.references():
            description.resolve(reference)
        for method in SERVICE.methods:
            if method.name not in UNARY:
                continue
            operation = answer.json["paths"][PREFIX + method.name]["post"]
            self.assertEqual(operation["operationId"], method.name)
            self.assertTrue(operation["description"], method.name)
            for part, of in (("request", method.input_type),
                             ("response", method.output_type)):
                self.assertEqual(description.schema(method.name, part)["$ref"],
                                 f"#/components/schemas/{of.full_name}")
                schema = description.resolve(
                    f"#/components/schemas/{of.full_name}")
                self.assertEqual(list(schema["properties"]),
                                 [field.json_name for field in of.fields])

    def test_answers_are_as_described(self):
        api = self.start()
        description = Description(api.raw("/openapi.json", method="GET").json)
        seen = set()

        def call(method, request=None):
            answer = api.call(method, request)
            self.assertEqual(answer.status, 200, answer)
            self.assertEqual(list(description.problems(
                request or {}, description.schema(method, "request"))), [])
            self.assertEqual(list(description.problems(
                answer.json, description.schema(method, "response"))), [], answer)
            seen.add(method)
            return answer.json

        pid, token = self.waiting_order(api)
        call("Submit", {"processType": "echo", "input": payload(b'"x"'),
                        "requestId": "one"})
        again = call("Submit", {"processType": "echo", "input": payload(b'"x"'),
                                "requestId": "one"})
        self.assertTrue(again["duplicate"])
        result = call("Await", {"pid": again["pid"]})["outcome"]["result"]
        self.assertEqual(data_of(result), b'"x"')
        counter = call("Submit", {"processType": "counter", "name": "c",
                                  "input": payload(b"40")})["pid"]
        call("Send", {"pid": counter, "topic": "add", "payload": payload(b"2")})
        self.assertEqual(data_of(call("Call", {
            "pid": counter, "topic": "get"})["result"]), b"42")
        self.assertEqual(call("GetProcess", {"pid": counter})["process"]["pid"],
                         counter)
        self.assertEqual(call("RecordProcess", {"pid": counter}), {"pid": counter})
        call("Call", {"pid": counter, "topic": "get"})
        self.assertEqual([entry["kind"] for entry in call(
            "GetProcess", {"pid": counter})["recording"]["entries"]], [
                "HISTORY_KIND_STEP", "HISTORY_KIND_CALL", "HISTORY_KIND_REPLY"])
        self.assertIn(counter, [one["pid"] for one in call(
            "ListProcesses", {"pageSize": 100})["processes"]])
        self.assertEqual(call("ListNames")["names"][0]["name"], "c")
        self.assertEqual(call("ListYields", {"pid": pid})["yields"][0]["token"],
                         token)
        self.assertEqual(call("CompleteYield", {
            "token": token, "result": payload(b'"paid"')})["answer"],
            "ANSWER_ACCEPTED")
        call("Cancel", {"pid": counter, "reason": "enough"})
        for method in ("ListQuarantine", "ListFailures", "ListPlugins",
                       "GetStatus", "ListClients", "ListDeadLetters",
                       "RetryQuarantine"):
            call(method)
        self.assertGreater(len(seen), 15)
        # Errors have the codes, the details and the headers of Connect.
        answer = api.call("GetProcess", {"pid": counter[:-1] + "%"})
        self.assertEqual(answer.refusal,
                         (400, "invalid_argument", "INVALID_PID"))
        self.assertEqual(list(description.problems(
            answer.json, {"$ref": "#/components/schemas/Error"})), [])
        self.assertEqual(api.call("Submit", {"processType": "none"}).refusal,
                         (404, "not_found", "UNKNOWN_PROCESS_TYPE"))
        self.assertEqual(api.call("LoadPlugin", {"path": "/none.so"}).refusal,
                         (403, "permission_denied", "PLUGIN_NOT_ALLOWED"))

    def test_waits_hold_neither_the_port_nor_the_thread(self):
        api = self.start()
        pid, token = self.waiting_order(api)
        waits = [api.begin("Await", {"pid": pid}) for _ in range(MAX_CALLS)]
        full = eventually(lambda: (lambda answer: answer.status == 429 and answer)(
            api.call("GetStatus")), "the limit of open calls")
        self.assertEqual(full.json["code"], "resource_exhausted")
        self.assertEqual(full.headers["Retry-After"], "1")
        self.assertEqual(get(self.port, "/healthz")[0], 200)
        # A client that goes makes room.
        waits.pop().close()
        eventually(lambda: api.call("GetStatus").status == 200, "room")
        # So does a deadline.
        self.assertEqual(
            api.call("Await", {"pid": pid},
                     {"Connect-Timeout-Ms": "1"}).refusal,
            (504, "deadline_exceeded", "DEADLINE_EXCEEDED"))
        # The last open call is taken back, and the others are answered.
        self.assertEqual(api.call("CompleteYield", {
            "token": token, "result": payload(b'"paid"')}).status, 200)
        for wait in waits:
            answer = api.end(wait)
            self.assertEqual(answer.status, 200, answer)
            self.assertIn("result", answer.json["outcome"])
        self.assertEqual(api.call("GetStatus").status, 200)

    def test_daemon_answers_before_it_ends(self):
        api = self.start()
        pid, _ = self.waiting_order(api)
        wait = api.begin("Await", {"pid": pid})
        # The wait has begun when a call that came later is answered.
        self.assertEqual(api.call("GetStatus").status, 200)
        answer = api.call("Shutdown", {"mode": "MODE_NOW"})
        self.assertEqual((answer.status, answer.json),
                         (200, {"forcedCount": "1"}))
        self.assertEqual(api.end(wait).status, 200)
        self.assertEqual(self.daemon.wait(), 0)

    def test_hostile_requests_are_refused(self):
        api = self.start("--max-payload-bytes", "64KiB")
        path = PREFIX + "Submit"
        is_json = {"Content-Type": "application/json"}

        def refused(expected, body=b"{}", says="", **more):
            headers = is_json | more.pop("headers", {})
            answer = api.raw(more.pop("path", path), body,
                             headers={name: value for name, value in
                                      headers.items() if value is not None},
                             **more)
            self.assertEqual((answer.status, answer.json["code"]), expected,
                             (body[:80], headers))
            self.assertIn(says, answer.json["message"])
            return answer

        self.assertEqual(refused((405, "unimplemented"),
                                 method="GET").headers["Allow"], "POST")
        for kind in (None, "text/plain", "application/json; charset=latin1",
                     "application/jsonp", "application/proto"):
            answer = refused((415, "invalid_argument"),
                             headers={"Content-Type": kind})
            self.assertEqual(answer.headers["Accept-Post"], "application/json")
        refused((403, "permission_denied"),
                headers={"Origin": "http://evil.example"})
        refused((403, "permission_denied"), headers={"Origin": "null"})
        bad = (400, "invalid_argument")
        refused(bad, headers={"Connect-Protocol-Version": "2"})
        for text in ("-1", "1e3", "12345678901", ""):
            refused(bad, headers={"Connect-Timeout-Ms": text},
                    says="Connect-Timeout-Ms")
        refused((501, "unimplemented"), headers={"Content-Encoding": "gzip"})
        for body in (b"", b"{", b"[]", b"1", b'{"method": "\xff"}', b"{}}",
                     b'{"method": "\\ud800"}', b'{"a":' * 100_000,
                     b"[" * 100_000):
            refused(bad, body)
        refused(bad, b'{"input": {"dta": ""}}', says="input.dta is not a field")
        refused(bad, b'{"input": {"data": "?"}}', says="input.data")
        refused(bad, b'{"priority": "high"}', says="priority: ")
        refused(bad, b'{"onNameConflict": "MAYBE"}', says="on_name_conflict: ")
        refused(bad, b'{"' + b"x" * 50_000 + b'": 1}')
        # The limit of a body is above that of a payload.
        large = json.dumps({"processType": "echo",
                            "input": payload(b"x" * 70_000)}).encode()
        refused(bad, large, says="65536")
        for name in ("Content-Length", "chunked"):
            status, text = self.post_large(path, name)
            self.assertEqual(status, 413, text)
        # None of them has harmed the daemon.
        self.assertEqual(api.call("GetStatus").json["counters"].get(
            "processesStartedTotal", "0"), "0")
        allowed = api.raw(path, b'{"processType": "echo"}', headers=is_json | {
            "Content-Type": "Application/JSON; charset=utf-8",
            "Origin": f"http://127.0.0.1:{self.port}"})
        self.assertEqual(allowed.status, 200, allowed)

    def post_large(self, path, how):
        """Sends a body that is too large, until the daemon refuses it."""
        with socket.create_connection(("127.0.0.1", self.port), 20) as client:
            head = (f"POST {path} HTTP/1.1\r\nHost: localhost\r\n"
                    "Content-Type: application/json\r\n")
            if how == "chunked":
                client.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
                chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
            else:
                client.sendall(f"{head}Content-Length: 8000000\r\n\r\n".encode())
                chunk = b""
            try:
                for _ in range(128):
                    client.sendall(chunk)
            except (BrokenPipeError, ConnectionResetError):
                pass
            text = client.recv(4096).decode()
            return int(re.match(r"HTTP/1.1 (\d+)", text)[1]), text

    def test_api_is_off_by_default_and_needs_unix_sockets_with_client_ca(self):
        port = admin_port(self.start_daemon("--admin-listen", "127.0.0.1:0"))
        for path in (PREFIX + "GetStatus", "/openapi.json"):
            self.assertEqual(get(port, path)[0], 404)
        refused = run_actord("--listen", "127.0.0.1:0", *LISTEN,
                             "--tls-client-ca", "/none.pem", "--check-config")
        self.assertEqual(refused.returncode, 78, refused.stderr)
