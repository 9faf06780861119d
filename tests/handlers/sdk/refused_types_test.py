#!/usr/bin/env python3
"""Types of plugins that must not compile, and the text of the first error.

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
#include <utility>
"""
FRAME = """
struct Type : actord::{base} {{
  static constexpr const char* kName = "type";
  static constexpr actord::Method kMethods[] = {{{{"run", nullptr}}}};
  {body}
}};
[[maybe_unused]] constexpr auto& kType = actord::kProcessType<Type>;
"""
# The same without a name and methods, and as a command handler.
BARE = """
struct Type : actord::{base} {{
  {body}
}};
[[maybe_unused]] constexpr auto& kType = actord::kProcessType<Type>;
"""
HANDLER = BARE.replace("kProcessType", "kCommandHandler")
NAME = 'static constexpr const char* kName = "type";\n'
METHODS = 'static constexpr actord::Method kMethods[] = {{"run", nullptr}};\n'
COMMAND = 'static constexpr const char* kCommand = "text.upper";\n'
STEP = "void Step(actord::Events, actord::StepOutput&) {}\n"
MAIN = "actord::Task<> Main(actord::Context&) { co_return; }\n"
WAITS = "actord::Task<> Main(actord::Context& ctx) { "
IMAGE = "static constexpr auto kDurability = actord::Durability::kImage;\n"
REPLAY = "static constexpr auto kDurability = actord::Durability::kReplay;\n"
VERSION = "static constexpr uint32_t kStateVersion = 1;\n"
SNAPSHOT = "actord::SnapshotResult Snapshot() const { return \"\"; }\n"
RESTORE = ("void Restore(std::string_view, const actord::RestoreFrom&,"
           " actord::RestoreContext&) {}\n")


def flat(members, rest=""):
    return (STEP + IMAGE + VERSION + "struct State { " + members + " };\n"
            "State state;\n" + rest)


# Base class, body of the type, what the first error says; None: the type compiles.
# The frame is FRAME, unless a case ends with another one.
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
    ("Process", NAME + METHODS + STEP, None, BARE),
    ("Process", METHODS + STEP, 'const char* kName', BARE),
    ("Process", "private: " + NAME + "public: " + METHODS + STEP, 'const char* kName', BARE),
    ("Process", NAME + STEP, "kMethods[] = {{", BARE),
    ("Process", NAME + STEP + "static constexpr actord::Method kMethods ="
     ' {"run", nullptr};', "kMethods[] = {{", BARE),
    ("CoroutineProcess", NAME + MAIN, "kMethods[] = {{", BARE),
    ("Handler", NAME + METHODS + STEP, "must derive from actord::Process", BARE),
    ("Process", "", "needs a step"),
    ("Process", "void Step(actord::Events) {}", "needs a step"),
    ("Process", STEP + "void Init(std::string) {}", "Init must be public"),
    ("Process", STEP + "int Init(std::string_view, actord::Payload)"
     " { return 0; }", "Init must be public"),
    ("Process", STEP + "void Init(std::string_view, actord::Payload,"
     " const actord::StepContext&) {}", None),
    ("Process", STEP + "void Close(int) {}", "Close must be public"),
    ("Process", STEP + "Type(int) {}", "needs a default constructor"),
    ("CoroutineProcess", "", "a coroutine needs one public Main"),
    ("CoroutineProcess", "private: " + MAIN, "a coroutine needs one public Main"),
    ("CoroutineProcess", "void Main(actord::Context&) {}",
     "a coroutine needs one public Main"),
    ("CoroutineProcess", "actord::Task<> Main(actord::Context&,"
     " std::string_view) { co_return; }", "a coroutine needs one public Main"),
    ("CoroutineProcess", "actord::Task<int> Main(actord::Context&)"
     " { co_return 1; }", "Main must return a Task of nothing"),
    ("CoroutineProcess", "actord::Task<actord::Result<int>>"
     " Main(actord::Context&) { co_return 1; }",
     "Main must return a Task of nothing"),
    ("CoroutineProcess", "actord::Task<actord::Result<std::string>>"
     " Main(actord::Context&, actord::OwnedPayload) { co_return \"1\"; }", None),
    ("CoroutineProcess", "actord::Task<std::string> Main(actord::Context&)"
     ' { co_return actord::Status(actord::Code::kAborted, "no"); }',
     "make it a Task<Result<T>>"),
    ("CoroutineProcess", WAITS + "const int one = co_await 1; }",
     "co_await takes a Task"),
    ("CoroutineProcess", WAITS + "auto wait = ctx.Sleep({}); co_await wait; }",
     "co_await std::move(name)"),
    ("CoroutineProcess", WAITS + "auto wait = ctx.Sleep({});"
     " co_await std::move(wait); }", None),
    ("Process", "void Step(actord::Events, actord::StepOutput& out) {"
     ' (void)out.Spawn("type", {}, {}, {.link = true}); }', None),
    ("Process", "void Step(actord::Events, actord::StepOutput& out) {"
     ' (void)out.Spawn("type", {}, {}, {.name = "one"}); }',
     "cannot give the child a name"),
    ("CoroutineProcess", WAITS + '(void)ctx.Spawn("type", {}, {},'
     ' {.name = "one"}); co_return; }', "cannot give the child a name"),
    ("Process", "void Step(actord::Events, actord::StepOutput& out) {"
     ' out.Yield(actord::commands::Spawn("type", {}, {}, {.monitor = true})); }', None),
    ("Process", "void Step(actord::Events, actord::StepOutput& out) {"
     " actord::Tag tag = 0;"
     ' out.Yield(actord::commands::Spawn("type", {}, {}, {.monitor = &tag})); }',
     "the exit has the tag of the yield"),
    ("Process", "void Step(actord::Events, actord::StepOutput&) {"
     " actord::Tag tag = 0; actord::SpawnOptions options; options.monitor = &tag; }",
     "the exit has the tag of the yield"),
    ("Process", "void Step(actord::Events, actord::StepOutput& out) {"
     ' (void)out.Spawn("type", {}, {}, {.monitor = true}); }',
     "the address of a Tag, where Spawn"),
    ("CoroutineProcess", WAITS + "actord::TaskGroup group(ctx, 2);"
     " co_await group.Wait(); }", None),
    ("Handler", COMMAND + "actord::Reply Handle(const actord::Command&)"
     " { return {}; }", None, HANDLER),
    ("Handler", COMMAND + "actord::Result<> Handle(const actord::Command&)"
     " { return {}; }", None, HANDLER),
    ("Handler", "actord::Reply Handle(const actord::Command&) { return {}; }",
     'const char* kCommand', HANDLER),
    ("Handler", COMMAND, "a command handler needs, in its public part", HANDLER),
    ("Handler", COMMAND + "void Handle(const actord::Command&) {}",
     "a command handler needs, in its public part", HANDLER),
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
    base, body, says, *frame = case
    path = Path(folder, f"type_{number}.cc")
    [frame] = frame or [FRAME]
    path.write_text(frame.format(base=base, body=body), encoding="utf-8")
    built = compile_with(compiler, include, "-fsyntax-only", "-include",
                         str(Path(folder, "sdk.h")), str(path))
    if says is None and built.returncode == 0:
        return None
    if says is not None and built.returncode != 0:
        errors = [line for line in built.stderr.splitlines() if "error:" in line]
        if says in errors[0]:
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
