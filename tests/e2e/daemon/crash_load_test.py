"""What the daemon says when a plugin crashes it while it is loaded or unloaded."""

import shutil
import signal
import unittest

import grpc
from harness import places
from harness.crash_case import LEAVES_SIGNALS, CrashCase, without_core_files
from harness.daemon import run_actord

AT_NULL = "crash: SIGSEGV at address 0x0 "
IN_PLUGIN = 'in plugin "crasher" 1.4.0: '


class Start(CrashCase):

    def crashed_start(self, when):
        done = run_actord(
            "--plugin", places.CRASHER, "--listen", "127.0.0.1:0",
            "--port-file", self.directory / "port",
            environment={**LEAVES_SIGNALS, "CRASHER": when,
                         "XDG_CACHE_HOME": str(places.CACHE)},
            cwd=self.directory, preexec_fn=without_core_files)
        self.assertEqual(done.returncode, -signal.SIGSEGV)
        report = self.report_in(done.stderr)
        self.assertIn("CrashByNull", report.functions())
        return report

    def test_static_initialiser_names_the_file(self):
        report = self.crashed_start("static")
        self.assertEqual(
            report.first, f'{AT_NULL}in plugin file "{places.CRASHER}": '
                          "static initialisers or table")
        self.assertEqual(report.thread, "actord")

    def test_constructor_of_a_handler(self):
        self.assertEqual(self.crashed_start("create").first,
                         f"{AT_NULL}{IN_PLUGIN}create of a command handler")


class WhileItRuns(CrashCase):

    def setUp(self):
        super().setUp()
        self.plugins = self.directory / "plugins"
        self.plugins.mkdir(mode=0o755)

    def load(self, when):
        self.number = signal.SIGSEGV
        self.daemon = self.start_daemon(
            "--plugin-dir", self.plugins, plugins=False, exit_status=-self.number,
            environment={**LEAVES_SIGNALS, "CRASHER": when},
            actord=self.without_cores())
        self.actor = self.connect(self.daemon)
        shutil.copyfile(places.CRASHER, self.plugins / "new.so")
        with self.assertRaises(grpc.RpcError):
            self.actor.load_plugin("new.so")
        return self.report()

    def test_static_initialiser_names_the_file(self):
        report = self.load("static")
        self.assertEqual(
            report.first, f'{AT_NULL}in plugin file "{self.plugins}/new.so": '
                          "static initialisers or table")
        self.assertIn("CrashByNull", report.functions())

    def test_constructor_of_a_handler(self):
        self.assertEqual(self.load("create").first,
                         f"{AT_NULL}{IN_PLUGIN}create of a command handler")


class End(CrashCase):

    def end(self, when):
        self.serve(environment={"CRASHER": when})
        self.daemon.signal(signal.SIGTERM)
        return self.report()

    def test_destructor_of_a_handler(self):
        self.assertEqual(self.end("destroy").first,
                         f"{AT_NULL}{IN_PLUGIN}destroy of a command handler")

    def test_static_destructor(self):
        self.assertEqual(self.end("unload").first,
                         f"{AT_NULL}{IN_PLUGIN}static destructors")


if __name__ == "__main__":
    unittest.main()
