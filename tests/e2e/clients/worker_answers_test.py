"""The answers of the Python package's workers: each task gets one, whatever its
function raises and however large its result is."""

import asyncio
import copy
import datetime
import pickle
import threading
import unittest

import actord
import actord.aio
import grpc
from actord.tasks import Command, TaskBook
from actord.v1 import work_pb2
from harness.case import DaemonCase
from harness.waiting import WAIT_SECONDS

POLICY = "manual.* max_attempts=3 backoff=10ms max_backoff=20ms lease=600ms"
MIB = 1 << 20


class NoText(Exception):

    def __str__(self):
        raise ZeroDivisionError


def refuse_without_code():
    error = actord.Refuse("a")
    error.code = "NO_SUCH"
    return error


class Mute(NoText, actord.Refuse):
    pass


# By command: what its function raises, and the code and the text that its process
# gets.
ERRORS = {
    "manual.name": (lambda: actord.Refuse("no such word", "NOT_FOUND"),
                    "NOT_FOUND", "^no such word$"),
    "manual.number": (lambda: actord.Refuse("x", 5), "NOT_FOUND", "^x$"),
    "manual.string_delay": (lambda: actord.Retry(delay="1"), "UNKNOWN",
                            "TypeError: the delay of a Retry is a number of seconds "
                            "or a timedelta, not '1'"),
    "manual.timedelta": (lambda: actord.Retry(datetime.timedelta(0), "later"),
                         "UNKNOWN", "after 3 attempts: later"),
    "manual.surrogate": (lambda: ValueError("a\ud800b"), "UNKNOWN",
                         r"ValueError: a\?b"),
    "manual.refused_surrogate": (lambda: actord.Refuse("a\ud800b"),
                                 "FAILED_PRECONDITION", r"^a\?b$"),
    "manual.no_code": (refuse_without_code, "INTERNAL",
                       "cannot say how Refuse has failed the task: ValueError: "
                       "'NO_SUCH' is not the code of an error"),
    "manual.no_text": (NoText, "UNKNOWN", "NoText, whose text raises ZeroDivision"),
    "manual.mute": (lambda: Mute("a"), "INTERNAL",
                    "cannot say how Mute has failed the task: ZeroDivisionError"),
}


class Answers(DaemonCase):

    OPTIONS = ("--command-policy", POLICY)

    def setUp(self):
        super().setUp()
        self.client = actord.Client(self.daemon.address, timeout=WAIT_SECONDS)
        self.addCleanup(self.client.close)

    def yielding(self, command):
        return self.client.submit("probe", json={"command": command}, method="yield")

    def outcome(self, pid):
        return self.client.await_outcome(pid).json()

    def assert_answered(self, run):
        """`run(function, check)` works with this function while it checks."""
        def fail(task):
            raise ERRORS[task.command][0]()

        def check():
            pids = {command: self.yielding(command) for command in ERRORS}
            for command, pid in pids.items():
                _, code, message = ERRORS[command]
                end = self.outcome(pid)
                with self.subTest(command):
                    self.assertEqual(end["code"], code, end)
                    self.assertRegex(end["message"], message)

        with self.assertLogs("actord.worker", "WARNING"):
            run(fail, check)

    def test_each_error_is_an_answer(self):
        def run(function, check):
            # One place: a task that keeps it would block the others.
            worker = actord.Worker(self.client, concurrency=1)
            worker.command("manual.*")(function)
            with worker:
                check()
        self.assert_answered(run)

    def test_each_error_is_an_answer_with_asyncio(self):
        def run(function, check):
            async def main():
                async with actord.aio.Client(self.daemon.address) as client:
                    worker = actord.aio.Worker(client, concurrency=1)

                    @worker.command("manual.*")
                    async def work(task):
                        function(task)

                    async with worker:
                        await asyncio.to_thread(check)
            asyncio.run(main())
        self.assert_answered(run)

    def test_a_result_that_is_too_large_is_an_error(self):
        worker = actord.Worker(self.client)
        is_slow, release = threading.Event(), threading.Event()

        @worker.command("manual.*")
        def work(task):
            if task.command == "manual.slow":
                is_slow.set()
                self.assertTrue(release.wait(WAIT_SECONDS))
                return "slow"
            if task.command == "manual.type":
                return actord.Payload(b"", "t" * 8 * MIB)
            return b"a" * int(task.command.removeprefix("manual.b"))

        with self.assertLogs("actord.worker", "WARNING") as logs, worker:
            slow = self.yielding("manual.slow")
            self.assertTrue(is_slow.wait(WAIT_SECONDS))
            for size in (MIB + 1, 3 * MIB, 20 * MIB):
                self.assertEqual(self.outcome(self.yielding(f"manual.b{size}")), {
                    "code": "INVALID_ARGUMENT",
                    "message": f"the worker's result: it has {size} bytes; the limit "
                               f"is {MIB}"})
            self.assertRegex(self.outcome(self.yielding("manual.type"))["message"],
                             "its content type has 8388608 bytes; the limit is 1024")
            self.assertEqual(
                self.outcome(self.yielding(f"manual.b{MIB - 100}"))["code"], "OK")
            # Its stream was not broken.
            release.set()
            self.assertEqual(self.outcome(slow)["payload"], "slow")
        self.assertEqual(len(logs.output), 4, logs.output)
        self.assertRegex(logs.output[2], "is not sent: it has 20971520 bytes")

    def test_progress_that_is_too_large_is_an_error(self):
        worker = actord.Worker(self.client)

        @worker.command("manual.*")
        def work(task):
            try:
                task.report_progress(bytes(20 * MIB))
            except ValueError as error:
                return str(error)
            return "sent"

        with worker:
            self.assertEqual(
                self.outcome(self.yielding("manual.a"))["payload"],
                "the progress of a task: it has 20971520 bytes; the limit is 4096")


