#!/usr/bin/python3
"""Tests that a change of what others build on turns the check of the contract red,
and that a change of nothing but words does not."""

import difflib
import hashlib
import pathlib
import shutil
import tempfile
import unittest

import abi
import contract
import names
import wire


class PartCase(unittest.TestCase):
    """Changes a copy of the sources and compares what a part makes of it."""

    FOLDER = PART = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="actord-contract-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        shutil.copytree(contract.ROOT / self.FOLDER, self.root / self.FOLDER)
        self.before = list(self.PART.lines(self.root))

    def replace(self, path, old, new):
        file = self.root / self.FOLDER / path
        text = file.read_text(encoding="utf-8")
        self.assertEqual(text.count(old), 1, f"{old} in {path}")
        file.write_text(text.replace(old, new), encoding="utf-8")

    def assert_changes(self, *lines):
        """These are the lines that there are now and were not before."""
        now = list(self.PART.lines(self.root))
        # A line may stand elsewhere, too.
        [_, _, *changes] = difflib.unified_diff(self.before, now, n=0)
        self.assertEqual([line[1:].strip() for line in changes
                          if line.startswith("+")], list(lines))

    def assert_same(self):
        self.assertEqual(list(self.PART.lines(self.root)), self.before)


class WireTest(PartCase):

    FOLDER, PART = "proto", wire

    def test_a_field_has_its_number_type_label_and_name(self):
        path = "actord/v1/name.proto"
        self.replace(path, "string prefix = 3;", "repeated int64 start = 4;")
        self.assert_changes("4 repeated int64 start")

    def test_fields_of_oneofs_and_optional_fields_say_so(self):
        self.replace("actord/v1/watch.proto", "  uint64 count = 1;",
                     "  optional uint64 count = 1;\n  oneof some { bool is_new = 2; }")
        self.assert_changes("1 optional uint64 count", "2 oneof some bool is_new")

    def test_reserved_and_deprecated_fields_are_marked(self):
        self.replace("actord/v1/name.proto", "string prefix = 3;",
                     'reserved 3, 5 to 7; reserved "prefix";'
                     "bool old = 4 [deprecated = true];")
        self.assert_changes("4 bool old deprecated", "reserved 3",
                            "reserved 5 to 7", 'reserved "prefix"')

    def test_methods_have_the_kinds_of_their_streams(self):
        self.replace("actord/v1/actor_service.proto", "rpc ListNames(",
                     "rpc ListNames(stream ")
        self.assert_changes("rpc ListNames(stream actord.v1.ListNamesRequest) "
                            "returns (actord.v1.ListNamesResponse)")

    def test_enums_have_their_values(self):
        self.replace("actord/v1/process.proto", "PROCESS_STATE_IDLE = 4;",
                     "PROCESS_STATE_IDLE = 9; reserved 4;")
        self.assert_changes("9 PROCESS_STATE_IDLE", "reserved 4")

    def test_comments_and_order_are_no_part_of_it(self):
        self.replace("actord/v1/name.proto", "string prefix = 3;", "")
        self.replace("actord/v1/name.proto", "message ListNamesRequest {",
                     "// Words.\nmessage ListNamesRequest {\nstring prefix = 3;")
        self.assert_same()


class AbiTest(PartCase):

    FOLDER, PART = "handlers/include", abi

    def test_a_member_that_moves_changes_what_follows(self):
        self.replace("actord/abi.h", "  uint64_t lease_ns;\n",
                     "  uint64_t more;\n  uint64_t lease_ns;\n")
        self.assert_changes(
            "struct actord_work_policy: 56 bytes, aligned to 8",
            "at 8, 8 bytes: uint64_t more", "at 16, 8 bytes: uint64_t lease_ns",
            "at 24, 8 bytes: uint64_t attempt_timeout_ns",
            "at 32, 8 bytes: uint64_t start_timeout_ns",
            "at 40, 8 bytes: uint64_t backoff_ns",
            "at 48, 8 bytes: uint64_t max_backoff_ns")

    def test_functions_have_their_types_and_not_the_names_of_parameters(self):
        self.replace("actord/abi.h", "void (*demonitor)(actord_step* step, "
                     "uint64_t tag)", "int32_t (*demonitor)(actord_step* the_step, "
                     "uint64_t tag)")
        self.assert_changes(
            "at 120, 8 bytes: int32_t (*demonitor)(actord_step*, uint64_t)")

    def test_constants_have_their_values(self):
        self.replace("actord/abi_values.h", "ACTORD_EXIT_THREW = 3,",
                     "ACTORD_EXIT_THREW = 30,")
        self.replace("actord/abi.h", "#define ACTORD_ABI_VERSION 1u",
                     "#define ACTORD_ABI_VERSION 2u")
        self.assert_changes("macro ACTORD_ABI_VERSION 2u",
                            "constant ACTORD_EXIT_THREW 30")

    def test_a_declaration_that_is_not_understood_is_an_error(self):
        self.replace("actord/abi.h", "  ACTORD_STEP_IDLE = 0,",
                     "  ACTORD_STEP_IDLE = 0 };\nint actord_count(void);\n"
                     "enum {")
        with self.assertRaisesRegex(RuntimeError, r"int actord_count\(void\)"):
            list(abi.lines(self.root))

    def test_comments_are_no_part_of_it(self):
        self.replace("actord/abi.h", "/* as in actord_yield */",
                     "/* other; words { */")
        self.assert_same()


