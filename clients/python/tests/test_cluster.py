"""Three nodes, whose leader dies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import adjourn
from conftest import until, until_true
from nodes import Node, free_port


@asynccontextmanager
async def three_nodes() -> AsyncIterator[dict[int, Node]]:
    peers = {node: f"127.0.0.1:{free_port()}" for node in (1, 2, 3)}
    nodes: dict[int, Node] = {}
    try:
        for node, peer in peers.items():
            join = ("--join", peers[1]) if node > 1 else ("--found",)
            nodes[node] = Node(None, "--node", str(node), "--peer-listen", peer, *join).start()
        async with adjourn.connect(nodes[1].url) as q:
            for node in (2, 3):
                await until_true(lambda node=node: _added(q, peers[node], node), 20)  # type: ignore[misc]
        yield nodes
    finally:
        for server in nodes.values():
            server.stop()


async def _added(q: adjourn.Queue, peer: str, node: int) -> bool:
    roles = {member.node: member.role for member in (await q.cluster_status()).members}
    if node not in roles:
        try:
            await q.cluster_add(peer)
        except adjourn.ServerError:
            return False
    return roles.get(node) == adjourn.MemberRole.VOTER


async def test_work_goes_on_when_the_leader_dies_and_when_it_hands_over() -> None:
    async with three_nodes() as nodes, adjourn.connect(nodes[2].url, reconnect_wait_max=0.1) as q:
        done: list[int] = []

        async def handle(job: adjourn.Job) -> None:
            done.append(job.id)

        async with adjourn.Worker(q, "t", handler=handle):
            ids: list[int] = []

            async def produce() -> None:
                for number in range(150):
                    ids.append((await q.push("t", number)).id)

            producing = asyncio.create_task(produce())
            await until(lambda: len(ids) > 20)
            await q.cluster_transfer()
            await until(lambda: len(ids) > 60)
            leader = (await q.cluster_status()).leader
            nodes[leader].kill()
            await producing
            await until(lambda: set(done) >= set(ids), 20)
            await until_true(lambda: _all_finished(q, len(ids)))
        assert len(set(ids)) == 150
        status = await q.cluster_status()
        assert status.leader != leader and len(status.members) == 3


async def _all_finished(q: adjourn.Queue, jobs: int) -> bool:
    totals = (await q.stats()).totals
    return totals.finished == jobs == totals.pushed
