#!/usr/bin/env python3
"""The tables of docs/journal-format.md have each field of each record, with its number,
its name in the code and its form, and no others.

Usage: journal_format_test.py RECORDS_DIRECTORY PAGE
"""

import re
import sys
from pathlib import Path

# The sections of the page whose types are no records.
IMAGES = {"The image of a state": "StateImage",
          "The runtime's part of an image": "RuntimeImage"}
BYTES = ("std::string", "Fingerprint")
SPECIAL = {"Pid": "PID", "Position": "position", "Positions": "positions",
           "int32_t": "signed"}


class Code:
    """The headers: the kinds of the records, and the fields of each type."""

    def __init__(self, directory):
        text = "\n".join(path.read_text() for path in sorted(directory.glob("*.h")))
        kinds = re.search(r"enum class Kind : uint16_t \{\n(.*?)\};", text, re.DOTALL)[1]
        numbers = dict(re.findall(r"k(\w+) = (\d+),", kinds))
        self.bodies = dict(re.findall(r"^struct (\w+) \{\n(.*?)^\};", text,
                                      re.MULTILINE | re.DOTALL))
        self.kinds = {}
        for name, body in self.bodies.items():
            if kind := re.search(r"kKind = Kind::k(\w+);", body):
                self.kinds[name] = int(numbers.pop(kind[1]))
        if numbers:
            raise SystemExit(f"no record has the kind {', '.join(numbers)}")
        self.visits = {
            name: re.findall(r"visit\((\d+), \w+\.(\w+)(, FieldUse::kCritical)?\)", body)
            for name, body in re.findall(
                r"requires Is<T, (\w+)>\nvoid VisitFields\(.*?\{(.*?)\}", text, re.DOTALL)}

    def form(self, type_name):
        """The form of a member in the tables."""
        if more := re.fullmatch(r"std::vector<(.*)>", type_name):
            return self.form(more[1]) + ", several"
        if maybe := re.fullmatch(r"std::optional<(.*)>", type_name):
            return self.form(maybe[1])
        if type_name in BYTES:
            return "bytes"
        if type_name in SPECIAL:
            return SPECIAL[type_name]
        return "fields" if type_name in self.visits else "number"

    def fields(self, name):
        """(number, name, form) of each field of a type."""
        members = {member: found for found, member in re.findall(
            r"^  ([\w:<>]+) (\w+) = ", self.bodies[name], re.MULTILINE)}
        return [(int(number), member, self.form(members[member]) +
                 (", critical" if critical else ""))
                for number, member, critical in self.visits[name]]


def sections_of(page):
    """The rows (number, name, form) of the table of fields below each heading."""
    for section in re.split(r"^### ", page, flags=re.MULTILINE)[1:]:
        heading, _, text = section.partition("\n")
        if "| field | name | form | holds |" in text:
            yield heading, [(int(number), name, form) for number, name, form in re.findall(
                r"^\| (\d+) \| `(\w+)` \| ([^|]+?) \| ", text, re.MULTILINE)]


def problems_of(code, page):
    """The mistakes of the page."""
    # OWNER_NAME is called OWNER on the page, as the record codec calls it.
    expected = {}
    for name, kind in code.kinds.items():
        words = re.sub(r"(?<!^)([A-Z])", r"_\1", name).upper()
        expected[f"{words.removesuffix('_NAME')}, kind {kind}"] = name
    expected |= IMAGES
    found = dict(sections_of(page))
    for heading in expected.keys() - found.keys():
        yield f"no table of fields below '### {heading}'"
    for heading in found.keys() - expected.keys():
        yield f"'### {heading}' has a table of fields, and the code has no such type"
    for heading in expected.keys() & found.keys():
        wanted = code.fields(expected[heading])
        for row in wanted:
            if row not in found[heading]:
                yield f"{heading}: the page lacks {row}"
        for row in found[heading]:
            if row not in wanted:
                yield f"{heading}: the code does not have {row}"
        if sorted(found[heading]) != found[heading]:
            yield f"{heading}: the rows are not in the order of the numbers"


def main():
    directory, page = map(Path, sys.argv[1:])
    code = Code(directory)
    if len(code.kinds) < 16 or not all(code.visits.get(name) for name in code.kinds):
        print("the headers are not as this test reads them")
        return 1
    problems = sorted(problems_of(code, page.read_text()))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
