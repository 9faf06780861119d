#!/usr/bin/python3
"""Checks the pages of the manual and the completions, as they are installed.

Usage: manual_pages_test.py BUILD_DIR CMAKE
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path()
CMAKE = ""
PAGES = {"runtime": ["man8/actord.8", "man5/actord.toml.5"],
         "client": ["man1/actorctl.1"]}


def output(*words, **variables):
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "MANWIDTH": "1000",
                   "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""), **variables}
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=True, env=environment)


def words_of(text):
    return " ".join(text.split())


class InstalledManual(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="actord-manual-"))
        cls.addClassCleanup(shutil.rmtree, cls.root)
        # The manifest of an installation would be left in the build.
        for component in PAGES:
            output(CMAKE, f"-DCMAKE_INSTALL_PREFIX={cls.root}",
                   f"-DCMAKE_INSTALL_COMPONENT={component}",
                   "-DCMAKE_INSTALL_LOCAL_ONLY=1", "-P",
                   BUILD / "packaging/cmake_install.cmake")
        cls.man = cls.root / "share/man"
        cls.of_commands = sorted(str(page.relative_to(cls.man)) for page in
                                 (cls.man / "man1").glob("actorctl-*.1"))
        cls.pages = [*sum(PAGES.values(), []), *cls.of_commands]

    def rendered(self, page):
        """The text that man shows, in very long lines."""
        return output("man", "-l", self.man / page).stdout

    def test_pages_have_no_mistakes(self):
        for page in self.pages:
            with self.subTest(page=page):
                for width in ("80", "1000"):
                    done = output("man", "--warnings", "-l", "-Tutf8", "-Z",
                                  self.man / page, MANWIDTH=width)
                    self.assertEqual(done.stderr, "")
                lint = subprocess.run(
                    ["mandoc", "-Tlint", "-Wwarning", self.man / page],
                    capture_output=True, text=True, check=False)
                self.assertEqual(lint.stdout + lint.stderr, "")

    def test_pages_are_found_by_their_names(self):
        for page in self.pages:
            with self.subTest(page=page):
                whatis = output("lexgrog", self.man / page).stdout
                name = page.split("/")[1].rsplit(".", 1)[0]
                self.assertIn(f'"{name} - ', whatis)

    def test_page_of_the_daemon_has_what_its_help_has(self):
        page = words_of(self.rendered("man8/actord.8"))
        text = output(BUILD / "bin/actord", "--help").stdout
        entries = re.split(r"\n(?=  -)", text.split("\nExit status:")[0])[1:]
        self.assertGreater(len(entries), 80)
        for entry in entries:
            self.assertIn(words_of(entry), page)
        for status in re.findall(r"\d+ [a-z ]+", words_of(text.split("\nExit status:")[1])):
            self.assertIn(status, page)

    def test_page_of_the_file_has_each_key_with_its_default(self):
        page = words_of(self.rendered("man5/actord.toml.5"))
        section = ""
        keys = 0
        for line in output(BUILD / "bin/actord", "--print-config").stdout.splitlines():
            if line.startswith("["):
                section = line
                self.assertIn(f" {section} ", page)
            elif " = " in line:
                key, default = line.split(" = ", 1)
                keys += 1
                of_section = page.split(f" {section} ", 1)[1]
                self.assertRegex(of_section, rf"\b{key} = .*? Default: {re.escape(default)}\.")
        self.assertGreater(keys, 80)

    def test_each_command_has_a_page(self):
        text = output(BUILD / "bin/actorctl", "--help").stdout
        names = set(re.findall(r"^  ([a-z][a-z-]*)  ", text.split("\nEnvironment:")[0],
                               re.M))
        self.assertGreater(len(names), 30)
        self.assertEqual({f"man1/actorctl-{name}.1" for name in names},
                         set(self.of_commands))
        others = self.rendered("man1/actorctl.1").split("SEE ALSO")[1]
        for name in names:
            with self.subTest(name=name):
                page = words_of(self.rendered(f"man1/actorctl-{name}.1"))
                self.check_command(page, (name,))
                self.assertIn(f"actorctl-{name}(1)", others)

    def test_page_of_a_command_is_found_by_two_words(self):
        path = output("man", "-w", "actorctl", "submit", MANPATH=str(self.man)).stdout
        self.assertEqual(pathlib.Path(path.strip()).name, "actorctl-submit.1")

    def check_command(self, page, words):
        """Compares a command, and those below it, with the page."""
        text = output(BUILD / "bin/actorctl", *words, "--help").stdout
        description, usage = text.splitlines()[:2]
        self.assertIn(words_of(description).rstrip("."), page)
        self.assertIn(words_of(usage.removeprefix("Usage: ")) if words else "SYNOPSIS", page)
        options = re.search(r"^Options:\n((?: .*\n)+)", text, re.M)[1]
        for option in re.split(r"\n(?=  -)", options)[1:]:
            self.assertIn(words_of(option), page)
        count = 1
        for name in re.findall(r"^  (\S+)", text.split("\nSubcommands:\n")[1].split("\n\n")[0],
                               re.M) if "\nSubcommands:\n" in text else []:
            count += self.check_command(page, (*words, name))
        return count

    def test_page_of_actorctl_has_what_its_help_has(self):
        page = words_of(self.rendered("man1/actorctl.1"))
        self.assertGreater(self.check_command(page, ()), 45)
        self.assertNotIn("__complete", page)

    def test_shells_read_the_completions(self):
        for shell, place in [("bash", "bash-completion/completions/actorctl"),
                             ("zsh", "zsh/vendor-completions/_actorctl"),
                             ("fish", "fish/vendor_completions.d/actorctl.fish")]:
            with self.subTest(shell=shell):
                script = self.root / "share" / place
                output(shell, "-n", script)
                self.assertEqual(script.read_text(encoding="utf-8"), output(
                    BUILD / "bin/actorctl", "completion", shell).stdout)


def main():
    global BUILD, CMAKE
    for tool in ("man", "mandoc", "lexgrog", "bash", "zsh", "fish"):
        if shutil.which(tool) is None:
            print(f"MANUAL NOT TESTED: {tool} is not in PATH")
            return
    BUILD, CMAKE = pathlib.Path(sys.argv.pop(1)), sys.argv.pop(1)
    unittest.main()


if __name__ == "__main__":
    main()
