"""The servers that the scripts in benches/ measure, what the kernel says of each, and the disk's own speed.

Every server is a process of its own with a fresh directory; it listens on the loopback. Needs Linux and Python 3.9.
"""

import contextlib
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
PROGRAMS = {"redis": "redis-server", "beanstalkd": "beanstalkd"}
START_S_MAX, STOP_S_MAX = 30, 30
# The part of a file that `disk_alone` overwrites, in blocks.
DISK_BLOCKS = 4096


def say(text):
    print(text, file=sys.stderr, flush=True)


def fail(text):
    sys.exit(f"benches/{Path(sys.argv[0]).name}: {text}")


class Process:
    """A running program, and what the kernel says of it."""

    def __init__(self, command, **pipes):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ADJOURN_")}
        self.process = subprocess.Popen([str(word) for word in command], env=environment, text=True, **pipes)
        self.pid = self.process.pid

    def memory(self):
        """Resident bytes, now and at most up to now."""
        values = fields(Path(f"/proc/{self.pid}/status"))
        return {name: int(values[field].split()[0]) * KIB for name, field in [("resident", "VmRSS"), ("peak", "VmHWM")]}

    def cpu_seconds(self):
        values = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")

    def switches(self):
        """How often its threads gave up a core or lost it."""
        total = 0
        for thread in Path(f"/proc/{self.pid}/task").iterdir():
            values = fields(thread / "status")
            total += int(values["voluntary_ctxt_switches"]) + int(values["nonvoluntary_ctxt_switches"])
        return total

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self):
        self.process.kill()
        self.process.wait()


def fields(path):
    return dict(line.split(":", 1) for line in path.read_text().splitlines())


class Peer(Process):
    """Redis or beanstalkd. It syncs before it answers, unless it is beanstalkd in memory."""

    def __init__(self, kind, data, synced=True):
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        if kind == "redis":
            options = ["--bind", "127.0.0.1", "--port", port, "--dir", data]
            options += ["--save", "", "--appendonly", "yes", "--appendfsync", "always"]
        else:
            options = ["-l", "127.0.0.1", "-p", port, *(["-b", data, "-f", "0"] if synced else [])]
        with tempfile.TemporaryFile("w+") as log:
            super().__init__([PROGRAMS[kind], *options], stdout=log, stderr=log)
            self.wait_for(port, log)

    def wait_for(self, port, log):
        deadline = time.monotonic() + START_S_MAX
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                return
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                log.seek(0)
                fail(f"{' '.join(self.process.args)} did not start:\n{log.read()}")
            time.sleep(0.02)


class Node(Process):
    """An Adjourn node. `client` is the program that puts a load on it, if that is not the measured one."""

    def __init__(self, binary, data, *arguments, client=None):
        self.binary, self.client, self.data, self.events = binary, client or binary, Path(data), []
        started = time.monotonic()
        command = [binary, "serve", "--data", data, "--listen", "127.0.0.1:0", "--log-format", "json", *arguments]
        super().__init__(command, stderr=subprocess.PIPE)
        self.listens = threading.Event()
        self.reader = threading.Thread(target=self.read_log, daemon=True)
        self.reader.start()
        self.listens.wait()
        listening = self.event("listening")
        if listening is None:
            fail("the server did not start:\n" + "\n".join(json.dumps(event) for event in self.events))
        self.address = listening["address"]
        self.start_ms = round((listening["read_at"] - started) * 1000, 1)

    def read_log(self):
        for line in self.process.stderr:
            read_at = time.monotonic()
            try:
                event = json.loads(line)
            except ValueError:
                event = {"message": line.rstrip()}
            self.events.append({**event, "read_at": read_at})
            if event.get("message") == "listening":
                self.listens.set()
        self.listens.set()

    def event(self, message):
        return next((event for event in self.events if event.get("message") == message), None)

    def await_event(self, message):
        """An event that comes soon."""
        for _ in range(500):
            if (event := self.event(message)) is not None:
                return event
            time.sleep(0.01)
        fail(f"the server did not log: {message}")

    def checkpoints(self):
        return [event for event in self.events if event.get("message") == "checkpoint"]

    def data_bytes(self):
        """What the files occupy on the disk."""
        total = 0
        for folder, _, names in os.walk(self.data):
            for name in names:
                try:
                    total += os.stat(os.path.join(folder, name)).st_blocks * 512
                except FileNotFoundError:
                    pass
        return total

    def settle(self, calm_s, patience_s=300):
        """Waits until it has nothing to do: less than 2 % of a core for so long."""
        deadline, used, since = time.monotonic() + patience_s, self.cpu_seconds(), time.monotonic()
        while time.monotonic() - since < calm_s:
            if time.monotonic() > deadline:
                return say(f"    still busy after {patience_s} s")
            time.sleep(0.5)
            before, used = used, self.cpu_seconds()
            if used - before > 0.015:
                since = time.monotonic()

    def adjourn(self, *arguments):
        """Runs a client command that prints JSON, to its end; its last line."""
        command = [self.client, *map(str, arguments), "--server", self.address]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            log = "\n".join(str(event) for event in self.events[-5:])
            fail(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}\nthe server's last words:\n{log}")
        return json.loads(done.stdout.splitlines()[-1])

    def bench(self, *arguments):
        return self.adjourn("bench", *arguments, "--json")

    def push(self, topic, jobs, *arguments, body=128, delay="1d..30d"):
        arguments = ["--topic", topic, "--body", body, "--delay", delay, *arguments]
        return self.bench("push", "--jobs", jobs, *arguments)

    def late(self, seconds, rate=1000):
        """Lateness of other jobs, pushed at a steady rate; and the checkpoints that were taken meanwhile."""
        before = len(self.checkpoints())
        report = self.bench("late", "--rate", rate, "--jobs", rate * seconds, "--delay", "200ms")
        taken = self.checkpoints()[before:]
        return {
            **report["latency_ms"],
            "checkpoints": len(taken),
            "checkpoint_rows_max": max((event["rows"] for event in taken), default=0),
            "checkpoint_ms_max": max((event["took_ms"] for event in taken), default=0),
        }

    def stop(self):
        """Ends it well; how long that took, in milliseconds."""
        begun = time.monotonic()
        self.process.terminate()
        if self.process.wait() != 0:
            fail(f"the server ended with {self.process.returncode}: {self.events[-3:]}")
        took_ms = round((time.monotonic() - begun) * 1000, 1)
        self.reader.join()
        return took_ms

    def kill(self):
        super().kill()
        self.reader.join()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def missing_peers():
    """The other queues that are not installed. It says so."""
    missing = [kind for kind, program in PROGRAMS.items() if shutil.which(program) is None]
    for kind in missing:
        say(f"{PROGRAMS[kind]} is not installed: what needs it is left out (apt-get install {PROGRAMS[kind]})")
    return missing


