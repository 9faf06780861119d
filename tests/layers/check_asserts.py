#!/usr/bin/python3
"""Checks that the numbered invariants and the preconditions of headers are kept.

Usage: check_asserts.py ROOT

For each header NAME.h of runtime/ and daemon/:
  - An invariant, "(N)" at the beginning of a line of a comment, or "N." below
    "Invariants:", has an assertion "NAME.h (N)".
  - There are at least as many assertions "NAME.h: TEXT" (or "NAME.h (N): TEXT")
    as there are comments "Precondition", and each precondition has a word in
    common with one of them.
In place of an assertion, "Not asserted: WHY" may follow the invariant or the
precondition, and a sentence with a file of tests/ may name the numbers that the
test checks.

Prints one line per violation, `path:line: what is wrong`, and exits with 1 if
there is any.
"""

import collections
import pathlib
import re
import sys

FOLDERS = ("runtime", "daemon")
ASSERTION = re.compile(
    r'ACTORD_ASSERT(?:_HOT)?\([^;]*?"(\w+\.(?:h|cc))((?:[^"]|"\s*")*)"\)')
INVARIANTS = re.compile(r"//\s*Invariants?\b.*:$")
ITEM = re.compile(r"//\s+\((\d+)\) ")
ITEM_OF_INVARIANTS = re.compile(r"//\s+\(?(\d+)[.)] ")
PRECONDITION = re.compile(r"\bPreconditions?\b")
CONDITION = re.compile(
    r"\bPreconditions?\b[^:]*:(.*?)(?=\. [A-Z(]|\.$|$|\bPrecondition)")
COMMON_WORDS = frozenset(
    "after before called caller from function have hold holds must only other "
    "process that their then there they this which with".split())
SENTENCE_END = re.compile(r"(?<=[.:]) ")
WHY_NOT = "ot asserted: "


def numbers_in(text):
    found = {int(number) for number in re.findall(r"\((\d+)\)", text)}
    for first, last in re.findall(r"\((\d+)\) to \((\d+)\)", text):
        found.update(range(int(first), int(last) + 1))
    return found


def words_in(text):
    """The beginnings of the words that say something, and of their parts."""
    split = re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower()
    return {word[:5] for word in re.findall(r"[a-z]{4,}", split)
            if word not in COMMON_WORDS}


def assertions(root):
    """The invariants, and the other texts, of the assertions that name each header."""
    numbered = collections.defaultdict(set)
    texts = collections.defaultdict(list)
    for folder in FOLDERS:
        for path in (root / folder).rglob("*.[hc]*"):
            for name, text in ASSERTION.findall(path.read_text()):
                numbered[name] |= numbers_in(text)
                if ": " in text:
                    texts[name].append(
                        re.sub(r'"\s*"', "", text).split(": ", 1)[1])
    return numbered, texts


def comments(text):
    """The comments of a file, each as a list of numbers and lines."""
    block = []
    for number, line in enumerate(text.splitlines() + [""], 1):
        if line.strip().startswith("//"):
            block.append((number, line.strip()))
        elif block:
            yield block
            block = []


def is_about(condition, texts):
    words = words_in(condition)
    return not words or any(words & words_in(text) for text in texts)


def check_header(path, text, asserted, others):
    kept, invariants, preconditions, excused = set(asserted), {}, [], 0
    conditions = []
    for block in comments(text):
        item, last = ITEM, None
        for number, line in block:
            if INVARIANTS.match(line):
                item = ITEM_OF_INVARIANTS
            if found := item.match(line):
                last = int(found.group(1))
                invariants.setdefault(last, number)
            elif WHY_NOT in line and last:
                kept.add(last)
            preconditions += [number] * len(PRECONDITION.findall(line))
        whole = " ".join(line.strip("/ ") for _, line in block)
        excused += whole.count(WHY_NOT) if PRECONDITION.search(whole) else 0
        if WHY_NOT not in whole:
            conditions += [(block[0][0], found.strip())
                           for found in CONDITION.findall(whole)]
        for sentence in SENTENCE_END.split(whole):
            kept |= numbers_in(sentence) if "tests/" in sentence else set()
    wrong = [f"{path}:{number}: no assertion names invariant ({which})"
             for which, number in sorted(invariants.items()) if which not in kept]
    if len(preconditions) > len(others) + excused:
        wrong.append(f"{path}:{preconditions[0]}: the preconditions are "
                     f"{len(preconditions)}, and their assertions "
                     f"{len(others) + excused}")
    else:
        wrong += [f"{path}:{number}: no assertion has a word of the precondition "
                  f'"{condition}"'
                  for number, condition in conditions
                  if not is_about(condition, others)]
    return wrong


def check_tree(root):
    numbered, texts = assertions(root)
    return [line for folder in FOLDERS
            for path in sorted((root / folder).rglob("*.h"))
            for line in check_header(path.relative_to(root), path.read_text(),
                                     numbered[path.name], texts[path.name])]


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    wrong = check_tree(pathlib.Path(arguments[0]))
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
