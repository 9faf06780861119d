"""Links with which a person completes a yield, without a token."""

import base64
import concurrent.futures
import hashlib
import hmac
import json
import os
import re
import socket
import time
import urllib.parse

from admin.api import Api
from admin.pages import admin_port
from harness.case import EmptyCase, StoreCase
from harness.daemon import run_actord
from harness.tokens import TokenCase
from harness.waiting import eventually

LISTEN = ("--admin-listen", "127.0.0.1:0", "--admin-api")
HOSTILE = '<script>alert("1")</script>\'&\u202e'


def signed(key_file, token, expires, values=()):
    """A link, as the daemon signs it."""
    def text(value):
        return len(value.encode()).to_bytes(2, "big") + value.encode()
    content = (b"\x01" + int(expires).to_bytes(8, "big") + text(token) +
               text("tester") + text("") + bytes([len(values)]) +
               b"".join(text(value) for value in values))
    mac = hmac.new(bytes.fromhex(key_file.read_text()),
                   b"actord link to a yield\n" + content, hashlib.sha256)
    return "/v1/links/" + base64.urlsafe_b64encode(
        content + mac.digest()).decode().rstrip("=")


class Page:

    def __init__(self, port, path, method="GET", body=None, headers=None):
        connection = Api(port).connection()
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        self.status, self.headers = answer.status, answer.headers
        self.text = answer.read().decode()
        connection.close()
        title = re.search("<h1>(.*)</h1>", self.text)
        self.said = (self.status, title and title[1])


class Links:
    """Of a test with `self.port` and `self.daemon`."""

    def waiting(self, actor, **fields):
        """A process that waits for a person: its PID and the yield's token."""
        pid = actor.submit("probe", b'{"command": "manual.do"}', "yield", **fields)
        return pid, eventually(lambda: [one.token for one in actor.yields(
            pid=pid)], "the yield")[0]

    @staticmethod
    def logged(daemon, line):
        eventually(lambda: re.search(line, daemon.log()), line)

    def link(self, token, *words, **more):
        url = self.actorctl("yields", "link", token, *words, **more).stdout.strip()
        parts = urllib.parse.urlsplit(url)
        self.assertEqual(parts[:2], ("http", f"127.0.0.1:{self.port}"))
        return parts.path

    def get(self, path, method="GET"):
        return Page(self.port, path, method)

    def post(self, path, body="", headers=None):
        return Page(self.port, path, "POST", body, headers)