def version(kind, program):
    command = [program, "-v" if kind == "beanstalkd" else "--version"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout.strip()


def written_bytes(folder):
    """What was written to the disk of a folder, by anybody; `None` if the kernel does not count it. What it counts for a process
    is of no use: if a file's cache is in large pieces, it takes a few bytes in one for the whole piece."""
    device = os.stat(folder).st_dev
    counts = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat")
    return int(counts.read_text().split()[6]) * 512 if counts.exists() else None


def disk_alone(folder, writes=2_000, rate=None):
    """How long the disk takes to write and sync 4 KiB while nothing else is done, in milliseconds. The file has its blocks already
    and is overwritten, so that a sync writes no metadata. With a `rate`, so many times a second.

    The time in which this process waited for a core does not count: other programs take that, not the disk. `waited` is its share."""
    took, elapsed, waited = [], 0, 0
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        block = b"x" * (4 * KIB)
        for _ in range(DISK_BLOCKS):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
        for number in range(writes):
            waited_before, begun = waited_for_core(), time.perf_counter()
            os.pwrite(file.fileno(), block, number % DISK_BLOCKS * len(block))
            os.fdatasync(file.fileno())
            whole = time.perf_counter() - begun
            wait = min(whole, waited_for_core() - waited_before)
            took.append(whole - wait)
            elapsed, waited = elapsed + whole, waited + wait
            if rate:
                time.sleep(max(0, 1 / rate - whole))
    took.sort()
    at = {"p50": 0.5, "p99": 0.99, "p99_9": 0.999}
    found = {name: round(took[int(share * writes)] * 1000, 3) for name, share in at.items()}
    return {**found, "waited": round(waited / elapsed, 3)}


def waited_for_core():
    """The seconds in which this process could have run, but had no core."""
    return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9


def medians(found):
    """Of each figure the one in the middle."""
    return {name: statistics.median(one[name] for one in found) for name in found[0]}


def build():
    """A build of this tree as packages contain it."""
    say("building...")
    subprocess.run(["cargo", "build", "--quiet", "--locked", "--profile", "dist"], cwd=ROOT, check=True)
    return ROOT / (os.environ.get("CARGO_TARGET_DIR") or "target") / "dist/adjourn"


def build_bench(name):
    """The release build of a benchmark of this tree."""
    command = ["cargo", "bench", "--quiet", "--locked", "--bench", name, "--no-run", "--message-format", "json"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    built = (json.loads(line) for line in done.stdout.splitlines())
    return next(one["executable"] for one in built if one.get("executable") and one["target"]["name"] == name)


def cluster(node, nodes):
    """The members of a cluster; the first leads. `node` starts one: its number, and its arguments."""
    ports = [free_port() for _ in range(nodes)]
    first, *others = [f"127.0.0.1:{port}" for port in ports]
    members = [node(1, "--peer-listen", first, "--found")]
    for number, address in enumerate(others, 2):
        members.append(node(number, "--peer-listen", address, "--join", first))
        command = [members[0].client, "cluster", "add", address, "--wait", "--server", members[0].address]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return members
