"""The completion of actorctl, in the shells themselves: with values of the daemon."""

import json
import os
import pty
import re
import select
import subprocess
import time
import unittest

from harness import places
from harness.case import DaemonCase
from harness.waiting import WAIT_SECONDS, eventually

READY = "READY> "
START = {
    "bash": ("bash --norc --noprofile -i",
             f"PS1='{READY}'; bind 'set bell-style none'; "
             "bind 'set show-all-if-ambiguous on'; bind 'set enable-bracketed-paste off'; "
             "source <(actorctl completion bash)"),
    "zsh": ("zsh -f -i",
            f"PS1='{READY}'; unsetopt zle_bracketed_paste; autoload -Uz compinit; "
            "compinit -D -u; source <(actorctl completion zsh)"),
}


class Shell:
    """An interactive shell on a terminal."""

    def __init__(self, test, name):
        command, setup = START[name]
        self._test = test
        self._master, slave = pty.openpty()
        environment = places.clean_environment(
            TERM="dumb", ACTORD_ADDRESS=test.daemon.address, HOME=str(test.directory),
            PATH=f"{places.ACTORCTL.parent}:{os.environ['PATH']}", COLUMNS="300")
        self._process = subprocess.Popen(
            command.split(), stdin=slave, stdout=slave, stderr=slave,
            start_new_session=True, cwd=test.directory, env=environment)
        os.close(slave)
        test.addCleanup(self._end)
        self.run(setup + "; echo begun")
        self.run("stty cols 300; echo begun")

    def _end(self):
        self._process.kill()
        self._process.wait()
        os.close(self._master)

    def _read(self, until, seconds=WAIT_SECONDS):
        """What it writes until the text matches."""
        text, end = "", time.monotonic() + seconds
        while not re.search(until, text):
            ready, _, _ = select.select([self._master], [], [],
                                        max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"no {until!r} in {text!r}")
            text += os.read(self._master, 65536).decode(errors="replace")
        return text

    def run(self, line):
        os.write(self._master, line.encode() + b"\n")
        return self._read(r"\nbegun\r?\n")

    def shows(self, typed, wanted):
        """Types the text and a tab, and waits for the pattern behind its echo."""
        os.write(self._master, typed.encode() + b"\t")
        try:
            return self._read(wanted)
        finally:
            os.write(self._master, b"\x15")  # the line goes

    def completes(self, typed, wanted):
        """Types the text and a tab, and compares the words of the line after it."""
        os.write(self._master, typed.encode() + b"\t")
        # The rest comes when the shell has answered: it may ask the daemon.
        self._read(re.escape(wanted[-1][-3:]))
        # The begin of the line.
        os.write(self._master, b"\x01printf '[%s]' begun \n")
        printed = self._read(r"\[begun\][^\r\n]*" + re.escape(READY))
        self._test.assertIn("[begun]" + "".join(f"[{word}]" for word in wanted), printed)


