"""TLS against a real server, with certificates that `adjourn cert` made."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path

import adjourn
import pytest
from adjourn.errors import CannotConnectError, UsageError
from adjourn.testing import find_binary
from nodes import Node

Certificates = Callable[[str], str]


@pytest.fixture
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make(tmp_path_factory.mktemp("certificates"))


def make(folder: Path) -> Certificates:
    """A CA, a certificate of a server on 127.0.0.1, and one of a client."""
    for what in (["node", "1", "--host", "127.0.0.1"], ["client", "shop"]):
        subprocess.run([find_binary(), "cert", *what, "--dir", folder], check=True, capture_output=True)
    return lambda name: str(folder / name)


def server(path: Certificates, *options: str) -> Node:
    return Node(None, "--tls-cert", path("node-1.pem"), "--tls-key", path("node-1.key"), *options)


async def test_jobs_go_over_tls_and_a_client_comes_back(certificates: Certificates) -> None:
    large = b"x" * (1 << 20)
    with server(certificates) as node:
        async with adjourn.connect(f"adjourns://{node.address}", tls_ca=certificates("ca.pem")) as queue:
            waiting = asyncio.create_task(queue.reserve("large", wait=20))
            for _ in range(100):
                await queue.push("small", b"x")
            await queue.push("large", large)
            (job,) = await waiting
            assert job.body == large
            await job.finish()
            node.kill()
            node.start()
            await queue.push("small", b"x")


async def test_whom_a_client_does_not_believe_it_does_not_talk_to(
    certificates: Certificates, tmp_path: Path
) -> None:
    ca, foreign = certificates("ca.pem"), make(tmp_path)("ca.pem")
    shown = {"tls_cert": certificates("shop.pem"), "tls_key": certificates("shop.key")}
    with server(certificates) as node, server(certificates, "--tls-client-ca", ca) as strict:
        port = node.address.rpartition(":")[2]
        for address, options in [
            (f"adjourns://{node.address}", {"tls_ca": foreign}),
            (f"adjourns://{node.address}", {}),
            (f"adjourns://localhost:{port}", {"tls_ca": ca}),
            (f"adjourns://{strict.address}", {"tls_ca": ca}),
        ]:
            with pytest.raises(CannotConnectError, match="(?i)certificate|ssl|tls"):
                await adjourn.connect(address, connect_timeout=0.5, **options)
        with pytest.raises(adjourn.AdjournError, match="adjourns://"):
            await adjourn.connect(node.address, connect_timeout=0.5)
        async with adjourn.connect(f"adjourns://{strict.address}", tls_ca=ca, **shown) as queue:
            await queue.push("t", b"x")


def test_options_that_cannot_be_are_refused(certificates: Certificates) -> None:
    ca = certificates("ca.pem")
    for servers, options, reason in [
        ("127.0.0.1:1", {"tls_ca": ca}, "adjourns://"),
        ("adjourns://127.0.0.1:1", {"tls_cert": ca}, "tls_key"),
        ("adjourns://127.0.0.1:1", {"tls_ca": "gone.pem"}, "gone.pem"),
        ("adjourns://a:1,adjourn://b:1", {}, "with all servers or with none"),
        ("a:1,adjourns://b:1", {}, "with all servers or with none"),
        ("tls://a:1", {}, "no address"),
    ]:
        with pytest.raises(UsageError, match=reason):
            adjourn.connect(servers, **options)
