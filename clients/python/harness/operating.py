"""The commands of an operator: what is in the queue, and how to change it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import Any

import adjourn
from adjourn import BulkChange, GroupState, Job, ListedSchedule, Missed, Overlap, PausedReason, Queue, Reason, Schedule, UsageError
from adjourn.conditions import Where
from adjourn.times import to_epoch_ms
from harness import frames
from harness.frames import Json, b64

_STATES = ("delayed", "ready", "reserved", "buried")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Operating:
    """Commands of the level operator."""

    def __init__(self) -> None:
        self._clients: dict[str, Queue] = {}

    def _hold(self, job: Job) -> Json:
        raise NotImplementedError

    async def do_peek(self, command: Json) -> Json:
        return {"job": shown_job(await self._clients[command["client"]].peek(command["topic"]))}

    async def do_run_now(self, command: Json) -> Json:
        return _changed(await self._clients[command["client"]].run_now(**job_ref(command)))

    async def do_kick(self, command: Json) -> Json:
        return _changed(await self._clients[command["client"]].kick(**job_ref(command)))

    async def do_reschedule(self, command: Json) -> Json:
        queue = self._clients[command["client"]]
        changed = await queue.reschedule(**job_ref(command), **_due(command))
        return {**_changed(changed), "due_ms": str(changed.due_ms)}

    async def do_edit(self, command: Json) -> Json:
        queue = self._clients[command["client"]]
        changed = await queue.edit(**job_ref(command), **_parts(command))
        return {**_changed(changed), "due_ms": str(changed.due_ms)}

    async def do_kick_many(self, command: Json) -> Json:
        queue = self._clients[command["client"]]
        return {"jobs": await queue.kick_many(command["topic"], command["jobs_max"])}

    async def do_bulk(self, command: Json) -> Json:
        queue = self._clients[command["client"]]
        options: dict[str, Any] = {name: command[name] for name in ("to", "jobs_max") if name in command}
        change = BulkChange[command["change"].upper()]
        steps = queue.bulk(change, **_due(command), **options, **_where(command["filter"]))
        return {"jobs": str(sum([step.jobs async for step in steps]))}

    async def do_pause(self, command: Json) -> Json:
        await self._clients[command["client"]].pause(command["topic"])
        return {}

    async def do_resume(self, command: Json) -> Json:
        await self._clients[command["client"]].resume(command["topic"])
        return {}

    async def do_topic_set(self, command: Json) -> Json:
        policy = frames.settings_of(command["settings"])
        await self._clients[command["client"]].topic_set(command["topic"], policy)
        return {}

    async def do_topic_show(self, command: Json) -> Json:
        found = await self._clients[command["client"]].topic_show(command["topic"])
        return {
            "settings": frames.settings_json(found.policy),
            "jobs": str(found.jobs),
            "bytes": str(found.bytes),
            "paused": found.paused,
        }

    async def do_topic_delete(self, command: Json) -> Json:
        await self._clients[command["client"]].topic_delete(command["topic"])
        return {}

    async def do_topics(self, command: Json) -> Json:
        found = await self._clients[command["client"]].topics()
        return {"topics": [{"topic": one.topic, "paused": one.paused, **_states(one.totals)} for one in found]}

    async def do_stats(self, command: Json) -> Json:
        found = await self._clients[command["client"]].stats()
        stages = [{key: str(value) for key, value in asdict(one).items()} for one in found.stages]
        return {**_states(found.totals), "stages": stages}

    async def do_leases(self, command: Json) -> Json:
        return {"jobs": [self._hold(job) async for job in self._clients[command["client"]].leases()]}

    async def do_connections(self, command: Json) -> Json:
        shown = []
        async for one in self._clients[command["client"]].connections():
            found: Json = {"connection": str(one.connection), "client_name": one.client_name}
            for name in ("leases", "subscriptions", "reserves"):
                found[name] = getattr(one, name)
            shown.append(found)
        return {"connections": shown}

    async def do_disconnect(self, command: Json) -> Json:
        ends_session = bool(command.get("ends_session", False))
        queue = self._clients[command["client"]]
        await queue.disconnect(int(command["connection"]), ends_session=ends_session)
        return {}

    async def do_schedule_set(self, command: Json) -> Json:
        queue = self._clients[command["client"]]
        options = _schedule_options(command)
        done = await queue.schedule_set(**_schedule_ref(command), rules=command["when"], **options)
        return {"version": done.version, "next_ms": str(done.next_ms)}

    async def do_schedule_show(self, command: Json) -> Json:
        found = await self._clients[command["client"]].schedule_show(**_schedule_ref(command))
        return {
            **_shown_schedule(found),
            "fired": str(found.state.fired),
            "running": found.state.running,
            "body": b64(found.template.body),
            "history": [
                {"instant_ms": str(one.instant_ms), "job": str(one.job), "fired": enum_name(one.fired)}
                for one in found.history
            ],
        }

    async def do_schedule_list(self, command: Json) -> Json:
        conditions: dict[str, Any] = {name: command[name] for name in ("prefix", "paused") if name in command}
        if "next_before_ms" in command:
            conditions["next_before"] = _moment(command["next_before_ms"])
        found = self._clients[command["client"]].schedules(command.get("topic"), **conditions)
        return {"schedules": [{"topic": one.topic, "name": one.name, **_shown_schedule(one)} async for one in found]}

    async def do_schedule_pause(self, command: Json) -> Json:
        await self._clients[command["client"]].schedule_pause(**_schedule_ref(command), note=command.get("note", ""))
        return {}

    async def do_schedule_resume(self, command: Json) -> Json:
        await self._clients[command["client"]].schedule_resume(**_schedule_ref(command))
        return {}

    async def do_schedule_delete(self, command: Json) -> Json:
        await self._clients[command["client"]].schedule_delete(**_schedule_ref(command))
        return {}

    async def do_schedule_run(self, command: Json) -> Json:
        return {"job": str(await self._clients[command["client"]].schedule_run(**_schedule_ref(command)))}

    async def do_schedule_fill(self, command: Json) -> Json:
        start, end = _moment(command["from_ms"]), _moment(command["to_ms"])
        dry_run = command.get("dry_run", False)
        part = await self._clients[command["client"]].schedule_fill(**_schedule_ref(command), start=start, end=end, dry_run=dry_run)
        next_ms = 0 if part.next is None else to_epoch_ms(part.next, "next")
        return {"instants": part.instants, "pushed": part.pushed, "kept": part.kept, "refused": part.refused, "next_ms": str(next_ms)}

    async def do_schedule_preview(self, command: Json) -> Json:
        options: dict[str, Any] = {"zone": command["zone"]} if "zone" in command else {}
        if "from_ms" in command:
            options["after"] = _moment(command["from_ms"])
        if "count" in command:
            options["instants_max"] = command["count"]
        found = await self._clients[command["client"]].schedule_preview(command["when"], **options)
        return {"instants": [{"instant_ms": str(one.instant_ms), "local": one.local} for one in found.instants]}

    async def do_group_set(self, command: Json) -> Json:
        options: dict[str, Any] = {name: command[name] for name in ("weight", "paused") if name in command}
        await self._clients[command["client"]].group_set(command["topic"], command["group"], **options)
        return {}

    async def do_group_list(self, command: Json) -> Json:
        queue = self._clients[command["client"]]
        found = queue.groups(command["topic"], prefix=command.get("prefix", ""))
        return {"groups": [_shown_group(one) async for one in found]}

    async def do_why(self, command: Json) -> Json:
        return _reasons(await self._clients[command["client"]].why(**job_ref(command)))

    async def do_topic_why(self, command: Json) -> Json:
        queue = self._clients[command["client"]]
        return _reasons(await queue.topic_why(command["topic"], command.get("group")))


def enum_name(value: Any) -> str:
    """The name of a choice, in lower case."""
    return value.name.lower() if isinstance(value, Enum) else str(value)


def job_ref(command: Json) -> dict[str, Any]:
    """The arguments that name a job."""
    if "job" in command:
        return {"job": int(command["job"])}
    return {"topic": command["topic"], "key": command["key"]}


def shown_job(job: adjourn.JobReport) -> Json:
    """A job as GET, PEEK and LIST show it."""
    return {
        "job": str(job.id),
        "topic": job.topic,
        "key": job.key or "",
        "state": enum_name(job.state),
        "attempts": job.attempts,
        "priority": job.priority,
        "ttr_ms": job.ttr_ms,
        "body": b64(job.body),
        "reason": job.reason,
        "attributes": frames.attributes_json(job.attributes),
    }


def _changed(changed: adjourn.Changed) -> Json:
    return {"job": str(changed.job), "state": enum_name(changed.state)}


def _schedule_ref(command: Json) -> dict[str, str]:
    return {"topic": command["topic"], "name": command["name"]}


def _schedule_options(command: Json) -> dict[str, Any]:
    """The arguments of `schedule_set` that the command has."""
    options: dict[str, Any] = {}
    if "zone" in command:
        options["zone"] = command["zone"]
    if "overlap" in command:
        options["overlap"] = Overlap[command["overlap"].upper()]
    if "missed" in command:
        options["missed"] = Missed[command["missed"].upper()]
    if "body" in command:
        options["job"] = frames.raw(command["body"])
    if command.get("if_version") == "new":
        options["only_if_new"] = True
    elif "if_version" in command:
        options["if_version"] = command["if_version"]
    return options


def _shown_schedule(one: Schedule | ListedSchedule) -> Json:
    state = one.state
    return {
        "version": state.version,
        "when": one.rules.when,
        "paused": None if state.paused is PausedReason.NOT_PAUSED else enum_name(state.paused),
        "pause_note": one.pause_note,
        "next_ms": str(state.next_ms),
    }


def _shown_group(one: GroupState) -> Json:
    return {
        "name": one.name,
        "ready": str(one.ready),
        "reserved": str(one.reserved),
        "weight": one.weight,
        "paused": bool(one.paused),
        "hold": enum_name(one.hold),
    }


def _reasons(found: Sequence[Reason]) -> Json:
    shown = [{"why": enum_name(one.why), "jobs": str(one.jobs), "until_ms": str(one.until_ms)} for one in found]
    return {"reasons": shown}


def _states(totals: adjourn.Totals) -> Json:
    return {name: str(getattr(totals, name)) for name in _STATES}


def _due(command: Json) -> dict[str, Any]:
    if "delay_ms" in command:
        return {"delay": int(command["delay_ms"]) / 1000}
    return {"at": _moment(command["at_ms"])} if "at_ms" in command else {}


def _parts(command: Json) -> Any:
    """The parts of an edit. One that `edited` names and that has no value is taken away."""
    attributes = frames.attributes_of(command.get("attributes", {}))
    expires = attributes.expires
    options: dict[str, dict[str, Any]] = {
        "due": _due(command),
        "priority": {"priority": command.get("priority")},
        "ttr": {"ttr": _duration(command.get("ttr_ms"))},
        "body": {"body": frames.raw(command.get("body", ""))},
        "headers": {"headers": dict(attributes.headers)},
        "expires": {"expires_after": expires and _duration(expires.ms)},
        "attempts_max": {"attempts_max": attributes.attempts_max},
        "backoff": {"backoff": attributes.backoff},
        "dedupe_retention": {"remember": _duration(attributes.dedupe_retention_ms)},
        "group": {"group": attributes.group},
    }
    if expires is not None and expires.is_at:
        options["expires"] = {"expires_at": _moment(str(expires.ms))}
    return {name: value for part in command["edited"] for name, value in options[part].items()}


def _duration(ms: int | None) -> timedelta | None:
    return None if ms is None else timedelta(milliseconds=ms)


def _moment(ms: str) -> datetime:
    return _EPOCH + timedelta(milliseconds=int(ms))


_CONDITIONS: dict[str, Callable[[Any], Any]] = {
    "topic": str,
    "states": adjourn.States,
    "due_from_ms": _moment,
    "due_before_ms": _moment,
    "key_prefix": lambda prefix: frames.raw(prefix).decode(),
    "attempts_min": int,
    "attempts_max": int,
    "buried": adjourn.BuriedReason,
    "reason": str,
    "group": str,
}


def _where(found: Json) -> Where:
    unknown = found.keys() - _CONDITIONS.keys()
    if unknown:
        raise UsageError(f"a filter has no condition {', '.join(sorted(unknown))}")
    conditions: Any = {name.removesuffix("_ms"): _CONDITIONS[name](value) for name, value in found.items()}
    return conditions
