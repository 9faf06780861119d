#!/usr/bin/env python3
"""Process types that must not compile, and the text of the error.

Usage: refused_types_test.py COMPILER INCLUDE_DIRECTORY
"""

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HEADER = """#include <actord/coroutine.h>
#include <actord/plugin.h>
#include <string_view>
"""
FRAME = """
struct Type : actord::{base} {{
  static constexpr const char* kName = "type";
  static constexpr actord::Method kMethods[] = {{{{"run", nullptr}}}};
  {body}
}};
[[maybe_unused]] constexpr auto& kType = actord::kProcessType<Type>;
"""
STEP = "void Step(actord::Events, actord::StepOutput&) {}\n"
MAIN = "actord::Task<> Main(actord::Context&) { co_return; }\n"
IMAGE = "static constexpr auto kDurability = actord::Durability::kImage;\n"
REPLAY = "static constexpr auto kDurability = actord::Durability::kReplay;\n"
VERSION = "static constexpr uint32_t kStateVersion = 1;\n"
SNAPSHOT = "actord::SnapshotResult Snapshot() const { return \"\"; }\n"
RESTORE = ("void Restore(std::string_view, const actord::RestoreFrom&,"
           " actord::RestoreContext&) {}\n")


def flat(members, rest=""):
    return (STEP + IMAGE + VERSION + "struct State { " + members + " };\n"
            "State state;\n" + rest)


# Base class, body of the type, what the error says; None: the type compiles.
CASES = [
    ("Process", flat("int64_t a; bool b; actord::Pid c[2];"), None),
    ("Process", flat("char text[64];"), None),
    ("Process", STEP + IMAGE + SNAPSHOT + RESTORE, None),
    ("Process", STEP + REPLAY, None),
    ("CoroutineProcess", MAIN + REPLAY, None),
    ("CoroutineProcess", MAIN + REPLAY + SNAPSHOT + RESTORE, None),
    ("Process", STEP + IMAGE, "kImage needs Snapshot and Restore"),
    ("Process", STEP + IMAGE + SNAPSHOT, "kImage needs Snapshot and Restore"),
    ("Process", STEP + IMAGE + RESTORE, "kImage needs Snapshot and Restore"),
    ("CoroutineProcess", MAIN + IMAGE + SNAPSHOT + RESTORE,
     "a coroutine cannot be kImage"),
    ("Process", STEP + "static constexpr auto kDurability ="
     " static_cast<actord::Durability>(3);", "kDurability must be kNone"),
    ("Process", STEP + VERSION + "struct State { int a; }; State state;",
     "kStateVersion needs kDurability = kImage"),
    ("Process", STEP + REPLAY + VERSION + "struct State { int a; }; State state;",
     "kStateVersion needs kDurability = kImage"),
    ("Process", STEP + IMAGE + VERSION, "needs a public member type State"),
    ("Process", STEP + IMAGE + VERSION + "struct State { int a; };",
     "needs a public member type State"),
    ("Process", STEP + IMAGE + VERSION + "struct State { int a; }; int state;",
     "needs a public member type State"),
    ("Process", flat("int a; std::string_view b;"), "would dangle"),
    ("Process", flat("const char* a;"), "would dangle"),
    ("Process", flat("int a[3]; void* b[2];"), "would dangle"),
    ("Process", flat("const int& a;"), "State must be an aggregate"),
    ("Process", flat("int& a;"), "State must be an aggregate"),
    ("Process", flat("const int a = 1;"), "State must be an aggregate"),
    ("Process", flat("std::string a;"), "State must be an aggregate"),
    ("Process", flat("State() {} int a;"), "State must be an aggregate"),
    ("Process", flat("virtual ~State() = default; int a;"),
     "State must be an aggregate"),
    ("Process", flat("union { int a; const char* b; } a;"), "would dangle"),
    ("Process", flat("char a[65];"), "at most 64 bytes"),
    ("Process", flat("int a;", "int other = 0;"), "the only data member"),
    ("Process", flat("int a;", "~Type() { state.a = 0; }"),
     "the only data member"),
    ("Process", flat("int a;", "virtual void Virtual() {}"),
     "the only data member"),
    ("Process", flat("int a;").replace("kStateVersion = 1", "kStateVersion = 0"),
     "kStateVersion must be 1 or more"),
]


def compile_with(compiler, include, *arguments):
    return subprocess.run([compiler, "-std=c++20", f"-I{include}", *arguments],
                          capture_output=True, text=True, check=False,
                          timeout=120)


def precompile(compiler, include, folder):
    """Compilers read sdk.h.gch in place of sdk.h."""
    header = Path(folder, "sdk.h")
    header.write_text(HEADER, encoding="utf-8")
    built = compile_with(compiler, include, "-x", "c++-header", str(header), "-o",
                         f"{header}.gch")
    if built.returncode != 0:
        raise SystemExit(f"the SDK does not compile:\n{built.stderr}")


def check(compiler, include, folder, number, case):
    base, body, says = case
    path = Path(folder, f"type_{number}.cc")
    path.write_text(FRAME.format(base=base, body=body), encoding="utf-8")
    built = compile_with(compiler, include, "-fsyntax-only", "-include",
                         str(Path(folder, "sdk.h")), str(path))
    if says is None and built.returncode == 0:
        return None
    if says is not None and built.returncode != 0 and says in built.stderr:
        return None
    return (f"{body}\nexpected: {says or 'compiles'}\n"
            f"got: {built.returncode}\n{built.stderr[:3000]}")


def main():
    compiler, include = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="actord-types-") as folder:
        precompile(compiler, include, folder)
        with ThreadPoolExecutor(2) as pool:
            found = pool.map(
                lambda numbered: check(compiler, include, folder, *numbered),
                enumerate(CASES))
            wrong = [text for text in found if text is not None]
    for text in wrong:
        print(text)
    print(f"{len(CASES) - len(wrong)} of {len(CASES)} types as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
