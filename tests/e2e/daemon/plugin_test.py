"""Plugins with defects: the daemon names the defect and does not start, or the
process fails and the daemon serves on."""

import unittest

import grpc
from harness import places
from harness.case import DaemonCase, EmptyCase
from harness.connection import failure_name
from harness.daemon import run_actord

BAD_CONFIGURATION = 78


class Refused(EmptyCase):
    """The start fails with status 78 and a last line that names the file; the
    log says why."""

    def assert_refused_at_start(self, plugin, message, *options):
        with self.subTest(plugin=str(plugin)):
            done = run_actord("--listen", "127.0.0.1:0", *options, "--plugin",
                              plugin)
            self.assertEqual(done.returncode, BAD_CONFIGURATION, done.stderr)
            self.assertEqual(done.stdout, "")
            self.assertIn(str(plugin), done.stderr.splitlines()[-1])
            self.assertRegex(done.stderr, message)

    def bad(self, name):
        path = places.TEST_PLUGINS / f"{name}.so"
        self.assertTrue(path.exists(), path)
        return path

    def test_file_that_is_missing(self):
        self.assert_refused_at_start(self.directory / "none.so",
                                     "there is no such file")

    def test_file_that_is_no_shared_object(self):
        self.assert_refused_at_start(
            self.bad("not_elf"), "not a shared object that can be loaded here")
        self.assert_refused_at_start(self.directory, "not a file")

    def test_shared_object_that_is_no_plugin(self):
        self.assert_refused_at_start(
            self.bad("no_symbol"), "it has no symbol 'actord_plugin'")
        self.assert_refused_at_start(self.bad("function_symbol"), "is not data")
        self.assert_refused_at_start(self.bad("tiny_symbol"), "has only 4 bytes")
        self.assert_refused_at_start(self.bad("bad_magic"), "ACTORD_ABI_MAGIC")

    def test_other_version_of_the_abi(self):
        self.assert_refused_at_start(
            self.bad("other_abi"),
            "built for version 2 of the plugin ABI, this daemon speaks version 1")

    def test_symbol_that_nobody_defines(self):
        self.assert_refused_at_start(
            self.bad("unresolved"), "undefined symbol: actord_nobody_defines_this")

    def test_table_that_breaks_the_rules(self):
        for name, message in (
                ("struct_too_small", "struct_size of 24 bytes"),
                ("struct_too_large", "struct_size of 4096 bytes"),
                ("bad_name", "its name 'no spaces, please' is not"),
                ("null_name", "its name is NULL"),
                ("null_table", "the list is NULL"),
                ("too_many", "it lists 1000000 process types"),
                ("empty", "neither process types nor commands"),
                ("null_entry", "process type number 0 is NULL"),
                ("entry_too_small", "struct_size of 8 bytes"),
                ("null_step", "lacks init, step or close"),
                ("bad_type_name", 'has the name "no spaces, please"')):
            self.assert_refused_at_start(self.bad(name), message)

    def test_process_type_that_is_taken(self):
        self.assert_refused_at_start(
            self.bad("type_taken"), "process type echo is taken by plugin echo",
            "--plugin", places.PLUGINS / "echo.so")
        self.assert_refused_at_start(
            self.bad("type_twice"), "process type twice is taken")

    def test_command_that_is_taken(self):
        self.assert_refused_at_start(
            self.bad("command_taken"), "command timer.sleep is taken")

    def test_plugin_name_that_is_taken(self):
        other = self.directory / "other.so"
        other.write_bytes((places.PLUGINS / "echo.so").read_bytes() + b"other")
        self.assert_refused_at_start(other, "its name 'echo' is taken by",
                                     "--plugin", places.PLUGINS / "echo.so")

    def test_handler_that_cannot_be_made(self):
        self.assert_refused_at_start(self.bad("create_throws"),
                                     "no connection to the warehouse")

    def test_directory_that_is_missing(self):
        done = run_actord("--listen", "127.0.0.1:0", "--plugin-dir",
                          self.directory / "none")
        self.assertEqual(done.returncode, BAD_CONFIGURATION)
        self.assertRegex(done.stderr, "plugin directory .*/none: No such file")


class Misbehaving(DaemonCase):
    """What a plugin does wrong while it runs is that process's failure."""

    OPTIONS = ("--plugin", places.TEST_PLUGINS / "throws.so",
               "--plugin", places.TEST_PLUGINS / "rule_breaker.so")

    def assert_exception(self, process_type, method, message):
        outcome = self.actor.run(process_type, method=method)
        self.assertEqual(failure_name(outcome), "EXCEPTION", outcome)
        self.assertEqual(outcome.failure.code,
                         grpc.StatusCode.INTERNAL.value[0])
        self.assertIn(message, outcome.failure.message)
        self.assert_serves()

    def test_exception_in_init(self):
        # Submit answers for Init.
        for process_type, message in (("throws", "thrown in Init"),
                                      ("rule_breaker", "left init")):
            self.assert_refused(
                lambda name=process_type: self.actor.submit(name, method="init"),
                code=grpc.StatusCode.INTERNAL, reason="INIT_REFUSED",
                message=message)
        self.assert_serves()
        self.assertEqual(self.actor.status().counters.processes_live, 0)

    def test_exception_in_step(self):
        self.assert_exception("throws", "step", "thrown in Step")
        self.assert_exception("throws", "step_int", "")
        self.assert_exception("rule_breaker", "step", "left step")

    def test_exception_in_close_does_not_change_the_result(self):
        outcome = self.actor.run("throws", method="close")
        self.assertEqual(outcome.result.data, b"done")
        outcome = self.actor.run("rule_breaker", method="close")
        self.assertEqual(outcome.WhichOneof("end"), "result", outcome)
        self.assert_serves()
        self.daemon.wait_for_line("thrown in Close")
        self.daemon.wait_for_line("left close")

    def test_exception_in_a_handler_completes_the_yield(self):
        for method, message in (("handler", b"thrown in a handler"),
                                ("later", b"thrown in an asynchronous handler")):
            with self.subTest(method=method):
                outcome = self.actor.run("throws", method=method)
                self.assertEqual(outcome.WhichOneof("end"), "result", outcome)
                self.assertIn(message, outcome.result.data)
        outcome = self.actor.run("rule_breaker", method="handler")
        self.assertIn(b"threw: left handle", outcome.result.data)
        self.assert_serves()

    def test_values_that_the_interface_does_not_know(self):
        self.assert_exception("rule_breaker", "verdict", "99")
        outcome = self.actor.run("rule_breaker", method="handler_return")
        self.assertIn(b"99", outcome.result.data)
        self.assert_serves()

    def test_process_that_blocks_without_a_yield(self):
        outcome = self.actor.run("probe", method="block")
        self.assertEqual(failure_name(outcome), "EXCEPTION", outcome)
        self.assertEqual(outcome.failure.code,
                         grpc.StatusCode.FAILED_PRECONDITION.value[0])
        self.assertIn("yield", outcome.failure.message)
        self.assert_serves()

    def test_completion_that_a_handler_drops(self):
        outcome = self.actor.run("probe", b'{"command": "probe.drop"}', "yield")
        self.assertEqual(self.answer(outcome)["code"], "CANCELLED")

    def test_step_that_fails_leaves_no_effects(self):
        outcome = self.actor.run("probe", b"boom", "throw_after_effects")
        self.assertEqual(failure_name(outcome), "EXCEPTION")
        counters = self.actor.status().counters
        self.assertEqual(counters.processes_started_total, 1)
        self.assertEqual(counters.yields_total, 0)


if __name__ == "__main__":
    unittest.main()
