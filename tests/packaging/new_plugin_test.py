#!/usr/bin/python3
"""The help and the errors of new_plugin and of `./dev new`. What they make is built by
tests/sdk_consumer."""

import pathlib
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = {"new_plugin": [SOURCE / "packaging" / "new_plugin" / "new_plugin"],
            "./dev new": [SOURCE / "dev", "new"]}


class NewPlugin(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="actord-new-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def run_each(self, *words):
        for name, program in PROGRAMS.items():
            with self.subTest(program=name, words=words):
                yield subprocess.run(
                    [*map(str, program), *words], cwd=self.folder, text=True,
                    capture_output=True, check=False, timeout=60)

    def assert_refused(self, *words, says):
        for done in self.run_each(*words):
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(says, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_help(self):
        for option in ("--help", "-h"):
            for done in self.run_each(option):
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                for words in ("Usage: new_plugin PATH", "./dev new PATH", "NAME_test.cc",
                              "1 to 31 of a-z, 0-9 and _", "door_lock"):
                    self.assertIn(words, done.stdout)
                self.assertLessEqual(max(map(len, done.stdout.splitlines())), 88)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_errors_say_what_is_right(self):
        for given, right in (("My-Plugin", "my_plugin"), ("2nd.try", "nd_try"),
                             ("2", "greeter"), ("Ünder", "nder"), ("a" * 40, "a" * 31),
                             ("door lock", "door_lock")):
            self.assert_refused(f"new/{given}", says=(
                f"'{given}' is not a name for a plugin: a name has 1 to 31 of a-z, 0-9 "
                f"and _, and begins with a letter, such as {self.folder}/new/{right}\n"))
        self.assert_refused("test", says=f"such as {self.folder}/test_plugin\n")
        (self.folder / "greeter").mkdir()
        self.assert_refused("greeter", says=(
            f"{self.folder}/greeter is there already: give a new folder, such as "
            f"{self.folder}/greeter_2\n"))
        self.assert_refused(says="takes one path, such as ../greeter, not 0")
        self.assert_refused("a", "b", says="takes one path, such as ../greeter, not 2")
        self.assert_refused("--name", says="there is no option --name")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["greeter"])

    def test_a_project_is_made(self):
        for index, done in enumerate(self.run_each("door_lock")):
            self.assertEqual(done.returncode, 0, done.stderr)
            made = self.folder / "door_lock"
            self.assertEqual({path.name for path in made.iterdir()},
                             {"CMakeLists.txt", "door_lock.cc", "door_lock_test.cc"})
            made.rename(self.folder / f"made_{index}")


if __name__ == "__main__":
    unittest.main()
