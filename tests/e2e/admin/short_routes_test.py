"""The short routes of the JSON API, as curl and a webhook use them."""

import json

from admin.api import Api, Description
from admin.pages import admin_port
from harness.case import EmptyCase
from harness.tokens import TokenCase
from harness.waiting import eventually

ORDER = b'{"order": "o", "amount_cents": 1, "hold_ms": 0}'
LISTEN = ("--admin-listen", "127.0.0.1:0", "--admin-api")
PROCESSES, YIELDS = "/v1/processes/", "/v1/yields/"


class ShortRoutesTest(EmptyCase):

    def start(self, *options):
        self.daemon = self.start_daemon(*LISTEN, *options)
        return Api(admin_port(self.daemon))

    def order(self, api):
        """An order that waits for its payment: its PID and the yield's token."""
        pid = api.raw(PROCESSES + "order", ORDER).json["pid"]
        return pid, eventually(lambda: api.call("ListYields", {
            "pid": pid}).json.get("yields"), "the payment")[0]["token"]

    def test_body_is_the_payload(self):
        api = self.start()
        text = {"Content-Type": "text/plain; charset=utf-8"}
        # Not JSON, and not UTF-8.
        answer = api.raw(PROCESSES + "echo?priority=20", b"h\xff", headers=text)
        self.assertEqual(answer.status, 201, answer)
        path = answer.headers["Location"]
        self.assertEqual(path, PROCESSES + answer.json["pid"])
        connection = api.connection()
        connection.request("GET", path + "/outcome?wait=20")
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.read()), (200, b"h\xff"))
        self.assertEqual(answer.headers["Content-Type"], text["Content-Type"])
        self.assertIn("sandbox", answer.headers["Content-Security-Policy"])
        self.assertEqual(answer.headers["Actord-Pid"], path[len(PROCESSES):])
        connection.close()
        # Names are one segment; the topic is decoded, too.
        name = "@a%2Fb"
        pid = api.raw(PROCESSES + "counter?name=a/b", b"40").json["pid"]
        answer = api.raw(PROCESSES + name + "/messages/%61dd", b"2")
        self.assertEqual((answer.status, answer.json),
                         (202, {"receipt": "RECEIPT_MEMORY"}))
        answer = api.raw(PROCESSES + "%23workers/messages/add", b"2")
        self.assertEqual((answer.status, answer.json["code"]), (404, "not_found"))
        answer = api.raw(PROCESSES + name + "/call/get")
        self.assertEqual((answer.status, answer.json), (200, 42))
        self.assertEqual(answer.headers["Actord-Pid"], pid)
        answer = api.raw(PROCESSES + name, method="GET")
        self.assertEqual((answer.status, answer.json["pid"],
                          answer.json["processType"]), (200, pid, "counter"))
        # A process that lives is no error for a client that waits.
        answer = api.raw(PROCESSES + pid + "/outcome", method="GET")
        self.assertEqual((answer.status, answer.json), (202, {"pid": pid}))
        answer = api.raw(PROCESSES + pid + "?reason=far+enough&deadline=10s",
                         method="DELETE")
        self.assertEqual(answer.status, 202, answer)
        # The counter ends with its value.
        answer = api.raw(PROCESSES + pid + "/outcome?wait=20", method="GET")
        self.assertEqual((answer.status, answer.json), (200, 42))
        # The failure of a process is no error of a call.
        answer = api.raw(PROCESSES + "probe?method=fail&wait=20", b"because")
        failure = answer.json["failure"]
        self.assertEqual(
            (answer.status, failure["reason"], failure["message"]),
            (424, "FAILURE_REASON_FAILED", "because"))
        self.assertEqual(list(Description(
            api.raw("/openapi.json", method="GET").json).problems(
                answer.json, {"$ref": "#/components/schemas/actord.v1.Outcome"})),
            [])

    def test_keys_waits_and_webhooks(self):
        api = self.start()
        # A repeated request starts nothing; quotation marks are no part of it.
        path, key = PROCESSES + "counter", {"Idempotency-Key": '"one"'}
        first = api.raw(path, b"1", headers=key)
        again = api.raw(path, b"1", headers={"Idempotency-Key": "one"})
        self.assertEqual((first.status, again.status), (201, 200))
        self.assertEqual((again.json["pid"], again.json["duplicate"]),
                         (first.json["pid"], True))
        self.assertTrue(api.call("Submit", {
            "processType": "counter", "requestId": "one",
            "input": {"data": "MQ=="}}).json["duplicate"])
        self.assertEqual(api.raw(path, b"2", headers=key).refusal[2],
                         "REQUEST_ID_REUSED")
        to = PROCESSES + first.json["pid"] + "/messages/add"
        for _ in range(2):
            api.raw(to, b"2", headers={"Idempotency-Key": "m"})
        self.assertEqual(api.raw(PROCESSES + first.json["pid"] + "/call/get").json,
                         3)
        # Prefer: wait answers with the outcome, or with the submission.
        answer = api.raw(PROCESSES + "echo", b'"x"', headers={
            "Prefer": "respond-async, wait=20"})
        self.assertEqual((answer.status, answer.json), (200, "x"))
        for wait in ("?wait=0", ""):
            answer = api.raw(path + wait, b"1",
                             headers={} if wait else {"Prefer": "wait=1"})
            self.assertEqual((answer.status, answer.headers["Location"]),
                             (202, PROCESSES + answer.json["pid"]), answer)
        # The call of a process that does not answer has a deadline.
        pid, token = self.order(api)
        answer = api.raw(PROCESSES + pid + "/call/x?wait=0")
        self.assertEqual((answer.status, answer.json["code"]),
                         (504, "deadline_exceeded"))
        # A webhook completes the yield; what it repeats does no harm.
        wait = api.connection()
        wait.request("GET", PROCESSES + pid + "/outcome?wait=20")
        path = YIELDS + token
        for body, expected in ((b'"paid"', (200, "ANSWER_ACCEPTED")),
                               (b'"paid"', (200, "ANSWER_DUPLICATE")),
                               (b'"late"', (409, "ANSWER_CONFLICT"))):
            answer = api.raw(path + "/result", body)
            self.assertEqual((answer.status, answer.json["answer"]), expected)
        self.assertEqual(api.end(wait).status, 200)
        pid, token = self.order(api)
        answer = api.raw(f"{YIELDS}{token}/error?code=failed_precondition",
                         b"card refused")
        self.assertEqual(answer.json["answer"], "ANSWER_ACCEPTED")
        self.assertIn("card refused", api.raw(
            PROCESSES + pid + "/outcome?wait=20", method="GET").text)
        pid, token = self.order(api)
        api.call("Terminate", {"pid": pid})
        api.raw(PROCESSES + pid + "/outcome?wait=20", method="GET")
        answer = api.raw(f"{YIELDS}{token}/error", b"late")
        self.assertEqual((answer.status, answer.json["answer"]),
                         (410, "ANSWER_EXPIRED"))

    def test_a_call_starts_its_process(self):
        api = self.start()
        path = PROCESSES + "@visits/call/add"
        start = "?processType=counter&input=40&label=tenant=acme&priority=3"
        first = api.raw(path + start, b"2")
        self.assertEqual((first.status, first.json, first.headers["Actord-Started"]),
                         (200, 42, "true"))
        second = api.raw(path + start + "&wait=20", b"1")
        self.assertEqual((second.json, second.headers["Actord-Started"],
                          second.headers["Actord-Pid"]),
                         (43, None, first.headers["Actord-Pid"]))
        process = api.raw(PROCESSES + "@visits", method="GET").json
        self.assertEqual((process["labels"], process["priority"]),
                         ({"tenant": "acme"}, 3))
        for query, what in (("?input=1", "processType"), ("?method=x", "processType"),
                            ("?processType=counter&name=x", "name is not"),
                            ("?processType=counter&input=x", "x")):
            answer = api.raw(PROCESSES + "@other/call/get" + query)
            self.assertEqual(answer.status, 400, answer)
            self.assertIn(what, answer.json["message"])
        answer = api.raw(PROCESSES + process["pid"] + "/call/get?processType=counter")
        self.assertEqual(answer.refusal[2], "INVALID_FIELD", answer)
        answer = api.raw(PROCESSES + "@other/call/get", method="POST")
        self.assertEqual(answer.refusal[2], "NAME_NOT_FOUND", answer)
        # Run over HTTP: its deadline names the process. On a busy machine the error
        # may come after the deadline, and then once more.
        def late():
            answer = api.call("Run", {"submit": {"processType": "counter"}},
                              {"Connect-Timeout-Ms": "1000"})
            self.assertEqual(answer.status, 504, answer)
            return answer if answer.refusal[2] == "DEADLINE_EXCEEDED" else None

        answer = eventually(late, "the error of the daemon")
        pid = answer.detail("ErrorInfo")["metadata"]["pid"]
        self.assertEqual(api.call("Cancel", {"pid": pid}).status, 200)
        answer = api.call("Run", {"submit": {"processType": "echo", "input": {
            "data": "MQ=="}}})
        self.assertEqual(answer.json["outcome"]["result"]["data"], "MQ==")

    def test_lists_are_filtered_by_process(self):
        api = self.start()
        pid, token = self.order(api)
        other, _ = self.order(api)
        answer = api.raw("/v1/yields", method="GET")
        self.assertEqual((answer.status, len(answer.json["yields"])), (200, 2))
        answer = api.raw(f"/v1/yields?pid={pid}", method="GET")
        self.assertEqual([one["token"] for one in answer.json["yields"]], [token])
        answer = api.raw("/v1/yields?pageSize=1&command=payment.%2A", method="GET")
        self.assertEqual(len(answer.json["yields"]), 1)
        page = answer.json["nextPageToken"]
        answer = api.raw("/v1/yields?pageSize=1&command=payment.%2A&pageToken=" + page,
                         method="GET")
        self.assertEqual(len(answer.json["yields"]), 1)
        for query, reason in (("pid=x", "INVALID_PID"), ("pids=x", "INVALID_FIELD"),
                              ("pageToken=x", "INVALID_PAGE_TOKEN")):
            answer = api.raw("/v1/yields?" + query, method="GET")
            self.assertEqual(answer.refusal, (400, "invalid_argument", reason))
        self.assertEqual(api.raw("/v1/yields").status, 405)
        # A call from outside waits for the order.
        waiting = api.connection()
        waiting.request("POST", PROCESSES + pid + "/call/x?wait=20")
        found = eventually(lambda: api.raw(
            f"/v1/calls?calleePid={pid}", method="GET").json.get("calls"), "the call")
        self.assertEqual([one["calleePid"] for one in found], [pid])
        self.assertEqual(api.raw(f"/v1/calls?calleePid={other}", method="GET").json, {})
        waiting.close()
        for one in (pid, other):
            api.call("Terminate", {"pid": one})

    def test_wrong_requests_are_refused(self):
        api = self.start()
        pid = api.raw(PROCESSES + "counter", b"1").json["pid"]
        for method, path, allow in (("PUT", PROCESSES + pid, "POST, GET, HEAD, DELETE"),
                                    ("POST", PROCESSES + pid + "/outcome",
                                     "GET, HEAD"),
                                    ("GET", YIELDS + "t/result", "POST")):
            answer = api.raw(path, method=method)
            self.assertEqual((answer.status, answer.headers["Allow"]),
                             (405, allow), answer)
        for path in (PROCESSES, YIELDS, PROCESSES + pid + "/", YIELDS + "/result",
                     PROCESSES + pid + "/messages", PROCESSES + pid + "/call/a/b",
                     YIELDS + "t", YIELDS + "t/none"):
            self.assertEqual(api.raw(path).status, 404, path)
        for path, meant in (
                ("/v1/proceses/counter", " /v1/processes/counter?"), ("/v1/yeilds", " /v1/yields?"),
                (PROCESSES + pid + "/outcom", f" {PROCESSES}{pid}/outcome?"),
                (PROCESSES + pid + "/mesages/add", "/messages/add?"),
                (YIELDS + "t/reslt", "/yields/t/result?"),
                ("/v1/processes/", "leave out the slash at its end"),
                ("/v1/fruit", "at POST /actord.v1.ActorService/METHOD"),
                ("/v1/processes/1.2.3.4/messages", "ActorService/METHOD"),
                ("/actord.v1.ActorService/Sumbit", '"Submit"?'),
                ("/actord.v2.ActorService/Submit", "ActorService/METHOD")):
            answer = api.raw(path)
            self.assertEqual((answer.status, answer.json["code"]),
                             (404, "unimplemented"), path)
            self.assertTrue(answer.json["message"].endswith(meant), answer)
        described = api.raw("/openapi.json", method="GET").json["paths"]
        tops = {path.split("/")[2] for path in described if path.startswith("/v1/")}
        self.assertLess({"processes", "links", "events"}, tops)
        for top in tops:
            answer = api.raw(f"/v1/{top}s")
            self.assertTrue(answer.json["message"].endswith(f" /v1/{top}?"), answer)
        for path, meant in ((PROCESSES + "conter", '"counter"?'),
                            (PROCESSES + "counter?methd=x", '"method"?'),
                            (PROCESSES + "counter?method=rnu", '"run"?')):
            answer = api.raw(path)
            self.assertIn("; did you mean " + meant, answer.json["message"])
        for path, headers, reason in (
                (PROCESSES + "counter?input=x", {}, "INVALID_FIELD"),
                (PROCESSES + "counter?name=a&name=b", {}, "INVALID_ARGUMENT"),
                (PROCESSES + "counter?priority=high", {}, "INVALID_FIELD"),
                (PROCESSES + "counter?wait=soon", {}, "INVALID_ARGUMENT"),
                (PROCESSES + "%FF", {}, "INVALID_FIELD"),
                (PROCESSES + "counter", {"Idempotency-Key": '""'},
                 "INVALID_FIELD"),
                (PROCESSES + "counter", {"Content-Type": "a/" + "b" * 300},
                 "INVALID_FIELD"),
                (PROCESSES + "counter", {"Content-Type": "a/\xe9"},
                 "INVALID_FIELD"),
                (YIELDS + "t/result", {}, "INVALID_YIELD_TOKEN"),
                (YIELDS + "t/error?code=none", {}, "INVALID_FIELD"),
                (YIELDS + "t/error?code=0", {}, "INVALID_YIELD_TOKEN"),
                (YIELDS + "t/result?code=1", {}, "INVALID_FIELD")):
            answer = api.raw(path, b"1", headers=headers)
            self.assertEqual(answer.refusal, (400, "invalid_argument", reason),
                             (path, headers))
        self.assertEqual(api.raw(PROCESSES + "none").refusal[2],
                         "UNKNOWN_PROCESS_TYPE")
        for headers in ({"Origin": "http://evil.example"},
                        {"Sec-Fetch-Site": "cross-site"}):
            for method in ("POST", "DELETE"):
                self.assertEqual(api.raw(PROCESSES + pid, method=method,
                                         headers=headers).status, 403)
        self.assertEqual(api.raw(PROCESSES + "counter", b"1", headers={
            "Content-Encoding": "gzip"}).status, 501)
        # A process cannot write headers: its content type is none.
        answer = api.raw(PROCESSES + "echo?wait=20", b"1",
                         headers={"Content-Type": "none"})
        self.assertEqual(answer.headers["Content-Type"],
                         "application/octet-stream")
        self.assertEqual(api.raw(PROCESSES + pid + "/call/get").json, 1)


