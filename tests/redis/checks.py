#!/usr/bin/env python3
"""Takes over jobs of BullMQ, Bull and Laravel, which these libraries have put into Redis: `checks.py ADJOURN PART...`.

Prints a line for each part that passed. NODE_PACKAGES is the folder with the libraries of Node.
"""

import json
import subprocess
import sys
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True

from rig import FOLDER, LIMIT_S, Failed, Rig, equal, ms_of, now_ms, run, until

# Parts wait more than they work.
AT_ONCE = 3
HELD = "workers have them, or had them when they were stopped"
RACE_JOBS, RACE_ROUNDS = 3000, 15
LARAVEL_PREFIX = "laravel_database_"
# Topics whose jobs are served in the order of their lines.
ORDERED = ("order", "paused", "many")


def main():
    binary, *names = sys.argv[1:]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(lambda name: passed(binary, name), names))
    sys.exit(0 if all(results) else 1)


def passed(binary, name):
    try:
        with Rig(binary) as rig:
            said = PARTS[name](rig)
        print(f"{name}: {said}", flush=True)
        return True
    except Failed as why:
        print(f"{name}: FAILED: {why}", flush=True)
    except Exception:
        print(f"{name}: FAILED\n{traceback.format_exc()}", flush=True)
    return False


class Lines:
    """What becomes of each job, as its filler says it. `becomes` is one of:

    - `a job`: it is in the queue after an import
    - `left out`: another job has its key, so it is in neither
    - `held`: it stays until --stopped
    - `nothing`: it stays, and is not mentioned
    - a part of the reason why it stays
    """

    def __init__(self, text):
        self.lines = [json.loads(line) for line in text.splitlines()]

    def of(self, *becomes):
        return [line for line in self.lines if line["becomes"] in becomes]

    def stay(self):
        """How many jobs stay, by reason."""
        reasons = [line["becomes"] for line in self.lines]
        reasons = [HELD if reason == "held" else reason for reason in reasons]
        return dict(Counter(reason for reason in reasons if reason not in ("a job", "left out", "nothing")))

    def counts(self):
        """The lines of a dry run about the jobs that would be taken."""
        topics = {}
        for line in self.of("a job", "left out"):
            topics.setdefault(line["topic"], [0, 0])[line["due_ms"] is not None] += 1
        return [f"{topic}: {due} jobs due, {later} later" for topic, (due, later) in sorted(topics.items())]

    def check(self, jobs, *becomes):
        """Whether these are the jobs, each once."""
        found, expected = Counter(), Counter()
        fields = sorted(self.lines[0].keys() - {"hash", "id", "becomes", "due_ms"})
        for line in self.of(*becomes):
            expected[json.dumps([line["due_ms"] or "now", *(line.get(field) for field in fields)])] += 1
        for job in jobs:
            due = ms_of(job["due"])
            due = "now" if due <= now_ms() else due
            found[json.dumps([due, *(job.get(field) for field in fields)])] += 1
        if found != expected:
            missing, more = (list((first - second).elements())[:5] for first, second in ((expected, found), (found, expected)))
            raise Failed(f"the jobs differ\nmissing: {missing}\nnot expected: {more}\nof {fields}")


def check_dry_run(rig, lines, *options):
    before, jobs = rig.contents(), rig.jobs()
    outcome = rig.take(*options, "--dry-run")
    outcome.check_stays(lines.stay(), code=0)
    equal([line for line in outcome.out.splitlines() if " stay" not in line], lines.counts(), outcome.what)
    equal(rig.contents(), before, "Redis after a dry run")
    equal(rig.jobs(), jobs, "the queue after a dry run")


def node(script, package, prefix):
    """A part with a library of Node."""

    def part(rig):
        program = ["node", str(FOLDER / "node" / script), package, str(rig.redis_port), prefix]
        options = ["--bullmq"] if prefix == "bull" else ["--bullmq", "--prefix", prefix]
        lines = Lines(run([*program, "fill"]))
        rig.adjourn("push", "mail", "of its own", "--key", "order-78")
        check_dry_run(rig, lines, *options)
        check_running(rig, lines, prefix, options)
        check_order(rig, lines)
        check_held(rig, program, prefix, options)
        outcome = rig.take(*options, "--stopped")
        outcome.check(3, "took over 0 jobs")
        outcome.check_stays(lines.stay())
        return f"{len(lines.lines)} jobs"

    return part


