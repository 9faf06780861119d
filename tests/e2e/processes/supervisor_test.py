"""Supervisors in a daemon: children that are killed, that cannot start, a tree
that the daemon starts with, and the order of its end."""

import json
import re
import signal
import subprocess
import unittest

import grpc
from harness import places
from harness.case import EmptyCase
from harness.cli import CliCase, FAILED, NOT_FOUND
from harness.connection import failure_name
from harness.daemon import MEASURED
from harness.daemon import run_actord
from harness.waiting import WAIT_SECONDS, eventually

BAD_CONFIGURATION = 78


def child(child_id, process_type="counter", /, **more):
    return {"id": child_id, "type": process_type, **more}


def tree(*children, **more):
    return json.dumps({"children": children, **more})


class SupervisorCase(CliCase):

    def submit(self, spec, **fields):
        pid = self.actor.submit("supervisor", spec.encode(), **fields)
        self.actor.call(pid, "started")
        return pid

    def ask(self, pid, topic="children", **payload):
        answer = self.actor.call(pid, topic, json.dumps(payload).encode())
        return json.loads(answer.result.data)

    def children(self, pid):
        return {each["id"]: each for each in self.ask(pid)["children"]}

    def running(self, pid, **but):
        """The children, when all run and none has the PID that `but` says."""
        def look():
            children = self.children(pid)
            if all(each["state"] == "running" for each in children.values()) \
                    and all(children[name]["pid"] != old
                            for name, old in but.items()):
                return children
            return None
        return eventually(look, "children that run")


class Supervisors(SupervisorCase):

    ENVIRONMENT = MEASURED

    def test_a_child_that_is_killed_is_started_again(self):
        pid = self.submit(tree(child("a"), child("b", name="store"),
                               strategy="rest_for_one"))
        before = self.children(pid)
        self.actorctl("terminate", before["a"]["pid"], "--reason", "a test")
        after = self.running(pid, **{name: each["pid"]
                                     for name, each in before.items()})
        self.assertEqual(after["a"]["restarts"], 1)
        self.assertEqual(after["a"]["last_end"], "terminated: a test")
        self.assertEqual(after["b"]["restarts"], 0)
        holder = self.actor.process("@store")
        self.assertEqual(holder.pid, after["b"]["pid"])
        self.assertEqual(holder.parent_pid, pid)

    def test_an_end_that_is_good_is_no_failure(self):
        pid = self.submit(tree(child("a", restart="transient")))
        self.actor.send(self.children(pid)["a"]["pid"], "stop")
        eventually(lambda: self.children(pid)["a"]["state"] == "ended",
                   "the end of the child")

    def test_a_child_that_dies_in_init_for_ever_is_given_up(self):
        pid = self.actor.submit("supervisor", tree(
            child("a"), child("bad", "probe", method="refuse",
                              input="not today"),
            backoff={"initial_ms": 10}).encode())
        outcome = self.actor.wait(pid)
        self.assertEqual(failure_name(outcome), "FAILED")
        self.assertRegex(outcome.failure.message,
                         r"child bad \(probe\) .*only 3 restarts.*not today")
        self.assertEqual(self.actor.status().counters.processes_live, 0)
        self.assert_serves()

    def test_init_that_fails_for_ever_and_is_never_given_up(self):
        """Thousands of attempts: the daemon answers, and does not grow."""
        pid = self.actor.submit("supervisor", tree(
            child("bad", "probe", method="refuse", input="x" * 10_000),
            intensity=1000, period_ms=1000,
            backoff={"initial_ms": 1, "max_ms": 2}).encode())

        def attempts(count):
            eventually(lambda: self.children(pid)["bad"]["restarts"] >= count,
                       f"{count} attempts", 60)
        attempts(200)
        before = self.daemon.resident_bytes()
        attempts(1200)
        self.assertLess(self.daemon.grown_bytes(before), 4 << 20)
        self.assert_serves()
        self.actor.cancel(pid, "enough")
        outcome = self.actor.wait(pid)
        self.assertEqual(failure_name(outcome), "CANCELLED")
        self.assertEqual(outcome.failure.message, "enough")

    def test_an_end_with_a_final_code_is_not_followed_by_a_restart(self):
        pid = self.submit(tree(
            child("a", "probe", method="fail", input="for good",
                  restart="transient", final_codes=["FAILED_PRECONDITION"]),
            child("b")))
        eventually(lambda: self.children(pid)["a"]["state"] == "ended",
                   "the end of the child")
        children = self.children(pid)
        self.assertEqual(children["a"]["restarts"], 0)
        self.assertEqual(children["a"]["last_end"], "failed: for good")
        self.assertEqual(children["b"]["state"], "running")

    def test_a_wrong_spec_is_refused_with_its_field(self):
        self.assert_refused(
            lambda: self.actor.submit("supervisor",
                                      tree(child("a", restart="always")).encode()),
            code=grpc.StatusCode.INVALID_ARGUMENT, reason="INIT_REFUSED",
            message=r'field "children\[0\].restart" is "always"', field="input")

    def test_children_are_driven_by_actorctl(self):
        pid = self.submit(tree())
        spec = json.dumps(child("a", input=40))
        started = json.loads(
            self.output("call", pid, spec, "--topic", "start_child"))
        self.assertEqual(self.actor.process(started["pid"]).parent_pid, pid)
        which = json.dumps({"id": "a"})
        again = json.loads(
            self.output("call", pid, which, "--topic", "restart_child"))
        self.assertNotEqual(again["pid"], started["pid"])
        self.output("call", pid, which, "--topic", "stop_child")
        self.assertEqual(self.children(pid)["a"]["state"], "stopped")
        self.output("call", pid, which, "--topic", "delete_child")
        self.assertEqual(self.children(pid), {})
        self.assert_complains(FAILED, 'no child "a"', "call", pid, which,
                              "--topic", "stop_child")

    def test_children_end_with_a_supervisor_that_is_killed(self):
        inner = child("inner", "supervisor",
                      input={"children": [child("b")]})
        pid = self.submit(tree(child("a"), inner))
        self.actor.call(self.children(pid)["inner"]["pid"], "started")
        self.actor.terminate(pid)
        eventually(lambda: self.actor.status().counters.processes_live == 0,
                   "the end of all")