class LinksTest(Links, EmptyCase):

    def setUp(self):
        super().setUp()
        self.key = self.directory / "link.key"
        self.daemon = self.start_daemon(*LISTEN, "--admin-link-key", self.key)
        self.port = admin_port(self.daemon)
        self.actor = self.connect(self.daemon)

    def test_post_completes_once_and_get_never(self):
        pid, token = self.waiting(self.actor)
        path = self.link(token, "--text", f"Refund?\n{HOSTILE}", "--value",
                         "approve", "--value", HOSTILE)
        described = Api(self.port).raw("/openapi.json", method="GET").json[
            "paths"]["/v1/links/{link}"]
        self.assertEqual({method: set(described[method]["responses"])
                          for method in described},
                         {"get": {"200", "404", "410"},
                          "post": {"200", "400", "404", "410", "503"}})
        for method in ("GET", "HEAD", "GET"):
            page = self.get(path, method)
            self.assertEqual(page.status, 200)
        self.assertEqual(page.said, (200, "Please choose"))
        self.assertNotIn("<script", page.text)
        self.assertEqual(page.text.count(
            "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&#39;&amp;"), 2)
        self.assertNotIn(token, page.text)
        style = re.search("<style>(.*)</style>", page.text)[1].encode()
        digest = base64.b64encode(hashlib.sha256(style).digest()).decode()
        self.assertEqual(
            {name: page.headers[name] for name in (
                "Content-Security-Policy", "Referrer-Policy", "Cache-Control",
                "X-Frame-Options", "X-Content-Type-Options", "Content-Type")},
            {"Content-Security-Policy":
                 f"default-src 'none'; style-src 'sha256-{digest}'; "
                 "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
             "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
             "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff",
             "Content-Type": "text/html; charset=utf-8"})
        # Nothing but a value that it offers.
        for body in ("", "value=2", "value=-1", "value=approve", "value=",
                     "value=0&value=1"):
            self.assertEqual(self.post(path, body).said,
                             (400, "No answer was chosen"), body)
        self.assertEqual(self.post(path, "value=0&x=" + "x" * 2000).status, 413)
        self.assertEqual(Page(self.port, path, "PUT").status, 405)
        self.assertEqual(len(list(self.actor.yields(pid=pid))), 1)
        # One of several requests at the same time is the answer. A browser that may
        # send no referrer has no origin either.
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            pages = list(threads.map(lambda number: self.post(
                path, f"value={number % 2}", {"Origin": "null"}), range(8)))
        [done] = [page for page in pages if page.status == 200]
        for page in pages:
            if page is not done:
                self.assertEqual(page.said, (410, "This was already answered"))
        value = json.loads(self.actor.wait(pid).result.data)
        self.assertEqual(value["code"], "OK")
        value = json.loads(value["payload"])
        self.assertIn(value, ("approve", HOSTILE))
        self.assertEqual("approve" in done.text, value == "approve")
        self.assertEqual(self.get(path).said, (410, "This was already answered"))
        self.logged(self.daemon, r"by a link of 127\.0\.0\.1:\d+, used from")
        self.assertEqual(self.daemon.log().count(": ANSWER_ACCEPTED"), 1)
        # A link that is used again does not fill the log.
        lines = self.daemon.log().count("by a link of")
        for _ in range(20):
            self.assertEqual(self.post(path, "value=0").said,
                             (410, "This was already answered"))
        self.assertEqual(self.daemon.log().count("by a link of"), lines)

    def test_answer_of_a_client_that_goes_at_once_is_logged(self):
        for _ in range(5):
            pid, token = self.waiting(self.actor)
            path = self.link(token, "--value", "no", "--value", "yes")
            body = b"value=1"
            with socket.create_connection(("127.0.0.1", self.port)) as client:
                client.sendall(
                    f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
                    "application/x-www-form-urlencoded\r\nContent-Length: "
                    f"{len(body)}\r\n\r\n".encode() + body)
            self.assertIn(b"yes", self.actor.wait(pid).result.data)
            self.logged(self.daemon, re.escape(
                f'audit: CompleteYield {{pid: "{pid}" value: "yes"}}'))

    def test_each_end_has_a_page(self):
        _, token = self.waiting(self.actor)
        path, soon = self.link(token), time.time() + 1000
        self.assertEqual(self.get(path).said, (200, "Please confirm"))
        text = path.rsplit("/", 1)[1]
        for forged in (text[:-1], text[:30] + ("A" if text[30] != "A" else "B") +
                       text[31:], "", "A", "A" * 60, text * 20, "%00", token,
                       text[:-43] + text[-43:].swapcase()):
            for page in (self.get("/v1/links/" + forged),
                         self.post("/v1/links/" + forged)):
                self.assertEqual(page.said, (404, "This link is not valid"))
        over = signed(self.key, token, time.time() - 1)
        for page in (self.get(over), self.post(over)):
            self.assertEqual(page.said, (410, "This link has expired"))
        # The links above have completed nothing.
        self.assertEqual(self.post(signed(self.key, token, soon)).said,
                         (200, "Thank you"))
        pid, token = self.waiting(self.actor)
        path = self.link(token, "--expires", "1h")
        self.actor.terminate(pid)
        self.actor.wait(pid)
        for page in (self.get(path), self.post(path)):
            self.assertEqual(page.said, (410, "This is no longer needed"))
        unknown = signed(self.key, token[:-1] + "9", soon)
        for page in (self.get(unknown), self.post(unknown)):
            self.assertEqual(page.said, (404, "Nothing waits for this answer"))
        # Links that cannot be made.
        for words, says in (((token,), "YIELD_NOT_WAITING"),
                            ((token + ".1",), "is of a task"),
                            (("no",), "INVALID_YIELD_TOKEN"),
                            ((token, "--expires", "721h"), "1 s to 30 days"),
                            ((token, "--expires", "0s"), "1 s to 30 days"),
                            ((token, "--text", "x" * 501), "text"),
                            ((token, "--value", ""), "empty"),
                            ((token, "--value", "x" * 101), "values"),
                            ((token, *("--value", "x") * 9), "more than 8")):
            done = self.actorctl("yields", "link", *words, status=None)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(says, done.stderr)

    def test_key_is_for_the_daemon_alone(self):
        self.assertEqual(self.key.stat().st_mode & 0o7777, 0o600)
        self.assertEqual(len(bytes.fromhex(self.key.read_text())), 32)
        options = ("--listen", "127.0.0.1:0", *LISTEN, "--admin-link-key", self.key)
        for mode, text, says in ((0o640, None, "has mode 0640"),
                                 (0o604, None, "has mode 0604"),
                                 (0o600, "a" * 63, "is not a key"),
                                 (0o600, "", "is not a key")):
            if text is not None:
                self.key.write_text(text)
            os.chmod(self.key, mode)
            refused = run_actord(*options)
            self.assertEqual(refused.returncode, 78, refused.stderr)
            self.assertIn(f"admin.link_key: {self.key}: {says}", refused.stderr)
        for wrong, says in ((("--admin-link-key", self.key), "set admin.listen"),
                            (("--admin-listen", f"unix:{self.directory}/a",
                              "--admin-api", "--admin-link-key", self.key),
                             "set admin.link_url"),
                            ((*LISTEN, "--admin-link-url", "ftp://a"),
                             "is not a URL")):
            refused = run_actord("--listen", "127.0.0.1:0", *wrong,
                                 "--check-config")
            self.assertIn(refused.returncode, (64, 78), refused.stderr)
            self.assertIn(says, refused.stderr)


