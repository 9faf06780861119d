"""actorctl subscribe: what processes publish, on a terminal and for programs."""

import json
import signal
import subprocess
import unittest

from harness import places
from harness.cli import DEADLINE, FAILED, INTERRUPTED, UNAVAILABLE, USAGE, CliCase
from harness.waiting import WAIT_SECONDS, eventually


class SubscribeCommand(CliCase):

    def subscribe(self, *words):
        """A started actorctl subscribe, which is subscribed."""
        before = self.actor.status().counters.subscriptions_open
        process = subprocess.Popen(
            [str(places.ACTORCTL), "subscribe", *words], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            cwd=self.directory,
            env=places.clean_environment(ACTORD_ADDRESS=self.daemon.address))

        def end():
            process.kill()
            process.communicate()

        self.addCleanup(end)
        eventually(lambda: self.actor.status().counters.subscriptions_open > before,
                   "the subscription")
        return process

    def test_lines_come_as_it_happens(self):
        herald = self.actor.submit("probe.herald")
        process = self.subscribe("room/*", "-o", "wide")
        self.actor.send(herald, "room/7", b'{"move": 1}')
        self.assertRegex(process.stdout.readline(),
                         "^TIME +TOPIC +PAYLOAD +PUBLISHER +SEQUENCE +OWNER$")
        self.assertRegex(
            process.stdout.readline(),
            rf'^\S+ +room/7 +{{"move": 1}} +{herald} +1\b')
        self.actor.send(herald, "other", b"x")
        self.actor.send(herald, "room/\x1b[2J", b"\x1b[2J")
        self.assertNotIn("\x1b", process.stdout.readline())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(WAIT_SECONDS), INTERRUPTED)

    def test_programs_get_json(self):
        herald = self.actor.submit("probe.herald")
        process = self.subscribe("a", "b/*", "--count", "2", "-o", "jsonl")
        self.actor.send(herald, "a", b'{"x": [1]}')
        self.actor.send(herald, "b/c", b"\xff")
        lines = [json.loads(line) for line in
                 process.communicate(timeout=WAIT_SECONDS)[0].splitlines()]
        self.assertEqual(process.returncode, 0)
        self.assertEqual(
            [(one["topic"], one["payload"], one["publisher_pid"], one["sequence"],
              one["missed"]) for one in lines],
            [("a", {"content_type": "application/json", "json": {"x": [1]}},
              herald, 1, 0),
             ("b/c", {"content_type": "application/json", "base64": "/w=="},
              herald, 2, 0)])

    def test_ends_and_mistakes(self):
        self.actorctl("subscribe", "*", "--for", "3s")
        self.actorctl("subscribe", "*", "--timeout", "100ms", status=DEADLINE)
        self.assert_complains(FAILED, "neither a topic nor a prefix", "subscribe",
                              "a*b")
        self.assert_complains(USAGE, "--for", "subscribe", "a", "--for", "tomorrow")
        self.actorctl("subscribe", status=USAGE)
        self.actorctl("subscribe", "a", "--for", "100ms", "--address",
                      "127.0.0.1:1", status=UNAVAILABLE)
        self.assertIn("--count", self.output("__complete", "subscribe", "--co"))


if __name__ == "__main__":
    unittest.main()
