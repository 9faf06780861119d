"""No descriptor is left in the release (UBSan needs some to look at pointers): loading a
plugin and reading the configuration again fail with the reason and change nothing,
clients are served, and later both succeed."""

import re
import resource
import shutil
import signal
import unittest

import grpc
from harness import places
from harness.case import EmptyCase
from harness.waiting import eventually


class NoDescriptor(EmptyCase):

    def test_plugin_and_configuration_are_refused_and_come_later(self):
        config = self.text_file('[log]\nlevel = "info"\n')
        allowed = self.directory / "plugins"
        allowed.mkdir()
        daemon = self.start_daemon(
            "--config", config, "--plugin", places.PLUGINS / "echo.so",
            "--plugin", places.PLUGINS / "order.so", "--plugin-dir", allowed,
            plugins=False)
        actor = self.connect(daemon)
        kept = actor.submit(
            "order", b'{"order": "o", "amount_cents": 1, "hold_ms": 3600000}')
        counter = shutil.copy(places.PLUGINS / "counter.so", allowed)
        before = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE,
                         (3, before[1]))

        refusal = self.assert_refused(
            lambda: actor.load_plugin(counter),
            code=grpc.StatusCode.FAILED_PRECONDITION, reason="PLUGIN_NOT_READABLE",
            message="Too many open files")
        self.assertIn("counter.so", refusal.message)
        config.write_text('[log]\nlevel = "debug"\n')
        daemon.signal(signal.SIGHUP)
        eventually(lambda: re.search("configuration not reloaded: .*cannot be read: "
                                     "Too many open files", daemon.log()),
                   "the error")
        self.assertEqual(actor.run("echo", b"1").result.data, b"1")

        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, before)
        actor.load_plugin(counter)
        daemon.signal(signal.SIGHUP)
        eventually(lambda: 'log.level = "debug"' in daemon.log()
                   or "log.level = debug" in daemon.log(), "the reload")
        counted = actor.submit("counter")
        actor.send(counted, "add", b"1")
        actor.send(counted, "stop")
        self.assertEqual(actor.wait(counted).result.data, b"1")
        self.assertEqual(actor.process(kept).process_type, "order")


if __name__ == "__main__":
    unittest.main()