class NamesTest(unittest.TestCase):

    SOURCES = {
        "runtime/why.h": 'namespace reason {\nk = "MAILBOX_FULL";\n}',
        "daemon/exit_status.h": "kExitClean = 0, kExitBadConfiguration = 78",
        "daemon/a.cc": 'environment("ACTORD_CONFIG"); kErrorDomain = "actord";\n'
                       '(*info.mutable_metadata())["pid"]',
        "client/exit_status.h": "kDone = 0, kNotFound = 3",
        "client/a.cc": 'getenv("HOME")\nfor (const char* name : {"A", "B"}) {'
                       "f(variable(name)); }",
        "client/b.cc": '"ACTORD_TASK_TOKEN=" + token',
    }

    def lines(self, sources):
        with tempfile.TemporaryDirectory(prefix="actord-contract-") as folder:
            for path, text in sources.items():
                file = pathlib.Path(folder, path)
                file.parent.mkdir(exist_ok=True)
                file.write_text(text, encoding="utf-8")
            return [line.strip() for line in names.lines(pathlib.Path(folder))
                    if line.startswith(" ")]

    def test_finds_names_of_sources(self):
        self.assertEqual(self.lines(self.SOURCES), [
            "actord", "pid", "MAILBOX_FULL", "0 clean", "78 bad configuration",
            "0 done", "3 not found", "ACTORD_CONFIG", "A", "B", "HOME",
            "ACTORD_TASK_TOKEN"])

    def test_nothing_found_is_an_error(self):
        for path in ("runtime/why.h", "daemon/exit_status.h", "client/b.cc"):
            with self.assertRaises(RuntimeError, msg=path):
                self.lines({**self.SOURCES, path: ""})


class OldestTest(unittest.TestCase):

    def assert_as_committed(self, folder):
        sums = (folder / "SHA256SUMS").read_text(encoding="utf-8").split()
        files = [path for path in (folder / "actord").rglob("*") if path.is_file()]
        self.assertEqual(
            dict(zip(sums[1::2], sums[::2])),
            {path.relative_to(folder).as_posix():
             hashlib.sha256(path.read_bytes()).hexdigest() for path in files})

    def test_the_headers_are_those_of_their_commit(self):
        self.assert_as_committed(contract.FOLDER / "abi_0684afd")

    def test_the_protos_are_those_of_their_commit(self):
        self.assert_as_committed(contract.FOLDER / "proto_0684afd")

    def missing(self, oldest, today):
        """The parts of the oldest API that today's has not."""
        return set(wire.parts(oldest)) - set(wire.parts(today))

    def test_all_of_the_oldest_api_is_in_that_of_today(self):
        oldest = contract.FOLDER / "proto_0684afd"
        parts = list(wire.parts(oldest))
        for part in (
                ("service actord.v1.ActorService", "rpc Submit(actord.v1.SubmitRequest) "
                 "returns (actord.v1.SubmitResponse)"),
                ("message actord.v1.SubmitResponse", "1 string pid"),
                ("enum actord.v1.ProcessState", "4 PROCESS_STATE_IDLE")):
            self.assertIn(part, parts)
        self.assertEqual(self.missing(oldest, contract.ROOT / "proto"), set())

    def test_a_change_of_it_is_found(self):
        with tempfile.TemporaryDirectory(prefix="actord-contract-") as folder:
            today = pathlib.Path(folder, "proto")
            shutil.copytree(contract.ROOT / "proto", today)
            for path, old, new in (
                    ("outcome", "  uint64 steps = 6;", "  uint32 steps = 6;"),
                    ("name", "  string prefix = 3;", "  string begin = 3;"),
                    ("actor_service", "  rpc Await(AwaitRequest)",
                     "  rpc AwaitEnd(AwaitRequest)"),
                    ("process", "  bool duplicate = 2;",
                     "  bool duplicate = 2 [deprecated = true];"),
                    ("process", "PROCESS_STATE_IDLE = 4;", "PROCESS_STATE_IDLE = 40;")):
                file = today / f"actord/v1/{path}.proto"
                text = file.read_text(encoding="utf-8")
                self.assertEqual(text.count(old), 1, old)
                file.write_text(text.replace(old, new), encoding="utf-8")
            self.assertEqual(
                self.missing(contract.FOLDER / "proto_0684afd", today),
                {("message actord.v1.Outcome", "6 uint64 steps"),
                 ("message actord.v1.ListNamesRequest", "3 string prefix"),
                 ("service actord.v1.ActorService", "rpc Await(actord.v1.AwaitRequest) "
                  "returns (actord.v1.AwaitResponse)"),
                 ("enum actord.v1.ProcessState", "4 PROCESS_STATE_IDLE")})


class ContractTest(unittest.TestCase):

    def test_a_difference_says_what_to_do(self):
        self.assertEqual(contract.difference("a.txt", "1\n2\n", "1\n2\n"), "")
        text = contract.difference("a.txt", "1\n2\n", "1\n3\n")
        for part in ("\n-2\n+3\n", "`./dev contract`", "CHANGELOG.md"):
            self.assertIn(part, text)

    def test_the_change_log_has_to_name_each_contract(self):
        wanted = contract.mark("wire", "1\n")
        named = f"- Some. (contract: abi 01234567, {wanted})"
        for text in (named, named.replace("wire ", "wire\n  ")):
            self.assertEqual(contract.unnamed("wire", "wire.txt", "1\n", text), "")
        for text in ("", named.replace("wire", "abi"), f"{wanted}0"):
            self.assertIn(f"(contract: {wanted})",
                          contract.unnamed("wire", "wire.txt", "1\n", text))

    def test_another_text_has_another_fingerprint(self):
        self.assertNotEqual(contract.mark("wire", "1\n"),
                            contract.mark("wire", "2\n"))


if __name__ == "__main__":
    unittest.main()
