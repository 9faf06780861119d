"""Processes watched over HTTP: server-sent events."""

import json

from admin.api import Api
from admin.pages import admin_port
from harness.tokens import TokenCase
from harness.waiting import eventually

LISTEN = ("--admin-listen", "127.0.0.1:0", "--admin-api")


class Events:
    """One open event stream."""

    def __init__(self, api, query="", headers=None):
        self._connection = api.connection()
        self._connection.request("GET", "/v1/events" + query,
                                 headers=api.headers(headers))
        self.answer = self._connection.getresponse()

    def next(self):
        """The next event as (name, id, data); None: there are no more."""
        fields = {}
        while line := self.answer.readline().decode():
            if ": " in line:
                name, text = line.rstrip("\n").split(": ", 1)
                fields[name] = text
            elif fields:  # An empty line ends an event; else it is a heartbeat's.
                break
        if not fields:
            return None
        return fields["event"], fields.get("id"), json.loads(fields["data"])

    def until(self, name):
        while (event := self.next()) is not None:
            if event[0] == name:
                return event
        raise AssertionError(f"no event {name}")

    def close(self):
        self.answer.close()
        self._connection.close()


class EventsTest(TokenCase):

    def start(self, *options):
        self.viewer, self.client = self.token("viewer"), self.token("client")
        self.daemon = self.serve(*LISTEN, *options)
        self.port = admin_port(self.daemon)
        self.actor = self.connect_with(self.daemon, self.client)
        return Api(self.port, self.viewer)

    def open(self, api, query="", headers=None):
        events = Events(api, query, headers)
        self.addCleanup(events.close)
        return events

    def test_tell_snapshot_starts_and_ends_and_resume(self):
        api = self.start()
        before = self.actor.submit("counter", b"1")
        events = self.open(api, "?processType=counter")
        self.assertEqual(events.answer.status, 200)
        self.assertEqual(events.answer.headers["Content-Type"],
                         "text/event-stream")
        name, resume, data = events.next()
        self.assertEqual((name, [one["pid"] for one in
                                 data["snapshot"]["processes"]]),
                         ("snapshot", [before]))
        self.actor.run("echo", b"\"x\"")  # of another type
        pid = self.actor.submit("counter", b"1")
        _, last, data = events.until("events")
        self.assertEqual(data["events"]["events"][0]["started"]["pid"], pid)
        self.actor.cancel(pid)
        # The header counts more than the URL with which the page began.
        again = self.open(api, f"?processType=counter&resume_token={resume}",
                          {"Last-Event-ID": last})
        _, _, data = again.until("events")
        self.assertEqual(data["events"]["events"][0]["ended"]["pid"], pid)
        quiet = self.open(api, "?processType=counter&skipSnapshot=true")
        self.assertEqual(quiet.next()[0], "resume")
        # A client that goes is no longer counted.
        def streams():
            return int(api.call("GetStatus").json["counters"].get(
                "streamsOpen", "0"))
        self.assertEqual(streams(), 3)
        quiet.close()
        again.close()
        eventually(lambda: streams() == 1, "the streams of clients that are gone")
        self.assertIsNotNone(resume)
        # The daemon says why it ends.
        self.assertEqual(self.daemon.stop(), 0)
        end = events.until("end")[2]
        self.assertEqual((end["code"], end["details"][0]["debug"]["reason"]),
                         ("unavailable", "STOPPED"))
        self.assertIsNone(events.next())

    def test_are_for_those_who_may_watch_and_end_with_the_token(self):
        api = self.start()
        refused = self.open(Api(self.port))
        self.assertEqual(refused.answer.status, 401)
        for query, says in (("?no=1", "no is not a field of"),
                            ("?parentPid=x", "parent_pid"),
                            ("?processType=a&processType=b", "given twice"),
                            ("?resumeToken=x&resume_token=x", "given twice"),
                            ("?resumeToken=x", "resume_token")):
            refused = self.open(api, query)
            self.assertEqual(refused.answer.status, 400, query)
            self.assertIn(says, refused.answer.read().decode())
        self.assertEqual(api.raw("/v1/events").status, 405)
        for header in ({"Origin": "http://evil.example"},
                       {"Sec-Fetch-Site": "cross-site"}):
            self.assertEqual(self.open(api, headers=header).answer.status, 403)
        self.open(api, headers={"Sec-Fetch-Site": "same-origin"}).close()
        events = self.open(api)
        self.assertEqual(events.next()[0], "snapshot")
        self.revoke(self.viewer)
        end = events.until("end")[2]
        self.assertEqual((end["code"], end["details"][0]["debug"]["reason"]),
                         ("unauthenticated", "TOKEN_INVALID"))
