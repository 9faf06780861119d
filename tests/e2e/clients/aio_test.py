"""The Python package's asyncio part. Values, errors and the books of streams are
those of the other part, which the other tests here cover."""

import asyncio
import signal
import subprocess
import sys
import unittest

import actord
import actord.aio
from harness import places
from harness.case import DaemonCase, EmptyCase
from harness.waiting import WAIT_SECONDS

PROGRAM = """
import asyncio, sys
import actord.aio

async def main():
    async with actord.aio.Client(sys.argv[1]) as client:
        worker = actord.aio.Worker(client)

        @worker.command("manual.*")
        async def work(task):
            print("begin", flush=True)
            await asyncio.sleep(0.3)
            return "done"

        await worker.run()
        print("left in order", flush=True)

asyncio.run(main())
"""
POLICY = "manual.* max_attempts=3 backoff=10ms max_backoff=20ms lease=600ms"


async def eventually(condition, what):
    async with asyncio.timeout(WAIT_SECONDS):
        while not await condition():
            await asyncio.sleep(0.01)


class Loop(DaemonCase):

    OPTIONS = ("--command-policy", POLICY)

    def run_async(self, body):
        """Runs body(client) in a loop of its own."""
        async def main():
            async with actord.aio.Client(self.daemon.address,
                                         timeout=WAIT_SECONDS) as client:
                async with asyncio.timeout(2 * WAIT_SECONDS):
                    await body(client)
        asyncio.run(main())

    def test_every_call_is_made(self):
        async def body(client):
            counter = await client.submit("counter", "40", name="n")
            await client.send("@n", json=2, topic="add")
            reply = await client.call(counter, topic="get")
            self.assertEqual(reply.json(), 42)
            self.assertEqual((await client.describe(counter)).names, ("n",))
            self.assertEqual([process.pid async for process in client.ps()],
                             [counter.pid])
            await client.cancel(counter)
            self.assertEqual((await client.await_outcome(counter)).text, "42")
            idle = await client.submit("probe", method="idle")
            await client.cancel(idle)
            with self.assertRaises(actord.ProcessFailed) as caught:
                await client.await_outcome(idle)
            self.assertEqual(caught.exception.reason, "CANCELLED")
            idle = [await client.submit("probe", method="idle") for _ in range(5)]
            self.assertEqual(
                len([process async for process in client.ps(page_size=2)]), 5)
            for pid in idle:
                await client.terminate(pid)
            self.assertEqual((await client.run("echo", "a")).text, "a")
            pid = await client.submit("probe", json={"command": "manual.do"},
                                      method="yield")

            async def waiting():
                return [item async for item in client.yields(pid=pid)]

            await eventually(waiting, "the yield")
            [item] = await waiting()
            self.assertEqual(
                (await client.complete_yield(item.token, "x")).answer, "ACCEPTED")
            self.assertEqual((await client.await_outcome(pid)).json()["payload"],
                             "x")
            with self.assertRaises(actord.ProcessNotFound):
                await client.describe("1.1.1.1")
            with self.assertRaises(actord.DeadlineExceeded) as caught:
                await client.run("probe", method="idle", timeout=1)
            self.assertIn(f'process {caught.exception.pid} goes on',
                          str(caught.exception))
        self.run_async(body)

    def test_text_for_a_process_that_wants_json(self):
        async def body(client):
            with self.assertRaises(actord.InitRefused) as caught:
                await client.submit("order", "A-1")
            self.assertRegex(str(caught.exception), "give JSON as json=$")
            # A text that is JSON is taken as JSON.
            for given in ({"input": '{"order": "A-1"}'},
                          {"json": {"order": "A-1"}}):
                with self.assertRaises(actord.InitRefused) as caught:
                    await client.submit("order", **given)
                self.assertRegex(str(caught.exception), "amount_cents")
                self.assertNotIn("json=", str(caught.exception))
        self.run_async(body)

    def test_many_calls_wait_at_once(self):
        async def body(client):
            pids = [await client.submit("probe", method="answer")
                    for _ in range(20)]
            replies = await asyncio.gather(*(
                client.call(pid, str(number), topic="echo")
                for number, pid in enumerate(pids)))
            self.assertEqual([reply.text for reply in replies],
                             [str(number) for number in range(20)])
        self.run_async(body)

    def test_a_stream_sends_and_says_what_is_refused(self):
        async def body(client):
            pid = await client.submit("counter", "0")
            with self.assertRaises(actord.ItemsRefused) as caught:
                async with client.send_stream(max_unacknowledged=10) as stream:
                    for _ in range(100):
                        await stream.send(pid, "1", topic="add")
                    await stream.send("@nobody")
            [refused] = caught.exception.refusals
            self.assertEqual(refused.index, 100)
            self.assertEqual(
                (await client.call(pid, topic="get")).json(), 100)
            self.daemon.signal(signal.SIGSTOP)
            try:
                stream = client.send_stream(max_unacknowledged=1, timeout=0.2)
                await stream.send(pid, "1", topic="add")
                with self.assertRaises(actord.DeadlineExceeded):
                    await stream.send(pid, "1", topic="add")
            finally:
                self.daemon.signal(signal.SIGCONT)
        self.run_async(body)

    def test_a_watch_reports_and_ends(self):
        async def body(client):
            async with client.watch("probe", timeout=WAIT_SECONDS) as watch:
                self.assertTrue((await anext(watch)).last)
                pid = await client.submit("probe", "x", method="fail")
                started, ended = await anext(watch), await anext(watch)
                self.assertEqual((started.pid, ended.pid, ended.failure.message),
                                 (pid.pid, pid.pid, "x"))
            watch = client.watch(skip_snapshot=True)
            asyncio.get_running_loop().call_later(
                0.1, lambda: asyncio.ensure_future(watch.close()))
            self.assertEqual([event async for event in watch], [])
            self.assertEqual([event async for event in client.watch(
                skip_snapshot=True, timeout=0.2)], [])
        self.run_async(body)

    def test_a_worker_carries_out_renews_and_is_cancelled(self):
        async def body(client):
            worker = actord.aio.Worker(client)
            cancelled = asyncio.Event()

            @worker.command("manual.do")
            async def do(task):
                task.report_progress("here")
                await asyncio.sleep(1.3)  # more than two leases
                return f"{task.attempt} {task.cancelled}"

            @worker.command("manual.thread")
            def thread(task):
                raise actord.Refuse("no")

            @worker.command("manual.endless")
            async def endless(task):
                try:
                    await asyncio.sleep(WAIT_SECONDS)
                except asyncio.CancelledError:
                    cancelled.set()
                    raise

            async def yielding(command):
                return await client.submit("probe", json={"command": command},
                                           method="yield")

            async with worker:
                done, refused, ended = [await yielding(f"manual.{name}")
                                        for name in ("do", "thread", "endless")]
                self.assertEqual((await client.await_outcome(refused)).json(), {
                    "code": "FAILED_PRECONDITION", "message": "no"})
                await client.terminate(ended)
                await cancelled.wait()
                self.assertEqual(
                    (await client.await_outcome(done)).json()["payload"],
                    "1 False")
            refused_worker = actord.aio.Worker(client)
            refused_worker.command("no.such")(print)
            with self.assertRaises(actord.InvalidArgument):
                await refused_worker.start()
        self.run_async(body)

    def test_sigterm_finishes_the_tasks_under_way(self):
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, self.daemon.address],
            stdout=subprocess.PIPE, text=True, env=places.clean_environment())
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        pid = self.actor.submit("probe", b'{"command": "manual.do"}', "yield")
        self.assertEqual(program.stdout.readline(), "begin\n")
        program.send_signal(signal.SIGTERM)
        self.assertEqual(self.answer(self.actor.wait(pid))["payload"], "done")
        self.assertEqual(program.communicate(timeout=WAIT_SECONDS)[0],
                         "left in order\n")
        self.assertEqual(program.returncode, 0)


