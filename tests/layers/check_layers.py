#!/usr/bin/python3
"""Checks the rules of docs/architecture.md that a compiler does not.

Usage: check_layers.py ROOT

Prints one line per violation, `path:line: what is wrong`, and exits with 1 if
there is any. What the rules are stands in the tables below.
"""

import collections
import pathlib
import re
import sys

TOP_LEVEL_NAMES = {
    "proto", "daemon", "runtime", "handlers", "identity", "client", "tests", "bench",
    "docs", "cmake", "packaging", "CMakeLists.txt", "CMakePresets.json", "Dockerfile",
    "README.md", "CHANGELOG.md", "LICENSE", "dev", ".ci", ".clang-format",
    ".clang-tidy", ".gitignore", ".dockerignore"}
NOT_OURS = {".git", "build", ".cache", "__pycache__"}

MAX_LINES = 400
MAX_FILES = 25  # in one folder
# Numbered records, which are read one at a time; and the SDK, whose headers are
# all included as <actord/NAME.h>.
MAY_HOLD_MORE = {"docs/decisions", "handlers/include/actord"}
BANNED_NAME_PARTS = {
    "util", "utils", "common", "helper", "helpers", "misc", "manager", "base"}
BANNED_TEXT = [
    (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), "an unfinished-work marker"),
    (re.compile(r"\bissue\s+#?\d+", re.I), "a reference to an issue"),
]

# What an include path belongs to: the first pattern that matches.
ORIGINS = [
    ("proto", r"(actord/v1|google/rpc|grpc/health/v1)/\w+(\.grpc)?\.pb\.h$"),
    ("abi", r"actord/abi(_\w+)?\.h$"),
    ("old abi", r"old\.h$"),
    # The rules for text, which bind clients too.
    ("text", r"actord/text\.h$"),
    # Needs nlohmann-json, so no other header of the SDK includes it.
    ("sdk's json", r"actord/json\.h$"),
    ("sdk", r"actord/\w+\.h$"),
    ("plugins", r"handlers/plugins/"),
    # What processes may do, in the runtime and in the harness for tests.
    ("rules", r"handlers/rules/"),
    ("handlers", r"handlers/(?!include/)"),
    ("identity", r"identity/"),
    ("runtime", r"runtime/"),
    ("daemon", r"daemon/"),
    ("client", r"client/"),
    ("tests", r"tests/"),
    ("bench", r"bench/"), ("manual", r"packaging/manual/"),
    ("absl", r"absl/"), ("otlp", r"otlp/\w+\.pb\.h$"),
    ("grpc", r"(grpc|grpcpp)/"),
    ("protobuf", r"google/protobuf/"),
    ("spdlog", r"(spdlog|fmt)/"),
    ("cli11", r"CLI/"), ("toml", r"toml\+\+/"), ("json", r"nlohmann/"), ("boost", r"boost/"),
    ("openssl", r"openssl/"),
    ("isal", r"isa-l/"), ("rocksdb", r"rocksdb/"), ("benchmark", r"benchmark/"),
    ("gtest", r"(gtest|gmock)/"),
    ("c", r"(assert|ctype|errno|float|inttypes|limits|math|setjmp|signal|stdarg"
          r"|stdalign|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn"
          r"|string|time)\.h$"),
    ("c++", r"[a-z_]+$"),
    ("posix", r"((sys|linux|arpa|net|netinet|sanitizer)/\w+|cxxabi|dirent|dlfcn|elf|execinfo"
              r"|fcntl|getopt|glob|grp|langinfo|link|locale|netdb|poll|pthread|pwd"
              r"|sched|semaphore|spawn|strings|syscall|termios|ucontext|unistd"
              r"|immintrin|libgen|ftw|malloc)\.h$"),
]
ORIGINS = [(origin, re.compile(pattern)) for origin, pattern in ORIGINS]

STANDARD = {"c", "c++"}
SYSTEM = STANDARD | {"posix"}
RPC = {"proto", "grpc", "protobuf", "absl"}

