"""Reads commands, runs each in a task of its own, and writes answers."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from typing import Any

from harness.commands import Harness, error_json
from harness.frames import Json

_LINE_BYTES_MAX = 64 << 20


def write(line: Json) -> None:
    """One line on stdout."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


async def run(harness: Harness, command: Json) -> None:
    """Runs one command, and answers."""
    try:
        answer = await harness.do(command)
    except Exception as error:
        write({"id": command.get("id"), "error": error_json(error)})
    else:
        write({"id": command.get("id"), "ok": answer})


async def main() -> None:
    """Until the end of stdin, or SIGTERM."""
    logging.basicConfig(stream=sys.stderr, level=os.environ.get("ADJOURN_HARNESS_LOG", "WARNING"))
    loop = asyncio.get_running_loop()
    harness = Harness(write)
    reader = asyncio.StreamReader(limit=_LINE_BYTES_MAX)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    stopping = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopping.set)
    running: set[asyncio.Task[Any]] = set()
    asked_to_stop = asyncio.ensure_future(stopping.wait())
    while True:
        line = asyncio.ensure_future(reader.readline())
        await asyncio.wait({line, asked_to_stop}, return_when=asyncio.FIRST_COMPLETED)
        if asked_to_stop.done():
            line.cancel()
            await harness.stop()
            return
        text = line.result()
        if not text:
            os._exit(0)
        task = asyncio.ensure_future(run(harness, json.loads(text)))
        running.add(task)
        task.add_done_callback(running.discard)


if __name__ == "__main__":
    asyncio.run(main())
