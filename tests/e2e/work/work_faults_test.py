"""Remote workers that are killed, stopped, slow or many: a process always gets
exactly one completion for each of its yields, and no accepted answer is lost."""

import json
import queue
import signal
import threading
import unittest

from actord.v1 import payload_pb2, work_pb2, yield_pb2
from harness.case import DaemonCase
from harness.daemon import MEASURED
from harness.waiting import eventually, pause
from harness.scripted_worker import ScriptedWorker
from harness.work import RemoteWorker


class FaultCase(DaemonCase):

    OPTIONS = ("--command-policy", "manual.short lease=2s",
               "--workers", "2")

    def yielding(self, command="manual.do", **order):
        order["command"] = command
        return self.actor.submit("probe", json.dumps(order).encode(), "yield")

    def scripted(self, *arguments, **more):
        worker = ScriptedWorker(self.daemon.address, *arguments, **more)
        self.addCleanup(worker.close)
        return worker

    def worker(self, credits=1, command="manual.*"):
        worker = RemoteWorker(self.actor.stub, command, credits=credits)
        self.addCleanup(worker.close)
        return worker

    def result(self, pid):
        answer = self.answer(self.actor.wait(pid))
        self.assertEqual(answer["code"], "OK", answer)
        return answer["payload"]


class KilledWorkers(FaultCase):
    """SIGKILL at each point of a task's life."""

    def finish(self, pid, *attempts):
        """Another worker does it, and nobody before has."""
        other = self.worker()
        task = other.task(20)  # the lease is 30 s
        self.assertIn(task.attempt, attempts)
        self.assertEqual(other.complete(task, b"second"), "ACCEPTED")
        self.assertEqual(self.result(pid), "second")
        self.assertEqual(self.actor.status().counters.completions_total, 1)

    def test_while_it_waits_for_a_task(self):
        worker = self.scripted("manual.*")
        worker.signal(signal.SIGKILL)
        self.finish(self.yielding(), 1, 2)

    def test_while_it_holds_the_task(self):
        pid = self.yielding()
        worker = self.scripted("manual.*")
        token, _ = worker.expect("task")
        worker.signal(signal.SIGKILL)
        self.finish(pid, 2)
        self.assertEqual(self.actor.complete(token, b"first"), "SUPERSEDED")

    def test_after_a_heartbeat(self):
        pid = self.yielding()
        worker = self.scripted("manual.*")
        token, _ = worker.expect("task")
        worker.tell("beat", token)
        self.assertEqual(worker.expect("answer"), [token, "ACCEPTED"])
        worker.signal(signal.SIGKILL)
        self.finish(pid, 2)

    def test_while_its_answer_is_on_its_way(self):
        results = set()
        for number in range(1, 9):
            pid = self.yielding()
            worker = self.scripted("manual.*")
            token, _ = worker.expect("task")
            worker.tell("complete", token, "first")
            if number % 2:
                worker.expect("sent")
            worker.signal(signal.SIGKILL)
            other = self.worker()
            eventually(lambda: self.actor.status().counters.remote_workers == 1,
                       "its end")
            # Either its answer counts or another does it. Never both, and
            # never neither.
            if self.actor.yields(pid=pid):
                task = other.task()
                self.assertEqual(task.attempt, 2)
                self.assertEqual(other.complete(task, b"second"), "ACCEPTED")
                self.assertEqual(self.actor.complete(token, b"first"),
                                 "SUPERSEDED")
                self.assertEqual(self.result(pid), "second")
            else:
                self.assertEqual(self.actor.complete(token, b"first"),
                                 "DUPLICATE")
                self.assertEqual(self.result(pid), "first")
            other.close()
            eventually(lambda: self.actor.status().counters.remote_workers == 0,
                       "the end of the other")
            self.assertEqual(self.actor.status().counters.completions_total,
                             number)
            results.add(self.result(pid))
        self.assertLessEqual(results, {"first", "second"})

    def test_after_its_answer_was_accepted(self):
        pid = self.yielding()
        worker = self.scripted("manual.*")
        token, _ = worker.expect("task")
        worker.tell("complete", token, "first")
        self.assertEqual(worker.expect("answer"), [token, "ACCEPTED"])
        worker.signal(signal.SIGKILL)
        self.assertEqual(self.result(pid), "first")
        self.assertEqual(self.actor.complete(token, b"first"), "DUPLICATE")
        self.assertEqual(self.actor.status().counters.completions_total, 1)


