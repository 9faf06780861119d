"""README.md keeps its word: what it shows is built and run as it stands there."""

import re
import shlex
import subprocess
import unittest

import grpc
from harness import places
from harness.case import EmptyCase

README = (places.SOURCE / "README.md").read_text(encoding="utf-8")
SECONDS = 100


def block(heading, language):
    """The one fenced block of `language` below the heading."""
    section = README.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    [text] = re.findall(rf"^```{language}\n(.*?)^```$", section,
                        re.MULTILINE | re.DOTALL)
    return text


class Readme(EmptyCase):

    def setUp(self):
        """A directory that looks like a checkout with a built release."""
        super().setUp()
        for name in ("proto", "handlers"):
            (self.directory / name).symlink_to(places.SOURCE / name)
        (self.directory / "build" / "release").mkdir(parents=True)
        (self.directory / "build" / "release" / "bin").symlink_to(
            places.ACTORD.parent)

    def run_shell(self, script, **environment):
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.directory, capture_output=True,
            text=True, timeout=SECONDS, check=False,
            env=places.clean_environment(**environment))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def start_greeter(self):
        """Builds the plugin and starts a daemon with it, both as told."""
        source = block("A first plugin", "cpp")
        self.assertLessEqual(len(source.splitlines()), 30)
        (self.directory / "greeter.cc").write_text(source)
        build, start = block("A first plugin", "sh").splitlines()
        self.run_shell(build + " -Wall -Wextra -Werror")
        command, *options = shlex.split(start)
        self.assertEqual(command, "build/release/bin/actord")
        options = [option.replace("./", f"{self.directory}/")
                   for option in options]
        return self.start_daemon(*options, plugins=False)

    def test_plugin_is_driven_from_the_shell(self):
        daemon = self.start_greeter()
        output = self.run_shell(
            "set -euo pipefail\n" + block("From the shell", "sh"),
            ACTORD_ADDRESS=daemon.address)
        lines = output.splitlines()
        self.assertIn("greeter", lines[1])  # of ps
        self.assertEqual(lines[-2:], ["ACCEPTED", "Hello, World!"])

    def test_plugin_is_driven_from_python(self):
        daemon = self.start_greeter()
        self.run_shell(block("From Python", "sh"))
        program = block("From Python", "python")
        self.assertIn('"127.0.0.1:7600"', program)
        (self.directory / "greet.py").write_text(
            program.replace("127.0.0.1:7600", daemon.address))
        self.assertEqual(
            self.run_shell("PYTHONPATH=stubs /usr/bin/python3 greet.py"),
            "Hello, World!\n")

    def test_plugin_refuses_what_it_says(self):
        actor = self.connect(self.start_greeter())
        self.assert_refused(lambda: actor.submit("greeter"),
                            code=grpc.StatusCode.INVALID_ARGUMENT,
                            reason="INIT_REFUSED", field="input",
                            message="^greet whom")

    def test_commands_of_dev_are_there(self):
        help_text = self.run_shell(f"{places.SOURCE}/dev help")
        for line in block("Two commands", "sh").splitlines():
            command = line.split()[1]
            self.assertRegex(help_text, rf"(?m)^  {command}\b")

    def test_links_lead_somewhere(self):
        links = re.findall(r"\]\(([^)#]+)[^)]*\)", README)
        self.assertGreater(len(links), 4)
        for link in links:
            with self.subTest(link=link):
                self.assertTrue((places.SOURCE / link).exists())


if __name__ == "__main__":
    unittest.main()
