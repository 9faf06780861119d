"""A ledger of payments: an append-only file with one JSON object a line.

It stands for a bank that accepts idempotency keys: a charge with a key that
is already in the ledger returns the receipt of the first charge and takes no
money.

Several programs, each with any number of threads, may share one file. If one of
them is killed at any point, the ledger stays intact and the others continue. If
one of them is stopped (SIGSTOP) during a charge, the others wait for it.
"""

import fcntl
import json
import os
import threading


READ_BYTES = 1 << 20


class Ledger:

    def __init__(self, path):
        """Opens the ledger, or creates it. Raises OSError, or ValueError if the
        file is not a ledger."""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._keep_name(path)
        self._receipts = {}  # by key
        self._seen_bytes = 0  # bytes of the file that are in _receipts
        # The file lock excludes other programs, but not threads of this one.
        self._lock = threading.Lock()
        with self._lock, _FileLock(self._file):
            self._catch_up()

    @staticmethod
    def _keep_name(path):
        """Makes the name of a new file survive a power failure."""
        directory = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)

    def charge(self, key, order, amount_cents):
        """Takes the money unless this key was charged before. Returns the
        receipt, and whether this call took the money. The receipt is then on
        the disk."""
        with self._lock, _FileLock(self._file):
            self._catch_up()
            fresh = key not in self._receipts
            if fresh:
                self._append({"key": key, "order": order,
                              "amount_cents": amount_cents,
                              "receipt": f"receipt-{order}"})
                self._catch_up()
            # Also for an earlier charge: its writer may have been killed
            # before its fsync.
            os.fsync(self._file)
            return self._receipts[key], fresh

    def _append(self, entry):
        line = json.dumps(entry).encode() + b"\n"
        if os.write(self._file, line) != len(line):
            raise OSError("the ledger has no room")

    def _catch_up(self):
        """Reads the lines that any program has written since the last call."""
        new = b""
        # A read may return less than there is. An empty read means the end.
        while more := os.pread(self._file, READ_BYTES,
                               self._seen_bytes + len(new)):
            new += more
        whole, end, rest = new.rpartition(b"\n")
        for line in whole.splitlines():
            entry = json.loads(line)
            self._receipts[entry["key"]] = entry["receipt"]
        self._seen_bytes += len(whole) + len(end)
        if rest:
            # An incomplete line: no receipt was returned for it, so it is not
            # a charge.
            os.ftruncate(self._file, self._seen_bytes)


class _FileLock:
    """Holds the lock of an open file. The lock is freed if its holder dies."""

    def __init__(self, file):
        self._file = file

    def __enter__(self):
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        fcntl.flock(self._file, fcntl.LOCK_UN)