# What the sources below a folder may include: the first prefix that matches.
MAY_INCLUDE = [
    ("handlers/include/actord/abi", {"c", "abi"}),
    ("handlers/include/actord/text.h", STANDARD),
    ("handlers/include/actord/json.h", STANDARD | {"sdk", "json"}),
    ("handlers/include/", STANDARD | {"abi", "sdk", "text"}),
    ("handlers/plugins/", SYSTEM | {
        "abi", "sdk", "text", "sdk's json", "plugins", "json"}),
    ("handlers/rules/", STANDARD | {"abi", "sdk", "text", "rules"}),
    ("handlers/loader/", SYSTEM | {
        "abi", "sdk", "text", "rules", "absl", "handlers", "openssl"}),
    ("handlers/", SYSTEM | {
        "abi", "sdk", "text", "rules", "absl", "handlers", "json"}),
    ("identity/", SYSTEM | {"text", "absl", "identity", "toml", "openssl"}),
    ("runtime/journal/", SYSTEM | {"absl", "runtime", "isal"}),
    ("runtime/store_tools/", SYSTEM | {"absl", "runtime", "openssl"}),
    ("runtime/store/", SYSTEM | {"abi", "sdk", "text", "absl", "runtime", "rocksdb"}),
    ("runtime/", SYSTEM | {"abi", "sdk", "text", "rules", "absl", "runtime"}),
    ("daemon/tls/", SYSTEM | RPC | {"text", "identity", "runtime", "daemon", "openssl"}),
    ("daemon/links/", SYSTEM | RPC | {"text", "identity", "runtime", "daemon", "openssl"}),
    ("daemon/admin/", SYSTEM | {"absl", "runtime", "daemon", "json", "boost"}),
    ("daemon/spans/", SYSTEM | RPC | {"otlp", "text", "runtime", "daemon", "boost"}),
    ("daemon/", SYSTEM | RPC | {
        "abi", "sdk", "text", "handlers", "identity", "runtime", "daemon", "spdlog",
        "cli11", "toml", "json"}),
    ("client/commands/store/", SYSTEM | RPC | {"text", "runtime", "client", "cli11", "json"}),
    ("client/commands/plugins/", SYSTEM | RPC | {"text", "runtime", "client", "cli11", "json"}),
    ("client/plugin_check/", SYSTEM | {
        "abi", "absl", "handlers", "identity", "rules", "runtime", "client", "toml"}),
    ("client/contexts/", SYSTEM | {"text", "absl", "identity", "client", "toml"}),
    ("client/", SYSTEM | RPC | {"text", "identity", "client", "cli11", "json"}),
    ("packaging/manual/", STANDARD | {"absl", "cli11", "client", "daemon", "manual"}),
    ("bench/", SYSTEM | RPC | {
        "sdk", "text", "handlers", "runtime", "bench", "cli11", "json"}),
    # These run under ThreadSanitizer, which gRPC's library confuses.
    ("tests/runtime/", SYSTEM | {
        "abi", "sdk", "text", "absl", "handlers", "runtime", "tests",
        "json", "gtest"}),
    ("tests/handlers/", SYSTEM | {
        "abi", "sdk", "text", "sdk's json", "rules", "absl", "handlers",
        "runtime", "tests", "json", "gtest"}),
    ("tests/sdk_consumer/c/", {"c", "abi"}),
    # A plugin and the old headers that it knows alone.
    ("tests/contract/", {"c", "abi", "old abi"}),
    ("tests/sdk_consumer/cpp/", STANDARD | {"abi", "sdk", "text"}),
]
# The folders of a top-level folder, bottom up. A file may include its own folder
# and those before it in the list; a file above them all may include any.
LAYERS = {
    "handlers": [
        "include", "rules", "commands", "schedule", "supervisor", "loader", "testing",
        "plugins"],
    "runtime": [
        "system",
        "files",
        "memory",
        "counters", "tracing",
        "process", "table",
        "settings",
        "scheduler",
        "journal",
        "crash",
        "delivery",
        "tasks",
        "yields",
        "recording", "actors", "topics", "log",
        "step", "records", "store", "store_tools", "durable", "history",
        "effects",
        "turn", "durable_turn", "workers",
    ],
    "daemon": [
        "problems", "settings",
        "log", "crash",
        "counters",
        "tls",
        "listening",
        "connections",
        "plugins",
        "spans", "wire", "access",
        "operations", "links", "limits",
        "streams", "admin", "systemd", "console", "calls", "api",
    ],
    "client": [
        "calls", "bulk", "streams", "tasks", "output", "cli", "contexts", "usage", "top",
        "plugin_check", "bench", "commands"],
}
PROTO_IMPORTS = re.compile(r"(actord/v1|google/rpc|google/protobuf)/\w+\.proto$")

# Time and randomness are passed in; these places alone ask the system.
ASKS_SYSTEM = re.compile(
    r"\b(steady_clock|system_clock|high_resolution_clock)::now\b"
    r"|\babsl::Now\b|\bgpr_now\b|\b(clock_)?gettime(ofday)?\s*\("
    r"|\brandom_device\b|\bs?rand\s*\(|\bgetrandom\s*\(|\babsl::BitGen\b")