class Tree(SupervisorCase):

    def test_draws_children_below_their_supervisor(self):
        lonely = self.actor.submit("counter")
        inner = child("inner", "supervisor",
                      input={"children": [child("b", name="b/1")]})
        pid = self.submit(tree(child("a"), inner), name="top")
        self.actor.call(self.children(pid)["inner"]["pid"], "started")
        lines = [re.split(r"(?<=\S)  +", line)[0]
                 for line in self.output("tree").splitlines()]
        self.assertEqual(lines[0], "PROCESS")
        self.assertIn("counter", lines)
        at = lines.index("supervisor @top")
        self.assertEqual(lines[at:at + 4], [
            "supervisor @top", "├─ a: counter", "└─ inner: supervisor",
            "   └─ b: counter @b/1"])
        rows = self.json("tree", "@top")
        self.assertEqual([(row["depth"], row["process_type"]) for row in rows],
                         [(0, "supervisor"), (1, "counter"), (1, "supervisor"),
                          (2, "counter")])
        self.assertEqual(rows[3]["names"], ["b/1"])
        self.assertEqual(rows[3]["parent_pid"], rows[2]["pid"])
        self.assertEqual(self.output("tree", lonely, "-o", "name"), lonely + "\n")
        self.assertEqual(
            len(self.output("tree", "--limit", "2", "-o", "name").split()), 2)
        self.assert_complains(NOT_FOUND, "nobody", "tree", "@nobody")

    def test_shows_children_that_are_down(self):
        pid = self.submit(tree(child("a"), backoff={"initial_ms": 3_600_000,
                                                    "max_ms": 3_600_000}))
        self.actor.terminate(self.children(pid)["a"]["pid"])
        eventually(lambda: self.children(pid)["a"]["state"] == "backoff",
                   "the pause")
        table = self.output("tree", pid, "-o", "wide")
        self.assertRegex(table, r"└─ a: counter +- +BACKOFF +- +1 +terminated")
        down = self.json("tree", pid)[1]
        self.assertEqual((down["child_id"], down["state"], down["restarts"]),
                         ("a", "BACKOFF", 1))
        self.assertNotIn("pid", down)
        self.assertEqual(self.output("tree", pid, "-o", "name"), pid + "\n")
        self.assertNotIn("BACKOFF", self.output("tree", pid, "--plain"))


