"""Plugins that cannot be loaded into a daemon that runs: it says why, and nothing
has changed."""

import collections

import grpc
from actord.v1 import plugin_pb2
from harness import places
from harness.case import EmptyCase
from harness.cli import CliCase
from harness.connection import refusal_of
from harness.upgrade_case import UpgradeCase
from harness.waiting import eventually


class Refusals(UpgradeCase):
    """What cannot be loaded changes nothing."""

    def setUp(self):
        super().setUp()
        self.pid = self.actor.submit("ledger")

    def tearDown(self):
        self.assertEqual(self.state(self.pid)["version"], "1")
        self.assertEqual(self.state(self.actor.submit("ledger"))["version"], "1")
        self.assertEqual(
            [each.plugin.version for each in self.actor.plugins("versions")],
            ["1"] * len(self.actor.plugins("versions")))
        self.assertEqual(self.actor.run("echo", b"1").result.data, b"1")

    def refused(self, path, code, reason, message, field=None):
        with self.subTest(path=str(path)):
            self.assert_refused(lambda: self.actor.load_plugin(path), code=code,
                                reason=reason, message=message, field=field)

    def test_files_that_are_no_plugins(self):
        invalid = grpc.StatusCode.INVALID_ARGUMENT
        for name, message in (("not_elf", "does not begin as an ELF file"),
                              ("no_symbol", "it has no symbol"),
                              ("unresolved", "undefined symbol"),
                              ("bad_magic", "ACTORD_ABI_MAGIC"),
                              ("null_step", "lacks init, step or close")):
            self.refused(self.install(name), invalid, "INVALID_PLUGIN", message,
                         "path")
        whole = (places.TEST_PLUGINS / "versions_2.so").read_bytes()
        for size in (1, 63, 64, 1000, len(whole) // 2, len(whole) - 1):
            path = self.plugins / "short.so"
            path.write_bytes(whole[:size])
            self.refused(path, invalid, "INVALID_PLUGIN",
                         "cut short|as an ELF file", "path")
        (self.plugins / "directory.so").mkdir()
        self.refused("directory.so", invalid, "INVALID_PLUGIN", "not a file",
                     "path")

    def test_another_version_of_the_abi(self):
        self.refused(self.install("other_abi"),
                     grpc.StatusCode.FAILED_PRECONDITION, "PLUGIN_ABI_VERSION",
                     "built for version 2 of the plugin ABI")

    def test_a_handler_that_does_not_begin(self):
        self.refused(self.install("create_throws"),
                     grpc.StatusCode.FAILED_PRECONDITION, "PLUGIN_REFUSED",
                     "create_throws")

    def test_names_that_others_have(self):
        taken = grpc.StatusCode.ALREADY_EXISTS
        self.refused(self.install("type_taken"), taken, "PLUGIN_CONFLICT",
                     "process type echo is taken by plugin echo")
        self.refused(self.install("command_taken"), taken, "PLUGIN_CONFLICT",
                     "is taken by plugin")

    def test_the_version_that_is_in_force(self):
        self.refused("versions_1.so", grpc.StatusCode.ALREADY_EXISTS,
                     "PLUGIN_IN_FORCE", "version 1 of plugin versions")
        self.refused(self.install("versions_1", "copy"),
                     grpc.StatusCode.ALREADY_EXISTS, "PLUGIN_IN_FORCE",
                     "version 1 of plugin versions")

    def test_paths_that_lead_elsewhere(self):
        denied = grpc.StatusCode.PERMISSION_DENIED
        outside = places.TEST_PLUGINS / "versions_2.so"
        link = self.plugins / "link.so"
        link.symlink_to(outside)
        for path in (outside, link, "link.so", "/etc/passwd",
                     self.plugins / ".." / "x.so", "../x.so"):
            self.refused(path, denied, "PLUGIN_NOT_ALLOWED", "directories|directory")
        self.refused("none.so", grpc.StatusCode.NOT_FOUND, "PLUGIN_NOT_FOUND",
                     "there is no file")
        invalid = grpc.StatusCode.INVALID_ARGUMENT
        self.refused("", invalid, "INVALID_FIELD", "0 bytes", "path")
        self.refused("x" * 5000, invalid, "INVALID_FIELD", "5000 bytes", "path")
        self.refused("a\0b", invalid, "INVALID_FIELD", "path", "path")


class Off(CliCase):

    def setUp(self):
        EmptyCase.setUp(self)
        self.daemon = self.start_daemon(plugins=False)
        self.actor = self.connect(self.daemon)

    def test_without_a_directory_nothing_is_loaded(self):
        self.assert_refused(
            lambda: self.actor.load_plugin("echo.so"),
            code=grpc.StatusCode.FAILED_PRECONDITION,
            reason="PLUGIN_LOADING_OFF", message="--plugin-dir")


class Bounds(UpgradeCase):

    def test_a_thousand_loads_and_no_more(self):
        pid = self.actor.submit("ledger")
        self.install("versions_2")
        for i in range(1000):
            self.actor.load_plugin(f"versions_{2 - i % 2}.so")
        self.assert_refused(
            lambda: self.actor.load_plugin("versions_2.so"),
            code=grpc.StatusCode.RESOURCE_EXHAUSTED, reason="PLUGIN_LIMIT",
            message="1000 times")
        self.assertEqual(self.goes_on_in(pid, "1")["errors"], 0)
        self.assertEqual(len(self.actor.plugins("versions")), 1001)

    def test_more_loads_at_once_than_may_wait(self):
        self.install("versions_slow")
        request = plugin_pb2.LoadPluginRequest(path="versions_slow.so")
        loads = [self.actor.stub.LoadPlugin.future(request)]
        self.await_opening()
        loads += [self.actor.stub.LoadPlugin.future(request) for _ in range(99)]
        # One is under way, and 64 wait.
        eventually(lambda: sum(load.done() for load in loads) == 35,
                   "the others to be refused")
        self.go_on()
        self.assertEqual(
            collections.Counter(load.code().name for load in loads),
            {"OK": 1, "ALREADY_EXISTS": 64, "UNAVAILABLE": 35})
        busy = next(load for load in loads
                    if load.code() == grpc.StatusCode.UNAVAILABLE)
        self.assertEqual(refusal_of(busy.exception()).reason,
                         "PLUGIN_LOADER_BUSY")