ASKED_ONLY_BELOW = ("runtime/", "handlers/", "identity/", "daemon/")
MAY_ASK_SYSTEM = re.compile(
    r"(runtime/system/(clock|random)|identity/random)\.(h|cc)$")

# One type of mutex in each folder: other types, and the file that wraps them.
STANDARD_MUTEX = r"std::(?:recursive_|shared_|timed_)*mutex\b|pthread_mutex_t\b"
ONE_MUTEX = [
    ("runtime/", re.compile(rf"\b(?:{STANDARD_MUTEX}|absl::Mutex)"),
     "runtime/system/mutex.h"),
    ("daemon/", re.compile(rf"\b(?:{STANDARD_MUTEX}|runtime::Mutex)"),
     "absl::Mutex"),
    ("client/", re.compile(rf"\b(?:{STANDARD_MUTEX}|absl::Mutex)"),
     "client/calls/mutex.h"),
]

# Marks that only speed justifies. A file of the runtime that has one names the
# entries of PERFORMANCE_NOTES that justify its marks. An entry is a heading of
# the third level below a date.
PERFORMANCE_MARK = re.compile(
    r"\[\[(un)?likely\]\]|\bPrefetch\w*\(|\bgnu::(noinline|always_inline|cold)")
PERFORMANCE_NOTES = "docs/performance-notes.md"
DATE_HEADING = re.compile(r"## \d{4}-\d\d-\d\d$")
NAMED_NOTES = re.compile(r"performance-notes: ([^.)]+)[.)]")

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
IMPORT = re.compile(r'^\s*import\s+(?:public\s+|weak\s+)?"([^"]+)"')
TYPE_NAME = re.compile(
    r"^\s*(?:template\s*<.*>\s*)?(?:class|struct|union|enum(?:\s+class)?"
    r"|namespace)\s+(\w+)\b(?!\s*::)")
COMMENT = re.compile(r"//.*$")
# Standard C, in which the ABI is written, knows no #pragma once.
C_HEADER = re.compile(
    r"(handlers/include/actord|tests/contract/abi_\w+/actord)/abi(_\w+)?\.h$"
    r"|tests/contract/abi_\w+/old\.h$")
CXX_SUFFIXES = {".h", ".cc", ".c"}
CODE_SUFFIXES = CXX_SUFFIXES | {".proto", ".py", ".cmake", ".sh", ".js", ".mjs", ".css"}
# Files of others, as they are.
FOREIGN = "daemon/console/site/vendor/"


def name_parts(name):
    """Splits snake-case, kebab-case and CamelCase into lower-case words."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return {part.lower() for part in re.split(r"[\s_.\-]+", spaced) if part}


def origin_of(include):
    for origin, pattern in ORIGINS:
        if pattern.match(include):
            return origin
    return None


def allowed_for(path):
    """The origins that `path` may include, or None if all are."""
    for prefix, allowed in MAY_INCLUDE:
        if path.startswith(prefix):
            return allowed
    return None


def height_of(path):
    """The place of a file's folder in LAYERS; -1 if it is in none of them."""
    top, _, rest = path.partition("/")
    if top not in LAYERS:
        return -1
    folder = rest.split("/")[0] if "/" in rest else None
    layers = LAYERS[top]
    return layers.index(folder) if folder in layers else len(layers)


def check_include(path, include):
    origin = origin_of(include)
    if origin is None:
        return (f"include of {include}, which is of no known origin; includes "
                "of ours start at the top of the repository")
    allowed = allowed_for(path)
    if allowed is not None and origin not in allowed:
        layer = path.rsplit("/", 1)[0]
        return f"{layer} may not include {origin} ({include})"
    if (include.split("/")[0] == path.split("/")[0]
            and height_of(include) > height_of(path)):
        layer = path.rsplit("/", 1)[0]
        return f"{layer} may not include a layer above it ({include})"
    return None


def check_cxx(path, lines):
    guard = "#pragma once"
    if C_HEADER.match(path):
        guard = "#ifndef ACTORD_" + path.rsplit("/", 1)[-1].upper().replace(
            ".", "_") + "_"
    if path.endswith(".h") and guard not in lines:
        yield 1, f"header without {guard}"
    for number, line in enumerate(lines, 1):
        if match := INCLUDE.match(line):
            if problem := check_include(path, match[1]):
                yield number, problem
        code = COMMENT.sub("", line)
        if match := TYPE_NAME.match(code):
            if banned := name_parts(match[1]) & BANNED_NAME_PARTS:
                yield number, f"name {match[1]} says {min(banned)}"
        if (path.startswith(ASKED_ONLY_BELOW) and not MAY_ASK_SYSTEM.match(path)
                and ASKS_SYSTEM.search(code)):
            yield number, "asks the system for time or randomness"
        for prefix, others, one in ONE_MUTEX:
            if path.startswith(prefix) and path != one and others.search(code):
                yield number, f"another mutex than {prefix}'s: {one}"


