"""Names and numbers that stand in the sources and that programs and scripts of
others rely on: reasons of errors, exit statuses, environment variables.

Needs no build.
"""

import re

REASONS = re.compile(r"\bnamespace reason \{(.*?)\n\}", re.S)
REASON = re.compile(r'= *"([A-Z_]+)"')
STATUS = re.compile(r"\bk(?:Exit)?([A-Z]\w+) = (\d+)")
DOMAIN = re.compile(r'\bkErrorDomain\b[^;"]*"(\w+)"')
METADATA = re.compile(r'\bmutable_metadata\(\)\)\["(\w+)"\]')
# A variable that is read by its name.
READ = re.compile(r'\b(?:variable|environment|getenv)\(\s*"(\w+)"')
# Several, of which the first that is set counts.
READ_IN_TURN = re.compile(
    r'\(const char\* name : \{((?:"\w+",?\s*)+)\}\) \{[^}]*\bvariable\(name\)')
# A variable that a program of `actorctl work` gets.
GIVEN = re.compile(r'"(ACTORD_\w+)="')


def sources(folder):
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".h", ".cc"):
            yield path, path.read_text(encoding="utf-8")


def reasons(root):
    blocks = [block for _, text in sources(root / "runtime")
              for block in REASONS.findall(text)]
    if len(blocks) != 1:
        raise RuntimeError(f"names: {len(blocks)} namespaces `reason` below "
                           "runtime/; there has to be 1")
    return sorted(REASON.findall(blocks[0]))


def words(name):
    return re.sub(r"(?<!^)([A-Z])", r" \1", name).lower()


def exit_statuses(folder):
    found = [text for path, text in sources(folder)
             if path.name == "exit_status.h"]
    if len(found) != 1:
        raise RuntimeError(f"names: {len(found)} files exit_status.h below "
                           f"{folder}; there has to be 1")
    statuses = {int(number): words(name)
                for name, number in STATUS.findall(found[0])}
    return [f"{number} {statuses[number]}" for number in sorted(statuses)]


def matches(folder, pattern):
    """What the group of `pattern` matches anywhere below `folder`, sorted."""
    return sorted({name for _, text in sources(folder)
                   for name in pattern.findall(text)})


def variables_read(folder):
    in_turn = " ".join(matches(folder, READ_IN_TURN))
    return sorted({*matches(folder, READ), *re.findall(r"\w+", in_turn)})


def lines(root):
    daemon, client = root / "daemon", root / "client"
    for heading, entries in (
            ("ErrorInfo.domain", matches(daemon, DOMAIN)),
            ("ErrorInfo.metadata", matches(daemon, METADATA)),
            ("ErrorInfo.reason", reasons(root)),
            ("exit status of actord", exit_statuses(daemon)),
            ("exit status of actorctl", exit_statuses(client)),
            ("environment of actord, beside that of its options",
             variables_read(daemon)),
            ("environment of actorctl", variables_read(client)),
            ("environment of a program that actorctl work runs",
             matches(client, GIVEN))):
        if not entries:
            raise RuntimeError(f"names: found no {heading}")
        yield heading
        for entry in entries:
            yield f"  {entry}"
        yield ""
