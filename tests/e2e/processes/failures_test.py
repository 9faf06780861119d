"""Processes that fail, and processes that wait: what the daemon keeps and logs of
them, and what actorctl shows."""

import json
import signal
import subprocess
import unittest

import grpc
from actord.v1 import process_pb2
from harness import places
from harness.cli import FAILED, INTERRUPTED, CliCase
from harness.connection import CALL_SECONDS
from harness.waiting import eventually

# A process that takes no messages for a minute.
DEAF = json.dumps({"order": "17", "amount_cents": 1, "hold_ms": 60_000}).encode()


class FailureCase(CliCase):

    def failures(self, *words):
        return self.json("failures", *words)

    def failed(self, method, text=b"", **fields):
        """A process of the probe that fails; its PID."""
        before = len(self.failures())
        pid = self.actor.submit("probe", text, method, **fields)
        eventually(lambda: len(self.failures()) > before, "the failure")
        return pid


class Failures(FailureCase):

    def test_throw_is_kept_logged_and_described(self):
        pid = self.failed("throw", b"split tank", name="tanks/1")
        [failure] = self.failures()
        self.assertEqual(
            {key: failure[key] for key in ("pid", "process_type", "name",
                                           "parent_pid", "linked_pid", "steps")},
            {"pid": pid, "process_type": "probe", "name": "tanks/1",
             "parent_pid": "", "linked_pid": "", "steps": 1})
        self.assertEqual(failure["failure"]["reason"], "EXCEPTION")
        self.assertIn("split tank", failure["failure"]["message"])
        self.assertRegex(self.output("failures"),
                         rf"{pid} +tanks/1 +probe +EXCEPTION +.*split tank")
        self.assertEqual(self.output("failures", "-o", "name"), pid + "\n")
        line = rf"process {pid} \(probe @tanks/1\) failed: EXCEPTION, INTERNAL: "
        eventually(lambda: "failed: EXCEPTION" in self.daemon.log(), "the line")
        self.daemon.wait_for_match(line + ".*split tank")
        described = self.output("describe", pid)
        self.assertRegex(described, r"State: +FAILED")
        self.assertRegex(described, r"Text: +.*split tank")

    def test_lists_are_filtered(self):
        self.failed("throw", b"first")
        self.failed("fail", b"second")
        self.assertEqual([one["failure"]["message"] for one in
                          self.failures("--newest", "--limit", "1")], ["second"])
        self.assertEqual(self.failures("--type", "order"), [])
        self.assertEqual(len(self.failures("--type", "probe", "--since", "1h")), 2)
        [first, second] = self.failures()
        response = self.actor.failures(after_id=first["id"])
        self.assertEqual([one.id for one in response.failures], [second["id"]])
        for wrong in ("1", "x.1", first["id"] + "0x"):
            self.assert_refused(
                lambda wrong=wrong: self.actor.failures(after_id=wrong),
                code=grpc.StatusCode.INVALID_ARGUMENT, reason="INVALID_FIELD",
                message="is not the id of an entry of this list",
                field="after_id")

    def test_summary_counts_equal_failures(self):
        self.failed("throw", b"no stock")
        newest = [self.failed("fail", b"refused") for _ in range(3)][-1]
        first, second = self.failures("--summary")
        self.assertEqual((first["count"], first["newest"]["pid"]), (3, newest))
        self.assertEqual(second["count"], 1)
        self.assertIn("no stock", second["newest"]["failure"]["message"])
        rows = self.output("failures", "--summary").splitlines()
        self.assertEqual(len(rows), 3)
        self.assertRegex(rows[1], rf"^ +3 +probe +FAILED +\S+ ago +{newest} +refused$")
        self.assertEqual(len(self.failures("--summary", "--limit", "1")), 1)
        self.assertEqual(self.failures("--summary", "--type", "order"), [])

    def test_refusal_of_a_child_can_be_awaited(self):
        parent = self.failed("spawn_step", b"refuse")
        [failure] = self.failures()
        self.assertEqual(failure["parent_pid"], parent)
        self.assertEqual(failure["failure"]["reason"], "INIT_REFUSED")
        self.daemon.wait_for_line(f"(probe, parent {parent}) failed: INIT_REFUSED")
        self.assert_complains(FAILED, "INIT_REFUSED", "await", failure["pid"])

    def test_ends_that_somebody_asked_for_are_no_failures(self):
        self.actor.run("echo", b"1")
        for end in (self.actor.cancel, self.actor.terminate):
            pid = self.actor.submit("counter")
            end(pid)
            self.actor.wait(pid)
        with self.assertRaises(grpc.RpcError):
            self.actor.submit("probe", b"never", "refuse")
        self.assertEqual(self.failures(), [])
        self.assertNotIn("failed:", self.daemon.log())

    def test_follow_shows_failures_as_they_happen(self):
        self.failed("throw", b"before")
        follower = subprocess.Popen(
            [str(places.ACTORCTL), "failures", "--follow", "-o", "jsonl"],
            stdout=subprocess.PIPE, text=True, cwd=self.directory,
            env=places.clean_environment(ACTORD_ADDRESS=self.daemon.address))
        self.addCleanup(follower.kill)
        with follower.stdout:
            self.assertIn("before", follower.stdout.readline())
            self.failed("throw", b"meanwhile")
            self.assertIn("meanwhile", follower.stdout.readline())
            follower.send_signal(signal.SIGINT)
            self.assertEqual(follower.wait(), INTERRUPTED)

    def test_caller_is_told_which_process_has_ended(self):
        pid = self.actor.submit("probe", method="answer")
        refusal = self.assert_refused(
            lambda: self.actor.call(pid, "end"), code=grpc.StatusCode.ABORTED,
            reason="CALLEE_ENDED", message=f"process {pid}, which was called")
        self.assertEqual(refusal.metadata, {"pid": pid, "end": "DONE"})