def check_proto(lines):
    for number, line in enumerate(lines, 1):
        if (match := IMPORT.match(line)) and not PROTO_IMPORTS.match(match[1]):
            yield number, f"proto may not import {match[1]}"


def performance_entries(notes):
    """The titles of the entries in the text of PERFORMANCE_NOTES."""
    entries = set()
    is_dated = False
    for line in notes.splitlines():
        if line.startswith("## "):
            is_dated = DATE_HEADING.match(line) is not None
        elif line.startswith("### ") and is_dated:
            entries.add(line[4:])
    return entries


def check_performance_marks(text, entries):
    """Yields (line, problem) for a file of the runtime. `entries`: see
    performance_entries."""
    joined = re.sub(r"\n\s*//", "", text)
    named = [entry.strip() for names in NAMED_NOTES.findall(joined)
             for entry in names.split(",")]
    for entry in named:
        if entry not in entries:
            yield 1, f"{PERFORMANCE_NOTES} has no entry {entry}"
    if named:
        return
    for number, line in enumerate(text.splitlines(), 1):
        if PERFORMANCE_MARK.search(COMMENT.sub("", line)):
            yield number, f"has a mark and names no entry of {PERFORMANCE_NOTES}"
            return


def check_file(path, text):
    """Yields (line, problem) for the file at `path`, relative to the root."""
    if path.startswith(FOREIGN):
        return
    if banned := name_parts(path.rsplit("/", 1)[-1]) & BANNED_NAME_PARTS:
        yield 1, f"file name says {min(banned)}"
    suffix = pathlib.PurePath(path).suffix
    lines = text.splitlines()
    is_code = (suffix in CODE_SUFFIXES or path.endswith("CMakeLists.txt")
               or text.startswith("#!"))
    if is_code and len(lines) > MAX_LINES:
        yield MAX_LINES + 1, f"more than {MAX_LINES} lines"
    if path.startswith("tests/layers/"):
        return  # It names what it looks for.
    if is_code or suffix == ".md":
        for number, line in enumerate(lines, 1):
            for pattern, meaning in BANNED_TEXT:
                if pattern.search(line):
                    yield number, meaning
    if suffix in CXX_SUFFIXES:
        yield from check_cxx(path, lines)
    if suffix == ".proto":
        yield from check_proto(lines)


def walk(folder):
    for entry in sorted(folder.iterdir()):
        if entry.name in NOT_OURS:
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from walk(entry)
        elif entry.is_file():
            yield entry


def check_tree(root):
    """Returns the violations below `root` as lines of text."""
    found = []
    for entry in sorted(root.iterdir()):
        if entry.name not in TOP_LEVEL_NAMES | NOT_OURS:
            found.append(f"{entry.name}:1: not one of the top-level names")
    files_in = collections.Counter(
        file.parent.relative_to(root).as_posix() for file in walk(root))
    for folder, count in sorted(files_in.items()):
        if count > MAX_FILES and folder not in MAY_HOLD_MORE:
            found.append(f"{folder}:1: {count} files; a folder holds at most "
                         f"{MAX_FILES}")
    for top, layers in LAYERS.items():
        for folder in sorted((root / top).glob("*/")):
            has_sources = any(folder.rglob("*.h")) or any(folder.rglob("*.cc"))
            if has_sources and folder.name not in layers:
                found.append(f"{top}/{folder.name}:1: not in the table of "
                             f"layers of {top}")
    notes = root / PERFORMANCE_NOTES
    entries = performance_entries(
        notes.read_text("utf-8") if notes.is_file() else "")
    for file in walk(root):
        path = file.relative_to(root).as_posix()
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # Data, not source.
        for line, problem in check_file(path, text):
            found.append(f"{path}:{line}: {problem}")
        if path.startswith("runtime/") and path.endswith((".h", ".cc")):
            for line, problem in check_performance_marks(text, entries):
                found.append(f"{path}:{line}: {problem}")
    return found


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[1])
    if not (root / "CMakeLists.txt").is_file():
        print(f"{root} is not the top of a checkout", file=sys.stderr)
        return 2
    found = check_tree(root)
    for violation in found:
        print(violation)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
