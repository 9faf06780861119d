"""The ledger of the Python example: charges stay."""

import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

from harness import places

sys.path.insert(0, str(places.SOURCE / "client" / "examples" / "python"))
import ledger  # noqa: E402


class Ledger(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name) / "ledger"

    def test_reads_that_bring_less_than_there_is(self):
        first = ledger.Ledger(self.path)
        for number in range(5):
            first.charge(f"key {number}", f"order-{number}", 1)
        with open(self.path, "ab") as file:
            file.write(b'{"key": "half')
        pread = os.pread
        with unittest.mock.patch.object(
                os, "pread", lambda file, size, offset:
                pread(file, min(size, 7), offset)):
            second = ledger.Ledger(self.path)
            self.assertEqual(second.charge("key 4", "order-4", 1),
                             ("receipt-order-4", False))
            self.assertEqual(self.path.read_bytes().count(b"\n"), 5)
            self.assertTrue(self.path.read_bytes().endswith(b"}\n"))
            self.assertTrue(second.charge("key 5", "order-5", 1)[1])
        self.assertEqual(first.charge("key 5", "order-5", 1),
                         ("receipt-order-5", False))


if __name__ == "__main__":
    unittest.main()