class Restarts(EmptyCase):

    def test_streams_and_workers_outlive_the_daemon(self):
        address = f"unix:{self.directory}/socket"
        options = ("--listen", address, "--store", self.directory / "store",
                   "--command-policy", POLICY)
        first = self.start_daemon(*options, exit_status=-signal.SIGKILL)

        async def main():
            async with actord.aio.Client(address, timeout=WAIT_SECONDS) as client:
                counter = await client.submit("counter", "0", durability="DURABLE")
                worker = actord.aio.Worker(client)
                begun = asyncio.Event()

                @worker.command("payment.charge")
                async def charge(task):
                    begun.set()
                    return "receipt"

                watch = client.watch("counter")
                self.assertTrue((await anext(watch)).last)
                async with worker, client.send_stream() as stream:
                    await stream.send(counter, "1", topic="add")
                    await stream.flush()
                    first.signal(signal.SIGKILL)
                    await asyncio.to_thread(first.wait)
                    for _ in range(50):
                        await stream.send(counter, "1", topic="add")
                    await asyncio.to_thread(self.start_daemon, *options)
                    await stream.flush()
                    reply = await client.call(counter, topic="get")
                    self.assertEqual(reply.json(), 51)
                    order = await client.submit("order", json={
                        "order": "A", "amount_cents": 1, "hold_ms": 1})
                    outcome = await client.await_outcome(order)
                    self.assertEqual(outcome.json()["payment"], "receipt")
                missed = await anext(watch)
                self.assertEqual(missed, actord.Missed(0))
                await watch.close()

        asyncio.run(main())


if __name__ == "__main__":
    unittest.main()
