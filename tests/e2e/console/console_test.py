"""The console in Debian's Chromium, driven by Playwright. One browser does all
scenarios (browser/), because its start takes longer than most of them."""

import json
import os
import pathlib
import subprocess

from console.scene import HOSTILE, SceneCase
from harness import places
from harness.waiting import WAIT_SECONDS
from work.npm import install_packages, packages_directory

HERE = pathlib.Path(__file__).parent
CHROMIUM = pathlib.Path("/usr/bin/chromium")


class Console(SceneCase):

    def test_in_chromium(self):
        self.assertTrue(CHROMIUM.exists(), f"{CHROMIUM} is missing: install Debian's "
                        "package chromium, or run ./dev setup test")
        packages = packages_directory("console")
        install_packages(self, HERE, packages)
        self.set_scene()
        order = {"port": self.port, "portOfMany": self.set_scene_of_many(),
                 "waitMs": WAIT_SECONDS * 1000,
                 "tokens": self.tokens, "pids": self.pids, "hostile": HOSTILE,
                 "chromium": str(CHROMIUM), "packages": str(packages),
                 "profile": str(self.directory / "profile"),
                 "pictures": os.environ.get("ACTORD_CONSOLE_PICTURES", ""),
                 "only": os.environ.get("ACTORD_CONSOLE_ONLY", "")}
        problems = self.run_browser(order)
        if self.daemon is self.first:  # If only some scenarios were wanted.
            self.kill()
        self.assertFalse(problems, "\n\n".join(
            f"{name}: {problem}" for name, problem in problems.items()))

    def run_browser(self, order):
        """Returns what went wrong, by scenario."""
        browser = subprocess.Popen(
            ["node", str(HERE / "browser" / "run.mjs"), json.dumps(order)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=places.clean_environment(HOME=str(self.directory)))
        self.addCleanup(browser.stdout.close)
        self.addCleanup(browser.stdin.close)
        self.addCleanup(browser.kill)
        for line in browser.stdout:
            said = json.loads(line)
            if "problems" in said:
                self.assertEqual(browser.wait(WAIT_SECONDS), 0)
                return said["problems"]
            {"hostile": self.add_hostile, "kill": self.kill,
             "start": self.start_again}[said["ask"]]()
            browser.stdin.write(json.dumps(self.pids) + "\n")
            browser.stdin.flush()
        self.fail(f"the browser's program ended with {browser.wait(WAIT_SECONDS)}")
