#!/usr/bin/python3
"""Compares what others build on with the contract, or renews it.

Usage: contract.py [check|renew [PART...]]

The parts are `wire`, `abi` and `names`, which need no build, and `programs` and
`json_keys`, which run the built programs and find them as tests/e2e does. Without
a part: all of them. Without a word: that of the variable ACTORD_CONTRACT, or check.

The contract of a part is the file of that name beside this one. CHANGELOG.md has to
name each part with the fingerprint of its file, so no file changes without it.
"""

import difflib
import hashlib
import importlib
import os
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
PARTS = ("wire", "abi", "names", "programs", "json_keys")
RENEW = "./dev contract"


def fingerprint(text):
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def mark(part, text):
    """What CHANGELOG.md has to say of the part."""
    return f"{part} {fingerprint(text)}"


def actual(part):
    """The contract of a part as the checkout has it now."""
    module = importlib.import_module(part)
    if part == "programs":
        found = module.lines(Path(os.environ["ACTORD_E2E_BIN_DIR"]))
    elif part == "json_keys":
        found = module.lines()
    else:
        found = module.lines(ROOT)
    return "\n".join(found).rstrip("\n") + "\n"


def difference(name, contract, now):
    """The differences as text, or "" if the two are the same."""
    if contract == now:
        return ""
    lines = difflib.unified_diff(
        contract.splitlines(), now.splitlines(), f"{name} (the contract)",
        f"{name} (what the checkout has)", n=2, lineterm="")
    return "\n".join([
        *lines, "",
        f"{name}: others build on what has changed here. If the change is meant,",
        f"run `{RENEW}` to renew the file, and say in CHANGELOG.md under",
        "[Unreleased] what it means for them."])


def unnamed(part, name, contract, changelog):
    """The error as text, or "" if the change log names this contract."""
    wanted = mark(part, contract)
    # Lines may end between the two words.
    if re.search(rf"\b{re.escape(wanted)}\b", " ".join(changelog.split())):
        return ""
    return (f"CHANGELOG.md does not name the contract \"{wanted}\" ({name}): say "
            "under [Unreleased]\nwhat changes for those who build on it, and end "
            f"the entry with \"(contract: {wanted})\".")


def check(parts, changelog):
    """Returns the errors, part by part."""
    problems = []
    for part in parts:
        path = FOLDER / f"{part}.txt"
        name = path.relative_to(ROOT).as_posix()
        contract = path.read_text(encoding="utf-8") if path.exists() else ""
        try:
            problems.append(difference(name, contract, actual(part))
                            or unnamed(part, name, contract, changelog))
        except RuntimeError as error:
            # The other parts may say why.
            problems.append(f"{name}: cannot be compared: {error}")
    return list(filter(None, problems))


def renew(parts, changelog):
    """Writes the files, and prints what CHANGELOG.md still has to say."""
    for part in parts:
        path = FOLDER / f"{part}.txt"
        text = actual(part)
        path.write_text(text, encoding="utf-8")
        name = path.relative_to(ROOT).as_posix()
        print(unnamed(part, name, text, changelog) or f"{name} is as it was.")


def main(arguments):
    action, *parts = arguments or [os.environ.get("ACTORD_CONTRACT", "check")]
    parts = parts or PARTS
    if action not in ("check", "renew") or set(parts) - set(PARTS):
        print(__doc__, file=sys.stderr)
        return 2
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if action == "renew":
        renew(parts, changelog)
        return 0
    problems = check(parts, changelog)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
