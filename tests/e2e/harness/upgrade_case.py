"""The base of tests that load plugins into a daemon that runs."""

import json
import shutil

from harness import places
from harness.case import EXTERNAL, EmptyCase
from harness.cli import CliCase
from harness.waiting import eventually


class UpgradeCase(CliCase):
    """A daemon with a plugin directory of its own, in which version 1 is."""

    def setUp(self):
        EmptyCase.setUp(self)
        self.plugins = self.directory / "plugins"
        self.plugins.mkdir()
        self.install("versions_1")
        self.daemon = self.start_daemon(
            "--plugin-dir", self.plugins, "--plugin", places.PLUGINS / "echo.so",
            *EXTERNAL, plugins=False)
        self.actor = self.connect(self.daemon)

    def install(self, name, as_name=None):
        """Puts a plugin into the directory, whole."""
        path = self.plugins / f"{as_name or name}.so"
        fresh = self.plugins / "fresh"
        shutil.copyfile(places.TEST_PLUGINS / f"{name}.so", fresh)
        fresh.rename(path)
        return path

    def await_opening(self):
        """Until versions_slow is being opened, which lasts until `go_on`."""
        eventually((self.daemon.directory / "opening").exists, "the opening")

    def go_on(self):
        (self.daemon.directory / "go_on").touch()

    def state(self, pid):
        return json.loads(self.actor.call(pid, "state").result.data)

    def goes_on_in(self, pid, version):
        eventually(lambda: self.state(pid)["version"] == version,
                   f"the process in version {version}")
        return self.state(pid)

    def version(self, version):
        """What ListPlugins says of the last such one, and of its process type."""
        found = [each for each in self.actor.plugins("versions")
                 if each.plugin.version == version][-1]
        self.assertEqual([each.name for each in found.process_types], ["ledger"])
        return found, found.process_types[0]
