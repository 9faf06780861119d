"""Each line with curl in the docs does what stands beside it, and each short route
answers curl itself."""

import json
import os
import re
import shutil
import signal
import subprocess

from admin.api import UNARY, Answer, data_of
from admin.pages import admin_port
from admin.unary_calls import UnaryCallsCase
from harness import places
from harness.case import DURABLE, EmptyCase
from harness.waiting import WAIT_SECONDS, eventually

LISTEN = ("--admin-listen", "127.0.0.1:0", "--admin-api")
DOC = (places.SOURCE / "docs/http-api.md").read_text("utf-8")
PAGES = (places.SOURCE / "docs/operations.md").read_text("utf-8")
PORT_IN_DOCS = "127.0.0.1:7601"
PID_IN_DOCS = "1.5f3a90c2.2a.1"
# A route of the table: its method, and its path without a query.
ROUTE = re.compile(r"^\| `((?:GET|POST|DELETE) /v1/[^`?]*)", re.MULTILINE)


def curl_lines(text):
    """The lines of shell with curl, as they stand there: {the path: the line}."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", "").splitlines()
    return {re.search(PORT_IN_DOCS + r"(/[^\s'?]*)", line)[1]: line
            for line in lines if line.startswith("curl ")}


class Reply:
    """The output of curl -i."""

    def __init__(self, output):
        head, _, self.text = output.partition("\r\n\r\n")
        first, *rest = head.split("\r\n")
        self.status = int(re.match(r"HTTP/1\.1 (\d{3}) ", first)[1])
        self.headers = {name.lower(): value for name, value in (
            line.split(": ", 1) for line in rest)}

    @property
    def json(self):
        return json.loads(self.text)

    def __repr__(self):
        return f"{self.status} {self.text}"


class CurlCase(EmptyCase):

    def setUp(self):
        super().setUp()
        self.assertTrue(shutil.which("curl"), "curl is needed: Debian's package curl")
        self.daemon = self.start_daemon(*LISTEN, *self.options())
        self.port = admin_port(self.daemon)

    def options(self):
        return ()

    def begin(self, *command, **variables):
        """Starts a command in a group of its own, which ends with the test."""
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, env=places.clean_environment(**variables))
        self.addCleanup(self.kill, process)
        return process

    @staticmethod
    def kill(process):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

    def end(self, process):
        output, complaint = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual((process.returncode, complaint), (0, b""))
        return Reply(output.decode())

    def get(self, path, *words):
        return self.end(self.begin("curl", "-sSi", *words,
                                   f"http://127.0.0.1:{self.port}{path}"))

    def token_of(self, pid):
        return eventually(lambda: self.get(f"/v1/yields?pid={pid}").json.get(
            "yields"), "the payment")[0]["token"]


class EachMethod(UnaryCallsCase):

    def test_answers_as_with_grpc(self):
        self.start()
        expected = self.answers_of_grpc(self.requests())
        calls = [*self.requests(), ("Shutdown", {"mode": "MODE_NOW"}, "admin")]
        service = f"http://127.0.0.1:{admin_port(self.daemon)}/actord.v1.ActorService"
        # One connection for all; the configuration of curl quotes as JSON does.
        config = "\nnext\n".join(
            f"url = {service}/{method}\ndata = {json.dumps(json.dumps(request))}\n"
            f'header = "Authorization: Bearer {self.tokens[role]}"\n'
            'header = "Content-Type: application/json"\n'
            'silent\nshow-error\nwrite-out = " %{http_code}\\n"'
            for method, request, role in calls)
        done = subprocess.run(["curl", "--config", "-"], input=config,
                              capture_output=True, text=True, check=True,
                              timeout=WAIT_SECONDS, env=places.clean_environment())
        self.assertEqual(done.stderr, "")
        seen = [self.read(method, line) for (method, _, _), line in
                zip(calls, done.stdout.splitlines(), strict=True)]
        self.assertEqual(seen.pop(), ["Shutdown", "ok", ""])
        self.compare(expected, seen)
        self.assertEqual(self.daemon.wait(), 0)

    def read(self, method, line):
        """Method, code and reason of an answer and its status of HTTP."""
        text, _, status = line.rpartition(" ")
        if status == "200":
            self.assertNotIn("code", json.loads(text))
            return [method, "ok", ""]
        answer = Answer(int(status), {}, text)
        _, code, reason = answer.refusal
        return [method, code, reason]


class LinesOfTheDocs(CurlCase):

    def line(self, line, pid="", **variables):
        """Starts the line against the daemon of the test; the head of the answer is
        asked for, too."""
        line = line.replace(PORT_IN_DOCS, f"127.0.0.1:{self.port}")
        return self.begin("bash", "-c", line.replace(PID_IN_DOCS, pid) + " -sSi",
                          **variables)

    def test_the_lines_about_the_api(self):
        lines = curl_lines(DOC)
        service = "/actord.v1.ActorService/"
        order, result = "/v1/processes/order", "/v1/yields/$token/result"
        outcome = f"/v1/processes/{PID_IN_DOCS}/outcome"
        self.assertEqual(set(lines), {service + "Submit", service + "Await", order,
                                      result, outcome, "/v1/events"})
        answer = self.end(self.line(lines[service + "Submit"]))
        self.assertEqual((answer.status, answer.headers["content-type"]),
                         (200, "application/json"))
        self.assertEqual(answer.json["receipt"], "RECEIPT_MEMORY")
        self.assertIn(PID_IN_DOCS, lines[service + "Await"])
        pid = answer.json["pid"]
        answer = self.end(self.line(lines[outcome], pid))
        self.assertEqual((answer.status, answer.headers["content-type"]),
                         (200, "text/event-stream"))
        self.assertRegex(answer.text, r'^event: outcome\ndata: \{.*"IngiCg=="')
        answer = self.end(self.line(lines[service + "Await"], pid))
        self.assertEqual(answer.status, 200, answer)
        # echo ends with its input.
        self.assertEqual(answer.json["outcome"]["result"]["data"], "IngiCg==")

        events = self.line(lines["/v1/events"])
        head = [events.stdout.readline().decode() for _ in range(2)]
        self.assertEqual(head[0], "HTTP/1.1 200 OK\r\n")
        waiting = self.line(lines[order])
        yields = eventually(lambda: self.get("/v1/yields").json.get("yields"),
                            "the payment")
        # The first one has a resume token alone.
        while not (line := events.stdout.readline().decode()).startswith(
                'data: {"events"'):
            self.assertTrue(line, "the events have ended")
            head.append(line)
        self.assertIn("Content-Type: text/event-stream\r\n", head)
        [event] = json.loads(line[len("data: "):])["events"]["events"]
        self.assertEqual(event["started"]["pid"], yields[0]["pid"])

        answer = self.end(self.line(lines[result], token=yields[0]["token"]))
        self.assertEqual((answer.status, answer.json["answer"]),
                         (200, "ANSWER_ACCEPTED"))
        answer = self.end(waiting)
        self.assertEqual((answer.status, answer.headers["actord-pid"]),
                         (200, yields[0]["pid"]))
        self.assertEqual((answer.json["order"], answer.json["status"]),
                         ("17", "charged"))

    def test_the_line_about_the_pages(self):
        lines = curl_lines(PAGES)
        self.assertEqual(set(lines), {"/readyz"})
        answer = self.end(self.line(lines["/readyz"]))
        self.assertEqual((answer.status, answer.text), (200, "ok\n"))


class ShortRoutes(CurlCase):

    def setUp(self):
        super().setUp()
        self.used = set()

    def curl(self, route, *values, query="", body=None):
        """`route`: as the docs have it, with a value for each {part}."""
        self.used.add(route)
        method, path = route.split(" ")
        values = iter(values)
        path = re.sub(r"\{\w+\}", lambda _: next(values), path)
        data = () if body is None else (
            "-H", "Content-Type: application/json", "-d", body)
        return self.end(self.begin(
            "curl", "-sSi", "-X", method, *data,
            f"http://127.0.0.1:{self.port}{path}{query}"))

    def test_each_route_answers(self):
        submit = "POST /v1/processes/{type}"
        one, outcome = "GET /v1/processes/{pid}", "GET /v1/processes/{pid}/outcome"
        answer = self.curl(submit, "counter", query="?label=tenant=acme", body="40")
        self.assertEqual(answer.status, 201, answer)
        pid = answer.json["pid"]
        self.assertEqual(answer.headers["location"], f"/v1/processes/{pid}")
        answer = self.curl("GET /v1/processes", query="?label=tenant=acme")
        self.assertEqual((answer.status, [each["pid"] for each in
                                          answer.json["processes"]]), (200, [pid]))
        answer = self.curl(one, pid)
        self.assertEqual((answer.status, answer.json["processType"]),
                         (200, "counter"))
        answer = self.curl("POST /v1/processes/{pid}/messages/{topic}", pid, "add",
                           body="2")
        self.assertEqual((answer.status, answer.json),
                         (202, {"receipt": "RECEIPT_MEMORY"}))
        answer = self.curl("POST /v1/processes/{pid}/call/{topic}", pid, "get",
                           body="")
        self.assertEqual((answer.status, answer.json), (200, 42))
        answer = self.curl(outcome, pid)
        self.assertEqual((answer.status, answer.json), (202, {"pid": pid}))
        answer = self.curl("DELETE /v1/processes/{pid}", pid)
        self.assertEqual(answer.status, 202, answer)
        answer = self.curl(outcome, pid, query=f"?wait={WAIT_SECONDS}")
        self.assertEqual((answer.status, answer.json), (200, 42))
        self.assertEqual(answer.headers["actord-pid"], pid)
        answer = self.curl(one, pid)
        self.assertEqual((answer.status, answer.json["code"]),
                         (400, "failed_precondition"))

        for route, query, status in (
                ("POST /v1/yields/{token}/result", "", "charged"),
                ("POST /v1/yields/{token}/error", "?code=aborted", "compensated")):
            pid = self.curl(submit, "order", body=json.dumps(
                {"order": "17", "amount_cents": 4200})).json["pid"]
            token = self.token_of(pid)
            answer = self.curl("GET /v1/yields", query=f"?pid={pid}")
            self.assertEqual((answer.status, answer.json["yields"][0]["token"]),
                             (200, token))
            answer = self.curl("GET /v1/calls", query=f"?calleePid={pid}")
            self.assertEqual((answer.status, answer.json), (200, {}))
            answer = self.curl(route, token, query=query, body='"paid"')
            self.assertEqual((answer.status, answer.json["answer"]),
                             (200, "ANSWER_ACCEPTED"))
            answer = self.curl(outcome, pid, query=f"?wait={WAIT_SECONDS}")
            self.assertEqual((answer.status, answer.json["status"]), (200, status))
        answer = self.curl("POST /v1/processes/@{name}/call/{topic}", "visits", "get",
                           query="?processType=counter&input=7", body="")
        self.assertEqual((answer.status, answer.json,
                          answer.headers["actord-started"]), (200, 7, "true"))
        self.assertEqual(self.used, set(ROUTE.findall(DOC)))


class StreamsAndPages(CurlCase):

    def options(self):
        return ("--store", self.directory / "store",
                "--admin-link-key", self.directory / "link.key")

    def setUp(self):
        super().setUp()
        self.actor = self.connect(self.daemon)

    def test_history_of_a_process_ends_by_itself(self):
        pid = self.actor.submit("counter", b"1", durability=DURABLE)
        self.actor.call(pid, "add", b"2")
        answer = self.get(f"/v1/history?pid={pid}", "-N")
        self.assertEqual((answer.status, answer.headers["content-type"]),
                         (200, "text/event-stream"))
        events = re.findall(r"^event: (\w+)\ndata: (.*)\n\n", answer.text, re.MULTILINE)
        self.assertEqual(events[-1], ("end", "{}"))
        kinds = [entry for name, data in events[:-1] for entry in
                 json.loads(data)["entries"]]
        self.assertEqual({name for name, _ in events[:-1]}, {"entries"})
        self.assertIn("add", json.dumps(kinds))

    def test_publications_come_while_curl_runs(self):
        herald = self.actor.submit("probe.herald")
        curl = self.begin("curl", "-sSiN", f"http://127.0.0.1:{self.port}"
                          "/v1/publications?pattern=room/7")

        def data():
            while line := curl.stdout.readline().decode():
                if line.startswith("data: "):
                    return json.loads(line[len("data: "):])
            self.fail(f"curl has ended: {curl.stderr.read()}")

        self.assertEqual(data(), {}, "the subscription is open")
        for topic in ("room/8", "room/7"):
            self.actor.send(herald, topic, b"a move")
        [publication] = data()["publications"]
        self.assertEqual((publication["topic"], publication["publisherPid"],
                          data_of(publication["payload"])),
                         ("room/7", herald, b"a move"))

    def test_link_asks_and_is_answered_once(self):
        pid = self.actor.submit("probe", b'{"command": "manual.do"}', "yield")
        link = self.actorctl("yields", "link", self.token_of(pid), "--expires", "1h",
                             "--text", "Refund order 17?", "--value", "approve")
        path = "/v1/links/" + link.stdout.strip().rpartition("/")[2]
        asked = self.get(path)
        self.assertEqual((asked.status, asked.headers["content-type"]),
                         (200, "text/html; charset=utf-8"))
        self.assertIn("Refund order 17?", asked.text)
        self.assertEqual(self.get(path, "-d", "value=0").status, 200)
        outcome = json.loads(self.actor.wait(pid).result.data)
        self.assertEqual(outcome["payload"], '"approve"')
        self.assertEqual(self.get(path, "-d", "value=0").status, 410)
        self.assertEqual(self.get(path + "A").status, 404)

    def test_description_has_each_method(self):
        answer = self.get("/openapi.json")
        self.assertEqual((answer.status, answer.headers["content-type"]),
                         (200, "application/json"))
        self.assertRegex(answer.json["openapi"], r"^3\.1\.")
        self.assertLessEqual({f"/actord.v1.ActorService/{method}" for method in UNARY},
                             set(answer.json["paths"]))
