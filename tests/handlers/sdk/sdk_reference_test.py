#!/usr/bin/env python3
"""docs/sdk/reference.md names each header, and each member of the main classes, and no others.

Usage: sdk_reference_test.py INCLUDE_DIRECTORY PAGE
"""

import re
import sys
from pathlib import Path

# The classes whose public functions the page lists.
CLASSES = {
    "step.h": ["StepContext", "StepOutput"],
    "context.h": ["Context"],
    "handler.h": ["Host", "Completion"],
    "testing.h": ["Harness"],
}
FUNCTION = re.compile(r"^  (?:\[\[nodiscard\]\] )?(?:[\w:<>,]+[ &*]+)+(\w+)\(", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
# A name that is called, has members, or stands alone; and a member after "::".
NAME = re.compile(r"\b([A-Za-z_]\w*)(?=\(|<|$|::)|::(\w+)")


def public_functions(header, name):
    """The names of the public functions of a class."""
    body = re.search(rf"^class {name}\b[^;]*?{{\n(.*?)^}};", header, re.MULTILINE | re.DOTALL)[1]
    public = re.split(r"^ (?:private|protected):", body, maxsplit=1, flags=re.MULTILINE)[0]
    return {found for found in FUNCTION.findall(public) if found not in ("operator", name)}


def names_of_tables(page):
    """The names in the code of the first column of each table."""
    names = set()
    for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE):
        for code in CODE.findall(row):
            # Without the arguments: their names are the page's own.
            for one, member in NAME.findall(re.sub(r"\(.*\)", "(", code)):
                names.add(one or member)
    return names


def main():
    """Compares the page with the headers."""
    include, path = (Path(argument) for argument in sys.argv[1:])
    page = path.read_text(encoding="utf-8")
    headers = {each.name: each.read_text(encoding="utf-8")
               for each in (include / "actord").glob("*.h")}
    faults = [f"the page does not name the header {name}"
              for name in headers if f"`{name}`" not in page]
    named = names_of_tables(page)
    functions = {name: public_functions(headers[header], name)
                 for header, classes in CLASSES.items() for name in classes}
    # So that another form of the headers or of the page does not go unnoticed.
    if len(named) < 150 or any(len(each) < 5 for each in functions.values()):
        raise SystemExit(f"too few names: {len(named)}, {functions}")
    text = " ".join(CODE.findall(page))
    for name, each in functions.items():
        faults += [f"the page does not name {name}::{function}"
                   for function in sorted(each) if not re.search(rf"\b{function}\b", text)]
    source = re.sub(r"//[^\n]*|/\*.*?\*/", "", "\n".join(headers.values()), flags=re.DOTALL)
    faults += [f"the headers have no {name}" for name in sorted(named)
               if not name.endswith("_h") and not re.search(rf"\b{name}\b", source)]
    print("\n".join(faults) or f"{len(named)} names")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
