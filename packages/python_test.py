"""A user's test in an empty folder: the client, and the server from its wheel."""

import asyncio
import sysconfig
from datetime import timedelta

import adjourn
from adjourn.testing import Server, find_binary


def test_the_server_is_that_of_the_wheel():
    assert str(find_binary()).startswith(sysconfig.get_path("scripts"))


def test_an_order_is_closed_after_a_quarter_of_an_hour(adjourn_server: Server):
    async def closed() -> list[str]:
        async with adjourn.connect(adjourn_server.url) as queue:
            await queue.push("unpaid", "order 17", delay=timedelta(minutes=15))
            assert await queue.reserve("unpaid") == []
            adjourn_server.advance(timedelta(minutes=15))
            return [job.value for job in await queue.reserve("unpaid")]

    assert asyncio.run(closed()) == ["order 17"]