class ShortRoutesAccessTest(TokenCase):

    def test_routes_pass_the_same_gate(self):
        client, viewer = self.token("client"), self.token("viewer")
        port = admin_port(self.serve(*LISTEN))

        def raw(token, *rest, **more):
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            return Api(port).raw(*rest, headers=headers, **more)

        answer = raw(client, PROCESSES + "counter?wait=0", b"1")
        self.assertEqual(answer.status, 202, answer)
        pid = answer.json["pid"]
        one = PROCESSES + pid
        for method, path, refused in (
                ("POST", PROCESSES + "counter", viewer),
                ("GET", one, None), ("GET", one + "/outcome", viewer),
                ("POST", one + "/messages/add", viewer),
                ("POST", one + "/call/get", viewer),
                ("POST", YIELDS + "t/result", client),
                ("POST", YIELDS + "t/error?code=x", client),
                ("DELETE", one, viewer)):
            # Refused before the request is read.
            answer = raw(None, path + ("&" if "?" in path else "?") + "no=1",
                         b"1", method=method)
            self.assertEqual(answer.refusal,
                             (401, "unauthenticated", "TOKEN_MISSING"), path)
            self.assertEqual(answer.headers["WWW-Authenticate"], "Bearer")
            if refused is not None:
                answer = raw(refused, path, b"1", method=method)
                self.assertEqual(answer.refusal, (
                    403, "permission_denied", "ROLE_NOT_ALLOWED"), path)
        self.assertEqual(raw(viewer, one, method="GET").json["pid"], pid)
        self.assertEqual(raw(client, one, method="DELETE").status, 202)
