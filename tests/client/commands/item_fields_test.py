#!/usr/bin/env python3
"""The table of docs/durability.md has each field of each item of an export, and no
field that the code does not have.

Usage: item_fields_test.py ITEM_FIELDS_H PAGE
"""

import re
import sys
from pathlib import Path

# The rows of the table, and the types of their items.
ROWS = {"store": "StoreItem", "owner": "OwnerItem", "plugin": "Plugin",
        "process": "ProcessItem", "image": "StateImage", "yields": "YieldImage",
        "mailbox": "Event", "exits": "Exit", "history": "Step",
        "dead_letter": "LetterItem", "result": "OutcomeItem", "id": "IdItem"}
# The text above the table says what it holds.
EVERYWHERE = {"unknown"}
# What rows name besides fields, and the fields that item_json.cc writes itself.
OTHERS = {"version", "position", "plugins", "command", "call", "message", "completion",
          "cancel", "terminate", "submit", "send", "yield"}


def fields_of(header):
    """The names of the fields of each type."""
    return {name.rpartition(":")[2]: re.findall(r'visit(?:\.\w+)?\("(\w+)"', body)
            for name, body in re.findall(
                r"template <Of<([\w:]+)> T, typename V>\nvoid Visit\(.*?\{\n(.*?)^\}",
                header, re.MULTILINE | re.DOTALL)}


def rows_of(page):
    """What each row of the table names."""
    table = page.split("| kind | fields |\n|---|---|\n")[1].split("\n\n")[0]
    for row in table.splitlines():
        kind, fields = re.fullmatch(r"\| (.+?) \| (.+) \|", row).groups()
        yield re.search(r"`(\w+)`", kind)[1], re.findall(r"`([a-z0-9_]+)`", fields)


def problems_of(header, page):
    fields = fields_of(header)
    known = {name for names in fields.values() for name in names} | OTHERS
    rows = dict(rows_of(page))
    if rows.keys() != ROWS.keys():
        yield f"the rows should be {', '.join(ROWS)}"
    for kind, named in rows.items():
        if kind not in ROWS:
            continue
        for name in fields[ROWS[kind]]:
            if name not in named and name not in EVERYWHERE:
                yield f"the row `{kind}` lacks the field `{name}`"
        for name in named:
            if name not in known:
                yield f"the row `{kind}` names `{name}`, which is no field"


def main():
    header, page = (Path(path).read_text() for path in sys.argv[1:])
    problems = list(problems_of(header, page))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
