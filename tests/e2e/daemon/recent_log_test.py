"""The log as clients read it, and its level as they set it."""

import json
import signal
import subprocess
import unittest

import grpc
from actord.v1 import log_pb2
from harness import places
from harness.cli import INTERRUPTED, USAGE, CliCase
from harness.waiting import eventually


class RecentLog(CliCase):

    def log(self, level, text):
        """A process of the probe logs a line."""
        self.actor.run("probe", json.dumps(
            {"command": "log.write", "count": 1,
             "payload": {"level": level, "message": text}}).encode(),
            method="yield")

    def texts(self, *words):
        return [line["text"] for line in self.json("logs", *words)]

    def test_lines_are_those_of_standard_error(self):
        self.log("warning", "a split tank")
        self.log("info", "nobody is hurt")
        eventually(lambda: "nobody is hurt" in self.daemon.log(), "the line")
        lines = self.json("logs")
        for line in lines:
            self.daemon.wait_for_line(line["text"])
        self.assertIn(" serves on ", " ".join(self.texts("--level", "info")))
        [warning] = [line for line in lines if "a split tank" in line["text"]]
        self.assertEqual(warning["level"], "WARNING")
        self.assertTrue(any("a split tank" in text
                            for text in self.texts("--level", "warning")))
        self.assertFalse(any("nobody is hurt" in text
                             for text in self.texts("--level", "warning")))
        self.assertEqual(self.texts("--tail", "2"), self.texts()[-2:])
        self.assertEqual(self.texts("--tail", "0"), [])
        self.assert_complains(USAGE, "--tail", "logs", "--tail", "-1")
        self.assertRegex(self.output("logs", "--tail", "1"),
                         r"TIME +LEVEL +TEXT\n\S+Z +info +.*nobody is hurt\n")

    def test_level_is_set_and_shown(self):
        self.assertEqual(self.output("log-level"), "info\n")
        self.log("debug", "unheard")
        self.assertEqual(self.output("log-level", "debug"), "debug (was info)\n")
        self.log("debug", "heard")
        text = " ".join(self.texts())
        self.assertIn("log level: debug, was info; set by ", text)
        self.assertIn("heard", text)
        self.assertNotIn("unheard", text)
        self.assertEqual(self.json("log-level", "error"),
                         {"level": "ERROR", "previous_level": "DEBUG"})
        self.log("warning", "dropped")
        self.assertNotIn("dropped", " ".join(self.texts()))
        self.assert_complains(USAGE, "loud", "log-level", "loud")

    def test_follow_shows_new_lines(self):
        follow = subprocess.Popen(
            [str(places.ACTORCTL), "logs", "--follow", "--tail", "1", "-o", "jsonl"],
            stdout=subprocess.PIPE, text=True, cwd=self.directory,
            env=places.clean_environment(ACTORD_ADDRESS=self.daemon.address))
        self.addCleanup(follow.kill)
        json.loads(follow.stdout.readline())
        self.log("info", "the first new line")
        self.assertIn("the first new line",
                      json.loads(follow.stdout.readline())["text"])
        follow.send_signal(signal.SIGINT)
        self.assertEqual(follow.wait(10), INTERRUPTED)
        follow.stdout.close()

    def test_wrong_requests_are_refused(self):
        for request, what in (
                (log_pb2.ListLogLinesRequest(after_id="1"), "after_id"),
                (log_pb2.ListLogLinesRequest(min_level=9), "min_level"),
                (log_pb2.ListLogLinesRequest(page_size=-1), "page_size"),
                (log_pb2.ListLogLinesRequest(page_token="x"), "page_token")):
            with self.assertRaises(grpc.RpcError) as raised:
                self.actor.stub.ListLogLines(request)
            self.assertEqual(raised.exception.code(),
                             grpc.StatusCode.INVALID_ARGUMENT)
            self.assertIn(what, raised.exception.details())
        with self.assertRaises(grpc.RpcError) as raised:
            self.actor.stub.SetLogLevel(log_pb2.SetLogLevelRequest(level=9))
        self.assertIn("level is not a level", raised.exception.details())
        with self.assertRaises(grpc.RpcError) as raised:
            self.actor.stub.SetLogLevel(log_pb2.SetLogLevelRequest())
        self.assertIn("level is missing", raised.exception.details())

    def test_pages_have_each_line_once(self):
        for number in range(5):
            self.log("info", f"line {number}")
        every = self.actor.stub.ListLogLines(log_pb2.ListLogLinesRequest()).lines
        seen, token = [], ""
        while True:
            page = self.actor.stub.ListLogLines(
                log_pb2.ListLogLinesRequest(page_size=2, page_token=token))
            seen += page.lines
            token = page.next_page_token
            if not token:
                break
        self.assertEqual(list(every), seen)


if __name__ == "__main__":
    unittest.main()
