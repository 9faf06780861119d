"""Supervisors in a store: their trees go on over kills of the daemon, and what
`boot.tree` does with the tree in the store."""

import json
import random
import signal
import subprocess
import time
import unittest

from actord.v1 import process_pb2, status_pb2
from harness import places
from harness.case import StoreCase
from harness.daemon import run_actord
from harness.waiting import SANITIZED, WAIT_SECONDS, eventually

BAD_USAGE = 64
BAD_CONFIGURATION = 78
KILLED = -signal.SIGKILL


def child(child_id, process_type="counter", /, **more):
    return {"id": child_id, "type": process_type, **more}


def mourner(name):
    """A volatile child, which logs its end by a cancel."""
    return child(name, "mourner", input={"name": name, "ms": 0})


def inner(child_id, *children):
    return child(child_id, "supervisor", input={"children": children})


class TreeCase(StoreCase):

    def children(self, pid="@boot"):
        answer = self.actor.call(pid, "children")
        return {each["id"]: each
                for each in json.loads(answer.result.data)["children"]}

    def running(self, pid="@boot"):
        """The children, when all run."""
        def look():
            children = self.children(pid)
            return children if all(each["state"] == "running"
                                   for each in children.values()) else None
        return eventually(look, "children that run")

    def live(self):
        return self.actor.status().counters.processes_live

    def submit_tree(self, *children, **more):
        return self.actor.submit("supervisor", json.dumps(
            {"children": children}).encode(), **more)


class Trees(TreeCase):

    def test_goes_on_with_its_children_over_kills(self):
        self.start(exit_status=KILLED)
        top = self.submit_tree(child("kept", name="kept"), mourner("v"),
                               inner("below", child("deep"), mourner("w")),
                               name="top")
        self.assertEqual(self.running("@top").keys(), {"kept", "v", "below"})
        count = 0
        for _ in range(3):
            before = self.running("@top")
            below = before["below"]["pid"]
            deep = self.running(below)["deep"]["pid"]
            self.actor.send("@kept", "add", b"1")
            count += 1
            self.kill()
            self.start(exit_status=KILLED)
            self.assertEqual(self.actor.process("@top").pid, top)
            after = self.running("@top")
            for name in ("kept", "below"):
                self.assertEqual(after[name]["pid"], before[name]["pid"])
            self.assertNotEqual(after["v"]["pid"], before["v"]["pid"])
            self.assertIn("ended with the daemon", after["v"]["last_end"])
            self.assertEqual([each["restarts"] for each in after.values()],
                             [0, 0, 0])
            self.assertEqual(self.running(below)["deep"]["pid"], deep)
            self.assertEqual(self.value("@kept"), count)
            self.assertEqual(self.live(), 6)
        # Children are stopped and started by calls as ever.
        which = json.dumps({"id": "v"}).encode()
        self.actor.call(top, "stop_child", which)
        self.actor.call(top, "start_child", json.dumps(mourner("x")).encode())
        self.kill()
        self.start(exit_status=KILLED)
        eventually(lambda: self.children("@top")["x"]["state"] == "running", "x")
        self.assertEqual(self.children("@top")["v"]["state"], "stopped")
        self.actor.cancel(top)
        self.actor.wait(top)
        self.assertEqual(self.live(), 0)
        self.kill()

    def test_clean_stop_ends_the_volatile_children_alone(self):
        self.start()
        top = self.submit_tree(child("kept"), mourner("v"), name="top")
        kept = self.running("@top")["kept"]["pid"]
        # Not 75, which would mean that a child was terminated.
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.wait_for_line("mourner v ends")
        self.start()
        self.assertEqual(self.actor.process("@top").pid, top)
        self.assertEqual(self.running("@top")["kept"]["pid"], kept)

    def test_volatile_supervisor_ends_with_the_daemon(self):
        self.start(exit_status=KILLED)
        self.submit_tree(child("a"), mourner("v"), name="top",
                         durability=process_pb2.DURABILITY_VOLATILE)
        self.running("@top")
        self.kill()
        self.start()
        self.assertEqual(self.live(), 0)

    def test_each_child_is_there_once_over_kills_at_any_time(self):
        random.seed(5)
        self.start(exit_status=KILLED)
        self.submit_tree(name="top")
        for number in range(4 if SANITIZED else 8):
            for each in (child(f"d{number}"), mourner(f"v{number}")):
                self.actor.stub.Send(process_pb2.SendRequest(
                    pid="@top", topic="ignored"), timeout=WAIT_SECONDS)
                call = self.actor.stub.Call.future(process_pb2.CallRequest(
                    pid="@top", topic="start_child",
                    payload={"data": json.dumps(each).encode()}))
                time.sleep(random.random() * 0.02)
                call.cancel()
            self.kill()
            self.start(exit_status=KILLED)
            children = self.running("@top")
            pids = {each["pid"] for each in children.values()}
            self.assertEqual(len(pids), len(children))
            self.assertEqual(self.live(), 1 + len(children), children)
        self.kill()


