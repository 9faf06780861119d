#!/usr/bin/python3
"""Tests that token_equal.py sees each change of code, and no other."""

import unittest

import token_equal


class TokenEqualTest(unittest.TestCase):

    def assert_equal(self, old, new, path="a.cc", **options):
        self.assertIsNone(token_equal.difference(old, new, path, **options))

    def assert_different(self, old, new, path="a.cc", **options):
        found = token_equal.difference(old, new, path, **options)
        self.assertIsNotNone(found)
        self.assertTrue(found.startswith(f"{path}:"), found)

    def test_comments_and_space_do_not_count(self):
        for old, new in [
                ("int a = 0;  // where\n", "// Where.\nint a = 0;\n"),
                ("int a =\n    0;  /* b\n c */", "int a = 0;"),
                ("/* a */ f(/*b=*/1);", "f(1);"),
                ("// a \\\n still a comment\nint b;", "int b;"),
                ("#define A \\\n  1 // b\nint c;", "#define A 1\nint c;"),
        ]:
            with self.subTest(old=old):
                self.assert_equal(old, new)

    def test_code_counts(self):
        for old, new in [
                ("int a;", "int b;"),
                ("int a;", "int a; int b;"),
                ("int a; int b;", "int a;"),
                ("a = 1'000;", "a = 1'001;"),
                ("a = 1e+3;", "a = 1e-3;"),
                ("a <<= 1;", "a < <= 1;"),
                ("a + +b;", "a ++b;"),
                ("int a;", "inta;"),
                ("#define A 1\nint b;", "#define A 1 int b;\n"),
                ("#define A\n1", "#define A 1\n"),
                ("f(1);", "// f(1);"),
        ]:
            with self.subTest(old=old):
                self.assert_different(old, new)

    def test_what_looks_like_a_comment_in_a_literal_counts(self):
        for old, new in [
                ('f("// a");', 'f("// b");'),
                ('f("/* a */");', 'f("/* b */");'),
                ('f("\\"// a");', 'f("\\"// b");'),
                ('f(R"(" // a)");', 'f(R"(" // b)");'),
                ('f(R"x()" // a)x");', 'f(R"x()" // b)x");'),
                ("f('\"'); // a\ng('\"');", "f('\"'); // a\ng('a');"),
        ]:
            with self.subTest(old=old):
                self.assert_different(old, new)

    def test_a_literal_keeps_its_spaces(self):
        self.assert_different('f("a b");', 'f("a  b");')

    def test_what_looks_like_a_literal_in_a_comment_does_not_count(self):
        self.assert_equal("// it's \"\nint a;", "// it is\nint a;")

    def test_comments_that_tools_obey_count(self):
        self.assert_equal("int a;  // NOLINT: why", "int a;  // NOLINT: because")
        self.assert_different("int a;  // NOLINT: why", "int a;")
        self.assert_different("// clang-format off\nint a;", "int a;")

    def test_strings_can_be_ignored(self):
        self.assert_different('f("a");', 'f("b");')
        self.assert_equal('f("a" "b");', 'f("c");', ignore_strings=True)
        self.assert_equal('f(R"(a)");', 'f("c");', ignore_strings=True)
        self.assert_different('f("a");', "f('a');", ignore_strings=True)
        self.assert_equal("f('a')", "f('b')", "a.py", ignore_strings=True)

    def test_protobuf(self):
        self.assert_equal("int32 a = 1;  // b", "// B.\nint32 a = 1;",
                          "a.proto")
        self.assert_different("int32 a = 1;", "int32 a = 2;", "a.proto")

    def test_python(self):
        self.assert_equal('def f():\n  """A."""\n  return 1  # b\n',
                          'def f():\n  """C."""\n  # d\n  return 1\n', "a.py")
        for old, new in [
                ("f(1)", "f(2)"),
                ("f('# a')", "f('# b')"),
                ("if a:\n  b()\n  c()\n", "if a:\n  b()\nc()\n"),
                ('def f():\n  """A."""\n', "def f():\n  return 1\n"),
        ]:
            with self.subTest(old=old):
                self.assert_different(old, new, "a.py")

    def test_the_first_difference_is_named_with_its_line(self):
        self.assertEqual(
            token_equal.difference("int a;\nint b;", "int a;\n// c\nint d;",
                                   "a.cc"),
            "a.cc:3: 'd'; before: 'b', at line 2")


if __name__ == "__main__":
    unittest.main()
