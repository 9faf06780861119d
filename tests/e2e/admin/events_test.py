"""Processes watched, and histories read, over HTTP: server-sent events."""

import json
import signal

from admin.api import Api, data_of
from admin.pages import admin_port
from harness.case import DURABLE
from harness.tokens import TokenCase
from harness.waiting import eventually

LISTEN = ("--admin-listen", "127.0.0.1:0", "--admin-api")


class Events:
    """One open event stream."""

    def __init__(self, api, query="", headers=None, path="/v1/events"):
        self._connection = api.connection()
        self._connection.request("GET", path + query,
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


class EventsCase(TokenCase):

    def start(self, *options):
        self.viewer, self.client = self.token("viewer"), self.token("client")
        self.daemon = self.serve(*LISTEN, *options)
        self.port = admin_port(self.daemon)
        self.actor = self.connect_with(self.daemon, self.client)
        return Api(self.port, self.viewer)

    def open(self, api, query="", headers=None, **more):
        events = Events(api, query, headers, **more)
        self.addCleanup(events.close)
        return events


class EventsTest(EventsCase):

    def test_labels_select(self):
        api = self.start()
        acme, _ = (self.actor.submit("counter", b"1", labels=labels) for labels in
                   ({"tenant": "acme", "urgent": ""}, {"tenant": "acme"}))
        events = self.open(api, "?label=tenant=acme&label=urgent")
        _, _, data = events.next()
        self.assertEqual([one["pid"] for one in data["snapshot"]["processes"]],
                         [acme])
        refused = self.open(api, "?labels=urgent")
        self.assertEqual(refused.answer.status, 400)
        self.assertIn("use label, once for each value",
                      refused.answer.read().decode())

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

    def test_need_the_right_to_watch_and_end_with_the_token(self):
        api = self.start()
        refused = self.open(Api(self.port))
        self.assertEqual(refused.answer.status, 401)
        for query, says in (("?no=1", "no is not a field of"),
                            ("?processTpe=a", r'did you mean \"processType\"?'),
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


class HistoryTest(EventsCase):

    def history(self, api, query):
        return self.open(api, query, path="/v1/history")

    def test_of_a_process_is_read_and_followed(self):
        api = self.start("--store", self.directory / "store")
        pid = self.actor.submit("counter", b"5", durability=DURABLE)
        self.actor.call(pid, "add", b"12345")
        own = Api(self.port, self.client)
        once = self.history(own, f"?pid={pid}&maxPayloadBytes=4")
        self.assertEqual(once.answer.headers["Content-Type"], "text/event-stream")
        entries, end = [], None
        while (event := once.next()) is not None:
            self.assertIsNone(event[1])
            end = event[0], event[2]
            entries += event[2].get("entries", [])
        self.assertEqual(end, ("end", {}))
        kinds = [one["kind"].removeprefix("HISTORY_KIND_") for one in entries]
        self.assertEqual((kinds[0], kinds[-1]), ("SUBMITTED", "UP_TO_HERE"))
        [call] = [one for one in entries if one["kind"] == "HISTORY_KIND_CALL"]
        self.assertEqual(data_of(call["payload"]), b"1234")
        # A viewer sees that there was a payload. New entries follow.
        live = self.history(api, f"?pid={pid}&follow=true")
        name, _, first = live.next()
        self.assertEqual(name, "entries")
        self.assertNotIn("payload", str([one for one in first["entries"]
                                         if "payload" in one]))
        self.actor.terminate(pid, "enough")
        while "HISTORY_KIND_ENDED" not in str(event := live.next()):
            self.assertEqual(event[0], "entries")
        self.assertEqual(live.until("end")[2], {})

    def test_is_refused_as_over_grpc(self):
        api = self.start()
        for query, says in (("?pid=1.1.0.1", "DURABILITY_OFF"),
                            ("?no=1", "no is not a field of")):
            refused = self.history(api, query)
            self.assertEqual(refused.answer.status, 400, query)
            self.assertIn(says, refused.answer.read().decode(), query)
        self.assertEqual(self.history(Api(self.port), "?pid=x").answer.status, 401)
        self.assertEqual(api.raw("/v1/history").status, 405)

class OutcomeEvents(EventsCase):

    def outcome(self, api, pid, query="", accept="text/event-stream"):
        return self.open(api, query, {"Accept": accept},
                         path=f"/v1/processes/{pid}/outcome")

    def test_one_event_comes_when_the_process_ends(self):
        self.start()
        api = Api(self.port, self.client)
        pid = self.actor.submit("counter", b"40")
        # The head comes at once, so this connection can be read in a browser.
        events = self.outcome(api, pid)
        self.assertEqual((events.answer.status, events.answer.headers["Content-Type"]),
                         (200, "text/event-stream"))
        self.actor.send(pid, "add", b"2")
        self.actor.send(pid, "stop")
        name, _, data = events.next()
        self.assertEqual((name, data["outcome"]["pid"],
                          data_of(data["outcome"]["result"])), ("outcome", pid, b"42"))
        self.assertIsNone(events.next())

    def test_failures_and_names_and_processes_that_have_ended(self):
        self.start()
        api = Api(self.port, self.client)
        pid = self.actor.submit("probe", method="collect", name="desk")
        events = self.outcome(api, "@desk")
        self.actor.terminate(pid)
        for one in (events, self.outcome(api, pid, accept="Text/Event-Stream;q=1, */*")):
            name, _, data = one.next()
            self.assertEqual((name, data["outcome"]["failure"]["reason"]),
                             ("outcome", "FAILURE_REASON_TERMINATED"))
            self.assertIsNone(one.next())

    def test_refusals_are_ordinary_errors(self):
        viewer = self.start()
        api = Api(self.port, self.client)
        pid = self.actor.submit("counter")
        for one, status in (
                (self.outcome(api, "1.7.7.7"), 404), (self.outcome(api, "x"), 400),
                (self.outcome(viewer, pid), 403), (self.outcome(api, pid, "?wait=1"), 400),
                (self.outcome(api, pid, accept="application/json, text/event-stream"),
                 202)):
            self.assertEqual((one.answer.status, one.answer.headers["Content-Type"]),
                             (status, "application/json"), one.answer.read())

    def test_end_of_the_daemon_and_of_the_client(self):
        self.start()
        api = Api(self.port, self.client)
        pid = self.actor.submit("counter")
        self.outcome(api, pid).close()
        events = self.outcome(api, pid)
        self.daemon.signal(signal.SIGTERM)
        name, _, data = events.next()
        self.assertIn(name, ("outcome", "end"), data)
        self.assertIsNone(events.next())

    def test_token_that_was_revoked_gets_no_outcome(self):
        admin = self.token("admin")
        self.start()
        api = Api(self.port, self.client)
        pid = self.actor.submit("counter")
        events = self.outcome(api, pid)
        self.revoke(self.client)
        eventually(lambda: self.outcome(api, pid).answer.status == 401,
                   "the end of the token")
        self.connect_with(self.daemon, admin).terminate(pid)
        name, _, data = events.next()
        self.assertEqual((name, data["code"]), ("end", "unauthenticated"))
        self.assertIsNone(events.next())
