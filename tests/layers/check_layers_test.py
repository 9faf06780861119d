#!/usr/bin/python3
"""Tests that every rule of check_layers.py turns red when it is broken."""

import contextlib
import io
import pathlib
import tempfile
import unittest
import unittest.mock

import check_layers

# Fits every header.
GUARD = "#ifndef ACTORD_ABI_H_\n#pragma once\n"


class CheckTreeTest(unittest.TestCase):

    def violations(self, files):
        """The violations in a tree with these files (path -> text)."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in files.items():
                file = root / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            return check_layers.check_tree(root)

    def assert_fine(self, path, text=""):
        self.assertEqual(self.violations({path: text}), [])

    def assert_violation(self, path, text, line, words):
        found = self.violations({path: text})
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(f"{path}:{line}: "), found)
        self.assertIn(words, found[0])

    def test_scripts_are_code_but_for_those_of_others(self):
        long_text = "\n" * (check_layers.MAX_LINES + 1)
        for suffix in ("js", "mjs", "css"):
            path = f"daemon/console/site/a.{suffix}"
            self.assert_violation(path, long_text, check_layers.MAX_LINES + 1,
                                  "more than 400 lines")
            self.assert_fine(f"daemon/console/site/vendor/a.{suffix}", long_text)

    def test_includes_that_each_layer_may_use(self):
        for path, include in [
                ("handlers/include/actord/abi.h", "<stddef.h>"),
                ("handlers/include/actord/abi.h", "<actord/abi_values.h>"),
                ("handlers/include/actord/process.h", "<string_view>"),
                ("handlers/include/actord/process.h", "<actord/abi.h>"),
                ("handlers/plugins/echo/echo.cc", "<actord/plugin.h>"),
                ("handlers/loader.cc", "<dlfcn.h>"),
                ("handlers/loader.cc", '"absl/status/status.h"'),
                ("handlers/loader.cc", '"handlers/loader.h"'),
                ("runtime/worker.cc", '"absl/status/status.h"'),
                ("runtime/worker.cc", '"runtime/worker.h"'),
                ("runtime/worker.cc", "<linux/futex.h>"),
                ("runtime/worker.cc", '"handlers/rules/process_rules.h"'),
                ("handlers/rules/process_rules.h", "<actord/abi.h>"),
                ("daemon/server.cc", '"actord/v1/actor_service.grpc.pb.h"'),
                ("daemon/server.cc", "<grpcpp/grpcpp.h>"),
                ("daemon/server.cc", '"runtime/runtime.h"'),
                ("client/main.cc", "<CLI/CLI.hpp>"),
                ("client/main.cc", "<actord/text.h>"),
                ("client/main.cc", '"identity/token_edit.h"'),
                ("daemon/server.cc", '"identity/token_table.h"'),
                ("identity/token_text.cc", "<openssl/crypto.h>"),
                ("identity/token_toml.cc", "<toml++/toml.h>"),
                ("identity/identity.h", '"actord/text.h"'),
                ("daemon/server.cc", "<actord/text.h>"),
                ("handlers/include/actord/text.h", "<string>"),
                ("client/main.cc", '"actord/v1/process.pb.h"'),
                ("bench/pairs.cc", '"runtime/runtime.h"'),
                ("tests/runtime/worker_test.cc", "<gtest/gtest.h>"),
                ("tests/daemon/server_test.cc", '"daemon/server.h"'),
        ]:
            with self.subTest(path=path, include=include):
                self.assert_fine(path, GUARD + f"#include {include}\n")

    def test_includes_across_the_layers(self):
        for path, include, origin in [
                ("handlers/include/actord/abi.h", "<cstddef>", "c++"),
                ("handlers/include/actord/abi.h", "<actord/process.h>", "sdk"),
                ("handlers/include/actord/process.h", "<absl/time/time.h>",
                 "absl"),
                ("handlers/include/actord/process.h", "<dlfcn.h>", "posix"),
                ("handlers/include/actord/text.h", "<actord/abi.h>", "abi"),
                ("handlers/plugins/echo/echo.cc", '"handlers/loader.h"',
                 "handlers"),
                ("handlers/loader.cc", '"runtime/runtime.h"', "runtime"),
                ("handlers/loader.cc", '"daemon/config.h"', "daemon"),
                ("handlers/loader.cc", "<grpcpp/grpcpp.h>", "grpc"),
                ("handlers/plugins/echo/echo.cc", '"absl/time/time.h"',
                 "absl"),
                ("runtime/worker.cc", '"daemon/config.h"', "daemon"),
                ("runtime/worker.cc", '"handlers/loader.h"', "handlers"),
                ("handlers/rules/process_rules.h", '"absl/time/time.h"',
                 "absl"),
                ("daemon/server.cc", '"handlers/rules/process_rules.h"',
                 "rules"),
                ("runtime/worker.cc", "<grpcpp/grpcpp.h>", "grpc"),
                ("runtime/worker.cc", '"actord/v1/process.pb.h"', "proto"),
                ("runtime/worker.cc", "<google/protobuf/message.h>",
                 "protobuf"),
                ("runtime/worker.cc", "<spdlog/spdlog.h>", "spdlog"),
                ("runtime/worker.cc", "<CLI/CLI.hpp>", "cli11"),
                ("daemon/server.cc", '"client/client.h"', "client"),
                ("daemon/server.cc", '"tests/support/fake.h"', "tests"),
                ("identity/token_file.cc", '"runtime/runtime.h"', "runtime"),
                ("identity/token_file.cc", "<grpcpp/grpcpp.h>", "grpc"),
                ("identity/token_file.cc", '"client/client.h"', "client"),
                ("runtime/worker.cc", '"identity/role.h"', "identity"),
                ("daemon/server.cc", "<openssl/crypto.h>", "openssl"),
                ("client/main.cc", "<toml++/toml.h>", "toml"),
                ("client/main.cc", '"runtime/pid.h"', "runtime"),
                ("client/main.cc", '"daemon/config.h"', "daemon"),
                ("client/main.cc", "<actord/process.h>", "sdk"),
                ("bench/pairs.cc", '"daemon/server.h"', "daemon"),
                ("tests/runtime/worker_test.cc", "<grpcpp/grpcpp.h>", "grpc"),
                ("tests/sdk_consumer/cpp/greeter.cc", '"runtime/runtime.h"',
                 "runtime"),
        ]:
            with self.subTest(path=path, include=include):
                self.assert_violation(
                    path, GUARD + f"#include {include}\n", 3,
                    f"may not include {origin} (")

    def test_layers_within_a_folder(self):
        layers = {"runtime": ["system", "process", "turn"]}
        with unittest.mock.patch.object(check_layers, "LAYERS", layers):
            for path, include in [
                    ("runtime/system/a.h", "runtime/system/b.h"),
                    ("runtime/turn/a.h", "runtime/system/b.h"),
                    ("runtime/turn/a.h", "runtime/process/b.h"),
                    ("runtime/a.h", "runtime/turn/b.h"),
                    ("runtime/a.h", "runtime/b.h"),
                    ("daemon/a.h", "runtime/b.h"),
            ]:
                with self.subTest(path=path, include=include):
                    self.assert_fine(path, GUARD + f'#include "{include}"\n')
            for path, include in [
                    ("runtime/system/a.h", "runtime/process/b.h"),
                    ("runtime/process/a.cc", "runtime/turn/b.h"),
                    ("runtime/turn/a.h", "runtime/b.h"),
            ]:
                with self.subTest(path=path, include=include):
                    self.assert_violation(
                        path, GUARD + f'#include "{include}"\n', 3,
                        "may not include a layer above it")

    def test_folder_that_is_no_layer(self):
        with unittest.mock.patch.object(check_layers, "LAYERS",
                                        {"runtime": ["system"]}):
            self.assertEqual(
                self.violations({"runtime/turn/a.cc": ""}),
                ["runtime/turn:1: not in the table of layers of runtime"])

    def test_include_that_does_not_start_at_the_top(self):
        self.assert_violation("runtime/worker.cc", '#include "worker.h"\n', 1,
                              "of no known origin")
        self.assert_violation("daemon/main.cc",
                              '#include "handlers/include/actord/abi.h"\n', 1,
                              "of no known origin")

    def test_header_without_pragma_once(self):
        self.assert_violation("runtime/worker.h", "int x;\n", 1,
                              "#pragma once")
        for name in ["abi", "abi_values"]:
            path = f"handlers/include/actord/{name}.h"
            guard = f"#ifndef ACTORD_{name.upper()}_H_"
            with self.subTest(path=path):
                self.assert_fine(path, guard + "\n")
                self.assert_violation(path, "#pragma once\n", 1, guard)

    def test_proto_imports(self):
        self.assert_fine("proto/actord/v1/a.proto",
                         'import "actord/v1/b.proto";\n'
                         'import "google/protobuf/duration.proto";\n')
        self.assert_violation("proto/actord/v1/a.proto",
                              'import "google/api/http.proto";\n', 1,
                              "may not import")

    def test_top_level_names(self):
        self.assert_fine("build/anything/at_all.cc", "#include <nowhere.x>\n")
        found = self.violations({"src/main.c": ""})
        self.assertEqual(found, ["src:1: not one of the top-level names"])

    def test_files_in_a_folder(self):
        files = {f"runtime/turn/a{i}.md": "" for i in range(25)}
        self.assertEqual(self.violations(files), [])
        files["runtime/turn/b.md"] = ""
        found = self.violations(files)
        self.assertEqual(len(found), 1, found)
        self.assertIn("runtime/turn:1: 26 files", found[0])
        records = {f"docs/decisions/{i:04}-a.md": "" for i in range(30)}
        self.assertEqual(self.violations(records), [])

    def test_file_length(self):
        self.assert_fine("runtime/a.cc", "\n" * 400)
        self.assert_fine("docs/a.md", "\n" * 401)
        for path in ["runtime/a.cc", "tests/e2e/a_test.py", "cmake/A.cmake",
                     "tests/CMakeLists.txt", "proto/actord/v1/a.proto"]:
            with self.subTest(path=path):
                self.assert_violation(path, "\n" * 401, 401, "400 lines")
        self.assert_violation("dev", "#!/bin/sh" + "\n" * 401, 401, "400 lines")

    def test_names_that_say_nothing(self):
        for path in ["runtime/util.h", "daemon/string_utils.h",
                     "client/common.h", "tests/support/test_helper.h"]:
            with self.subTest(path=path):
                self.assert_violation(path, "#pragma once\n", 1, "file name")
        for code in ["class PluginManager {", "struct CommandBase final {",
                     "namespace util {", "enum class MiscKind {"]:
            with self.subTest(code=code):
                self.assert_violation("runtime/a.cc", code + "\n", 1, "says")
        self.assert_fine("runtime/based.cc", "class Commonality {};\n")

    def test_marks_of_unfinished_work_and_history(self):
        for text in ["// TODO(me): more", "// FIXME", "// see issue 7",
                     "// Issue #12"]:
            with self.subTest(text=text):
                self.assertEqual(
                    len(self.violations({"runtime/a.cc": text})), 1)
        self.assert_fine("dev", "#!/bin/sh\nmktemp -d x.XXXXXX\n")

    def test_time_and_randomness_come_from_three_places(self):
        self.assert_fine("identity/random.cc", "getrandom(bytes, 32, 0);\n")
        self.assert_violation("identity/token_text.cc",
                              "getrandom(bytes, 32, 0);\n", 1,
                              "asks the system")
        for code in ["std::chrono::steady_clock::now();", "absl::Now();",
                     "std::random_device device;", "rand();",
                     "clock_gettime(CLOCK_REALTIME, &t);"]:
            with self.subTest(code=code):
                self.assert_violation("daemon/a.cc", code + "\n", 1,
                                      "asks the system")
                self.assert_fine("runtime/system/clock.cc", code + "\n")
                self.assert_fine("tests/daemon/a_test.cc", code + "\n")
        self.assert_fine("runtime/a.cc", "// not steady_clock::now()\n")

    def test_one_mutex_in_each_folder(self):
        for path, code in [
                ("runtime/turn/a.cc", "std::mutex mutex_;"),
                ("runtime/turn/a.cc", "pthread_mutex_t mutex_;"),
                ("runtime/turn/a.cc", "absl::Mutex mutex_;"),
                ("daemon/a.cc", "std::shared_mutex mutex_;"),
                ("daemon/a.cc", "runtime::MutexLock lock(mutex_);"),
                ("client/calls/a.cc", "std::recursive_mutex mutex_;"),
                ("client/main.cc", "absl::MutexLock lock(&mutex_);"),
        ]:
            with self.subTest(path=path, code=code):
                self.assert_violation(path, code + "\n", 1, "another mutex")
        for path, code in [
                ("runtime/system/mutex.h", "pthread_mutex_t mutex_;"),
                ("client/calls/mutex.h", "std::mutex mutex_;"),
                ("daemon/a.cc", "absl::Mutex mutex_;"),
                ("client/main.cc", "absl::SetMutexDeadlockDetectionMode(x);"),
                ("tests/client/a_test.cc", "std::mutex mutex;"),
        ]:
            with self.subTest(path=path, code=code):
                self.assert_fine(path, GUARD + code + "\n")

    def test_performance_marks_name_their_entries(self):
        notes = {"docs/performance-notes.md":
                 "# Notes\n\n## 2026-11-25\n\n### Rare code\n"}
        for code in ["if (full) [[unlikely]] {", "PrefetchForWrite(&next);",
                     "[[gnu::noinline]] void Refuse();"]:
            with self.subTest(code=code):
                found = self.violations(
                    notes | {"runtime/a.cc": "\n" + code + "\n"})
                self.assertEqual(len(found), 1, found)
                self.assertIn("runtime/a.cc:2: has a mark", found[0])
                for named in ["// performance-notes: Rare code.\n",
                              "// Short (performance-notes: Rare\n// code).\n"]:
                    self.assertEqual(self.violations(
                        notes | {"runtime/a.cc": named + code + "\n"}), [])
                self.assertEqual(self.violations(
                    notes | {"daemon/a.cc": code + "\n"}), [])
        found = self.violations(
            notes | {"runtime/a.cc": "// performance-notes: Rare code, More.\n"})
        self.assertEqual(len(found), 1, found)
        self.assertIn("has no entry More", found[0])

    def test_only_a_heading_below_a_date_is_a_performance_entry(self):
        notes = ("# Notes\n\n### Above\n\n## Marks\n\n### Below marks\n\n"
                 "## 2026-11-25\n\n### Rare code\n\n#### Deeper\n\n"
                 "## Others\n\n### Below others\n")
        self.assertEqual(check_layers.performance_entries(notes),
                         {"Rare code"})
        for title in ["Notes", "Above", "Marks", "Below marks", "2026-11-25",
                      "Deeper", "Others", "Below others"]:
            with self.subTest(title=title):
                found = self.violations({
                    "docs/performance-notes.md": notes,
                    "runtime/a.cc": f"// performance-notes: {title}.\n"})
                self.assertEqual(len(found), 1, found)
                self.assertIn(f"has no entry {title}", found[0])

    def main(self, *arguments):
        with (contextlib.redirect_stdout(io.StringIO()),
              contextlib.redirect_stderr(io.StringIO())):
            return check_layers.main(["check_layers.py", *arguments])

    def test_main_tells_by_its_status(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            self.assertEqual(self.main(), 2)
            self.assertEqual(self.main(folder), 2)
            (root / "CMakeLists.txt").touch()
            self.assertEqual(self.main(folder), 0)
            (root / "src").mkdir()
            self.assertEqual(self.main(folder), 1)


if __name__ == "__main__":
    unittest.main()
