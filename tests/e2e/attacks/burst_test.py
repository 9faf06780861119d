"""Memory that a burst of messages has taken goes back to the system."""

import time
import unittest

from harness.attack_case import FULL, MIB, AttackCase
from harness.bulk import SendStream, send_item
from harness.waiting import eventually

# Small messages lie in the runtime's buffers, large ones in the allocator.
SMALL_BYTES, LARGE_BYTES = 500, 20_000
BURST_BYTES = (600 if FULL else 150) * MIB
BATCH = 100
# A minute is promised; a look that falls into the burst waits for the next.
PATIENCE_SECONDS = 60
# gRPC's buffers for the stream, and pages that fragments keep. In full size, a
# burst of 1 GiB left 12 to 47 MiB.
KEPT_BYTES = (64 if FULL else 40) * MIB


class Burst(AttackCase):

    OPTIONS = ("--workers", "2", "--max-mailbox-bytes", "1GiB",
               "--max-mailbox-messages", "900000")

    def fill(self, pid, size):
        """Messages for a process that takes none."""
        stream = SendStream(self.actor.stub)
        count = BURST_BYTES // 2 // size // BATCH * BATCH
        item = send_item(pid, payload=b"x" * size)
        for _ in range(count // BATCH):
            stream.send(*[item] * BATCH)
        stream.wait_for_acks(count, 120)
        self.assertIsNone(stream.finish())

    def burst(self):
        pid = self.actor.submit("probe", method="collect")
        self.fill(pid, SMALL_BYTES)
        self.fill(pid, LARGE_BYTES)
        full = self.grown()
        self.assertGreater(full, BURST_BYTES * 0.8)
        self.actor.terminate(pid)
        return full

    def test_memory_goes_back_within_a_minute(self):
        for number in range(2):
            full = self.burst()
            started = time.monotonic()
            eventually(lambda: self.grown() < KEPT_BYTES,
                       f"{self.grown() >> 20} MiB to become less",
                       PATIENCE_SECONDS)
            self.record(f"burst {number}: {full >> 20} MiB more, "
                        f"{self.grown() >> 20} MiB more "
                        f"{time.monotonic() - started:.1f} s after its end")
        self.assert_serves()


if __name__ == "__main__":
    unittest.main()
