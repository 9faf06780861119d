"""A program on a terminal of its own, and what it shows there."""

import fcntl
import os
import pty
import re
import resource
import select
import signal
import struct
import subprocess
import termios
import threading
import unicodedata

from harness.waiting import WAIT_SECONDS, eventually

SEQUENCE = re.compile(r"\x1b\[(\??)([0-9;]*)([@-~])")


class Screen:
    """As much of a terminal as actorctl makes use of. What it does not know is an
    error, so that nothing goes unseen."""

    def __init__(self, width, height):
        self.alternate = False
        self.cursor = True
        self.wraps = True
        self.marks_pastes = False
        self.colours = set()  # all colours that have been on the screen
        self.resize(width, height)

    def resize(self, width, height):
        self.width, self.height = width, height
        # The program may be in the middle of a frame for the old size, and may begin
        # one more before it sees the new size.
        self._stale = hasattr(self, "_cells")
        self._may_be_late = self._stale
        self._is_late = False
        self._cells = [[" "] * width for _ in range(height)]
        self._row = self._column = 0
        self._other = ([[" "] * width for _ in range(height)], 0, 0)

    def _change_screen(self):
        """What stood on the other one is there again."""
        seen = self._cells, self._row, self._column
        self._cells, self._row, self._column = self._other
        self._other = seen

    def lines(self):
        """Empty lines while the frame is too wide for the new size: the program has
        to draw another one."""
        if self._is_late:
            return [""] * self.height
        return ["".join(row).rstrip() for row in self._cells]

    def feed(self, text):
        """Returns the rest if it is the beginning of a sequence."""
        while text:
            if text[0] != "\x1b":
                self._write(text[0])
                text = text[1:]
                continue
            sequence = SEQUENCE.match(text)
            if not sequence:
                if len(text) > 20:
                    raise AssertionError(f"no sequence: {text[:20]!r}")
                return text
            self._obey(*sequence.groups())
            text = text[sequence.end():]
        return ""

    def _write(self, character):
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._row += 1
            if self._row == self.height:
                self._row -= 1
                self._cells = self._cells[1:] + [[" "] * self.width]
        elif ord(character) < 32 or 127 <= ord(character) < 160:
            raise AssertionError(f"control character {character!r}")
        else:
            wide = unicodedata.east_asian_width(character) in "WF"
            for cell in (character, "")[:1 + wide]:
                if self._column >= self.width:
                    if self._stale:
                        return
                    if self._may_be_late:
                        self._may_be_late = False
                        self._stale = self._is_late = True
                        return
                    raise AssertionError(f"beyond the edge: {self.lines()}")
                self._cells[self._row][self._column] = cell
                self._column += 1

    def _obey(self, private, parameters, final):
        numbers = [int(number or 0) for number in parameters.split(";")]
        if private:
            attribute = {1049: "alternate", 25: "cursor", 7: "wraps",
                         2004: "marks_pastes"}[numbers[0]]
            if attribute == "alternate" and (final == "h") != self.alternate:
                self._change_screen()
            setattr(self, attribute, final == "h")
        elif final == "H":
            row, column = (numbers + [1])[:2]
            self._row = min(max(row, 1), self.height) - 1
            self._column = min(max(column, 1), self.width) - 1
        elif final == "J":
            begin = 0 if numbers[0] == 2 else self._row
            begins_frame = numbers[0] == 2
            if begins_frame:
                self._stale = self._is_late = False
            for row in range(begin, self.height):
                self._cells[row] = [" "] * self.width
        elif final == "K" and numbers[0] == 2:
            self._cells[self._row] = [" "] * self.width
        elif final == "m":
            self.colours |= {number for number in numbers if number >= 30}
        else:
            raise AssertionError(f"sequence {parameters!r} {final!r}")


class OnTerminal:
    """Runs from the constructor on; the owner has to call `close`."""

    def __init__(self, command, environment, width=100, height=24):
        self._master, slave = pty.openpty()
        self.screen = Screen(width, height)
        self._set_size(width, height)
        self.modes = termios.tcgetattr(slave)
        self._slave = slave
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=environment,
            start_new_session=True, preexec_fn=self._before_it_runs)
        self.error = None
        self._stopping = False
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @staticmethod
    def _before_it_runs():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        # Tests let it crash.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def _set_size(self, width, height):
        fcntl.ioctl(self._master, termios.TIOCSWINSZ,
                    struct.pack("HHHH", height, width, 0, 0))

    def _read(self):
        text, undecoded = "", b""
        while not self._stopping:
            if not select.select([self._master], [], [], 0.1)[0]:
                continue
            try:
                undecoded += os.read(self._master, 65536)
            except OSError:
                return  # everybody has closed it
            for cut in range(4):  # perhaps within a character
                try:
                    text += undecoded[:len(undecoded) - cut].decode()
                except UnicodeDecodeError:
                    continue
                undecoded = undecoded[len(undecoded) - cut:]
                break
            with self._lock:
                try:
                    text = self.screen.feed(text)
                except AssertionError as error:
                    self.error = error
                    return

    def lines(self):
        if self.error:
            raise self.error
        with self._lock:
            return self.screen.lines()

    def text(self):
        return "\n".join(self.lines())

    def shows(self, pattern):
        """The match in a line that the pattern is found in now."""
        return re.search(pattern, self.text(), re.MULTILINE)

    def until(self, pattern, seconds=WAIT_SECONDS):
        """Waits for a line that the pattern is found in, and returns the match."""
        try:
            return eventually(lambda: self.shows(pattern), pattern, seconds)
        except TimeoutError as error:
            raise AssertionError(f"{error} in\n{self.text()}") from None

    def until_gone(self, pattern, seconds=WAIT_SECONDS):
        eventually(lambda: not self.shows(pattern), f"{pattern} to be gone",
                   seconds)

    def type(self, text):
        os.write(self._master, text.encode())

    def resize(self, width, height):
        """The system tells the program by SIGWINCH."""
        with self._lock:
            self.screen.resize(width, height)
            self._set_size(width, height)

    def is_restored(self):
        return (termios.tcgetattr(self._slave) == self.modes
                and not self.screen.alternate and self.screen.cursor
                and self.screen.wraps and not self.screen.marks_pastes)

    def wait(self, seconds=WAIT_SECONDS):
        return self.process.wait(seconds)

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self._stopping = True
        self._reader.join()
        os.close(self._slave)
        os.close(self._master)