class BootTree(TreeCase):

    def write(self, *children):
        """The file of the tree."""
        return self.text_file(json.dumps({"children": children}), "tree.json")

    def boot(self, *options, exit_status=KILLED):
        self.start_with = ("--boot-tree", self.directory / "tree.json", *options)
        self.start(exit_status)
        return self.actor.process("@boot").pid

    def state(self):
        return status_pb2.BootTree.Name(self.actor.status().boot_tree)

    def test_goes_on_over_kills(self):
        self.write(child("a", name="a"), mourner("v"))
        pid = self.boot()
        self.assertEqual(self.state(), "BOOT_TREE_STARTED")
        self.actor.send("@a", "add", b"7")
        for _ in range(2):
            self.kill()
            self.assertEqual(self.boot(), pid)
            # The tree is up before the daemon serves.
            self.assertEqual({each["state"] for each in self.children().values()},
                             {"running"})
            self.assertEqual(self.state(), "BOOT_TREE_CONTINUED")
            self.daemon.wait_for_line("the boot tree goes on from the store")
            self.assertEqual(self.value("@a"), 7)
            self.assertEqual(self.live(), 3)
        # Without the file the tree is a process like the others.
        self.kill()
        self.start_with = ()
        self.start(exit_status=KILLED)
        self.assertEqual(self.state(), "BOOT_TREE_UNSPECIFIED")
        self.running()
        self.kill()

    def test_file_that_has_changed_is_said_and_replaces_if_it_is_told(self):
        self.write(child("a", name="a"), mourner("v"))
        old = self.boot()
        self.kill()
        self.write(child("b", name="b"))
        self.assertEqual(self.boot(), old)
        self.assertEqual(self.state(), "BOOT_TREE_DIFFERS")
        self.daemon.wait_for_match("warning.* the file differs from .*"
                                   "actord --boot-tree-replace")
        self.assertEqual(self.running().keys(), {"a", "v"})
        self.kill()
        new = self.boot("--boot-tree-replace")
        self.assertNotEqual(new, old)
        self.assertEqual(self.state(), "BOOT_TREE_STARTED")
        # Whether the old tree has started its volatile child again before it was
        # ended is a matter of time.
        self.assertEqual(self.running().keys(), {"b"})
        self.assertEqual(self.live(), 2)
        self.kill()
        # The option may stay.
        self.assertEqual(self.boot("--boot-tree-replace", exit_status=0), new)
        self.assertEqual(self.state(), "BOOT_TREE_CONTINUED")

    def test_kill_while_the_tree_is_replaced(self):
        random.seed(7)
        for number in range(3 if SANITIZED else 6):
            self.write(child("a", name=f"a{number}"), mourner("v"),
                       child("b", name=f"b{number}"))
            # The first one is started while it is killed.
            options = () if number == 0 else ("--boot-tree-replace",)
            for _ in range(3):
                process = subprocess.Popen(
                    [places.ACTORD, "--listen", "127.0.0.1:0", "--store",
                     self.store, "--plugin-dir", places.PLUGINS, "--plugin",
                     places.PROBE, "--boot-tree", self.directory / "tree.json",
                     *options], stdin=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL, env=places.clean_environment())
                time.sleep(random.random() * (2 if SANITIZED else 0.3))
                process.kill()
                process.wait()
            self.boot(*options)
            self.assertEqual(self.running().keys(), {"a", "v", "b"})
            names = {name.name for name in self.actor.names().names}
            self.assertEqual(names, {"boot", f"a{number}", f"b{number}"})
            self.assertEqual(self.live(), 4)
            self.kill()

    def test_replacing_needs_a_tree_and_a_store(self):
        path = self.write(child("a"))
        for options in (("--boot-tree", path), ("--store", self.store)):
            done = run_actord("--boot-tree-replace", *options)
            self.assertEqual(done.returncode, BAD_USAGE, done.stderr)
            self.assertIn("--boot-tree and --store are required", done.stderr)

    def test_name_that_another_process_has_refuses_the_start(self):
        self.start(exit_status=KILLED)
        pid = self.counter(name="boot")
        self.kill()
        done = run_actord("--listen", "127.0.0.1:0", "--store", self.store,
                          "--plugin-dir", places.PLUGINS,
                          "--boot-tree", self.write(child("a")))
        self.assertEqual(done.returncode, BAD_CONFIGURATION, done.stderr)
        self.assertIn(f"process {pid} of type counter in the store has the name "
                      "boot", done.stderr)


if __name__ == "__main__":
    unittest.main()
