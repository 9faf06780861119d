#!/usr/bin/python3
"""Tests that `mutants.py --check` notices each mutant that can not be made."""

import contextlib
import io
import pathlib
import tempfile
import unittest
import unittest.mock

import mutants


class Check(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for table, content in (
                ("MUTANTS", {"ONE": ("a.cc", "one();", "", "one is left out")}),
                ("ALSO", {"ONE": ("two()", "three()")})):
            patch = unittest.mock.patch.object(mutants, table, content)
            patch.start()
            self.addCleanup(patch.stop)

    def check(self, source):
        """The exit status, and the lines that are printed, for this a.cc."""
        if source is not None:
            (self.root / "a.cc").write_text(source)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = mutants.check(self.root)
        return status, output.getvalue().splitlines()

    def test_texts_that_occur_once_pass(self):
        self.assertEqual(self.check("one();\nif (two()) return;\n"), (0, []))

    def test_a_text_that_is_gone(self):
        self.assertEqual(
            self.check("uno();\nif (two()) return;\n"),
            (1, ["ONE: a.cc: occurs 0 times, not once: 'one();'"]))

    def test_a_text_that_occurs_twice(self):
        self.assertEqual(
            self.check("one();\none();\nif (two()) return;\n"),
            (1, ["ONE: a.cc: occurs 2 times, not once: 'one();'"]))

    def test_a_second_text_of_the_mutant(self):
        self.assertEqual(self.check("one();\n"),
                         (1, ["ONE: a.cc: occurs 0 times, not once: 'two()'"]))

    def test_a_file_that_is_gone(self):
        self.assertEqual(self.check(None),
                         (1, ["ONE: a.cc: No such file or directory"]))


if __name__ == "__main__":
    unittest.main()