def check_running(rig, lines, prefix, options):
    """Everything is taken that waits: first of one queue, then of all."""
    untouched = [f"{prefix}:{topic}:*" for topic in ("flow", "schedules")] + [line["hash"] for line in lines.of("nothing")]
    before = rig.contents(*untouched)
    taken = lines.of("a job")
    paused = len([line for line in taken if line["topic"] == "paused"])
    outcome = rig.take(*options, "--queue", "paused")
    outcome.check(0, f"took over {paused} jobs; left out 0 ")
    outcome = rig.take(*options)
    outcome.check(3, f"took over {len(taken) - paused} jobs; left out {len(lines.of('left out'))} ")
    outcome.check_stays(lines.stay())
    jobs = rig.jobs()
    equal([job["body"] for job in jobs if job.get("key") == "order-78"], ["of its own"], "the job whose key was there")
    lines.check([job for job in jobs if job.get("key") != "order-78"], "a job")
    equal(rig.contents(*untouched), before, "what stays in Redis")
    for line in lines.lines:
        stays = line["becomes"] not in ("a job", "left out")
        equal(rig.redis("EXISTS", line["hash"]), int(stays), f"EXISTS {line['hash']}")
    equal(rig.redis("KEYS", "adjourn-import:*") + rig.redis("KEYS", f"{prefix}:mail:de:*"), [], "keys that are left")


def check_order(rig, lines):
    for topic in ORDERED:
        expected = [json.loads(line["body"]) for line in lines.of("a job") if line["topic"] == topic]
        if expected:
            jobs = [json.loads(line) for line in rig.adjourn("reserve", topic, "--max", "1000").splitlines()]
            equal([job["body"] for job in jobs], expected, f"the order of {topic}")


def check_held(rig, program, prefix, options):
    """A job stays as long as a worker has it, and comes with --stopped once the lock of a dead worker has ended."""
    worker = rig.start(*program, "hold")
    lines = Lines(worker.stdout.readline())
    options = [*options, "--queue", "held"]

    def check_stays(*more):
        outcome = rig.take(*options, *more)
        outcome.check(3, "took over 0 jobs")
        outcome.check_stays(lines.stay())

    check_stays()
    check_stays("--stopped")
    worker.kill()
    worker.wait(LIMIT_S)
    lock = lines.lines[0]["hash"] + ":lock"
    until(lambda: not rig.redis("EXISTS", lock), "the end of a dead worker's lock")
    check_stays()
    rig.take(*options, "--stopped").check(0, "took over 1 jobs")
    lines.check([job for job in rig.jobs() if job["topic"] == "held"], "held")
    equal(rig.redis("KEYS", f"{prefix}:held:1*"), [], "what is left of it in Redis")


def laravel(rig):
    program = ["php", str(FOLDER / "php" / "laravel.php")]
    lines = Lines(run([*program, str(rig.redis_port), "fill"]))
    payloads = payloads_of(rig)
    for line in lines.lines:
        line["body"] = payloads.get(line["id"])
    check_dry_run(rig, lines, "--laravel")
    check_prefixes(rig)
    taken = lines.of("a job")
    default = len([line for line in taken if line["topic"] == "default"])
    rig.take("--laravel", "--queue", "default").check(0, f"took over {default} jobs; left out 0 ")
    outcome = rig.take("--laravel")
    outcome.check(3, f"took over {len(taken) - default} jobs; left out 0 ")
    outcome.check_stays(lines.stay())
    lines.check(rig.jobs(), "a job")
    stay = lines.stay()
    del stay[HELD]
    outcome = rig.take("--laravel", "--stopped")
    outcome.check(3, f"took over {len(lines.of('held'))} jobs; left out 0 ")
    outcome.check_stays(stay)
    lines.check(rig.jobs(), "a job", "held")
    left = {f"{LARAVEL_PREFIX}queues:{name}".encode() for name in ("serialised-2:delayed", "two words", "two words:notify")}
    equal(set(rig.redis("KEYS", "*")) - left, set(), "keys that are left")
    check_driver(rig, lines, program)
    return f"{len(lines.lines)} jobs"


def payloads_of(rig):
    """The payloads that are in Redis, by their ids."""
    elements = []
    for key in rig.redis("KEYS", f"{LARAVEL_PREFIX}queues:*"):
        command = "ZRANGE" if key.endswith((b":delayed", b":reserved")) else "LRANGE"
        elements += rig.redis(command, key, 0, -1)
    # Some are serialised by PHP.
    found = [element[element.find(b"{") : element.rfind(b"}") + 1].decode() for element in elements if b"{" in element[:10]]
    return {json.loads(payload)["id"]: payload for payload in found}


