"""README.md keeps its word: what it shows is built and run as it stands there."""

import json
import re
import subprocess
import unittest

import grpc
from harness import places
from harness.case import EmptyCase

README = (places.SOURCE / "README.md").read_text(encoding="utf-8")
SECONDS = 100


def blocks(heading, language):
    """The fenced blocks of `language` below the heading."""
    section = README.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", section,
                      re.MULTILINE | re.DOTALL)


def block(heading, language):
    """The one fenced block of `language` below the heading."""
    [text] = blocks(heading, language)
    return text


class Readme(EmptyCase):

    def setUp(self):
        """Installs the build under test, and goes where README goes: into an
        empty directory outside of the checkout."""
        super().setUp()
        self.environment = places.clean_environment(HOME=str(self.directory))
        self.working_directory = self.directory
        install, *enter = block("Install", "sh").splitlines()
        self.assertEqual(install, './dev install "$HOME/actord"')
        # As ./dev does, which would build the release first.
        self.run_shell(f"cmake --install '{places.ACTORD.parent.parent}' "
                       '--prefix "$HOME/actord"')
        output = self.run_shell("\n".join(
            [*enter, "printf '%s\\n' \"$PWD\" \"$PREFIX\" \"$PATH\""]))
        self.working_directory, prefix, path = output.splitlines()
        self.environment.update(PREFIX=prefix, PATH=path)

    def run_shell(self, script, **environment):
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.working_directory,
            capture_output=True, text=True, timeout=SECONDS, check=False,
            env={**self.environment, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def start_as_told(self, line):
        """Starts a daemon with the options of the line, on a port of its own."""
        output = self.run_shell(f"printf '%s\\n' {line}")
        command, *options = output.splitlines()
        self.assertEqual(command, "actord")
        self.assertEqual(self.run_shell("command -v actord"),
                         f"{self.directory}/actord/bin/actord\n")
        self.run_shell("actord --version")
        options = [option.replace("./", f"{self.working_directory}/")
                   for option in options]
        return self.start_daemon(*options, plugins=False)

    def start_greeter(self):
        """Builds the plugin and starts a daemon with it, both as told."""
        source = block("A first plugin", "cpp")
        self.assertLessEqual(len(source.splitlines()), 30)
        self.write("greeter.cc", source)
        build, start = block("A first plugin", "sh").splitlines()
        self.run_shell(build + " -Wall -Wextra -Werror")
        return self.start_as_told(start)

    def write(self, name, text):
        with open(f"{self.working_directory}/{name}", "w",
                  encoding="utf-8") as file:
            file.write(text)

    def test_main_job_is_done(self):
        start, script = blocks("The main job", "sh")
        daemon = self.start_as_told(start.strip())
        output = self.run_shell("set -euo pipefail\n" + script,
                                ACTORD_ADDRESS=daemon.address)
        result = json.loads(output.splitlines()[-1])
        payment = result.pop("payment")
        self.assertEqual(result, {"order": "A-17", "status": "charged"})
        self.assertRegex(payment, r"^receipt \S+$")

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
        self.write("greet.py", block("From Python", "python"))
        self.assertEqual(
            self.run_shell(block("From Python", "sh"),
                           ACTORD_ADDRESS=daemon.address), "Hello, World!\n")

    def test_plugin_refuses_what_it_says(self):
        actor = self.connect(self.start_greeter())
        self.assert_refused(lambda: actor.submit("greeter"),
                            code=grpc.StatusCode.INVALID_ARGUMENT,
                            reason="INIT_REFUSED", field="input",
                            message="^greet whom")

    def test_commands_of_dev_are_there(self):
        help_text = self.run_shell(f"{places.SOURCE}/dev help")
        lines = [*block("Work on actord itself", "sh").splitlines(),
                 block("Install", "sh").splitlines()[0]]
        for line in lines:
            command = line.split()[1]
            self.assertRegex(help_text, rf"(?m)^  {command}\b")

    def test_install_brings_what_the_table_names(self):
        rows = re.findall(r"^\| (`.*?) \|", README, re.MULTILINE)
        table = rows[rows.index("`bin/`"):rows.index("`share/actord/proto/`") + 1]
        named = re.findall(r"`(.*?)`", " ".join(table))
        prefix = self.directory / "actord"
        installed = [str(path.relative_to(prefix))
                     for path in prefix.rglob("*") if path.is_file()]
        for name in named:
            with self.subTest(name=name):
                self.assertTrue(any(path.startswith(name) for path in installed))
        for path in installed:
            with self.subTest(path=path):
                self.assertTrue(path.startswith(tuple(named)))

    def test_links_lead_somewhere(self):
        pages = [places.SOURCE / "README.md",
                 *(places.SOURCE / "docs").rglob("*.md")]
        links = [(page, link) for page in pages
                 for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8"))
                 if not link.startswith("https://")]
        self.assertGreater(len(links), 100)
        for page, link in links:
            with self.subTest(page=page, link=link):
                path, _, anchor = link.partition("#")
                target = page.parent / path if path else page
                self.assertTrue(target.exists())
                if anchor:
                    self.assertIn(anchor, anchors(target))


def anchors(page):
    """The names that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")
            for heading in headings}


if __name__ == "__main__":
    unittest.main()
