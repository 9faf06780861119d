"""The machine and the date of a measurement."""

import datetime
import os
import pathlib
import platform
import re


def _first_match(path, pattern):
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except OSError:
        return "unknown"
    match = re.search(pattern, text, re.MULTILINE)
    return match.group(1) if match else "unknown"


def machine():
    return {
        "cpu": _first_match("/proc/cpuinfo", r"^model name\s*: (.*)$"),
        "cpus": len(os.sched_getaffinity(0)),
        "system": _first_match("/etc/os-release", r'^PRETTY_NAME="(.*)"$'),
        "kernel": platform.release(),
    }


def today():
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()
