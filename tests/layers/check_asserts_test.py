#!/usr/bin/python3
"""Tests that check_asserts.py finds each invariant that nothing keeps, and no
other."""

import pathlib
import tempfile
import unittest

import check_asserts

INVARIANTS = """// A queue.
//
// Invariants:
//  (1) It is short.
//  (2) It is
//      sorted.
"""
PRECONDITION = """// Takes one. Precondition: there is one.
void Take();
"""


class CheckAssertsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def found(self, header, source=""):
        for name, text in (("queue.h", header), ("queue.cc", source)):
            path = self.root / "runtime" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return [line.split(": ")[0] for line in check_asserts.check_tree(self.root)]

    def test_invariant_without_an_assertion_is_found(self):
        first, second = "runtime/queue.h:4", "runtime/queue.h:5"
        for source, wrong in [
                ("", [first, second]),
                ('ACTORD_ASSERT(a < 2, "queue.h (1)");', [second]),
                ('ACTORD_ASSERT_HOT(F(a) &&\n  b,\n  "queue.h (2): it is");', [first]),
                ('ACTORD_ASSERT(a, "queue.h (1), (2)");', []),
                ('ACTORD_ASSERT(a, "other_queue.h (1), (2)");', [first, second]),
        ]:
            with self.subTest(source=source):
                self.assertEqual(self.found(INVARIANTS, source), wrong)

    def test_numbers_with_a_dot_count_below_the_word_invariants(self):
        dotted = INVARIANTS.replace("(1)", "1.").replace("(2)", "2.")
        self.assertEqual(len(self.found(dotted)), 2)
        self.assertEqual(self.found(dotted.replace("Invariants:", "It does:")), [])

    def test_test_or_reason_may_stand_for_an_assertion(self):
        for text, wrong in [
                ("// tests/model/queue.pml checks (1) to (2).\n", 0),
                ("// tests/model/queue.pml checks (2).\n", 1),
                ("// A model checks (1) and (2).\n", 2),
                ("//      (Not asserted: it is slow.)\n", 1),
        ]:
            with self.subTest(text=text):
                self.assertEqual(len(self.found(INVARIANTS + text)), wrong)

    def test_precondition_without_an_assertion_is_found(self):
        self.assertEqual(self.found(PRECONDITION), ["runtime/queue.h:1"])
        asserted = 'ACTORD_ASSERT(a, "queue.h: there is one");'
        self.assertEqual(self.found(PRECONDITION, asserted), [])
        self.assertEqual(self.found(2 * PRECONDITION, asserted),
                         ["runtime/queue.h:1"])
        self.assertEqual(self.found(2 * PRECONDITION, 2 * asserted), [])
        other = 'ACTORD_ASSERT(a, "queue.h: the lock is held");'
        named = PRECONDITION.replace("there is one", "the queue has an element")
        self.assertEqual(self.found(named, other), ["runtime/queue.h:1"])
        self.assertEqual(
            self.found(named, other.replace("the lock is held", "Element() is set")),
            [])
        reason = "there is one. (Not asserted: the lock hides it.)"
        self.assertEqual(self.found(PRECONDITION.replace("there is one.", reason)), [])


if __name__ == "__main__":
    unittest.main()
