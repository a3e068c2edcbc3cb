"""A Redis and a queue for one part of the tests, both in memory on free ports of the loopback, and what can be asked of them."""

import contextlib
import datetime
import json
import re
import socket
import subprocess
import tempfile
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
# Nothing takes longer, unless it hangs.
LIMIT_S = 60
POLL_S = 0.02
# How to read a key of each type: what comes before the key, and what after it.
CONTENTS = {
    b"hash": ("HGETALL", ()),
    b"list": ("LRANGE", (0, -1)),
    b"set": ("SMEMBERS", ()),
    b"stream": ("XRANGE", ("-", "+")),
    b"string": ("GET", ()),
    b"zset": ("ZRANGE", (0, -1, "WITHSCORES")),
}


class Failed(Exception):
    """A check has failed."""


def equal(found, expected, what):
    if found == expected:
        return
    if isinstance(found, dict) and isinstance(expected, dict):
        differ = {key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key)}
        found, expected = ({key: value for key, value in each.items() if key in differ} for each in (found, expected))
    raise Failed(f"{what}: expected {shown(expected)}, found {shown(found)}")


def shown(value):
    text = str(value)
    return text if len(text) < 2000 else f"{text[:2000]} ..."


def until(condition, what):
    """Waits until a condition is true, and returns its value."""
    end = time.monotonic() + LIMIT_S
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed(f"not in time: {what}")
        time.sleep(POLL_S)


class Rig(contextlib.ExitStack):
    """Both servers, for as long as they are needed."""

    def __init__(self, binary):
        super().__init__()
        self.binary = binary
        self.folder = Path(self.enter_context(tempfile.TemporaryDirectory()))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.redis_port = free.getsockname()[1]
        command = ["redis-server", "--bind", "127.0.0.1", "--port", str(self.redis_port), "--save", "", "--appendonly", "no"]
        server = self.start(*command, "--dir", str(self.folder), stdout=subprocess.DEVNULL)
        self.redis = until(lambda: server.poll() is not None or connected(self.redis_port), "redis-server")
        if self.redis is True:
            raise Failed("redis-server does not start")
        # It ends when its standard input does.
        queue = self.start(binary, "serve", "--memory", "--listen", "127.0.0.1:0", stderr=subprocess.DEVNULL)
        self.server = json.loads(queue.stdout.readline())["listen"]

    def start(self, *command, **options):
        """Starts a process, which is killed at the end."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        process = subprocess.Popen(command, text=True, **{**pipes, **options})
        self.callback(end, process)
        return process

    def adjourn(self, *arguments, stdin=""):
        """What a command prints, if it succeeds."""
        return run([self.binary, *arguments, "--server", self.server], stdin)

    def command(self, *options):
        return [self.binary, "import", "redis", f"redis://127.0.0.1:{self.redis_port}/0", *options, "--server", self.server]

    def take(self, *options):
        """Imports. Returns what it printed."""
        done = subprocess.run(self.command(*options), text=True, capture_output=True, timeout=LIMIT_S, check=False)
        return Outcome(options, done)

    def jobs(self):
        """All jobs of the queue, with their bodies as text."""
        return [json.loads(line) for line in self.adjourn("export").splitlines()]

    def contents(self, *patterns):
        """What Redis has, by key."""
        keys = sorted(key for pattern in patterns or ["*"] for key in self.redis("KEYS", pattern))
        return {key: self._content(key) for key in keys}

    def _content(self, key):
        kind = self.redis("TYPE", key)
        before, after = CONTENTS[kind]
        found = self.redis(before, key, *after)
        # These have no order.
        if kind == b"hash":
            return dict(zip(found[::2], found[1::2]))
        return set(found) if kind == b"set" else found


class Outcome:
    """What an import has said."""

    def __init__(self, options, done):
        self.what = f"import redis {' '.join(options)}"
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def check(self, code, *texts):
        """Whether it ended so, and said these lines, or the beginnings of lines."""
        if self.code != code or not all(re.search(f"^{re.escape(text)}", self.out, re.MULTILINE) for text in texts):
            raise Failed(f"{self.what}: expected {code} and {texts}, found {self.code}\n{self.out}{self.err}")

    def check_stays(self, expected, code=None):
        """Whether it said for each reason how many jobs stay."""
        lines = [line for line in self.out.splitlines() if " stay" in line]
        found = {reason: [line.split()[0] for line in lines if reason in line] for reason in expected}
        equal((found, len(lines)), ({reason: [str(jobs)] for reason, jobs in expected.items()}, len(expected)), self.what)
        jobs = sum(expected.values())
        self.check(code if code is not None else 3 if jobs else 0)
        if self.code == 3 and f"{jobs} jobs stay in Redis" not in self.err:
            raise Failed(f"{self.what}: {self.err}")


class Redis:
    """A connection to Redis."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), LIMIT_S)
        self.file = self.socket.makefile("rb")

    def __call__(self, *arguments):
        arguments = [argument if isinstance(argument, bytes) else str(argument).encode() for argument in arguments]
        parts = b"".join(b"$%d\r\n%b\r\n" % (len(argument), argument) for argument in arguments)
        self.socket.sendall(b"*%d\r\n%b" % (len(arguments), parts))
        return self._reply()

    def _reply(self):
        kind, rest = self.file.read(1), self.file.readline()[:-2]
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self._reply() for _ in range(int(rest))]
        raise Failed(f"Redis: {rest.decode()}")


def connected(port):
    try:
        redis = Redis(port)
        return redis if redis("PING") == b"PONG" else None
    except OSError:
        return None


def run(command, stdin=""):
    """What a command prints, if it succeeds."""
    done = subprocess.run(command, text=True, input=stdin, capture_output=True, timeout=LIMIT_S, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(command)}: ended with {done.returncode}\n{shown(done.stdout)}{done.stderr}")
    return done.stdout


def end(process):
    process.kill()
    with process:
        pass


def ms_of(text):
    """The milliseconds since 1970 of a time as the queue writes it."""
    time_of = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    since = time_of - datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
    return since // datetime.timedelta(milliseconds=1)


def now_ms():
    return time.time_ns() // 1_000_000