class LargeLimit(DaemonCase):

    OPTIONS = ("--max-payload-bytes", "10MiB", "--max-mailbox-bytes", "64MiB",
               "--command-policy", POLICY)

    def test_the_limit_is_that_of_the_daemon(self):
        with actord.Client(self.daemon.address, timeout=WAIT_SECONDS) as client:
            worker = actord.Worker(client)
            worker.command("manual.*")(
                lambda task: b"a" * int(task.command.removeprefix("manual.b")) * MIB)
            with worker:
                ends = [client.run("probe", json={"command": f"manual.b{size}"},
                                   method="yield", check=False) for size in (9, 11)]
        self.assertEqual(len(ends[0].json()["payload"]), 9 * MIB)
        self.assertRegex(ends[1].text, "it has 11534336 bytes; the limit is 10485760")


class Book(unittest.TestCase):

    def setUp(self):
        self.book = TaskBook([Command("manual.*", print, None)], "", 1)
        self.book.open()
        self.book.subscribed(work_pb2.Subscribed(max_payload_bytes=MIB))
        self.task = self.book.start(work_pb2.Task(token="t"), 0.0, print)

    def refused(self, kind):
        answer = work_pb2.TaskAnswer(token="t", kind=kind)
        answer.refusal.code = 3
        answer.refusal.message = "error.code is wrong"
        with self.assertLogs("actord.worker", "WARNING"):
            return self.book.answered(answer, 0.0)

    def test_a_refused_error_is_replaced_once(self):
        for request, kind, where in (
                (work_pb2.WorkRequest(completions=[{"token": "t", "error": {}}]),
                 work_pb2.TaskAnswer.KIND_COMPLETION, "completions"),
                (work_pb2.WorkRequest(failures=[{"token": "t"}]),
                 work_pb2.TaskAnswer.KIND_FAILURE, "failures")):
            with self.subTest(where):
                self.setUp()
                self.book.answer(self.task, request)
                [again] = self.refused(kind)
                [replaced] = getattr(again, where)
                self.assertEqual(replaced.error.code,
                                 grpc.StatusCode.INTERNAL.value[0])
                self.assertRegex(replaced.error.message,
                                 "^the worker's (error|failure): error.code is wrong$")
                # Then the place is given back.
                self.assertEqual(self.refused(kind),
                                 [work_pb2.WorkRequest(add_credits=1)])

    def test_a_large_result_waits_for_the_limit_of_the_next_stream(self):
        large = work_pb2.WorkRequest(completions=[
            {"token": "t", "result": {"data": bytes(5 * MIB)}}])
        self.book.subscribed(work_pb2.Subscribed(max_payload_bytes=8 * MIB))
        self.assertEqual(self.book.answer(self.task, large), [large])
        self.assertEqual(len(self.book.open()), 1)  # the subscription alone
        with self.assertLogs("actord.worker", "WARNING"):
            [answer] = self.book.subscribed(
                work_pb2.Subscribed(max_payload_bytes=MIB))
        self.assertEqual(
            answer.completions[0].error.message,
            "the worker's result: it has 5242880 bytes; the limit is 1048576")
        self.assertEqual(len(self.book.open()), 2)


class Arguments(unittest.TestCase):

    def test_codes_of_refuse(self):
        for given, code in (
                (grpc.StatusCode.ABORTED, "ABORTED"), ("not_found", "NOT_FOUND"),
                ("NOT_FOUND", "NOT_FOUND"), (16, "UNAUTHENTICATED")):
            self.assertEqual(actord.Refuse("x", given).code, grpc.StatusCode[code])
        for given, kind in ((grpc.StatusCode.OK, ValueError), ("OK", ValueError),
                            (0, ValueError), (17, ValueError), ("name", ValueError),
                            (True, TypeError), (None, TypeError), (2.0, TypeError)):
            with self.subTest(given), self.assertRaisesRegex(
                    kind, "give a grpc.StatusCode, its name or its number: CANCELLED, "
                          "UNKNOWN, INVALID_ARGUMENT, .*UNAUTHENTICATED"):
                actord.Refuse("x", given)

    def test_delays_of_retry(self):
        for given, delay in ((None, None), (0, 0), (1.5, 1.5),
                             (datetime.timedelta(minutes=1), 60)):
            self.assertEqual(actord.Retry(given).delay, delay)
        for given, kind in (("1", TypeError), (True, TypeError), ([], TypeError),
                            (-1, ValueError), (float("nan"), ValueError),
                            (float("inf"), ValueError),
                            (datetime.timedelta(-1), ValueError)):
            with self.subTest(given), self.assertRaisesRegex(
                    kind, "the delay of a Retry is a number of seconds or a timedelta"):
                actord.Retry(given)
        self.assertRaisesRegex(TypeError, "give a text as message=",
                               lambda: actord.Retry("later"))

    def test_they_can_be_copied(self):
        for make in (copy.copy, lambda error: pickle.loads(pickle.dumps(error))):
            refuse = make(actord.Refuse("no", "ABORTED"))
            self.assertEqual((str(refuse), refuse.code),
                             ("no", grpc.StatusCode.ABORTED))
            retry = make(actord.Retry(2, "later"))
            self.assertEqual((str(retry), retry.delay), ("later", 2))


if __name__ == "__main__":
    unittest.main()
