"""Growth is noticed, and what goes up and down is none."""

import unittest

from flatness import MIB, Bounds, Sample, check, growth, slope

BOUNDS = Bounds(mib_per_minute=1, mib=4, descriptors=4, threads=4)


def samples(resident=lambda minute: 50 * MIB, descriptors=lambda minute: 20,
            threads=lambda minute: 10):
    return [Sample(minute, resident(minute), descriptors(minute), threads(minute))
            for minute in range(10)]


class Flatness(unittest.TestCase):

    def test_flat(self):
        self.assertEqual(check(samples(), BOUNDS), [])

    def test_single_outlier_is_no_growth(self):
        self.assertEqual(slope([(0, 1), (1, 1), (2, 1), (3, 100), (4, 1)]), 0)

    def test_memory_grows(self):
        grown = samples(lambda minute: (50 + 2 * minute) * MIB)
        self.assertEqual(growth(grown)["resident_bytes"], (2 * MIB, 18 * MIB))
        [line] = check(grown, BOUNDS)
        self.assertIn("resident_bytes grew by", line)

    def test_memory_grows_within_its_bounds(self):
        self.assertEqual(
            check(samples(lambda minute: (50 + minute) * MIB), BOUNDS), [])

    def test_descriptors_grow(self):
        [line] = check(samples(descriptors=lambda minute: 20 + minute), BOUNDS)
        self.assertIn("descriptors grew by 9", line)

    def test_threads_grow(self):
        [line] = check(samples(threads=lambda minute: 20 + minute), BOUNDS)
        self.assertIn("threads grew by 9", line)

    def test_too_few_samples(self):
        [line] = check(samples()[:1], BOUNDS)
        self.assertIn("too few", line)


if __name__ == "__main__":
    unittest.main()
