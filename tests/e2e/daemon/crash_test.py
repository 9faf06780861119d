"""What the daemon says when a plugin crashes it."""

import os
import signal
import unittest

from harness import places
from harness.crash_case import CrashCase

PID = r"\d+\.[0-9a-f]+\.[0-9a-f]+\.[0-9a-f]+"
IN_PLUGIN = 'in plugin "crasher" 1.4.0: '
OF_PROCESS = f' of process type "crasher", PID {PID}'


class Process(CrashCase):

    def assert_reports(self, method, how, *, first, number=signal.SIGSEGV,
                       function="CrashByNull"):
        self.serve(number=number)
        self.crash(method, how)
        report = self.report()
        self.assertRegex(report.first, f"^crash: {first}$")
        self.assertIn(function, report.functions())
        return report

    def test_init(self):
        report = self.assert_reports(
            "init", "null",
            first=f"SIGSEGV at address 0x0 {IN_PLUGIN}Init{OF_PROCESS}")
        self.assertRegex(report.thread, r"^worker/\d+$")
        # The innermost frame is the faulty one, in the plugin's file.
        self.assertIn("CrashByNull", report.frames[0][1])
        self.assertRegex(report.frames[0][0], r"/crasher-[0-9a-f]{64}\.so$")
        # Below it stands the daemon.
        self.assertEqual(report.frames[-1][0].rsplit("/", 1)[-1], "libc.so.6")
        self.assertIn(str(places.ACTORD), [path for path, _ in report.frames])

    def test_step_names_the_process(self):
        self.serve()
        pid = self.crash("step", "null")
        self.assertEqual(
            self.report().first,
            f"crash: SIGSEGV at address 0x0 {IN_PLUGIN}Step of process type "
            f'"crasher", PID {pid}')

    def test_close(self):
        self.assert_reports(
            "close", "null",
            first=f"SIGSEGV at address 0x0 {IN_PLUGIN}Close{OF_PROCESS}")

    def test_abort(self):
        self.assert_reports(
            "step", "abort", number=signal.SIGABRT, function="Crash",
            first=f"SIGABRT {IN_PLUGIN}Step{OF_PROCESS}")

    def test_division_by_zero(self):
        self.assert_reports(
            "step", "division", number=signal.SIGFPE,
            function="CrashByDivision",
            first="SIGFPE at instruction 0x[0-9a-f]+ "
                  f"{IN_PLUGIN}Step{OF_PROCESS}")

    def test_illegal_instruction(self):
        self.assert_reports(
            "step", "illegal", number=signal.SIGILL, function="Crash",
            first="SIGILL at instruction 0x[0-9a-f]+ "
                  f"{IN_PLUGIN}Step{OF_PROCESS}")

    def test_missing_page(self):
        self.assert_reports(
            "step", "missing page", number=signal.SIGBUS,
            function="CrashByMissingPage",
            first="SIGBUS at address 0x[0-9a-f]+ "
                  f"{IN_PLUGIN}Step{OF_PROCESS}")

    def test_call_of_null_names_the_caller(self):
        report = self.assert_reports(
            "step", "call null", function="CrashByCallOfNull",
            first=f"SIGSEGV at address 0x0 {IN_PLUGIN}Step{OF_PROCESS}")
        self.assertEqual(report.lines[0],
                         "crash: #0 at 0x0, which is in no file")

    def test_stack_overflow(self):
        report = self.assert_reports(
            "step", "overflow", function="CrashByOverflow",
            first=r"SIGSEGV at address 0x[0-9a-f]+ \(stack overflow\) "
                  f"{IN_PLUGIN}Step{OF_PROCESS}")
        self.assertEqual(len(report.frames), 64)
        self.assertTrue(report.cut)

    def test_two_at_a_time_give_one_report(self):
        self.serve("--workers", "2")
        for _ in range(2):
            self.crash("step", "together")
        report = self.report()
        self.assertRegex(report.first, IN_PLUGIN)
        self.assertEqual(len(report.frames), len(report.lines))
        numbers = [line.split()[1] for line in report.lines]
        self.assertEqual(numbers, [f"#{i}" for i in range(len(numbers))])

    def test_thread_of_the_plugin_is_no_plugin_code_that_the_daemon_called(self):
        self.assert_reports("step", "thread",
                            first="SIGSEGV at address 0x0 outside of plugin code")


class Handler(CrashCase):

    def test_inline(self):
        self.serve()
        self.crash("inline", "null")
        self.assertRegex(
            self.report().first,
            f"^crash: SIGSEGV at address 0x0 {IN_PLUGIN}inline command handler of "
            f'command "crasher.inline", process type "crasher", PID {PID}$')

    def test_pooled(self):
        self.serve()
        pid = self.crash("pooled", "null")
        self.assertEqual(
            self.report().first,
            f"crash: SIGSEGV at address 0x0 {IN_PLUGIN}pooled command handler of "
            f'command "crasher.pooled", PID {pid}')

    def test_stack_overflow_on_the_pool(self):
        self.serve()
        self.crash("pooled", "overflow")
        self.assertRegex(self.report().first, r"\(stack overflow\) in plugin")


class Daemon(CrashCase):

    def test_signal_from_outside_names_its_sender(self):
        self.serve()
        self.daemon.signal(signal.SIGSEGV)
        self.assertEqual(
            self.report().first,
            f"crash: SIGSEGV sent by process {os.getpid()} of user {os.getuid()}")

    def test_json(self):
        self.serve("--log-format", "json", number=signal.SIGABRT)
        pid = self.crash("step", "abort")
        report = self.report(as_json=True)
        self.assertEqual(
            report.first,
            f'crash: SIGABRT {IN_PLUGIN}Step of process type "crasher", PID {pid}')
        self.assertIn("Crash", report.functions())


if __name__ == "__main__":
    unittest.main()
