"""Labels, ended processes and names: in lists, watches, actorctl and the JSON API."""

import json
import unittest

import grpc
from actord.v1 import process_pb2, watch_pb2
from admin.api import Api
from admin.pages import admin_port
from harness.case import EmptyCase
from harness.connection import CALL_SECONDS

VOLATILE = process_pb2.DURABILITY_VOLATILE
ENDED = process_pb2.PROCESS_STATE_ENDED
INVALID = grpc.StatusCode.INVALID_ARGUMENT


class Labels(EmptyCase):

    def setUp(self):
        super().setUp()
        self.daemon = self.start_daemon("--admin-listen", "127.0.0.1:0", "--admin-api")
        self.actor = self.connect(self.daemon)

    def list(self, **fields):
        """All processes, in pages of two."""
        request = process_pb2.ListProcessesRequest(page_size=2, **fields)
        found = []
        while True:
            page = self.actor.stub.ListProcesses(request, timeout=CALL_SECONDS)
            found += page.processes
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    def pids(self, **fields):
        return [process.pid for process in self.list(**fields)]

    def counter(self, name="", **labels):
        return self.actor.submit("counter", b"1", name=name, durability=VOLATILE,
                                 labels=labels)

    def stop(self, *pids):
        for pid in pids:
            self.actor.send(pid, "stop")
            self.actor.wait(pid)

    def test_lists_and_watches_select_by_labels(self):
        acme, urgent = self.counter(tenant="acme"), self.counter(tenant="acme", urgent="")
        other = self.counter(tenant="other")
        self.counter()
        self.assertCountEqual(self.pids(labels=["tenant"]), [acme, urgent, other])
        self.assertCountEqual(self.pids(labels=["tenant=acme"]), [acme, urgent])
        self.assertEqual(self.pids(labels=["tenant=acme", "urgent"]), [urgent])
        self.assertEqual(self.pids(labels=["urgent=x"]), [])
        self.assertEqual(dict(self.actor.process(urgent).labels),
                         {"tenant": "acme", "urgent": ""})

        watch = self.actor.stub.WatchProcesses(watch_pb2.WatchProcessesRequest(
            labels=["tenant=other"]), timeout=CALL_SECONDS)
        pages, events, token = [], [], ""
        for response in watch:
            if response.WhichOneof("update") == "snapshot":
                pages += response.snapshot.processes
                if response.snapshot.last:
                    self.stop(acme)
                    later = self.counter(tenant="other")
                    self.stop(later)
            else:
                events += response.events.events
                token = response.resume_token
            if len(events) == 2:
                break
        watch.cancel()
        self.assertEqual([process.pid for process in pages], [other])
        self.assertEqual((events[0].started.pid, events[1].ended.pid), (later, later))
        for event in (events[0].started, events[1].ended):
            self.assertEqual(dict(event.labels), {"tenant": "other"})
        for labels in ([], ["tenant=acme"], ["tenant"]):
            stranger = self.actor.stub.WatchProcesses(watch_pb2.WatchProcessesRequest(
                resume_token=token, labels=labels), timeout=CALL_SECONDS)
            self.assert_refused(lambda: next(stranger), code=INVALID,
                                reason="INVALID_RESUME_TOKEN", message="filters",
                                field="resume_token")

    def test_wrong_labels_are_refused(self):
        for labels, message in (
                ({"Tenant": "a"}, '"Tenant" is not a label key'),
                ({"": "a"}, "not a label key"), ({"a" * 64: ""}, "not a label key"),
                ({"a": "x" * 64}, "0 to 63 bytes"), ({"a": "\n"}, "control characters"),
                ({f"k{i}": "" for i in range(9)}, "there are 9 labels; the limit is 8")):
            self.assert_refused(lambda labels=labels: self.counter(**labels),
                                code=INVALID, reason="INVALID_FIELD", message=message,
                                field="labels")
        for fields, message, field in (
                ({"labels": ["=a"]}, "not a label key", "labels"),
                ({"labels": ["a"] * 9}, "has 9 items; the limit is 8", "labels"),
                ({"owner": "a"}, "only be combined with the state ENDED", "owner"),
                ({"end": process_pb2.PROCESS_END_DONE}, "ENDED", "end"),
                ({"end": 99, "state": ENDED}, "is not an end", "end"),
                ({"parent_pid": self.counter(), "state": ENDED}, "ENDED", "parent_pid")):
            self.assert_refused(lambda fields=fields: self.list(**fields), code=INVALID,
                                reason="INVALID_FIELD", message=message, field=field)
        self.assertEqual(self.pids(labels=["a"]), [])

    def test_repeat_with_other_labels_is_another_request(self):
        def submit(**labels):
            return self.actor.submit("counter", request_id="r", labels=labels)
        pid = submit(a="1", b="2")
        self.assertEqual(submit(b="2", a="1"), pid)
        self.assert_refused(lambda: submit(a="1"), code=INVALID,
                            reason="REQUEST_ID_REUSED", message="another request",
                            field="request_id")

    def test_ended_processes_are_listed_newest_first(self):
        first, second = self.counter("nightly", tenant="acme"), self.counter()
        self.stop(first)
        self.actor.terminate(second, "enough")
        self.actor.wait(second)
        echo = self.actor.submit("echo", b"1")
        self.actor.wait(echo)
        live = self.counter(tenant="acme")
        self.assertEqual(self.pids(state=ENDED), [echo, second, first])
        [one] = self.list(state=ENDED, labels=["tenant=acme"])
        self.assertEqual(
            (one.pid, one.process_type, list(one.names), dict(one.labels), one.end,
             one.state, one.end_code, one.steps > 0),
            (first, "counter", ["nightly"], {"tenant": "acme"},
             process_pb2.PROCESS_END_DONE, ENDED, 0, True))
        outcome = self.actor.wait(first)
        self.assertEqual((one.create_time, one.end_time),
                         (outcome.create_time, outcome.end_time))
        [one] = self.list(state=ENDED, end=process_pb2.PROCESS_END_TERMINATED)
        self.assertEqual((one.pid, one.end_code, one.end_message),
                         (second, grpc.StatusCode.ABORTED.value[0], "enough"))
        self.assertEqual(self.pids(state=ENDED, process_type="echo"), [echo])
        self.assertEqual(self.pids(state=ENDED, process_type="none"), [])
        self.assertEqual(self.pids(state=ENDED, owner="nobody-known"), [])
        self.assertEqual(self.pids(labels=["tenant"]), [live])

    def test_actorctl(self):
        pid = self.actorctl("submit", "counter", "1", "--name", "nightly", "-l",
                            "tenant=acme", "--label", "urgent=", "--volatile"
                            ).stdout.strip()
        plain = self.actorctl("submit", "counter", "1", "--volatile").stdout.strip()

        def shown(*words):
            return self.actorctl(*words).stdout

        self.assertEqual(shown("ps", "-l", "tenant=acme", "-l", "urgent", "-o",
                               "name").split(), [pid])
        self.assertEqual(shown("ps", "-l", "tenant=x", "-o", "name"), "")
        heads, *rows = shown("ps").splitlines()
        self.assertEqual(heads.split()[-1], "NAME")
        self.assertEqual([row.endswith(" nightly") for row in rows if pid in row], [True])
        self.assertNotIn("NAME", shown("ps", "-l", "none"))
        self.actorctl("terminate", plain)
        self.actor.wait(plain)
        self.assertIn("tenant=acme,urgent=", shown("ps", "-o", "wide"))
        [row] = json.loads(shown("ps", "-o", "json"))
        self.assertEqual((row["labels"], row["names"]),
                         ({"tenant": "acme", "urgent": ""}, ["nightly"]))
        self.assertRegex(shown("describe", pid), r"Labels: +tenant=acme,urgent=")
        self.actorctl("send", pid, "--topic", "stop")
        self.actorctl("await", pid)
        ended = shown("ps", "--ended", "-l", "tenant")
        self.assertRegex(ended, r"PID +TYPE +OUTCOME +ENDED +RAN +STEPS +NAME\n")
        self.assertRegex(ended, rf"{pid} +counter +DONE .* nightly\n")
        self.assertEqual(shown("ps", "--outcome", "terminated", "-o", "name").split(),
                         [plain])
        self.assertNotIn("NAME", shown("ps", "--outcome", "terminated"))
        self.assertEqual(shown("ps", "--state", "ended", "-o", "name").split(),
                         [pid, plain])
        lines = self.actorctl("submit", "--from-file", "-", "--wait", "-o", "jsonl",
                              stdin='{"type": "echo", "labels": {"batch": "7"}}\n').stdout
        self.assertEqual(shown("ps", "--ended", "-l", "batch=7", "-o", "name").split(),
                         [json.loads(lines)["pid"]])
        for words, message in (
                (("submit", "echo", "1", "-l", "tenant"), "is not KEY=VALUE"),
                (("submit", "echo", "1", "-l", "a=1", "-l", "a=2"), "given twice"),
                (("ps", "--ended", "--parent", pid), "live processes only"),
                (("ps", "--ended", "--state", "idle"), "state of a live process"),
                (("ps", "-l", "="), "not a label key")):
            status = 1 if words[-1] == "=" else 2  # the daemon says so
            self.assertIn(message, self.actorctl(*words, status=status).stderr)
        watched = self.actorctl("watch", "-l", "tenant=new", "--for", "100ms", "-o",
                                "jsonl").stdout
        self.assertNotIn("LIVE", watched)

    def test_json_api(self):
        api = Api(admin_port(self.daemon))
        answer = api.raw("/v1/processes/counter?label=tenant=acme&label=urgent="
                         "&durability=DURABILITY_VOLATILE", b"1")
        pid = answer.json["pid"]
        self.counter(tenant="other")
        answer = api.raw("/v1/processes?label=tenant=acme&label=urgent", method="GET")
        self.assertEqual(answer.status, 200, answer)
        [one] = answer.json["processes"]
        self.assertEqual((one["pid"], one["labels"]),
                         (pid, {"tenant": "acme", "urgent": ""}))
        pages, path = [], "/v1/processes?pageSize=1&label=tenant"
        while path:
            answer = api.raw(path, method="GET").json
            pages += answer["processes"]
            token = answer.get("nextPageToken")
            path = token and f"/v1/processes?pageSize=1&label=tenant&pageToken={token}"
        self.assertEqual(len(pages), 2)
        self.stop(pid)
        [one] = api.raw("/v1/processes?state=PROCESS_STATE_ENDED&label=tenant",
                        method="GET").json["processes"]
        self.assertEqual((one["pid"], one["end"]), (pid, "PROCESS_END_DONE"))
        for path in ("/v1/processes?label=", "/v1/processes?colour=red"):
            self.assertEqual(api.raw(path, method="GET").status, 400, path)


if __name__ == "__main__":
    unittest.main()