class StoppedWorkers(FaultCase):

    def test_a_worker_that_slept_through_its_lease_is_superseded(self):
        pid = self.yielding("manual.short")
        sleeper = self.scripted("manual.*", credits=5)
        token, _ = sleeper.expect("task")
        pause(sleeper.process)
        other = self.worker(credits=5)
        task = other.task()
        self.assertEqual(task.attempt, 2)
        # A task that comes while it sleeps is not for it, although it has credits.
        more = [self.yielding() for _ in range(4)]
        for _ in more:
            again = other.task(20)  # the lease of these is 30 s
            self.assertEqual(again.attempt, 1)
            self.assertEqual(other.complete(again, b"other"), "ACCEPTED")
            self.assertEqual(other.beat(task), "ACCEPTED")
        sleeper.tell("complete", token, "late")
        sleeper.signal(signal.SIGCONT)
        self.assertEqual(sleeper.expect("answer"), [token, "SUPERSEDED"])
        self.assertEqual(other.complete(task, b"in time"), "ACCEPTED")
        self.assertEqual(self.result(pid), "in time")
        # And it is back at work.
        other.close()
        eventually(lambda: self.actor.status().counters.remote_workers == 1,
                   "the end of the other")
        self.yielding()
        self.assertEqual(sleeper.expect("task")[1], "1")


class ManyWorkers(FaultCase):

    ENVIRONMENT = MEASURED

    def test_one_of_several_simultaneous_completions_is_accepted(self):
        senders = [self.worker(credits=0) for _ in range(3)]
        holder = self.worker()
        for _ in range(25):
            pid = self.yielding()
            task = holder.task()
            barrier = threading.Barrier(len(senders) + 2)
            answers = []

            def by_stream(sender):
                barrier.wait()
                answers.append(sender.complete(task, b"same"))

            def by_call():
                barrier.wait()
                answers.append(self.actor.complete(task.token, b"same"))

            threads = [threading.Thread(target=by_stream, args=(one,))
                       for one in (*senders, holder)]
            threads.append(threading.Thread(target=by_call))
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sorted(answers), ["ACCEPTED"] + ["DUPLICATE"] * 4)
            self.assertEqual(self.result(pid), "same")
            holder.say(add_credits=1)
        self.assertEqual(self.actor.status().counters.completions_total, 25)

    def test_workers_that_vanish_in_numbers_lose_nothing(self):
        pids = [self.yielding(count=100) for _ in range(4)]
        crowd = self.scripted("manual.*", credits=4, streams=60)
        for _ in range(240):
            crowd.expect("task")
        self.assertEqual(self.actor.status().counters.tasks_leased, 240)
        crowd.signal(signal.SIGKILL)
        other = self.worker(credits=1000)
        attempts = []
        for _ in range(400):
            task = other.task()
            attempts.append(task.attempt)
            other.say(completions=[yield_pb2.CompleteYieldRequest(
                token=task.token, result=payload_pb2.Payload(data=b"1"))])
        for _ in range(400):
            self.assertEqual(other.answer(), "ACCEPTED")
        self.assertEqual(sorted(attempts), [1] * 160 + [2] * 240)
        for pid in pids:
            answers = self.answer(self.actor.wait(pid))
            self.assertEqual([one["code"] for one in answers], ["OK"] * 100)
        counters = self.actor.status().counters
        self.assertEqual((counters.remote_workers, counters.tasks_leased,
                          counters.completions_total), (1, 0, 400))

    def test_a_worker_that_does_not_read_holds_nothing_up(self):
        payload, count = "x" * 20_000, 5 * 800
        pids = [self.yielding(payload=payload, count=800) for _ in range(5)]
        eventually(lambda: self.actor.status().counters.yields_external_waiting
                   == count, "the yields", 30)
        before = self.daemon.resident_bytes()
        # Nobody takes what comes from this stream.
        requests = iter([work_pb2.WorkRequest(
            subscribe=work_pb2.Subscribe(commands=["manual.*"]),
            add_credits=10000)])
        done = threading.Event()

        def say():
            yield next(requests)
            done.wait()

        deaf = self.actor.stub.Work(say())
        self.addCleanup(done.set)
        leased = lambda: self.actor.status().counters.tasks_leased
        eventually(lambda: leased() > 0, "the first tasks")
        other = self.worker(credits=100)
        completed = 0
        while True:
            try:
                task = other.task(5)
            except queue.Empty:
                break  # the rest is with the deaf one
            self.assertEqual(other.complete(task, b"1", add_credits=1),
                             "ACCEPTED")
            completed += 1
        # The bytes that a connection takes in, not the number of credits.
        self.assertGreater(completed, count // 2)
        self.assertEqual(leased(), count - completed)
        self.assertLess(self.daemon.grown_bytes(before), 40 << 20)
        deaf.cancel()
        for _ in range(count - completed):
            task = other.task()
            self.assertEqual(other.complete(task, b"1", add_credits=1),
                             "ACCEPTED")
        for pid in pids:
            self.actor.wait(pid)
        self.assertEqual(self.actor.status().counters.completions_total, count)


if __name__ == "__main__":
    unittest.main()
