"""No thread is left, and later there are some again: what needs a new thread is
refused with the reason, everything else is served, and then all is as before."""

import json
import pathlib
import re
import shutil
import subprocess
import unittest

import grpc
from daemon.threads_test import ThreadsCase
from harness import places
from harness.waiting import WAIT_SECONDS, eventually


class NoThreadForAWhile(ThreadsCase):

    def limit_threads(self, pid, most):
        """The soft limit, which its user may raise again."""
        subprocess.run(["prlimit", "--pid", str(pid), f"--nproc={most}:"],
                       check=True, **self.user.options())

    def test_new_threads_are_refused_and_come_back(self):
        text = self.user.directory / "text"
        text.write_text("content")
        allowed = self.user.directory / "allowed"
        allowed.mkdir()
        daemon = self.start("--workers", "2", "--plugin", places.PLUGINS / "counter.so", "--plugin",
                            places.PLUGINS / "echo.so", "--plugin-dir", allowed,
                            "--file-read-dir", self.user.directory, exit_status=0)
        actor = self.connect(daemon)
        versions = shutil.copy(places.TEST_PLUGINS / "versions_1.so", allowed)
        kept = actor.submit("counter")
        pid = daemon.process.pid
        before = pathlib.Path(f"/proc/{pid}/limits").read_text()
        before = re.search(r"Max processes +(\S+)", before)[1]
        self.limit_threads(pid, "1")

        def read():
            outcome = actor.run("probe", json.dumps(
                {"command": "file.read", "payload": json.dumps(
                    {"path": str(text)})}).encode(), "yield")
            return json.loads(outcome.result.data)

        answer = read()
        self.assertEqual(answer["code"], "RESOURCE_EXHAUSTED")
        self.assertIn("the system has no thread left", answer["message"])
        self.assert_refused(
            lambda: actor.load_plugin(versions),
            code=grpc.StatusCode.UNAVAILABLE, reason="PLUGIN_LOADER_BUSY",
            message="the system has no thread left")
        # What exists, and what needs no thread, on old and new connections.
        for each in (actor, self.connect(daemon)):
            each.send(kept, "add", b"1")
            self.assertEqual(each.run("echo", b"1").result.data, b"1")
            outcome = each.run("probe", b"1", "sleep")
            self.assertEqual(outcome.WhichOneof("end"), "result")

        self.limit_threads(pid, before)
        eventually(lambda: read()["code"] == "OK", "a thread", WAIT_SECONDS)
        actor.load_plugin(versions)
        actor.send(kept, "stop")
        self.assertEqual(actor.wait(kept).result.data, b"2")


if __name__ == "__main__":
    unittest.main()