class Waiting(FailureCase):

    def waiting(self):
        """A process that waits for a command that nobody carries out."""
        return self.actor.submit(
            "probe", json.dumps({"command": "manual.approve"}).encode(), "yield",
            name="offers/9")

    def test_describe_shows_names_plugin_and_yields(self):
        pid = self.waiting()
        eventually(self.actor.yields, "the yield")
        described = self.output("describe", pid)
        self.assertRegex(described, r"Names: +offers/9\n")
        self.assertRegex(described, r"Plugin: +probe")
        self.assertRegex(described, r"Waits for: +manual\.approve for .*, no worker "
                                    r"subscribes to it")
        self.assertEqual(self.json("describe", pid)["names"], ["offers/9"])

    def test_a_command_of_a_plugin_without_an_answer(self):
        pid = self.actor.submit(
            "probe", json.dumps({"command": "probe.slow", "payload": "15000",
                                 "timeout_ms": 60000}).encode(), "yield")
        [found] = eventually(lambda: self.json("stuck", "--older-than", "0s"),
                             "the command")
        self.assertEqual((found["pid"], found["what"]), (pid, "COMMAND"))
        self.assertRegex(found["why"], r"^waits \S+ for the command probe\.slow of plugin "
                                       "probe, whose handler is in the daemon; the call "
                                       "fails in ")
        self.assertRegex(self.output("describe", pid),
                         r"Waits for: +the command probe\.slow of plugin probe for ")
        waiting, = self.json("describe", pid)["calls"]
        self.assertEqual((waiting["command"], waiting["plugin"]),
                         ("probe.slow", "probe"))
        timer = self.actor.submit("probe", b"60000", "sleep")
        eventually(lambda: "Waits for" in self.output("describe", timer), "the timer")
        self.assertRegex(self.output("describe", timer),
                         r"Waits for: +the command timer\.sleep of the daemon for ")
        self.actor.wait(pid)
        self.assertEqual(self.json("stuck", "--older-than", "0s"), [],
                         "a timer is not stuck")
        self.actor.terminate(timer)

    def test_stuck_says_what_waits_for_what(self):
        pid = self.waiting()
        eventually(self.actor.yields, "the yield")
        self.assertEqual(self.json("stuck"), [], "nothing has waited for a minute")
        deaf = self.actor.submit("order", DEAF)
        self.actor.send(deaf, "note")
        found = {one["pid"]: one for one in
                 self.json("stuck", "--older-than", "0s")}
        self.assertEqual(set(found), {pid, deaf})
        self.assertEqual(found[pid]["what"], "YIELD")
        self.assertRegex(found[pid]["why"], r"^waits \S+ for manual\.approve; no "
                                            r"worker subscribes to it$")
        self.assertEqual(found[deaf]["what"], "MAILBOX")
        self.assertIn("takes no messages; 1 message waits", found[deaf]["why"])
        self.assertRegex(self.output("stuck", "--older-than", "0s", "--type",
                                     "probe"), rf"{pid} +probe +\S+ +waits ")

    def test_processes_that_wait_for_the_same_share_a_line(self):
        command = json.dumps({"command": "manual.approve"}).encode()
        pids = [self.actor.submit("probe", command, "yield") for _ in range(3)]
        eventually(lambda: len(self.actor.yields()) == 3, "the yields")
        lines = self.output("stuck", "--older-than", "0s").splitlines()
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[1], r"^\S+ +probe +\S+ +3 processes wait for "
                                   r"manual\.approve; no worker subscribes to it$")
        self.assertIn(lines[1].split()[0], pids)
        for form in ("name", "wide"):
            self.assertEqual(sum(pid in self.output("stuck", "--older-than", "0s", "-o",
                                                    form) for pid in pids), 3, form)

    def test_a_call_between_processes_is_seen_from_both_sides(self):
        desk = self.actor.submit("probe", method="collect", name="desk")
        caller = self.actor.submit("probe", method="answer", name="clerk")
        self.actor.send(caller, "call", b"desk")
        eventually(lambda: self.actor.process(desk).mailbox_messages == 0 and
                   self.actor.process(desk).steps > 0, "the call")
        call, = self.json("describe", caller)["calls"]
        self.assertEqual((call["callee_pid"], call["callee_name"], call["pid"]),
                         (desk, "desk", caller))
        self.assertEqual(self.json("describe", desk)["owed_calls"], [call])
        self.assertEqual(self.json("describe", desk)["calls"], [])
        self.assertRegex(self.output("describe", caller),
                         rf"Waits for: +the answer of {desk} \(probe @desk\) for ")
        self.assertRegex(self.output("describe", desk),
                         rf"Owes an answer: +to {caller} \(probe @clerk\) for ")
        self.assertEqual(self.json("stuck"), [], "nothing has waited for a minute")
        found, = self.json("stuck", "--older-than", "0s")
        self.assertEqual((found["pid"], found["what"], found["chain"]),
                         (caller, "CALL", [desk]))
        self.assertRegex(found["why"], rf"^waits \S+ for the answer of {desk} "
                                       r"\(probe @desk\), which is IDLE: it waits")

    def test_a_call_from_outside_is_owed(self):
        desk = self.actor.submit("probe", method="collect", name="desk")
        call = self.actor.stub.Call.future(
            process_pb2.CallRequest(pid=desk, topic="ask"), timeout=CALL_SECONDS)
        owed = eventually(lambda: self.json("describe", desk)["owed_calls"],
                          "the call")
        self.assertEqual((owed[0]["pid"], owed[0]["callee_pid"]), ("", desk))
        self.assertRegex(self.output("describe", desk),
                         r"Owes an answer: +to a program outside "
                         r"\(127\.0\.0\.1:\d+, connection \d+\) for ")
        outside = owed[0]["outside"]
        client, = (one for one in self.json("clients")
                   if one["address"] == outside["address"])
        self.assertEqual(client["connection"], outside["connection"])
        found, = self.json("stuck", "--older-than", "0s")
        self.assertEqual((found["pid"], found["what"]), (desk, "OWES"))
        self.assertRegex(found["why"],
                         rf"^1 program outside \({outside['address']}, connection "
                         rf"{outside['connection']}\) waits for the answer of @desk, "
                         "which is IDLE: it waits for a message, and has not answered; "
                         "the call has waited ")
        self.assertRegex(self.output("describe", desk), r"Waits for: +a message\n")
        waiting = self.waiting()
        eventually(self.actor.yields, "the yield")
        self.assertEqual([one["pid"] for one in self.json("stuck", "--older-than", "0s")],
                         [desk, waiting], "the rarer one comes first")
        call.cancel()
        eventually(lambda: not self.json("describe", desk)["owed_calls"],
                   "the end of the call")

    def test_describe_in_json_has_the_yields(self):
        pid = self.waiting()
        token = eventually(self.actor.yields, "the yield")[0].token
        one, = self.json("describe", pid)["yields"]
        self.assertEqual((one["token"], one["command"], one["pid"]),
                         (token, "manual.approve", pid))
        self.assertEqual(self.json("describe", self.actor.submit("counter"))["yields"],
                         [])

    def test_describe_shows_links_and_monitors_from_both_sides(self):
        parent = self.actor.submit(
            "supervisor", json.dumps({"children": [{"id": "a", "type": "counter"}]})
            .encode())
        self.actor.call(parent, "started")
        child, = (one["pid"] for one in self.json("ps", "--parent", parent))
        of_parent, of_child = (self.json("describe", pid) for pid in (parent, child))
        for one, fields in ((of_parent, ([child], [child], [])),
                            (of_child, ([parent], [], [parent]))):
            self.assertEqual((one["linked_pids"], one["monitored_pids"],
                              one["monitor_pids"]), fields)
        self.assertRegex(self.output("describe", parent),
                         rf"Links: +{child}\nMonitors: +{child}\n")
        self.assertRegex(self.output("describe", child),
                         rf"Links: +{parent}\nMonitored by: +{parent}\n")


