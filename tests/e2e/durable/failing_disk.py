"""A disk that fails, is slow or hangs, or kills the daemon at a call:
failing_disk.c beside this file."""

import mmap
import os
import struct

PWRITE, FDATASYNC, FSYNC, RENAME, UNLINK = range(1, 6)
KILL_BEFORE, KILL_AFTER = 0, -1

_FORM = struct.Struct("=5q64s")
_DELAY, _HIT = struct.calcsize("=3q"), struct.calcsize("=4q")


class FailingDisk:
    """What the disk of one daemon does; the test says it while the daemon runs."""

    def __init__(self, directory):
        self._path = directory / "disk faults"
        self._path.write_bytes(bytes(_FORM.size))
        with open(self._path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), _FORM.size)
        self.environment = {
            "LD_PRELOAD": os.environ["ACTORD_E2E_FAILING_DISK"],
            "ACTORD_TEST_DISK": str(self._path)}

    def fail(self, call, path, error, at=1):
        """From the `at`th call for a path with `path` in it on, the call fails with
        `error`; the daemon is killed there with KILL_BEFORE or KILL_AFTER."""
        # The call comes last: the daemon may look meanwhile.
        whole = _FORM.pack(call, at, error, 0, 0, path.encode())
        self._map[0:8] = bytes(8)
        self._map[8:] = whole[8:]
        self._map[0:8] = whole[0:8]

    def delay(self, milliseconds):
        """Each fdatasync takes this much longer; those under way, too."""
        struct.pack_into("=q", self._map, _DELAY, milliseconds)

    def heal(self):
        self._map[:] = bytes(_FORM.size)

    def hits(self):
        """Number of calls with a fault."""
        return struct.unpack_from("=q", self._map, _HIT)[0]

    def close(self):
        self._map.close()
