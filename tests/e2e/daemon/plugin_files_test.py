"""The files of plugins: overwritten, changed by others, and not on the list."""

import hashlib
import os
import shutil
import unittest

import grpc
from harness import places
from harness.case import DaemonCase, EmptyCase
from harness.daemon import run_actord

BAD_OPTION = 64
BAD_CONFIGURATION = 78


def digest_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Overwritten(EmptyCase):

    def setUp(self):
        super().setUp()
        self.plugins = self.directory / "plugins"
        self.plugins.mkdir(mode=0o755)
        self.file = self.plugins / "versions.so"
        shutil.copyfile(places.TEST_PLUGINS / "versions_1.so", self.file)

    def serve(self, *options):
        daemon = self.start_daemon("--plugin-dir", self.plugins, *options,
                                   plugins=False)
        return daemon, self.connect(daemon)

    def overwrite(self, content):
        """As `cp` does: in place, so that a mapped file changes."""
        inode = self.file.stat().st_ino
        self.file.write_bytes(content)
        self.assertEqual(self.file.stat().st_ino, inode)

    def assert_goes_on(self, *options):
        daemon, actor = self.serve(*options)
        pid = actor.submit("ledger")
        actor.send(pid, "add", b"a 1")
        self.overwrite(b"\0" * self.file.stat().st_size)
        # Pages that were not touched yet are needed now.
        later = actor.submit("ledger")
        for each, message in ((pid, b"a 2"), (later, b"a 1")):
            actor.send(each, "add", message)
            actor.call(each, "state")
            actor.terminate(each, "enough")
            actor.wait(each)
        self.assertTrue(daemon.running())
        self.assert_refused(
            lambda: actor.load_plugin("versions.so"),
            code=grpc.StatusCode.INVALID_ARGUMENT, reason="INVALID_PLUGIN",
            message="does not begin as an ELF file", field="path")
        self.overwrite((places.TEST_PLUGINS / "versions_2.so").read_bytes())
        loaded = actor.load_plugin("versions.so")
        self.assertEqual(loaded.plugin.version, "2")
        self.assertEqual(loaded.plugin.sha256, digest_of(self.file))

    def test_file_changes_nothing_that_runs(self):
        self.assert_goes_on()

    def test_file_changes_nothing_with_copies_in_memory(self):
        self.assert_goes_on("--plugin-cache", "memory")

    def test_cache_that_cannot_be_used_is_logged(self):
        daemon, _ = self.serve("--plugin-cache", "/proc/actord")
        daemon.wait_for_match("warning .*plugins are copied to memory, "
                              "because plugins.cache cannot be used: /proc/actord: ")

    def test_copies_are_private(self):
        cache = self.directory / "cache"
        self.serve("--plugin-cache", cache)
        self.assertEqual(cache.stat().st_mode & 0o777, 0o700)
        copies = list(cache.iterdir())
        self.assertEqual([copy.name for copy in copies],
                         [f"versions-{digest_of(self.file)}.so"])
        self.assertEqual(copies[0].stat().st_mode & 0o777, 0o500)


class Untrusted(EmptyCase):

    def setUp(self):
        super().setUp()
        self.file = self.directory / "echo.so"
        shutil.copyfile(places.PLUGINS / "echo.so", self.file)
        self.file.chmod(0o755)

    def assert_refused_at_start(self, message, *options):
        done = run_actord("--listen", "127.0.0.1:0", "--plugin", self.file,
                          *options)
        self.assertEqual(done.returncode, BAD_CONFIGURATION, done.stderr)
        self.assertRegex(done.stderr.splitlines()[-1], message)

    def test_file_that_everybody_can_write(self):
        self.file.chmod(0o757)
        self.assert_refused_at_start(
            r"echo.so: the file can be written by everybody \(mode 0757\).*"
            "chmod go-w")

    def test_directory_that_everybody_can_write(self):
        self.directory.chmod(0o777)
        self.assert_refused_at_start(
            r"the directory .* can be written by everybody \(mode 0777\)")

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_file_of_another_user(self):
        os.chown(self.file, 12345, 0)
        self.assert_refused_at_start("the file belongs to user 12345")

    def test_file_that_is_not_listed(self):
        self.assert_refused_at_start(
            f"its SHA-256 is {digest_of(self.file)}, which plugins.sha256 does "
            "not list", "--plugin-sha256", "0" * 64)

    def test_digest_that_is_none(self):
        done = run_actord("--plugin-sha256", "abc")
        self.assertEqual(done.returncode, BAD_OPTION, done.stderr)
        self.assertIn("--plugin-sha256: must have 64 hexadecimal digits",
                      done.stderr)

    def test_library_beside_the_plugin(self):
        shutil.copyfile(places.TEST_PLUGINS / "origin_path.so", self.file)
        self.assert_refused_at_start(r"its RUNPATH is '/opt/lib:\$ORIGIN/lib'")


class Listed(DaemonCase):

    OPTIONS = ("--plugin-sha256", digest_of(places.PLUGINS / "echo.so"),
               *(word for path in [*places.PLUGINS.glob("*.so"), places.PROBE]
                 for word in ("--plugin-sha256", digest_of(path).upper())))

    def test_file_that_is_listed_is_loaded(self):
        plugins = {each.name: each for each in self.actor.status().plugins}
        self.assertEqual(plugins["echo"].sha256,
                         digest_of(places.PLUGINS / "echo.so"))
        self.assertEqual(plugins["builtin"].sha256, "")
        for path in places.PLUGINS.glob("*.so"):
            self.daemon.wait_for_match(f"info .*loaded from .*/{path.name}, "
                                       f"SHA-256 {digest_of(path)}")
        self.assert_serves()


if __name__ == "__main__":
    unittest.main()
