#!/usr/bin/python3
"""Proves that a pass over comments has changed no code.

Usage: token_equal.py [--ignore-strings] COMMIT PATH...

Compares the files below each PATH with the same files at COMMIT, token for
token and without comments and white space. The working tree may hold changes
that are not committed. Reads C, C++, Protobuf and Promela files (by lexing) and
Python files (by their syntax tree without docstrings). Comments that tools obey
(NOLINT, clang-format off, IWYU pragma) count as tokens. Other files are not
compared.

--ignore-strings treats all string literals as equal, for a pass over texts.

Exit status: 0 if all are equal, 1 if any differs, 2 for a wrong call.
"""

import argparse
import ast
import pathlib
import re
import subprocess
import sys

LEXED = (".h", ".cc", ".c", ".proto", ".pml")
PARSED = (".py",)

TOKEN = re.compile(
    r"""
      (?P<space>[ \t\r\f\v]+|\\\n)
    | (?P<newline>\n)
    | (?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
    | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
    | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
    | (?P<character>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
    | (?P<number>\.?\d(?:[eEpP][+-]|'[0-9A-Za-z_]|[0-9A-Za-z_.])*)
    | (?P<word>[A-Za-z_$][A-Za-z0-9_$]*)
    | (?P<sign><=>|->\*|<<=|>>=|\.\.\.|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\|
              |[-+*/%&|^]=|\#\#|.)
    """, re.VERBOSE | re.DOTALL)

OBEYED = re.compile(r"NOLINT\w*(?:\([^)]*\))?|clang-format (?:on|off)"
                    r"|IWYU pragma: \w+")


def lex(text, ignore_strings=False):
    """The tokens of a C, C++ or Protobuf text, as (line, token) pairs.

    The end of a preprocessor directive is a token, because it has a meaning;
    every other line break is white space.
    """
    tokens = []
    line = 1
    in_directive = False
    at_line_start = True
    for match in TOKEN.finditer(text):
        kind, token = match.lastgroup, match.group()
        if kind == "mark":
            kind = "raw"
        if kind == "newline":
            if in_directive:
                tokens.append((line, "end of directive"))
            in_directive = False
            at_line_start = True
        elif kind == "comment":
            tokens += [(line, found) for found in OBEYED.findall(token)]
        elif kind != "space":
            if token == "#" and at_line_start:
                in_directive = True
            at_line_start = False
            if ignore_strings and kind in ("raw", "string"):
                # Adjacent literals are one literal.
                if not tokens or tokens[-1][1] != "a string":
                    tokens.append((line, "a string"))
            else:
                tokens.append((line, token))
        line += token.count("\n")
    return tokens


def parse(text, ignore_strings=False):
    """The syntax tree of a Python text without docstrings, as (line, node)
    pairs in the order of the text."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef,
                             ast.AsyncFunctionDef)):
            if ast.get_docstring(node) is not None:
                # An empty body is not a body that was one docstring.
                node.body[0] = ast.Pass()
        if (ignore_strings and isinstance(node, ast.Constant) and
                isinstance(node.value, str)):
            node.value = "a string"
    nodes = []

    def visit(node, line):
        line = getattr(node, "lineno", line)
        plain = [(name, value) for name, value in ast.iter_fields(node)
                 if not isinstance(value, (ast.AST, list))]
        lengths = [(name, len(value)) for name, value in ast.iter_fields(node)
                   if isinstance(value, list)]
        nodes.append((line, f"{type(node).__name__} {plain} {lengths}"))
        for child in ast.iter_child_nodes(node):
            visit(child, line)

    visit(tree, 1)
    return nodes


def difference(old, new, path, ignore_strings=False):
    """Where two texts of a file first differ, as one line; None if nowhere."""
    read = parse if str(path).endswith(PARSED) else lex
    before = read(old, ignore_strings)
    after = read(new, ignore_strings)
    end = (None, "end of file")
    for i in range(max(len(before), len(after))):
        old_line, old_token = before[i] if i < len(before) else end
        new_line, new_token = after[i] if i < len(after) else end
        if old_token != new_token:
            return (f"{path}:{new_line or 'end'}: {new_token!r}; "
                    f"before: {old_token!r}, at line {old_line or 'end'}")
    return None


def git(*arguments):
    return subprocess.run(("git",) + arguments, check=True,
                          stdout=subprocess.PIPE).stdout.decode("utf-8")


def main():
    arguments = argparse.ArgumentParser(
        description="Proves that a pass over comments has changed no code.")
    arguments.add_argument("--ignore-strings", action="store_true",
                           help="treat all string literals as equal")
    arguments.add_argument("commit", help="the commit to compare with")
    arguments.add_argument("paths", nargs="+", metavar="path",
                           help="a file or folder in the current repository")
    options = arguments.parse_args()

    try:
        root = pathlib.Path(git("rev-parse", "--show-toplevel").strip())
        paths = [str(pathlib.Path(path).resolve()) for path in options.paths]
        old_files = git("-C", str(root), "ls-tree", "-r", "--name-only", "-z",
                        options.commit, "--", *paths)
        new_files = git("-C", str(root), "ls-files", "--cached", "--others",
                        "--exclude-standard", "-z", "--", *paths)
    except subprocess.CalledProcessError:
        return 2  # Git has said why.

    def compared(names):
        return {name for name in names.split("\0")
                if name.endswith(LEXED + PARSED)}

    old_names = compared(old_files)
    new_names = {name for name in compared(new_files)
                 if (root / name).is_file()}
    if not old_names | new_names:
        print("no file to compare below these paths", file=sys.stderr)
        return 2
    found = [f"{name}: only at {options.commit}"
             for name in sorted(old_names - new_names)]
    found += [f"{name}: not at {options.commit}"
              for name in sorted(new_names - old_names)]
    for name in sorted(old_names & new_names):
        found.append(difference(git("show", f"{options.commit}:{name}"),
                                (root / name).read_text(encoding="utf-8"),
                                name, options.ignore_strings))
    found = [line for line in found if line is not None]
    for line in found:
        print(line)
    print(f"{len(old_names & new_names)} files compared, "
          f"{len(found)} differ", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
