"""Compares the replies of two servers to a script, after masking what cannot be equal."""

import re
from pathlib import Path

# Seconds that pass between two replies, or between the two plays.
SECONDS = {"age", "time-left", "pause-time-left"}
SECONDS_OFF_MAX = 1
# Counters of a job that are compared only where a script names them.
COUNTERS = {"reserves", "timeouts", "releases", "buries", "kicks", "file"}
# Strings that beanstalkd puts in quotes from 1.13 on.
QUOTED_SINCE = (1, 13)
QUOTED = {"name", "tube", "hostname", "os", "platform"}
# What `stats` and `stats-tube default` say depends on the server and on all of its clients: the keys are compared, and the forms of the
# values.
SERVER_FORMS = {
    "version": r'"[^"]+"',
    "rusage-utime": r"\d+\.\d{6}",
    "rusage-stime": r"\d+\.\d{6}",
    "draining": r"false",
    "name": r'"default"',
    "id": r"[0-9a-f]{16}",
    "hostname": r'"[^"]+"',
    "os": r'"[^"]+"',
    "platform": r'"[^"]+"',
}
NUMBER = r"\d+"
SERVER_FIRST = "current-jobs-urgent"


class Difference:
    """A field of a reply that is not the same: `reply` as a whole, or a key of its data."""

    def __init__(self, step, field, expected, found):
        self.step, self.field, self.expected, self.found = step, field, expected, found


def compare(original, other, version):
    """The differences of `other`'s play from `original`'s, which is None if the script is all there is to compare with."""
    found = []
    before = original.replies if original else [None] * len(other.replies)
    for expected, reply in zip(before, other.replies):
        found += _of_reply(original, other, expected, reply, version)
    return found


def misplayed(play, version):
    """What the original answers otherwise than the script says."""
    return [difference for reply in play.replies for difference in _of_reply(None, play, None, reply, version)]


def shown(reply):
    """A reply in one line."""
    if reply.is_closed:
        return "(closed)"
    text = repr(reply.data)[2:-1] if reply.data else "(no reply)"
    text = text if len(text) < 2000 else f"{text[:1000]} ... {text[-100:]} ({len(reply.data)} bytes)"
    return text + (" (too early)" if reply.is_early else "")


def _of_reply(original, other, expected, reply, version):
    if not reply.is_right:
        return [Difference(reply.step, "reply", shown(expected) if expected else str(reply.step)[3:], shown(reply))]
    if reply.step.values is None:
        return []
    data = _Data(other, reply, version)
    found = [
        Difference(reply.step, key, value, data.value(key))
        for key, value in reply.step.values
        if not _is_same(key, value, data.value(key))
    ]
    if not expected:
        return found
    if any(difference.found == "(missing)" for difference in found):
        found = []
    named = {difference.field for difference in found}
    return found + [d for d in _of_data(_Data(original, expected, version), data) if d.field not in named]


def _of_data(expected, data):
    step = data.reply.step
    if expected.keys != data.keys:
        return [Difference(step, "keys", " ".join(expected.keys), " ".join(data.keys))]
    if expected.is_list:
        return [] if expected.items == data.items else [Difference(step, "reply", str(expected.items), str(data.items))]
    return [
        Difference(step, key, expected.value(key), data.value(key))
        for key in expected.keys
        if key not in COUNTERS
        and not (_has_form(key, data) if expected.is_of_server else _is_same(key, expected.value(key), data.value(key)))
    ]


def _is_same(key, expected, found):
    if expected == found:
        return True
    are_numbers = all(re.fullmatch(NUMBER, value) for value in (expected, found))
    return key in SECONDS and are_numbers and abs(int(expected) - int(found)) <= SECONDS_OFF_MAX


def _has_form(key, data):
    return bool(re.fullmatch(SERVER_FORMS.get(key, NUMBER), data.raw(key)))


class _Data:
    """The data of a reply: a list, or keys and values."""

    def __init__(self, play, reply, version):
        self.reply, self.play, self.version = reply, play, version
        self.lines = reply.data.decode("latin-1").split("\r\n", 1)[1][:-2].split("\n")[1:-1]
        self.is_list = all(line.startswith("- ") for line in self.lines)
        pairs = [] if self.is_list else [line.partition(": ")[::2] for line in self.lines]
        self.keys, self.values = [key for key, _ in pairs], dict(pairs)

    @property
    def is_of_server(self):
        return self.keys[:1] == [SERVER_FIRST] or self.raw("name") == '"default"'

    @property
    def items(self):
        """The list. Tubes of the whole server come and go in any order: only this script's count then."""
        if not self._asked("list-tubes"):
            return self.lines
        own = {f"- {tube.decode()}" for tube in self.play.symbols.values()} | {"- default"}
        return sorted(line for line in self.lines if line in own)

    def raw(self, key):
        """The value as it came; in the quotes of 1.13 if an older original is what it is compared with."""
        value = self.values.get(key, "")
        is_bare = self.version < QUOTED_SINCE and key in QUOTED and '"' not in value
        return f'"{value}"' if is_bare else value

    def value(self, key):
        """The value, with the id of a job as its symbol."""
        if key not in self.values:
            return "(missing)"
        return "$" + self.play.ids.get(self.values[key].encode(), "?") if key == "id" else self.raw(key)

    def _asked(self, command):
        """Whether the reply is one to this command."""
        sent = None
        for step in self.play.script.steps:
            if step is self.reply.step:
                break
            if step.who == self.reply.step.who and not step.wants_reply:
                sent = step.text
        return sent == command


class Known:
    """The differences that are permitted, from a file: script, field and reason, separated by ` | `."""

    def __init__(self, path):
        self.path, self.reasons, self.seen = Path(path), {}, set()
        for line in self.path.read_text("utf-8").splitlines():
            if line.strip() and not line.startswith("#"):
                script, field, reason = (part.strip() for part in line.split(" | ", 2))
                self.reasons[script, field] = reason

    def permits(self, script, difference):
        entry = script.name, difference.field
        self.seen.add(entry)
        return entry in self.reasons

    def stale(self, played):
        """Entries of the scripts played that were not seen, and entries without a script."""
        names = {script.name for script in played}
        return [entry for entry in self.reasons if entry[0] in names and entry not in self.seen]

    def unknown(self, all_scripts):
        names = {script.name for script in all_scripts}
        return [entry for entry in self.reasons if entry[0] not in names]
