r"""Reads the scripts: conversations of a few connections with a server.

    == a name
    A> put 0 0 60 5         connection A sends this and \r\n; connections open when they first speak
    A>> hel                 sends these bytes and nothing else; a short wait follows, so that they are a packet
    A< INSERTED $a          the reply, without its last \r\n
    A< OK pri: 5, delay: 0  a reply with data; the values named here are checked, others are compared with the original's
    A< nothing              no reply comes for now
    A< closed               the server closes the connection
    A half                  A sends nothing more, but still reads
    A close                 A closes
    clock                   sets the clock to zero
    after 1                 the next reply does not come before the clock shows 1 s
    since 1.13              the first line of a script: an older original answers differently, so it is not asked
    > use => UNKNOWN_COMMAND     a script of its own: one input, and the replies, with ` & ` between them

`$T` is a tube of this script alone (any capital letter; the same name on both servers), `$a` the id of a job (small letters; the first
reply with it binds it), `$MAX` the largest body the server takes, `$OVER` one more. `<a*200>` is `a` 200 times. `\r`, `\n`, `\t`, `\0`,
`\xff`, `\\`, `\$` and `\<` are bytes. A line that begins with `#` is a comment.

At the end of a script every open connection uses tube `$Z`, and `USING $Z` must be all that it gets: an extra reply, or a connection
that hangs, is found there at the latest.
"""

import re
from pathlib import Path

SEND, RAW, EXPECT, NOTHING, CLOSED, HALF, CLOSE, CLOCK, AFTER = (
    "send", "raw", "expect", "nothing", "closed", "half", "close", "clock", "after",
)  # fmt: skip
ESCAPES = {"r": b"\r", "n": b"\n", "t": b"\t", "0": b"\0", "\\": b"\\", "$": b"$", "<": b"<"}
# Of a long input a name has the beginning.
NAME_CHARS_MAX = 80
TOKEN = re.compile(
    r"\\x(?P<hex>[0-9a-f]{2})|\\(?P<escape>.)|\$(?P<symbol>MAX|OVER|[A-Z]|[a-z][a-z0-9]*)"
    r"|<(?P<byte>.)\*(?P<count>\d+|\$MAX|\$OVER)>|(?P<plain>[^\\$<]+)"
)


class Malformed(Exception):
    """A script that cannot be read: file, line, why."""


class Step:
    """One line of a script."""

    def __init__(self, line, kind, who="", text="", is_final=False):
        self.line, self.kind, self.who, self.text, self.is_final = line, kind, who, text, is_final

    @property
    def wants_reply(self):
        return self.kind in (EXPECT, NOTHING, CLOSED)

    @property
    def values(self):
        """The values that `OK key: value, ...` names; None if the reply is given in full."""
        return None if not re.fullmatch(r"OK( \D.*)?", self.text) else re.findall(r"([a-z-]+): ([^,]+)", self.text)

    def __str__(self):
        signs = {SEND: ">", RAW: ">>", EXPECT: "<", NOTHING: "<", CLOSED: "<"}
        if self.kind in signs:
            return f"{self.who}{signs[self.kind]} {self.text}"
        return f"{self.who} {self.kind} {self.text}".strip()


class Script:
    """A conversation, with the file that it comes from."""

    def __init__(self, file, line, name, family=None):
        self.file, self.line, self.name, self.family = file, line, name, family or name
        self.since, self.steps = None, []

    @property
    def inputs(self):
        return sum(step.kind in (SEND, RAW) and not step.is_final for step in self.steps)

    @property
    def tubes(self):
        return sorted(set(re.findall(r"(?<!\\)\$([A-Z])(?![A-Z])", "\n".join(step.text for step in self.steps))))

    def finish(self):
        """Adds what every script ends with."""
        speaking = {}
        for step in self.steps:
            if step.who:
                speaking[step.who] = step.kind not in (CLOSED, CLOSE, HALF)
        for who in sorted(who for who, speaks in speaking.items() if speaks):
            self.steps.append(Step(self.line, SEND, who, "use $Z", is_final=True))
            self.steps.append(Step(self.line, EXPECT, who, "USING $Z", is_final=True))


def tokens(text):
    """The parts of a text: (bytes, None) or (None, symbol) or (byte, count or symbol)."""
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if not found:
            raise Malformed(f"`{text[at:]}` is neither text nor a symbol")
        at = found.end()
        if found["hex"]:
            yield bytes.fromhex(found["hex"]), None
        elif found["escape"]:
            if found["escape"] not in ESCAPES:
                raise Malformed(f"there is no `\\{found['escape']}`")
            yield ESCAPES[found["escape"]], None
        elif found["symbol"]:
            yield None, found["symbol"]
        elif found["byte"]:
            yield found["byte"].encode(), found["count"]
        else:
            yield found["plain"].encode(), None


def read(folder):
    """All scripts of a folder, in the order of their files and lines."""
    scripts = []
    for path in sorted(Path(folder).glob("*.txt")):
        for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
            try:
                _read_line(scripts, path.name, number, line)
            except Malformed as why:
                raise Malformed(f"{path.name}:{number}: {why}") from None
    scripts = [script for script in scripts if script.steps]
    for script in scripts:
        script.finish()
    names = [script.name for script in scripts]
    for script in scripts:
        if names.count(script.name) > 1:
            raise Malformed(f"{script.file}:{script.line}: there are two scripts `{script.name}`")
    return scripts


def _read_line(scripts, file, number, line):
    if not line.strip() or line.startswith("#"):
        return
    if line.startswith("== "):
        scripts.append(Script(file, number, line[3:].strip()))
        return
    if not scripts:
        raise Malformed("a script begins with `== name`")
    if line.startswith("since "):
        scripts[-1].since = version(line[6:])
        return
    alone = re.fullmatch(r"(>>?)(?: (.*))? => (.+)", line)
    if alone:
        scripts.append(_alone(scripts[-1], number, *alone.groups()))
        return
    scripts[-1].steps.append(_step(number, line))


def _alone(head, number, sign, text, replies):
    """A script of one input. It is named after the heading above it, whose `since` it takes."""
    text = text or ""
    shown = text if len(text) <= NAME_CHARS_MAX else f"{text[:NAME_CHARS_MAX]}..."
    script = Script(head.file, number, f"{head.family}: {shown}", head.family)
    script.since = head.since
    script.steps = [_step(number, f"A{sign} {text}"), *(_step(number, f"A< {reply}") for reply in replies.split(" & "))]
    return script


def _step(number, line):
    spoken = re.fullmatch(r"([A-Z])(>>|>|<)(?: (.*))?", line)
    if spoken:
        who, sign, text = spoken[1], spoken[2], spoken[3] or ""
        if sign == "<":
            return Step(number, text if text in (NOTHING, CLOSED) else EXPECT, who, text)
        list(tokens(text))
        return Step(number, SEND if sign == ">" else RAW, who, text)
    deed = re.fullmatch(r"([A-Z]) (half|close)", line)
    if deed:
        return Step(number, deed[2], deed[1])
    if line == CLOCK:
        return Step(number, CLOCK)
    if re.fullmatch(r"after \d+(\.\d+)?", line):
        return Step(number, AFTER, text=line.split()[1])
    raise Malformed(f"`{line}` is no step")


def version(text):
    """`1.13` as numbers that compare."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])
