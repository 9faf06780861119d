"""A program that uses the package as its type hints permit: mypy checks it. A line
behind "type: ignore" must not pass."""

import asyncio
import datetime

import actord
import actord.aio
import grpc

worker = actord.Worker("[::1]:7600", concurrency=2)


@worker.command("payment.charge", attempts=5)
def charge(task: actord.Task) -> dict[str, str]:
    if task.cancelled:
        raise actord.Retry(delay=datetime.timedelta(seconds=5))
    if task.attempt > 2:
        raise actord.Refuse("no", "NOT_FOUND")
    if task.json()["amount_cents"] > 5:
        raise actord.Refuse("no", code=grpc.StatusCode.OUT_OF_RANGE)
    task.report_progress(json={"page": 1})
    return {"key": task.idempotency_key}


def drive() -> str:
    with actord.Client(timeout=None) as client:
        order = client.submit("order", json={"order": "A"}, name="orders/A",
                              durability=actord.Durability.DURABLE)
        receipt: actord.Receipt = client.send(order, b"x", topic="t").receipt
        pids: list[str] = [process.pid for process in client.ps("order")]
        with client.send_stream() as stream:
            index: int = stream.send(order.pid, json=5)
        try:
            outcome = client.await_outcome(order)
        except actord.ProcessFailed as failed:
            outcome = failed.outcome
        for event in client.watch():
            match event:
                case actord.Ended(pid):
                    pids.remove(pid)
        return f"{receipt}{index}{outcome.text}"


async def drive_too() -> str:
    async with actord.aio.Client() as client:
        async for item in client.yields("payment.*"):
            await client.complete_yield(item.token, error="no")
        reply: actord.Reply = await client.call("@orders/A", topic="state")
        return reply.text


def mistakes(client: actord.Client) -> None:
    client.submit("order", 7)  # type: ignore[arg-type]
    client.send("1.2.3.4", timeout="5s")  # type: ignore[arg-type]
    actord.Retry("5s")  # type: ignore[arg-type]
    client.sumbit("order")  # type: ignore[attr-defined]
    number: int = client.run("echo").text  # type: ignore[assignment]
    print(number)


if __name__ == "__main__":
    print(drive(), asyncio.run(drive_too()))
