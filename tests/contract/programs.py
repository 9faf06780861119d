"""Command lines of the built programs: settings of actord with their options,
keys and environment variables; commands, arguments and options of actorctl.

Reads what a user reads: --help and --print-config. Descriptions are no part of the
contract, and neither is what a value is called, unless it lists the choices.
"""

import re
import subprocess
import tomllib

SETTING = re.compile(r"--(\S+) \S+ .*\[([\w.]+), env (\w+), default (.*)\]")
RELATION = re.compile(r" (?:Excludes|Needs): .*")
VALUE = re.compile(r"(?<= )[A-Z]+\b")
STATUS = re.compile(r"(\d+) [a-z]")
COLUMNS = re.compile(r"  +")


def output(*words):
    return subprocess.run([str(word) for word in words], capture_output=True,
                          text=True, check=True, env={}).stdout


def exit_statuses(help_text):
    """The numbers of the paragraph that begins with "Exit status"."""
    paragraph = help_text[help_text.index("Exit status:"):].split("\n\n")[0]
    words = " ".join(paragraph.split())  # a number may end a line
    return " ".join(sorted(STATUS.findall(words), key=int))


def actord_lines(program):
    """Each option with its key, its variable and its default."""
    text = output(program, "--help")
    config = tomllib.loads(output(program, "--print-config"))
    keys = {f"{section}.{key}" for section, values in config.items()
            for key in values}
    options = text.split("\nExit status")[0]
    flags, settings = [], {}
    for option in re.split(r"\n(?=  -)", options)[1:]:
        if match := SETTING.match(" ".join(option.split())):
            settings[match[2]] = f"--{match[1]} {match[3]} default {match[4]}"
        else:
            flags.append(VALUE.sub("VALUE", option.splitlines()[0].strip()))
    if settings.keys() != keys:
        raise RuntimeError("programs: --help and --print-config of actord have "
                           f"different keys: {sorted(settings.keys() ^ keys)}")
    yield "actord"
    yield from (f"  {flag}" for flag in flags)
    yield from (f"  {key}: {settings[key]}" for key in sorted(settings))
    yield f"  exit statuses: {exit_statuses(text)}"
    yield ""


def section(help_text, heading):
    """The entries of one section of a help text, which stand two columns in."""
    match = re.search(rf"^{heading}:\n((?:  .*\n)+)", help_text, re.M)
    entries = match[1].splitlines() if match else []
    return [entry[2:] for entry in entries if entry[2] != " "]


def option_text(entry):
    """Its names, and the choices, the default and the number of its values."""
    text = RELATION.sub("", COLUMNS.split(entry)[0])
    return text if "|" in text else VALUE.sub("VALUE", text, count=1)


def actorctl_lines(program, words=()):
    text = output(program, *words, "--help")
    usage = re.search(r"^Usage: (.*)$", text, re.M)[1]
    for general in (" [OPTIONS]", " [SUBCOMMAND]", " SUBCOMMAND"):
        usage = usage.replace(general, "")
    yield usage
    for entry in sorted(section(text, "Options")):
        if (option := option_text(entry)) != "-h,--help":
            yield f"  {option}"
    if not words:
        yield f"  exit statuses: {exit_statuses(text)}"
    for entry in sorted(section(text, "Subcommands")):
        yield from actorctl_lines(program, (*words, entry.split()[0]))


def lines(bin_directory):
    yield from actord_lines(bin_directory / "actord")
    yield from actorctl_lines(bin_directory / "actorctl")