def check_prefixes(rig):
    """Of two applications, one has to be chosen."""
    rig.redis("RPUSH", "other_queues:default", '{"id":"other"}')
    outcome = rig.take("--laravel")
    outcome.check(2)
    for prefix in ("other_", LARAVEL_PREFIX):
        if prefix not in outcome.err:
            raise Failed(f"{outcome.what}: {outcome.err}")
    rig.take("--laravel", "--prefix", "other_", "--dry-run").check(0, "default: 1 jobs due, 0 later")
    rig.redis("DEL", "other_queues:default")


def check_driver(rig, lines, program):
    """Adjourn's own driver runs the jobs that are due, and gets their payloads as they were."""
    due = [line for line in lines.of("a job", "held") if line["due_ms"] is None]
    topics = sorted({line["topic"] for line in due})
    port = rig.server.rsplit(":", 1)[1]
    said = [json.loads(line) for line in run([*program, port, "run", *topics]).splitlines()]
    jobs = Counter((line["topic"], line["body"], line["attempts"]) for line in said if "body" in line)
    equal(jobs, Counter((line["topic"], line["body"], 1) for line in due), "what the driver gets")
    equal([line["sent"] for line in said if "sent" in line], [['订单/"x"', 1.1, 1, 1]], "what a job does")
    equal([job for job in rig.jobs() if ms_of(job["due"]) <= now_ms()], [], "jobs that the driver has not ended")


def race(program_of, *options):
    """A part in which a worker of the old queue works while jobs are imported again and again, and imports are killed."""

    def part(rig):
        program = program_of(rig)
        feeder = rig.start(*program, "feed")
        done_path = rig.folder / "done"
        with done_path.open("w") as file:
            rig.start(*program, "work", stdout=file)

        def done():
            return [int(line) for line in done_path.read_text().split()]

        each = RACE_JOBS // RACE_ROUNDS
        for first in range(0, RACE_JOBS, each):
            feeder.stdin.write(f"{first} {each}\n")
            feeder.stdin.flush()
            if first == 0:
                until(done, "the first job of the worker")
            race_imports(rig, options)

        def is_over():
            race_imports(rig, options)
            return len(done()) + len(rig.jobs()) >= RACE_JOBS

        until(is_over, f"{RACE_JOBS} jobs")
        # The import that was killed last may have left a list.
        rig.take(*options)
        outcome = rig.take(*options)
        equal("took over 0 jobs; " in outcome.out, True, f"{outcome.what} after all jobs")
        imported = [number_of(job) for job in rig.jobs()]
        times = Counter(done()) + Counter(imported)
        wrong = {number: times[number] for number in range(RACE_JOBS) if times[number] != 1}
        equal(wrong, {}, "jobs that were not handled once")
        equal(rig.redis("KEYS", "adjourn-import:*"), [], "lists that are left")
        if not done() or not imported:
            raise Failed(f"no race: the worker has had {len(done())} jobs, {len(imported)} were imported")
        return f"{len(done())} jobs by the worker, {len(imported)} imported"

    return part


def race_imports(rig, options):
    """Two imports at once: one of them is killed when the other one is done."""
    first, second = (rig.start(*rig.command(*options), stderr=subprocess.PIPE) for _ in range(2))
    out, err = first.communicate(timeout=LIMIT_S)
    second.kill()
    second.communicate(timeout=LIMIT_S)
    if first.returncode not in (0, 3):
        raise Failed(f"import redis {' '.join(options)}: ended with {first.returncode}\n{out}{err}")


def number_of(job):
    body = json.loads(job["body"])
    return body["n"] if "n" in body else body["data"]


def node_program(rig):
    return ["node", str(FOLDER / "node" / "bullmq.mjs"), "bullmq-5", str(rig.redis_port), "bull"]


def php_program(rig):
    return ["php", str(FOLDER / "php" / "laravel.php"), str(rig.redis_port)]


PARTS = {
    "bullmq-5": node("bullmq.mjs", "bullmq-5", "bull"),
    "bullmq-6": node("bullmq.mjs", "bullmq-6", "{b6}"),
    "bull": node("bull.mjs", "bull", "bull"),
    "bullmq-race": race(node_program, "--bullmq"),
    "laravel": laravel,
    "laravel-race": race(php_program, "--laravel"),
}

if __name__ == "__main__":
    main()
