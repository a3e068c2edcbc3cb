"""A server with a disk, for tests that kill and freeze it: started on a free port, in a folder of its own, and ended."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

from adjourn.testing import find_binary

_START_MAX = 20.0


class Node:
    """A node. Use it in a `with`, or call `start` and `stop`."""

    def __init__(self, binary: Path | None = None, *options: str, port: int | None = None) -> None:
        self._binary = binary or find_binary()
        self._options = options
        self._folder = Path(tempfile.mkdtemp(prefix="adjourn-test-"))
        self._process: subprocess.Popen[bytes] | None = None
        self.port = port or free_port()

    @property
    def address(self) -> str:
        """Where clients connect to."""
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The same for `connect`."""
        return f"adjourn://{self.address}"

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The running process."""
        assert self._process is not None, "the server does not run"
        return self._process

    def log(self) -> str:
        """What the server has written."""
        return (self._folder / "log").read_text(errors="replace")

    def start(self) -> Node:
        """Starts it, on the data that is there, and waits until it listens."""
        command = [str(self._binary), "serve", "--data", str(self._folder / "data"), "--listen", self.address]
        with open(self._folder / "log", "ab") as log:
            self._process = subprocess.Popen([*command, *self._options], stdout=log, stderr=log)
        deadline = time.monotonic() + _START_MAX
        while not self._listens():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server does not start:\n{self.log()}")
            time.sleep(0.01)
        return self

    def kill(self) -> None:
        """SIGKILL: nothing is written any more."""
        self.process.kill()
        self.process.wait()

    def terminate(self) -> None:
        """SIGTERM: it answers what it accepted, and ends."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(_START_MAX)

    def freeze(self) -> None:
        """It takes connections and answers nothing, until `thaw`."""
        self.process.send_signal(signal.SIGSTOP)
        # Its threads go on until the one that gets the signal has its turn.
        os.waitpid(self.process.pid, os.WUNTRACED)

    def thaw(self) -> None:
        """It goes on."""
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Ends it and removes its data."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _listens(self) -> bool:
        with contextlib.closing(socket.socket()) as probe:
            probe.settimeout(0.2)
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def __enter__(self) -> Node:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def free_port() -> int:
    """A port that nothing listens on."""
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
