"""No thread is left: what needs a new thread is refused with the reason, and clients
that are connected are served."""

import json
import shutil
import unittest

import grpc
from daemon.threads_test import ThreadsCase
from harness import places


class NoThread(ThreadsCase):

    def test_new_threads_are_refused(self):
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
        self.no_more_threads(daemon)

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
        # Calls on what exists need no thread.
        actor.send(kept, "add", b"1")
        self.assertEqual(actor.run("echo", b"1").result.data, b"1")
        self.threads_again(daemon)
        answer = read()
        self.assertEqual(answer["code"], "OK", answer)
        actor.load_plugin(versions)
        self.assertEqual(actor.call(kept, "get").result.data, b"1")


if __name__ == "__main__":
    unittest.main()
