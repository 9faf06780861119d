"""Floods of frames that are no calls, and floods that stay below the limits of each
look: they are cut or cost little, and others are served meanwhile."""

import unittest

from attacks.flood_test import PEAK_BYTES, FloodCase
from harness.attack_case import FULL, MIB
from harness.waiting import eventually

SECONDS = 10 if FULL else 1
# A part of 100 calls, which are begun and reset: fewer than the guard suspects.
PAUSE_SECONDS = 0.05
HARMLESS_BYTES = 96 * MIB


class Frames(FloodCase):

    def check(self, kind, peak_bytes=HARMLESS_BYTES, **more):
        """Floods, and returns the times after which connections were cut."""
        honest = self.honest()
        processor = self.processor_seconds()
        cuts = self.flood(kind, SECONDS, **more).cuts()
        honest.end()
        self.record(f"{len(cuts)} connections, {len(cuts) - cuts.count(None)} cut; "
                    f"{self.processor_seconds() - processor:.2f} s of processor "
                    f"time; {self.peak() / MIB:.0f} MiB at most; others' slowest "
                    f"call {honest.longest:.3f} s")
        self.assertGreater(len(cuts), 0)
        self.assertLess(self.peak(), peak_bytes)
        self.assertGreater(honest.calls, 0)
        self.assertLess(honest.longest, 1 * self.factor)
        self.assert_serves()
        return cuts

    def test_pings_are_cut(self):
        """gRPC would keep the answers that nobody reads."""
        [cut] = self.check("pings", peak_bytes=32 * MIB)
        self.assertIsNotNone(cut)
        self.daemon.wait_for_line("bytes that are neither a call nor a message")

    def test_settings_are_harmless(self):
        """gRPC stops reading while too many acknowledgements are unsent."""
        self.check("settings", peak_bytes=32 * MIB)

    def test_empty_data_is_cut(self):
        [cut] = self.check("empty_data", peak_bytes=32 * MIB)
        self.assertIsNotNone(cut)
        self.daemon.wait_for_line("bytes that are neither a call nor a message")

    def test_paced_resets_are_harmless(self):
        self.check("rapid_reset", pause=PAUSE_SECONDS)

    def test_paced_resets_on_many_connections(self):
        """Together they are a flood, with the bound of floods: a machine with two
        processors begins more calls in a pause than it ends."""
        self.check("rapid_reset", peak_bytes=PEAK_BYTES, pause=PAUSE_SECONDS,
                   connections=20)

    def test_resets_from_several_addresses_are_cut(self):
        cuts = self.check("rapid_reset", peak_bytes=PEAK_BYTES, again=True,
                          connections=8, sources=4)
        self.assertGreater(len(cuts), 8)
        eventually(lambda: self.cut_total() > 8, "the cuts")
        # Lines about cuts are spaced, so the log need not name each address.
        self.daemon.wait_for_match(r"127\.0\.0\.[1-4]:\d+ cut: ")


class FramesOverAUnixSocket(Frames):
    """The kernel does not count the bytes of these connections."""

    def start_daemon(self, *options, **more):
        self.address = f"unix:{self.directory / 's'}"
        return super().start_daemon(*options, "--listen", self.address, **more)

    def check(self, kind, **more):
        return super().check(kind, address=self.address, **more)

    def test_pings_are_cut(self):
        super().test_pings_are_cut()

    def test_pings_on_many_connections_are_cut(self):
        self.check("pings", connections=8, again=True)
        self.assertGreater(self.cut_total(), 8)

    def test_paced_resets_are_harmless(self):
        """The bound of floods: the connection is faster than one of TCP, and in
        full size it is cut, after 19 to 124 MiB."""
        self.check("rapid_reset", peak_bytes=PEAK_BYTES, pause=PAUSE_SECONDS)

    test_settings_are_harmless = test_empty_data_is_cut = None
    test_paced_resets_on_many_connections = None
    test_resets_from_several_addresses_are_cut = None


if __name__ == "__main__":
    unittest.main()
