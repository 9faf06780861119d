"""The client for asyncio: the same methods as those of `actord`, awaited.

    import asyncio
    import actord.aio

    async def main():
        async with actord.aio.Client() as client:
            print((await client.run("echo", "hello", timeout=10)).text)

    asyncio.run(main())

Values and exceptions are those of `actord`.
"""

from actord.aio.client import Client
from actord.aio.send_stream import SendStream
from actord.aio.subscription import Subscription
from actord.aio.watch import Watch
from actord.aio.worker import Worker

__all__ = ["Client", "SendStream", "Subscription", "Watch", "Worker"]