class Limits(EmptyCase):

    def test_a_child_that_no_longer_fits_has_not_started(self):
        def config(size):
            return self.text_file(
                f'[limits]\nmax_payload_bytes = "{size}"\n')
        daemon = self.start_daemon("--config", config("1MiB"))
        actor = self.connect(daemon)
        pid = actor.submit("supervisor", tree(
            child("a", "probe", method="idle", input="x" * 8000),
            child("b")).encode())
        actor.call(pid, "started")

        def children():
            answer = actor.call(pid, "children")
            return {each["id"]: each
                    for each in json.loads(answer.result.data)["children"]}
        config("4KiB")
        daemon.signal(signal.SIGHUP)
        eventually(lambda: "configuration reloaded" in daemon.log(),
                   "the reload")
        actor.terminate(children()["a"]["pid"])
        eventually(lambda: "limits.max_payload_bytes is 4096"
                   in children()["a"].get("last_end", ""), "the attempt")
        self.assertEqual(children()["b"]["state"], "running")


class Boot(EmptyCase):

    def write(self, *children, **more):
        return self.text_file(tree(*children, **more), "tree.json")

    def run_with(self, path, *options):
        return run_actord(
            "--listen", "127.0.0.1:0", "--plugin-dir", places.PLUGINS,
            "--plugin", places.PROBE, "--boot-tree", path, *options)

    def test_the_tree_stands_when_the_daemon_serves(self):
        self.write(child("a"), child("b", name="b"), strategy="one_for_all")
        config = self.text_file(
            f'[boot]\ntree = "{self.directory}/tree.json"\n')
        daemon = self.start_daemon("--config", config)
        actor = self.connect(daemon)
        boot = actor.process("@boot")
        self.assertEqual(boot.process_type, "supervisor")
        self.assertEqual(actor.process("@b").parent_pid, boot.pid)
        daemon.wait_for_line("the boot tree has started")

    def test_a_tree_that_cannot_start_ends_the_daemon(self):
        done = self.run_with(self.write(
            child("a"), child("bad", "probe", method="refuse",
                              input="no disk")))
        self.assertEqual(done.returncode, BAD_CONFIGURATION, done.stderr)
        self.assertRegex(
            done.stderr, r"boot.tree: the tree cannot be started: child bad "
                         r"\(probe\).*no disk")

    def test_a_tree_that_takes_too_long_ends_the_daemon(self):
        done = self.run_with(self.write(
            child("bad", "probe", method="refuse"),
            backoff={"initial_ms": 3_600_000, "max_ms": 3_600_000}),
            "--boot-timeout", "200ms")
        self.assertEqual(done.returncode, 70, done.stderr)
        self.assertIn("the tree did not start within 200ms", done.stderr)

    def test_an_init_that_does_not_return_does_not_keep_the_daemon(self):
        done = self.run_with(self.write(child("a"), child("bad", "probe",
                                                          method="hang")),
                             "--boot-timeout", "200ms",
                             "--force-timeout", "300ms")
        self.assertEqual(done.returncode, 70, done.stderr)
        self.assertIn("the tree did not start within 200ms", done.stderr)
        self.assertIn("exiting although 1 steps", done.stderr)

    def begin(self, path, *options):
        """A daemon whose tree is not going to be up."""
        process = subprocess.Popen(
            [places.ACTORD, "--listen", "127.0.0.1:0",
             "--plugin", places.PROBE, "--boot-tree", path, *options],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env=places.clean_environment())
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, process, text):
        for line in process.stderr:
            if text in line:
                return
        self.fail(f"the daemon has not said {text}")

    def test_a_signal_ends_a_start_in_order(self):
        mourner = child("a", "mourner", input={"name": "a", "ms": 0})
        path = self.write(mourner, child("bad", "probe", method="refuse"),
                          backoff={"initial_ms": 3_600_000,
                                   "max_ms": 3_600_000})
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.begin(path, "--boot-timeout", "1h")
            self.wait_for(process, "restart in")
            process.send_signal(signal.SIGHUP)
            process.send_signal(number)
            self.wait_for(process, "told to end while the boot tree was starting")
            self.wait_for(process, "mourner a ends")
            self.assertEqual(process.wait(WAIT_SECONDS), 0)

    def test_a_signal_ends_a_start_whose_init_does_not_return(self):
        process = self.begin(
            self.write(child("bad", "probe", method="hang")),
            "--boot-timeout", "1h", "--force-timeout", "300ms",
            "--drain-timeout", "300ms")
        self.wait_for(process, "(probe): its Init has kept a worker")
        process.send_signal(signal.SIGTERM)
        self.wait_for(process, "exiting although 1 steps")
        self.assertEqual(process.wait(WAIT_SECONDS), 75)

    def test_an_init_that_hangs_is_given_up_after_its_start_timeout(self):
        process = self.begin(
            self.write(child("bad", "probe", method="hang", start_timeout_ms=50),
                       intensity=1, backoff={"initial_ms": 10}),
            "--boot-timeout", "1h", "--force-timeout", "300ms",
            "--drain-timeout", "300ms")
        self.wait_for(process, r"only 1 such starts are allowed; how it ended: did "
                               r"not start: Init did not return within 0.05 s")
        self.assertNotEqual(process.wait(WAIT_SECONDS), 0)

    def test_a_file_that_is_wrong_is_refused_with_its_field(self):
        for path, message in (
                (self.write(child("a", restart="always")),
                 r'boot.tree: .*tree.json: field "children\[0\].restart" is '
                 '"always"'),
                (self.text_file("{", "broken.json"), "is not JSON"),
                (self.text_file("", "empty.json"), "is empty"),
                (self.text_file(tree(child("a", input="x" * (1 << 20))),
                                "long.json"),
                 "is larger than 1MiB, the value of limits.max_payload_bytes"),
                (self.directory / "none.json", "No such file"),
                (self.directory, "directory")):
            for options in ((), ("--check-config",)):
                done = self.run_with(path, *options)
                self.assertEqual(done.returncode, BAD_CONFIGURATION, done.stderr)
                self.assertRegex(done.stderr, message)

    def test_a_tree_that_fails_later_is_logged(self):
        path = self.write(child("a"), intensity=0)
        daemon = self.start_daemon("--boot-tree", path)
        actor = self.connect(daemon)
        actor.terminate(json.loads(
            actor.call("@boot", "children").result.data)["children"][0]["pid"],
            "a test")
        eventually(lambda: "continues without it: child a (counter)" in daemon.log(),
                   "the log line")
        self.assertEqual(actor.run("echo", b"1").result.data, b"1")


