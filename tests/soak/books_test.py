"""The books notice each broken promise: a fault in what they are told fails them."""

import types
import unittest

import books
import numbers_text


def told():
    """Books of a round in which all went well."""
    messages = books.MessageBooks()
    messages.attempt([(1, count) for count in range(1, 9)])
    messages.accept([(1, count) for count in range(1, 6)])
    messages.refuse([(1, 6)])
    messages.find([(1, 1), (1, 2), (1, 3), (1, 7)], "consumed")
    messages.find([(1, 4), (1, 5)], "dead letter")
    return messages


class Numbers(unittest.TestCase):

    def test_text(self):
        self.assertEqual(numbers_text.write(3, [1, 2, 3, 7]), "3:1-3,7")
        self.assertEqual(numbers_text.write(3, []), "")
        self.assertEqual(numbers_text.parse("3:1-2,7;4:7,7"),
                         [(3, 1), (3, 2), (3, 7), (4, 7), (4, 7)])

    def test_books_in_the_text_of_a_failure(self):
        self.assertEqual(
            books.parse_books("Step of soak.receiver threw: taken=3 books=1:4 "),
            (3, [(1, 4)]))
        self.assertEqual(books.parse_books("taken=0 books= "), (0, []))
        with self.assertRaises(ValueError):
            books.parse_books("out of memory")


class Messages(unittest.TestCase):

    def assert_broken(self, messages, text):
        broken = messages.settle()
        self.assertEqual(len(broken), 1, broken)
        self.assertIn(text, broken[0])

    def test_all_well(self):
        messages = told()
        self.assertEqual(messages.settle(), [])
        self.assertEqual(messages.settle(), [])
        self.assertEqual(dict(messages.totals), {
            "accepted": 5, "durable, accepted": 0, "lost with the daemon": 0,
            "refused": 1, "consumed": 4, "dead letter": 2,
            "without an answer": 2, "without an answer, delivered": 1,
            "sent again, queued": 0})

    def test_lost_message(self):
        messages = told()
        messages.attempt([(1, 9)])
        messages.accept([(1, 9)])
        self.assert_broken(messages, "1 accepted messages are lost: (1, 9)")

    def test_message_delivered_twice_in_a_round(self):
        messages = told()
        messages.find([(1, 7)], "consumed")
        self.assert_broken(messages, "delivered twice: ((1, 7)")

    def test_message_delivered_again_in_a_later_round(self):
        messages = told()
        messages.settle()
        messages.find([(1, 4)], "consumed")
        self.assert_broken(
            messages, "delivered twice: ((1, 4), 'dead letter', 'consumed')")

    def test_refused_message_delivered(self):
        messages = told()
        messages.find([(1, 6)], "consumed")
        self.assert_broken(messages, "although they were refused: (1, 6)")

    def test_message_both_accepted_and_refused(self):
        messages = told()
        messages.attempt([(1, 9)])
        messages.accept([(1, 9)])
        messages.refuse([(1, 9)])
        broken = messages.settle()
        self.assertIn("1 messages are both accepted and refused: (1, 9)", broken)

    def test_message_that_nobody_sent(self):
        messages = told()
        messages.find([(2, 1)], "consumed")
        self.assert_broken(messages, "that nobody sent: (2, 1)")

    def killed(self):
        """Books of a round in which the daemon was killed."""
        messages = told()
        messages.attempt([(2, 1), (2, 2)])
        messages.attempt([(3, 1), (3, 2)], durable=True)
        messages.accept([(2, 1), (3, 1)])
        messages.kill()
        return messages

    def test_volatile_message_may_be_lost_with_the_daemon(self):
        messages = self.killed()
        messages.find([(3, 1)], "consumed")
        self.assertEqual(messages.settle(), [])
        self.assertEqual(messages.totals["lost with the daemon"], 1)

    def test_durable_message_lost_with_the_daemon(self):
        messages = self.killed()
        messages.find([(2, 1)], "consumed")
        self.assert_broken(messages, "1 accepted messages are lost: (3, 1)")

    def test_volatile_message_lost_after_the_kill(self):
        messages = self.killed()
        messages.find([(3, 1)], "consumed")
        messages.attempt([(2, 3)])
        messages.accept([(2, 3)])
        self.assert_broken(messages, "1 accepted messages are lost: (2, 3)")

    def test_volatile_message_lost_a_round_later(self):
        messages = self.killed()
        messages.find([(3, 1)], "consumed")
        messages.settle()
        messages.attempt([(2, 3)])
        messages.accept([(2, 3)])
        self.assert_broken(messages, "1 accepted messages are lost: (2, 3)")

    def test_durable_message_delivered_again_after_the_kill(self):
        messages = self.killed()
        messages.find([(3, 1), (3, 1)], "consumed")
        self.assert_broken(messages, "delivered twice: ((3, 1)")

    def test_resent_dead_letter(self):
        messages = told()
        messages.settle()
        messages.resend((1, 4))
        messages.find([(1, 4)], "consumed")
        self.assertEqual(messages.settle(), [])
        messages.resend((1, 5))
        self.assert_broken(messages, "sent again are lost: (1, 5)")


