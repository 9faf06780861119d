"""What was charged: a file that is only appended to, an object of JSON a line.

It stands for a bank that takes an idempotency key: whoever charges with a key
that is in the ledger gets the receipt that was given then, and pays nothing.

Several programs may share one file, each with any number of threads. One that
is killed, wherever it is, leaves the ledger whole, and others go on with it; one
that is stopped (SIGSTOP) in the midst of a charge makes them wait.
"""

import fcntl
import json
import os
import threading


READ_BYTES = 1 << 20


class Ledger:

    def __init__(self, path):
        """Opens it, or begins a new one. Raises OSError, or ValueError if the
        file is none."""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._keep_name(path)
        self._receipts = {}  # by key
        self._seen_bytes = 0  # of the file are in _receipts
        # The lock of the file is for programs: threads share it.
        self._lock = threading.Lock()
        with self._lock, _FileLock(self._file):
            self._catch_up()

    @staticmethod
    def _keep_name(path):
        """A new file's name must survive a power cut, too."""
        directory = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)

    def charge(self, key, order, amount_cents):
        """Takes the money unless that was done with this key before. Returns the
        receipt, and whether the money was taken by this call. What it returns
        is on the disk."""
        with self._lock, _FileLock(self._file):
            self._catch_up()
            fresh = key not in self._receipts
            if fresh:
                self._append({"key": key, "order": order,
                              "amount_cents": amount_cents,
                              "receipt": f"receipt-{order}"})
                self._catch_up()
            # Also of what was there: its writer may have been killed before.
            os.fsync(self._file)
            return self._receipts[key], fresh

    def _append(self, entry):
        line = json.dumps(entry).encode() + b"\n"
        if os.write(self._file, line) != len(line):
            raise OSError("the ledger has no room")

    def _catch_up(self):
        """Reads what was written since the last time, by whomever."""
        new = b""
        # One read may bring less than there is; the end is where there is none.
        while more := os.pread(self._file, READ_BYTES,
                               self._seen_bytes + len(new)):
            new += more
        whole, end, rest = new.rpartition(b"\n")
        for line in whole.splitlines():
            entry = json.loads(line)
            self._receipts[entry["key"]] = entry["receipt"]
        self._seen_bytes += len(whole) + len(end)
        if rest:
            # Half a line: nobody has a receipt for it, so it was no charge.
            os.ftruncate(self._file, self._seen_bytes)


class _FileLock:
    """Holds the lock of an open file; the end of its holder frees it."""

    def __init__(self, file):
        self._file = file

    def __enter__(self):
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        fcntl.flock(self._file, fcntl.LOCK_UN)
