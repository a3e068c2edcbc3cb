"""Plays a script to one server, and keeps the replies.

A play ends at the first reply that is not the one the script names: what follows would say nothing.
"""

import re
import socket
import time

import script as scripts

# How long "nothing" lasts, and how long a packet is given to arrive alone.
QUIET_S, PACKET_S = 0.2, 0.03
# Clocks of server and harness: a reply may come this much too early.
EARLY_S_MAX = 0.05
MAX_JOB_SIZE_DEFAULT = 65535
WITH_BODY = re.compile(rb"(?:(?:RESERVED|FOUND) \d+|OK) (\d+)\r\n")


class Connection:
    """A connection that reads reply by reply."""

    def __init__(self, address, limit_s):
        self.bytes, self.is_closed = b"", False
        try:
            self.socket = socket.create_connection(address, limit_s)
        except OSError:
            # A server that is gone closes all connections.
            self.socket, self.is_closed = socket.socket(), True
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data, limit_s):
        self.socket.settimeout(limit_s)
        try:
            self.socket.sendall(data)
        except OSError:
            # What the server said before it closed or stopped reading comes first; the next reply shows it.
            pass

    def reply(self, limit_s):
        """The next reply, or whatever part of it has come in time; empty if none has."""
        until = time.monotonic() + limit_s
        while True:
            size = self._size()
            if size is not None and len(self.bytes) >= size:
                reply, self.bytes = self.bytes[:size], self.bytes[size:]
                return reply
            if self.is_closed or not self._receive(until):
                reply, self.bytes = self.bytes, b""
                return reply

    def _size(self):
        end = self.bytes.find(b"\r\n")
        if end < 0:
            return None
        body = WITH_BODY.match(self.bytes)
        return body.end() + int(body[1]) + 2 if body else end + 2

    def _receive(self, until):
        remaining = until - time.monotonic()
        if remaining <= 0:
            return False
        self.socket.settimeout(remaining)
        try:
            received = self.socket.recv(1 << 16)
        except socket.timeout:
            return False
        except OSError:
            received = b""
        self.bytes += received
        self.is_closed = not received
        return bool(received)

    def half_close(self):
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.socket.close()


class Reply:
    """What came where a step wants a reply."""

    def __init__(self, step, data=b"", is_closed=False, is_early=False, is_right=False):
        self.step, self.data, self.is_closed, self.is_early, self.is_right = step, data, is_closed, is_early, is_right


class Play:
    """A script's run on one server: `replies` in the order of the steps, and the ids that the server gave."""

    def __init__(self, script, address, tubes, limit_s, job_size_max):
        self.script, self.address, self.limit_s = script, address, limit_s
        self.symbols = {name: tube.encode() for name, tube in tubes.items()}
        self.symbols["MAX"], self.symbols["OVER"] = str(job_size_max).encode(), str(job_size_max + 1).encode()
        self.fixed = set(self.symbols)
        self.connections, self.replies = {}, []
        self.clock, self.not_before_s = time.monotonic(), None

    @property
    def ids(self):
        """The symbols of the ids."""
        return {value: name for name, value in self.symbols.items() if name not in self.fixed}

    def run(self):
        try:
            for step in self.script.steps:
                if not self._take(step):
                    break
        finally:
            for connection in self.connections.values():
                connection.close()
        return self

    def delete_jobs(self):
        """Leaves nothing behind on a server that lives longer than this run, as far as the script did not delete its jobs."""
        if not self.ids:
            return
        connection = Connection(self.address, self.limit_s)
        connection.send(b"".join(b"delete %s\r\n" % job for job in self.ids), self.limit_s)
        for _ in self.ids:
            connection.reply(self.limit_s)
        connection.close()

    def _take(self, step):
        """One step; false if the play is over."""
        if step.kind == scripts.CLOCK:
            self.clock = time.monotonic()
            return True
        if step.kind == scripts.AFTER:
            self.not_before_s = float(step.text)
            return True
        if step.who not in self.connections:
            self.connections[step.who] = Connection(self.address, self.limit_s)
        connection = self.connections[step.who]
        if step.wants_reply:
            self.replies.append(self._reply(step, connection))
            return self.replies[-1].is_right
        if step.kind in (scripts.SEND, scripts.RAW):
            self._send(step, connection)
        elif step.kind == scripts.HALF:
            connection.half_close()
        else:
            connection.close()
        return True

    def _send(self, step, connection):
        data = b"".join(self._bytes(first, second) for first, second in scripts.tokens(step.text))
        if step.kind == scripts.SEND:
            connection.send(data + b"\r\n", self.limit_s)
        else:
            connection.send(data, self.limit_s)
            time.sleep(PACKET_S)

    def _bytes(self, first, second):
        if second is None:
            return first
        if first is None:
            return self.symbols[second]
        count = self.symbols[second[1:]] if second.startswith("$") else second
        return first * int(count)

    def _reply(self, step, connection):
        data = connection.reply(QUIET_S if step.kind == scripts.NOTHING else self.limit_s)
        is_early = self.not_before_s is not None and time.monotonic() - self.clock < self.not_before_s - EARLY_S_MAX
        self.not_before_s = None
        reply = Reply(step, data, connection.is_closed and not data, is_early)
        reply.is_right = not is_early and self._is_right(reply)
        return reply

    def _is_right(self, reply):
        step, data = reply.step, reply.data
        if step.kind == scripts.CLOSED:
            return reply.is_closed
        if step.kind == scripts.NOTHING:
            return not data and not reply.is_closed
        if step.values is not None:
            return bool(re.fullmatch(rb"OK \d+\r\n---\n.*\n\r\n", data, re.DOTALL))
        found = re.fullmatch(self._pattern(step.text), data, re.DOTALL)
        if found:
            self.symbols.update(found.groupdict())
        return bool(found)

    def _pattern(self, text):
        """The replies that a text stands for. A symbol that has no value yet takes any number."""
        parts = []
        for first, second in scripts.tokens(text):
            if first is None and second not in self.symbols:
                parts.append(b"(?P<%s>[1-9][0-9]*)" % second.encode())
            else:
                parts.append(re.escape(self._bytes(first, second)))
        return b"".join(parts) + b"\r\n"


def ask(address, limit_s):
    """A server's version, and the largest body that it takes; both as the original has them if the server does not say."""
    socket.create_connection(address, limit_s).close()
    connection = Connection(address, limit_s)
    connection.send(b"stats\r\n", limit_s)
    stats = connection.reply(limit_s).decode("latin-1")
    connection.close()
    version = re.search(r'^version: "?(\d+\.\d+)', stats, re.MULTILINE)
    size = re.search(r"^max-job-size: (\d+)$", stats, re.MULTILINE)
    return scripts.version(version[1] if version else "1.13"), int(size[1]) if size else MAX_JOB_SIZE_DEFAULT