class Completion(DaemonCase):

    def setUp(self):
        super().setUp()
        self.pid = self.actor.submit("counter", b"1", name="orders/17")
        self.actor.submit("probe", b'{"command": "manual.do"}', method="yield")
        eventually(lambda: self.actor.status().counters.yields_external_waiting,
                   "the yield")

    def words(self, *words):
        """The values that `actorctl __complete` prints."""
        out = self.actorctl("__complete", *words).stdout
        return [line.split("\t")[0] for line in out.splitlines()]

    def test_values_of_the_daemon(self):
        self.assertEqual(self.words("submit", "coun"), ["counter"])
        self.assertIn("@orders/17", self.words("call", ""))
        self.assertIn(self.pid, self.words("describe", self.pid[:2]))
        self.assertEqual(self.words("send", "@or"), ["@orders/17"])
        self.assertEqual(self.words("submit", "counter", "--method", ""), ["run"])
        self.assertEqual(self.words("call", "@a", "--start", "coun"), ["counter"])
        self.assertEqual(self.words("call", "@a", "--start", "counter", "--method",
                                    ""), ["run"])
        self.assertEqual(self.words("yields", "--command", ""), ["manual.do"])
        self.assertEqual(self.words("work", "m"), ["manual.do"])
        self.assertEqual(len(self.words("complete", "")), 1)
        self.assertEqual(self.words("ps", "--type=cou"), ["--type=counter"])
        # Another daemon, which is not there.
        self.assertEqual(
            self.words("--address", "127.0.0.1:1", "submit", ""), [])

    def test_words_of_the_program(self):
        self.assertEqual(self.words("subm"), ["submit"])
        self.assertEqual(self.words("schedule", "re"), ["resume", "remove"])
        self.assertEqual(self.words("help", "schedule", "ad"), ["add"])
        self.assertEqual(self.words("ps", "--sta"), ["--state"])
        self.assertEqual(self.words("ps", "--state", "d"), ["dormant"])
        self.assertEqual(self.words("-o", "js"), ["json", "jsonl"])
        self.assertEqual(self.words("log-level", "w"), ["warning"])
        self.assertEqual(self.words("completion", ""), ["bash", "zsh", "fish"])
        for nothing in (("submit", "echo", "--", "--na"), ("submit", "echo", ""),
                        ("send", "@a", "text"), ("describe", "1.2.3.4", ""),
                        ("schedule", "show", ""), ("nonsense", "x", "")):
            self.assertEqual(self.words(*nothing), [])
        for files in (("store", "verify", ""), ("backup", "a"), ("--token-file", ""),
                      ("--tls-ca=",), ("work", "a", "--exec", "./"),
                      ("submit", "echo", "@in"), ("submit", "--message", "@in")):
            self.assertEqual(self.words(*files), [""])

    def test_no_value_can_run_in_a_shell(self):
        wanted = ["manual.$(touch x)", "manual.a b", "manual.;b", "manual.`x`",
                  "manual.'b", "manual.fine"]
        for command in wanted:
            self.actor.submit("probe", json.dumps({"command": command}).encode(),
                              method="yield")
        eventually(lambda: self.actor.status().counters.yields_external_waiting
                   == 1 + len(wanted), "the yields")
        self.assertEqual(self.words("work", ""), ["manual.do", "manual.fine"])

    def test_bash(self):
        shell = Shell(self, "bash")
        (self.directory / "input.json").write_text("{}")
        for hosts in ("-s", "-u"):  # whether @ breaks a word
            shell.run(f"shopt {hosts} hostcomplete; echo begun")
            for typed, wanted in (("submit coun", ["submit", "counter"]),
                                  ("call @or", ["call", "@orders/17"]),
                                  ("ps --type=cou", ["ps", "--type=counter"]),
                                  ("ps --parent=@or", ["ps", "--parent=@orders/17"]),
                                  ("submit echo @inp", ["submit", "echo", "@input.json"]),
                                  ("submit echo --message=@inp",
                                   ["submit", "echo", "--message=@input.json"]),
                                  ("store verify inp", ["store", "verify", "input.json"]),
                                  ("submit --from-file=inp",
                                   ["submit", "--from-file=input.json"]),
                                  # Text, which is no file.
                                  ("submit echo inp", ["submit", "echo", "inp"])):
                shell.completes("actorctl " + typed, ["actorctl"] + wanted)

    def test_zsh(self):
        shell = Shell(self, "zsh")
        shell.shows("actorctl submit coun", "counter ")
        shell.shows("actorctl call @or", "orders/17 ")
        shell.shows("actorctl ps --sta", "--state ")
        (self.directory / "input.json").write_text("{}")
        shell.shows("actorctl submit echo @inp", "input.json ")
        shell.shows("actorctl store verify inp", "input.json ")
        shell.shows("actorctl submit --from-file=inp", "input.json ")

    def test_fish(self):
        (self.directory / "input.json").write_text("{}")
        done = subprocess.run(
            ["fish", "--no-config", "-c", "actorctl completion fish | source; "
             "for line in 'submit coun' 'call @or' 'ps --sta' 'schedule re' "
             "'submit echo @inp' 'store verify inp' 'submit --from-file=inp' "
             "'submit echo inp'; "
             'complete -C "actorctl $line"; end'],
            cwd=self.directory,
            capture_output=True, text=True, timeout=WAIT_SECONDS, check=False,
            env=places.clean_environment(
                ACTORD_ADDRESS=self.daemon.address, HOME=str(self.directory),
                PATH=f"{places.ACTORCTL.parent}:{os.environ['PATH']}"))
        self.assertEqual(
            [line.split("\t")[0] for line in done.stdout.splitlines()],
            ["counter", "@orders/17", "--state", "remove", "resume", "@input.json",
             "input.json", "--from-file=input.json"], done.stderr)


if __name__ == "__main__":
    unittest.main()
