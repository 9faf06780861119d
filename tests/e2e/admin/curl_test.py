"""Each line with curl in the docs does what stands beside it, and each short route
answers curl itself."""

import json
import os
import re
import shutil
import signal
import subprocess

from admin.pages import admin_port
from harness import places
from harness.case import EmptyCase
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
        self.daemon = self.start_daemon(*LISTEN)
        self.port = admin_port(self.daemon)

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

    def get(self, path):
        return self.end(self.begin("curl", "-sSi", f"http://127.0.0.1:{self.port}{path}"))

    def token_of(self, pid):
        return eventually(lambda: self.get(f"/v1/yields?pid={pid}").json.get(
            "yields"), "the payment")[0]["token"]


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
        self.assertEqual(set(lines), {service + "Submit", service + "Await", order,
                                      result, "/v1/events"})
        answer = self.end(self.line(lines[service + "Submit"]))
        self.assertEqual((answer.status, answer.headers["content-type"]),
                         (200, "application/json"))
        self.assertEqual(answer.json["receipt"], "RECEIPT_MEMORY")
        self.assertIn(PID_IN_DOCS, lines[service + "Await"])
        answer = self.end(self.line(lines[service + "Await"], answer.json["pid"]))
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