class Jobs(unittest.TestCase):

    def told(self):
        jobs = books.JobBooks()
        jobs.submit([(5, 1), (5, 2)])
        jobs.answered((5, 1), "k1", "1", "7")
        jobs.answered((5, 1), "k1", "2", "8")
        jobs.accepted("k1", "2", "8")
        jobs.result((5, 1), "k1 2 8")
        # Its worker was killed before it could say that it was accepted.
        jobs.answered((5, 2), "k2", "1", "7")
        jobs.result((5, 2), "k2 1 7")
        return jobs

    def assert_broken(self, jobs, text):
        broken = jobs.settle()
        self.assertEqual(len(broken), 1, broken)
        self.assertIn(text, broken[0])

    def test_all_well(self):
        jobs = self.told()
        jobs.result((5, 1), "k1 2 8")  # told again
        self.assertEqual(jobs.settle(), [])
        self.assertEqual(jobs.settle(), [])

    def test_result_missing(self):
        jobs = self.told()
        jobs.submit([(5, 3)])
        self.assertEqual(jobs.open_numbers(), [(5, 3)])
        self.assert_broken(jobs, "no result: (5, 3)")

    def test_two_results(self):
        jobs = self.told()
        jobs.result((5, 1), "k1 1 7")
        self.assert_broken(jobs, "two different results")

    def test_result_of_a_job_that_nobody_submitted(self):
        jobs = self.told()
        jobs.answered((5, 3), "k3", "1", "7")
        jobs.result((5, 3), "k3 1 7")
        self.assert_broken(jobs, "without having been submitted: (5, 3)")

    def test_result_of_a_refused_job(self):
        jobs = self.told()
        jobs.refuse((5, 1))
        self.assert_broken(jobs, "refused jobs have a result: (5, 1)")

    def test_error(self):
        jobs = self.told()
        jobs.submit([(5, 3)])
        jobs.result((5, 3), "error soak.work failed after 1000 attempts")
        self.assert_broken(jobs, "that no worker sent")

    def killed(self):
        """A volatile and a durable job have no result when the daemon is killed."""
        jobs = self.told()
        jobs.submit([(6, 1)])
        jobs.submit([(6, 2)], durable=True)
        jobs.answered((6, 1), "k5", "1", "7")
        jobs.accepted("k5", "1", "7")
        jobs.answered((6, 2), "k6", "1", "7")
        jobs.kill()
        return jobs

    def test_volatile_job_lost_with_the_daemon(self):
        jobs = self.killed()
        jobs.result((6, 2), "k6 1 7")
        self.assertEqual(jobs.settle(), [])
        self.assertEqual(jobs.totals["lost with the daemon"], 1)

    def test_durable_job_lost_with_the_daemon(self):
        self.assert_broken(self.killed(), "no result: (6, 2)")

    def test_accepted_completion_of_a_durable_job_lost_with_the_daemon(self):
        jobs = self.killed()
        jobs.accepted("k6", "1", "7")
        jobs.answered((6, 2), "k6", "2", "8")
        jobs.result((6, 2), "k6 2 8")
        self.assert_broken(jobs, "other accepted completions")

    def test_volatile_job_lost_after_the_kill(self):
        jobs = self.killed()
        jobs.result((6, 2), "k6 1 7")
        jobs.submit([(6, 3)])
        self.assert_broken(jobs, "no result: (6, 3)")

    def test_two_completions_accepted(self):
        jobs = self.told()
        jobs.accepted("k1", "1", "7")
        self.assert_broken(jobs, "other accepted completions")

    def test_accepted_completion_without_a_result(self):
        jobs = self.told()
        jobs.accepted("k3", "1", "7")
        self.assert_broken(jobs, "other accepted completions")

    def test_one_task_for_two_jobs(self):
        jobs = self.told()
        jobs.settle()
        jobs.submit([(5, 3)])
        jobs.answered((5, 3), "k1", "1", "7")
        jobs.result((5, 3), "k1 1 7")
        self.assert_broken(jobs, "belong to two jobs")


class Counters(unittest.TestCase):

    GOOD = dict(
        messages_total=9, dead_letters_total=4, dead_letters_kept=1,
        dead_letters_resent_total=1, dead_letters_dropped_total=2,
        dead_letters_forgotten_total=0, processes_started_total=8,
        processes_ended_total=6, processes_live=2, processes_quarantined=0,
        yields_external_waiting=0,
        tasks_leased=0, yields_total=3, completions_total=3)

    BEFORE = {name: 0 for name in GOOD}

    def check(self, taken=7, live=2, before=BEFORE, **more):
        now = books.Moment(types.SimpleNamespace(**self.GOOD | more), taken, 2)
        return books.check_counters(
            now, before and books.Moment(types.SimpleNamespace(**before), 0, 0), live)

    def test_all_well(self):
        self.assertEqual(self.check(), [])

    def test_each_counter_that_is_wrong(self):
        for name, value in self.GOOD.items():
            with self.subTest(name):
                self.assertTrue(self.check(**{name: value + 1}))

    def test_only_new_entries_count(self):
        before = self.BEFORE | {"messages_total": 4, "yields_total": 1}
        self.assertEqual(len(self.check(before=before)), 2)
        before["completions_total"] = 1
        self.assertEqual(self.check(taken=3, before=before), [])

    def test_counts_begin_anew_with_the_daemon(self):
        self.assertEqual(self.check(taken=100, before=None), [])
        self.assertTrue(self.check(before=None, tasks_leased=1))

    def test_process_too_many(self):
        [line] = self.check(live=1)
        self.assertIn("processes_live", line)

    def test_message_that_no_step_took(self):
        self.assertTrue(self.check(taken=6))

    def test_process_in_quarantine(self):
        self.assertTrue(self.check(before=None, processes_quarantined=1))


if __name__ == "__main__":
    unittest.main()