class Shutdown(SupervisorCase):
    """Mourners say in the log that they end. The earlier a mourner was started,
    the faster it ends. If all were stopped at once, they would end in the order
    of their starts."""

    def mourner(self, name, ms):
        return child(name, "mourner", input={"name": name, "ms": ms})

    def nested(self):
        inner = child("inner", "supervisor", input={
            "children": [self.mourner("b", 30), self.mourner("c", 60)]})
        return tree(self.mourner("a", 0), inner, self.mourner("d", 90))

    def ends(self, daemon):
        return re.findall(r"mourner (\w) ends", daemon.log())

    def expect_ends(self, names):
        eventually(lambda: self.ends(self.daemon) == names, "the log lines")

    def start_nested(self):
        pid = self.submit(self.nested())
        self.actor.call(self.children(pid)["inner"]["pid"], "started")
        return pid

    def test_a_cancel_stops_in_reverse(self):
        pid = self.start_nested()
        self.actor.cancel(pid)
        self.assertEqual(failure_name(self.actor.wait(pid)), "CANCELLED")
        self.expect_ends(["d", "c", "b", "a"])

    def test_a_drain_stops_in_reverse(self):
        self.start_nested()
        self.assertEqual(self.daemon.stop(), 0)
        self.assertEqual(self.ends(self.daemon), ["d", "c", "b", "a"])

    def test_a_supervisor_whose_parent_is_terminated_stops_its_own(self):
        # Its link to the parent tells it; processes that trap no exits just end.
        self.actor.terminate(self.start_nested())
        eventually(lambda: self.actor.status().counters.processes_live == 0,
                   "the whole tree's end")
        self.expect_ends(["c", "b"])


if __name__ == "__main__":
    unittest.main()