class StuckSteps(FailureCase):
    # A step that lasts keeps the only worker.
    OPTIONS = ("--workers", "1", "--max-blocked-threads", "0")

    def test_stuck_names_the_step_that_lasts_and_who_gets_no_worker(self):
        go_on = self.directory / "go on"
        self.addCleanup(go_on.touch)
        running = self.actor.submit("probe", method="collect")
        ready = self.actor.submit("counter")
        eventually(lambda: self.actor.process(ready).steps > 0, "its first step")
        self.actor.send(running, "hold", str(go_on).encode())
        eventually(lambda: self.actor.process(running).state ==
                   process_pb2.PROCESS_STATE_RUNNING, "the step")
        self.actor.send(ready, "add", b"1")
        found = {one["pid"]: (one["what"], one["why"]) for one in
                 self.json("stuck", "--older-than", "0s")}
        # A message stays in the mailbox until the step that takes it has ended.
        self.assertEqual(found, {
            running: ("STEP", "has been in one step for over 1s; 1 message waits"),
            ready: ("READY", "is ready, and no worker has run it; 1 message waits")})
        self.assertRegex(self.output("stuck", "--older-than", "0s", "--type", "counter"),
                         rf"\n{ready} +counter +>1s +is ready, and no worker has run it")
        self.assertEqual(self.json("stuck"), [], "younger than a minute")
        go_on.touch()
        self.actor.call(ready, "get")
        self.assertEqual(self.json("stuck", "--older-than", "0s"), [])


if __name__ == "__main__":
    unittest.main()
