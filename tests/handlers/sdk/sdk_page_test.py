#!/usr/bin/env python3
"""Each expression of docs/sdk/values.md compiles and has the type that the page says.

Usage: sdk_page_test.py COMPILER INCLUDE_DIRECTORY PAGE
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROW = re.compile(r"^\| `(.+?)` \| `(.+?)` \|", re.MULTILINE)
FRAME = """#include <actord/coroutine.h>
#include <actord/plugin.h>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
using namespace actord;
void Use(Payload& payload, OwnedPayload& owned, Error& error, Status& status,
         Result<>& result, Failure& failure, Event& event, Message& message,
         Exit& exit, Reply& reply, Pid& pid) {
"""


def main():
    compiler, include, page = sys.argv[1:]
    rows = ROW.findall(Path(page).read_text(encoding="utf-8"))
    # So that a change of the form of the tables does not go unnoticed.
    if len(rows) < 60:
        raise SystemExit(f"{page} has {len(rows)} expressions, which are too few")
    checks = "".join(
        f'static_assert(std::convertible_to<decltype(({expression})), {kind}>);\n'
        for expression, kind in rows)
    with tempfile.TemporaryDirectory(prefix="actord-page-") as folder:
        path = Path(folder, "page.cc")
        path.write_text(FRAME + checks + "}\n", encoding="utf-8")
        built = subprocess.run(
            [compiler, "-std=c++20", f"-I{include}", "-fsyntax-only", str(path)],
            capture_output=True, text=True, check=False, timeout=120)
    print(built.stderr[:5000])
    print(f"{len(rows)} expressions")
    return built.returncode


if __name__ == "__main__":
    sys.exit(main())