class DurableLinksTest(Links, StoreCase):

    def setUp(self):
        super().setUp()
        self.start_with = (*LISTEN, "--admin-link-key", self.directory / "key",
                           "--admin-link-url", "https://approve.example/to")

    def restart(self, exit_status):
        self.kill()
        self.start(exit_status)
        self.port = admin_port(self.daemon)

    def test_link_works_once_over_restarts(self):
        actor = self.start(exit_status=-9)
        pid = actor.submit("order", b'{"order": "o", "amount_cents": 1, '
                           b'"hold_ms": 0}', durability=2)
        token = eventually(lambda: [one.token for one in actor.yields(pid=pid)],
                           "the payment")[0]
        url = self.actorctl("yields", "link", token, "--value", "paid").stdout
        base, path = url.strip().split("/to", 1)
        self.assertEqual(base, "https://approve.example")
        self.restart(exit_status=-9)
        headers = {"Host": "approve.example", "Authorization": "Bearer wrong"}
        self.assertEqual(self.get(path).said, (200, "Please choose"))
        self.assertEqual(self.post(path, "value=0", headers).said,
                         (200, "Thank you"))
        self.restart(exit_status=0)
        for page in (self.post(path, "value=0", headers), self.get(path)):
            self.assertEqual(page.said, (410, "This was already answered"))


class LinkAccessTest(Links, TokenCase):

    def test_link_is_of_its_maker_and_needs_no_token(self):
        worker = self.token("worker", "--work", "manual.*", name="desk")
        other = self.token("worker", "--work", "payment.*", name="till")
        client = self.token("client", name="alice")
        daemon = self.serve(*LISTEN, "--admin-link-key", self.directory / "key")
        self.port = admin_port(daemon)
        alice = self.connect_with(daemon, client)
        pid = alice.submit("probe", b'{"command": "manual.do"}', "yield")
        token = eventually(lambda: [one.token for one in alice.yields(pid=pid)],
                           "the yield")[0]

        def make(who):
            return Api(self.port, who).call("CreateYieldLink", {
                "token": token, "values": ["yes"], "expiresIn": "60s"})

        self.assertEqual(make(client).refusal[2], "ROLE_NOT_ALLOWED")
        self.assertIn(make(other).refusal[2],
                      ("YIELD_NOT_WAITING", "NAME_NOT_ALLOWED"))
        admin = self.token("admin", name="boss")
        made = eventually(lambda: (lambda answer: answer.status == 200 and answer)(
            make(admin)), "the new token").json
        path = urllib.parse.urlsplit(made["url"]).path
        self.assertIn("expireTime", made)
        who = f"boss (token {admin[4:12]}, admin)"
        self.logged(daemon, re.escape(
            f'audit: CreateYieldLink {{token: "of process {pid}"') +
            f".* by {re.escape(who)}: done")
        self.assertEqual(self.get(path).status, 200)
        self.assertEqual(self.post(path, "value=0").said, (200, "Thank you"))
        self.logged(daemon, re.escape(
            f'audit: CompleteYield {{pid: "{pid}" value: "yes"}} by a link of '
            f"{who}, used from 127.0.0.1:") + r"\d+: ANSWER_ACCEPTED")
        self.assertEqual(daemon.log().count(token), 0)
        # It gives no other right.
        self.assertEqual(Api(self.port).call("GetStatus").refusal[2],
                         "TOKEN_MISSING")
        self.assertEqual(Api(self.port).raw(
            f"/v1/yields/{token}/result", b"1").refusal[2], "TOKEN_MISSING")
