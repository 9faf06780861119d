"""`actorctl top` on a terminal: what an operator sees and types."""

import json
import signal
import subprocess
import time
import unittest

from harness import places
from harness.case import DaemonCase
from harness.cli import DEADLINE, DONE, INTERRUPTED
from harness.screen import OnTerminal
from harness.waiting import WAIT_SECONDS, eventually, pause

DOWN, PAGE_DOWN, ESCAPE = "\x1b[B", "\x1b[6~", "\x1b"


class Top(DaemonCase):

    def top(self, *options, width=100, height=24, **environment):
        variables = {"ACTORD_ADDRESS": self.daemon.address, "TERM": "xterm",
                     "LANG": "C.UTF-8", **environment}
        program = OnTerminal(
            [str(places.ACTORCTL), "top", "--interval", "100ms", *options],
            places.clean_environment(**variables), width, height)
        self.addCleanup(program.close)
        return program

    def order(self, name):
        return self.actor.submit("order", json.dumps({
            "order": name, "amount_cents": 1, "hold_ms": 3600000}).encode())

    def assert_ends(self, program, status):
        self.assertEqual(program.wait(), status, program.text())
        eventually(program.is_restored, "the terminal to be restored")

    def answer(self, program, question, key):
        """Types the key when the question is to be seen, and once more if it stays:
        keys typed while the terminal takes nothing are no answer."""
        program.until(question)
        program.type(key)
        typed = time.monotonic()

        def is_taken():
            nonlocal typed
            if not program.shows(question):
                return True
            if time.monotonic() > typed + 3:
                program.type(key)
                typed = time.monotonic()
            return False

        eventually(is_taken, f"{key} to be taken")

    def first_row(self, program):
        return program.until(r"^(?:PID|TYPE).*\n(\S.*)")[1].split()

    def test_shows_what_happens(self):
        pid = self.order("A")
        program = self.top()
        program.until(r"^actord \S+ at " + self.daemon.address + " +SERVING")
        program.until(r"^Processes 1 live")
        program.until("^" + pid + r" +order +BLOCKED +16 ")
        program.until("^all 1 processes ")
        self.assertTrue(program.screen.alternate)
        self.assertFalse(program.screen.cursor)
        self.assertTrue(program.screen.colours)
        counter = self.actor.submit("counter")
        program.until("^" + counter + " +counter +IDLE ")
        self.actor.cancel(pid)
        program.until("^Processes 1 live")
        program.until_gone(pid)
        # Rates move when something does.
        deadline = time.monotonic() + WAIT_SECONDS
        while "Steps 0/s" in program.text() or "Steps -/s" in program.text():
            self.assertLess(time.monotonic(), deadline, program.text())
            self.actor.send(counter, "add", b"1")
        program.type("q")
        self.assert_ends(program, DONE)

    def test_sorts_and_filters(self):
        orders = [self.order(str(number)) for number in range(3)]
        counter = self.actor.submit("counter")
        for _ in range(20):
            self.actor.send(counter, "add", b"1")
        program = self.top("--sort", "steps")
        program.until("^all 4 processes ")
        eventually(lambda: self.first_row(program)[0] == counter, "the counter")
        program.type("S")
        program.until("STEPS▲")
        eventually(lambda: self.first_row(program)[0] in orders, "an order")
        program.type("s")
        program.until("STEPS/S▲")
        program.type("/orde")
        program.until("^type: orde_ ")
        program.type("\r")
        program.until('^3 with "orde" in all 4 processes')
        program.until_gone("^" + counter)
        program.type("/r\r")
        program.until("^all 3 processes of type order ")
        program.type(ESCAPE)
        program.until("^all 4 processes ")
        program.type("t")
        program.until("^order +3 +0 +0 +3 ")
        program.until("^counter +1 +0 +0 +0 ")
        program.type("t")
        program.until("^" + counter)
        program.type("?")
        program.until("^k +cancel the process")
        program.type("x")
        program.until("^" + counter)
        program.type("q")
        self.assert_ends(program, DONE)

    def test_ends_processes_that_were_confirmed(self):
        first, second = self.order("A"), self.order("B")
        program = self.top("--sort", "pid")
        program.until("^all 2 processes ")
        program.type("k")
        self.answer(program, f"^cancel {first} \\(order\\)\\? y/n", "n")
        program.until("^nothing was done")
        program.type(DOWN + "K")
        program.until(f"^terminate {second} \\(order\\) by force\\? y/n")
        program.type("\x1b[200~y\x1b[201~")  # pasted: no answer
        self.answer(program, f"^terminate {second} .* y/n", "?")
        program.until("^nothing was done")
        program.type("K")
        self.answer(program, f"^terminate {second} .* y/n", "y")
        program.until(f"^{second} was terminated")
        program.until("^Processes 1 live")
        program.type("\r")
        program.until(f"^PID: +{first}$")
        program.until("^State: +BLOCKED")
        # Keys typed before a question are no answer to it.
        program.type("ky")
        self.answer(program, f"^cancel {first} .* y/n", "n")
        program.until("^nothing was done")
        program.type("k")
        self.answer(program, f"^cancel {first} .* y/n", "y")
        program.until(f"^{first} was asked to end")
        program.until("PROCESS_ENDED|has ended")
        program.type("q")
        self.assert_ends(program, DONE)
        self.assertEqual(self.actor.wait(first).WhichOneof("end"), "result")
        self.assertEqual(self.actor.wait(second).WhichOneof("end"), "failure")

    def test_follows_the_size_of_the_terminal(self):
        for number in range(40):
            self.order(str(number))
        program = self.top("--sort", "pid", width=100, height=24)
        program.until("^all 40 processes ")
        self.assertEqual(program.lines()[23].split()[0], "all")
        program.resize(140, 40)
        eventually(lambda: program.lines()[39].startswith("all 40"), "more")
        program.resize(40, 8)
        eventually(lambda: program.lines()[7].startswith("all 40"), "less")
        program.until("^PID")
        self.assertNotIn("MAILBOX", program.text())
        program.resize(3, 2)
        eventually(lambda: program.lines() == ["ac…", "al…"], "hardly any room")
        program.resize(100, 24)
        program.until("MAILBOX")
        before = self.first_row(program)
        program.type(PAGE_DOWN + PAGE_DOWN)
        eventually(lambda: self.first_row(program) != before, "other rows")
        program.type("q")
        self.assert_ends(program, DONE)

    def test_daemon_that_is_gone_and_comes_back(self):
        self.order("A")
        program = self.top()
        program.until("^all 1 processes ")
        port = self.daemon.port
        self.daemon.process.kill()
        program.until("NO CONNECTION +seen [0-9]+m?s ago +next try in ")
        # By seconds, and with nobody pressing anything.
        program.until("seen [2-9]s ago")
        program.until("^all 1 processes ")  # the text seen last
        self.assertNotIn("SERVING", program.text())
        directory = self.directory / "again"
        directory.mkdir()
        again = subprocess.Popen(
            [str(places.ACTORD), "--listen", f"127.0.0.1:{port}"],
            cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=places.clean_environment())
        self.addCleanup(again.wait)
        self.addCleanup(again.kill)
        program.until("SERVING .* restarted 1 time")
        program.until("^Processes 0 live")
        program.until("^Steps 0/s")
        program.type("q")
        self.assert_ends(program, DONE)
        again.terminate()
        self.assertEqual(again.wait(WAIT_SECONDS), 0)

    def _end(self, daemon, exit_status):
        """Some tests kill theirs."""
        if daemon.process.poll() != -signal.SIGKILL:
            super()._end(daemon, exit_status)

    def test_daemon_that_hangs_holds_up_nobody(self):
        program = self.top()
        program.until("SERVING")
        pause(self.daemon.process)
        self.addCleanup(self.daemon.signal, signal.SIGCONT)
        program.type("?")
        program.until("^any key: back")
        program.until("NO ANSWER")
        self.daemon.signal(signal.SIGCONT)
        program.until("SERVING")
        pause(self.daemon.process)
        program.type("q")
        self.assert_ends(program, DONE)

    def test_end_before_an_answer_is_told(self):
        pid = self.order("A")
        program = self.top()
        program.until("^" + pid)
        program.type("K")
        program.until(f"^terminate {pid} .* y/n")
        pause(self.daemon.process)
        self.addCleanup(self.daemon.signal, signal.SIGCONT)
        self.answer(program, f"^terminate {pid} .* y/n", "y")
        program.until(f"^terminating {pid} ")
        program.type("q")
        program.until("waiting for the daemon's answer")
        self.assertFalse(program.screen.alternate)
        program.until(f"actorctl: {pid}: ")
        self.assert_ends(program, 1)

    def test_gives_the_terminal_back_however_it_ends(self):
        for number, status in ((signal.SIGTERM, INTERRUPTED),
                               (signal.SIGINT, INTERRUPTED),
                               (signal.SIGHUP, -signal.SIGHUP),
                               (signal.SIGQUIT, -signal.SIGQUIT),
                               (signal.SIGABRT, -signal.SIGABRT),
                               (signal.SIGSEGV, -signal.SIGSEGV)):
            with self.subTest(number):
                program = self.top()
                program.until("SERVING")
                program.process.send_signal(number)
                self.assert_ends(program, status)
        program = self.top()
        program.until("SERVING")
        program.type("\x03")
        self.assert_ends(program, INTERRUPTED)
        self.assert_ends(self.top("--timeout", "500ms"), DEADLINE)

    def test_stops_and_goes_on(self):
        program = self.top()
        program.until("SERVING")
        # The child of a shell: of a session's first process there is none who
        # could let it go on, and it is not stopped.
        program.type("\x1a")
        program.type("?")
        program.until("^any key: back")
        program.process.send_signal(signal.SIGSTOP)
        program.process.send_signal(signal.SIGCONT)
        program.type("x")
        program.until_gone("^any key: back")
        program.type("q")
        self.assert_ends(program, DONE)

    def test_a_shell_stops_it_and_lets_it_go_on(self):
        # Without the line editor of bash, whose sequences are its own affair.
        shell = OnTerminal(
            ["/bin/bash", "--norc", "--noediting", "-i"],
            places.clean_environment(
                ACTORD_ADDRESS=self.daemon.address, TERM="xterm", PS1="ready ",
                LANG="C.UTF-8", ACTORCTL=str(places.ACTORCTL)), 100, 24)
        self.addCleanup(shell.close)
        shell.until("^ready")
        shell.type("$ACTORCTL top\n")
        shell.until("SERVING")
        shell.type("\x1a")
        eventually(lambda: not shell.screen.alternate, "the terminal to be back")
        shell.type("jobs\n")
        shell.until("Stopped")
        shell.type("fg\n")
        eventually(lambda: shell.screen.alternate, "the view to be back")
        shell.until("SERVING")
        shell.type("q")
        eventually(lambda: not shell.screen.alternate, "the terminal to be back")
        shell.type("echo status $?\n")
        # The prompt may come after the typed keys.
        shell.until("^(ready )?status 0")
        shell.type("exit\n")
        self.assertEqual(shell.wait(), 0)

    def test_terminals_that_show_less(self):
        self.order("A")
        program = self.top("--sort", "steps", LANG="C", NO_COLOR="1")
        program.until("^all 1 processes ")
        program.until("STEPSv")
        self.assertEqual(program.screen.colours, set())
        self.assertTrue(program.text().isascii())
        program.type("q")
        self.assert_ends(program, DONE)

    def test_input_that_is_no_terminal(self):
        done = self.actorctl("top", status=2, environment={"TERM": "xterm"})
        self.assertRegex(done.stderr, "^actorctl: top needs a terminal .* --once")
        self.assertEqual(done.stdout, "")

    def test_once(self):
        pid = self.order("A")
        frame = self.actorctl("top", "--once", "--interval", "200ms").stdout
        self.assertRegex(frame, r"(?m)^" + pid + r"  order  BLOCKED +16 ")
        self.assertNotIn("\x1b", frame)
        data = json.loads(self.actorctl("top", "--once", "--interval", "200ms",
                                        "-o", "json").stdout)
        self.assertEqual(data["processes"][0]["pid"], pid)
        self.assertEqual(data["processes"][0]["steps_per_second"], 0)
        self.assertEqual(data["per_second"]["steps"], 0)
        self.assertGreaterEqual(data["interval_seconds"], 0.2)


if __name__ == "__main__":
    unittest.main()
