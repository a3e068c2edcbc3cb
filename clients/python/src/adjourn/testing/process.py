"""The process of a server for tests. It ends with the process that started it, however that ends."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import IO

_START_MAX = 20.0
_LAST_WORDS_MAX = 2.0
_SERVE = ("serve", "--memory", "--clock", "manual", "--listen", "127.0.0.1:0", "--end-with-stdin")
_processes: weakref.WeakSet[ServerProcess] = weakref.WeakSet()


def find_binary() -> Path:
    """The binary of the server: what `ADJOURN_BIN` names, else `adjourn` among the scripts of this interpreter, else on the `PATH`.

    The scripts come first, active environment or not: what the project has pinned there wins over a stranger on the `PATH`.
    """
    named = os.environ.get("ADJOURN_BIN")
    found = shutil.which(named) if named else shutil.which("adjourn", path=sysconfig.get_path("scripts")) or shutil.which("adjourn")
    if found is None and named:
        raise FileNotFoundError(f"ADJOURN_BIN is {named!r}, and that is no program: set it to the path of the adjourn binary")
    if found is None:
        raise FileNotFoundError(
            "tests need the Adjourn server: install `adjourn` in this Python environment or on the PATH, or set ADJOURN_BIN to the path of its binary"
        )
    return Path(found)


class ServerProcess:
    """A server in memory on a port that is free. Its clock stands still."""

    def __init__(self, binary: Path, options: Sequence[str]) -> None:
        self._log = tempfile.TemporaryFile("a+b")  # Appended to: reading it moves nothing.
        self._process = subprocess.Popen(
            [str(binary), *_SERVE, *options],
            stdin=subprocess.PIPE,  # The server ends when the last write end of this pipe is closed.
            stdout=subprocess.PIPE,
            stderr=self._log,
            # What a developer has set for other servers is not for this one.
            env={name: value for name, value in os.environ.items() if not name.startswith("ADJOURN_")},
        )
        self.stop = weakref.finalize(self, _stop, self._process, self._log)
        """Ends it. May be called twice, and is called at the end of the interpreter."""
        _processes.add(self)
        self.address = self._serves()
        """Where it listens."""

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def log(self) -> str:
        """What the server has written to its log so far."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def _forked(self) -> None:
        """This is a forked child. The server is its parent's: the child neither ends it, nor keeps it alive with its copy of the pipe."""
        self.stop.detach()
        assert self._process.stdin is not None
        self._process.stdin.close()

    def _serves(self) -> str:
        """Waits for the line that says where it listens."""
        assert self._process.stdout is not None
        watch = threading.Timer(_START_MAX, self._process.kill)
        watch.start()
        line = self._process.stdout.readline()
        watch.cancel()
        try:
            return str(json.loads(line)["listen"])
        except (ValueError, KeyError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_LAST_WORDS_MAX)
            log = self.log()
            self.stop()
            raise RuntimeError(f"the server does not start; it has to know `--clock manual`:\n{log}") from None


def _stop(process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    process.kill()
    process.wait()
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    process.stdout.close()
    log.close()


def _in_child() -> None:
    for process in list(_processes):
        process._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
