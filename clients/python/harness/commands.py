"""What each command does with the client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import adjourn
from adjourn import IfExists, Job, LostReason, Queue, Subscription, Worker
from adjourn.protocol import requests as rq
from adjourn.protocol import responses as rs
from adjourn.protocol.numbers import PRIORITY_UNSAID, SEQUENCE_NONE, DueKind
from adjourn.queue import Settleable, Settled
from harness import frames
from harness.frames import Json, b64, raw
from harness.operating import Operating, enum_name, job_ref, shown_job

_STOP_MAX = 5.0
_OWN_CODES: list[tuple[type[BaseException], str]] = [
    (adjourn.OutcomeUnknownError, "OUTCOME_UNKNOWN"),
    (adjourn.RequestTimeoutError, "TIMEOUT"),
    (adjourn.CannotConnectError, "CANNOT_CONNECT"),
    (adjourn.WrongClusterError, "WRONG_CLUSTER"),
    (adjourn.ClientClosedError, "CLOSED"),
    (adjourn.SessionTakenOverError, "CLOSED"),
    (adjourn.ProtocolError, "PROTOCOL"),
]
_REASONS = {
    LostReason.STALE: "lease_lost",
    LostReason.SESSION: "lease_lost",
    LostReason.DEADLINE: "time_over",
    LostReason.RUN_TIME: "time_over",
    LostReason.CONNECTION: "presumed_lost",
    LostReason.STOPPING: "stopping",
}


class UnknownCommand(Exception):
    """A command of a newer suite."""


class Cancelled(Exception):
    """The command `cancel` ended a `reserve`."""


def error_json(error: BaseException) -> Json:
    """An error as the suite wants it."""
    if isinstance(error, Cancelled):
        return {"code": "CANCELLED", "retryable": False, "applied": "no", "message": str(error.__doc__)}
    if not isinstance(error, adjourn.AdjournError):
        return {"code": "USAGE", "retryable": False, "applied": "no", "message": repr(error)}
    code = "USAGE"
    if isinstance(error, adjourn.ServerError):
        code = error.code.name if isinstance(error.code, adjourn.ErrorCode) else "UNKNOWN"
    else:
        code = next((name for kind, name in _OWN_CODES if isinstance(error, kind)), code)
    shown: Json = {
        "code": code,
        "retryable": error.retryable,
        "applied": error.applied.value,
        "message": str(error),
    }
    if error.retry_after is not None:
        shown["retry_after_ms"] = round(error.retry_after * 1000)
    if isinstance(error, adjourn.ServerError) and error.job_id:
        shown["job"] = str(error.job_id)
    return shown


@dataclass
class Feed:
    """A subscription and the jobs that `next` has not handed out."""

    queue: Queue
    subscription: Subscription[Job]
    lock: asyncio.Lock


@dataclass
class Waiting:
    """A `reserve` that waits."""

    queue: Queue
    call: asyncio.Future[list[Job]]


class Harness(Operating):
    """The clients, subscriptions and workers of one run."""

    def __init__(self, write: Callable[[Json], None]) -> None:
        super().__init__()
        self._write = write
        self._feeds: dict[str, Feed] = {}
        self._workers: dict[str, Worker] = {}
        self._held: dict[tuple[int, int], Job] = {}
        self._waiting: dict[int, Waiting] = {}

    async def do(self, command: Json) -> Json:
        """Runs one command."""
        method: Callable[[Json], Awaitable[Json]] | None = getattr(self, f"do_{command['do']}", None)
        if method is None:
            raise UnknownCommand(command["do"])
        return await method(command)

    async def stop(self) -> None:
        """SIGTERM: the workers end, then the clients."""
        await asyncio.gather(*(worker.stop(_STOP_MAX) for worker in self._workers.values()))
        await asyncio.gather(*(client.close() for client in self._clients.values()))

    # ---- codec

    async def do_about(self, command: Json) -> Json:
        return {
            "client": f"adjourn-python/{adjourn.__version__}",
            "levels": ["codec", "producer", "consumer", "worker", "operator", "cluster"],
            "codec": ["encode_request", "decode_request", "encode_response", "decode_response"],
        }

    async def do_encode(self, command: Json) -> Json:
        return {"bytes": b64(frames.encoded(command["frame"]))}

    async def do_decode(self, command: Json) -> Json:
        return {"frame": frames.decoded(command["side"], raw(command["bytes"]))}

    # ---- producer

    async def do_connect(self, command: Json) -> Json:
        options: dict[str, Any] = {}
        for name in ("heartbeat", "request_timeout", "connect_timeout"):
            if f"{name}_ms" in command:
                options[name] = int(command[f"{name}_ms"]) / 1000
        if "token" in command:
            options["token"] = raw(command["token"])
        if "name" in command:
            options["name"] = command["name"]
        options["leases_outlive"] = bool(command.get("leases_outlive", False))
        options["without_session"] = command.get("session") is False
        for name, path in command.get("tls", {}).items():
            options[{"ca": "tls_ca", "certificate": "tls_cert", "key": "tls_key"}[name]] = path
        self._clients[command["client"]] = await adjourn.connect(",".join(command["addresses"]), **options)
        return {}

    async def do_push(self, command: Json) -> Json:
        jobs = tuple(_new_job(job) for job in command["jobs"])
        queue = self._clients[command["client"]]
        answer = await queue.session.call(rq.Push(SEQUENCE_NONE, command["topic"], jobs))
        assert isinstance(answer, rs.Pushed)
        results = [adjourn.PushResult.of(result) for result in answer.results]
        return {"results": [_pushed(result) for result in results]}

    async def do_get(self, command: Json) -> Json:
        return {"job": shown_job(await self._clients[command["client"]].get(**job_ref(command)))}

    async def do_delete(self, command: Json) -> Json:
        return {"job": str((await self._clients[command["client"]].delete(**job_ref(command))).job)}

    async def do_list(self, command: Json) -> Json:
        queue, jobs, cursor = self._clients[command["client"]], [], b""
        while True:
            request = rq.List(
                command.get("jobs_max", 1_024),
                command.get("order", 0),
                bool(command.get("with_bodies", False)),
                cursor,
                frames.filter_of(command.get("filter", {})),
            )
            page = await queue.session.call(request)
            assert isinstance(page, rs.Jobs)
            jobs += [shown_job(job) for job in page.jobs]
            cursor = page.cursor
            if not cursor:
                return {"jobs": jobs}

    async def do_count(self, command: Json) -> Json:
        queue = self._clients[command["client"]]
        found = frames.filter_of(command.get("filter", {}))
        bars = [int(command.get(name, 0)) for name in ("bars", "bars_from_ms", "bar_ms")]
        answer = await queue.session.call(rq.Count(found, *bars))
        assert isinstance(answer, rs.Counted)
        by_due = [{"start_ms": str(bar.start_ms), "jobs": str(bar.jobs)} for bar in answer.by_due]
        return {"jobs": str(answer.jobs)} | ({"by_due": by_due} if by_due else {})

    async def do_close(self, command: Json) -> Json:
        client = self._clients.get(command["client"])
        if client is not None:
            await client.close()
        return {}

    # ---- consumer

    async def do_reserve(self, command: Json) -> Json:
        queue = self._clients[command["client"]]
        call = asyncio.ensure_future(
            queue.reserve(
                *command["topics"],
                wait=int(command["wait_ms"]) / 1000,
                jobs_max=command.get("jobs_max", 1),
                weights=command.get("weights", ()),
            )
        )
        self._waiting[command["id"]] = Waiting(queue, call)
        try:
            return {"jobs": [self._hold(job) for job in await call]}
        except asyncio.CancelledError:
            raise Cancelled from None
        finally:
            del self._waiting[command["id"]]

    async def do_cancel(self, command: Json) -> Json:
        waiting = self._waiting[command["command"]]
        waiting.call.cancel()
        await asyncio.wait([waiting.call])
        # Jobs that came too late are given back before this is answered.
        await waiting.queue.ping()
        return {}

    async def do_finish(self, command: Json) -> Json:
        return await self._settle(command, lambda q, leases: q.finish_many(leases))

    async def do_bury(self, command: Json) -> Json:
        return await self._settle(command, lambda q, leases: q.bury_many(leases, command.get("reason", "")))

    async def do_release(self, command: Json) -> Json:
        delay = int(command["delay_ms"]) / 1000 if command["how"] in ("after", "parked") else None
        reason = command.get("reason", "")
        if command["how"] in ("not_started", "parked"):
            return await self._settle(command, lambda q, leases: q.give_back_many(leases, delay=delay, reason=reason))
        return await self._settle(command, lambda q, leases: q.release_many(leases, delay=delay, reason=reason))

    async def do_touch(self, command: Json) -> Json:
        ttr = command.get("ttr_ms")
        return await self._settle(
            command, lambda q, leases: q.touch_many(leases, None if not ttr else int(ttr) / 1000)
        )

    async def do_subscribe(self, command: Json) -> Json:
        queue = self._clients[command["client"]]
        subscription = queue.subscribe(
            *command["topics"],
            credit=command["credit_jobs"],
            credit_bytes=int(command.get("credit_bytes", 64 << 20)),
            weights=command.get("weights", ()),
        )
        await subscription.start()
        self._feeds[command["subscription"]] = Feed(queue, subscription, asyncio.Lock())
        return {}

    async def do_next(self, command: Json) -> Json:
        feed = self._feeds[command["subscription"]]
        try:
            async with asyncio.timeout(int(command["wait_ms"]) / 1000):
                async with feed.lock:
                    return {"job": self._hold(await feed.subscription.__anext__())}
        except (TimeoutError, StopAsyncIteration):
            return {"job": None}

    async def do_unsubscribe(self, command: Json) -> Json:
        feed = self._feeds.pop(command["subscription"])
        feed.subscription.close()
        # The answer to a later request shows that what was given back is given back.
        await feed.queue.ping()
        return {}

    # ---- worker

    async def do_worker_start(self, command: Json) -> Json:
        name = command["worker"]
        worker = Worker(
            self._clients[command["client"]],
            *command["topics"],
            handler=lambda job: self._handle(name, job),
            concurrency=command.get("concurrency", 1),
            prefetch=command.get("prefetch", 0),
            runs_in=adjourn.RunsIn.LOOP,
        )
        await worker.start()
        self._workers[name] = worker
        return {}

    async def do_worker_stop(self, command: Json) -> Json:
        await self._workers[command["worker"]].stop(int(command["deadline_ms"]) / 1000)
        return {}

    async def do_health(self, command: Json) -> Json:
        return {"consuming": bool(self._workers[command["worker"]].health())}

    async def _handle(self, worker: str, job: Job) -> None:
        lease = {"worker": worker, "job": str(job.id), "fence": str(job.fence)}
        more = {"attempts": job.attempts, "topic": job.topic, "body": b64(job.body)}
        self._write({"event": "started", **lease, **more})
        ended: Json = {"result": "ok"}
        try:
            await _obey(_order(job.body), job)
        except asyncio.CancelledError:
            ended = {"result": "cancelled", "reason": _REASONS[job.cancellation.reason or LostReason.STOPPING]}
            raise
        except Exception:
            ended = {"result": "failed"}
            raise
        finally:
            self._write({"event": "ended", **lease, **ended})

    # ---- below

    def _hold(self, job: Job) -> Json:
        self._held[(job.id, job.fence)] = job
        return {
            "job": str(job.id),
            "fence": str(job.fence),
            "topic": job.topic,
            "key": job.key or "",
            "priority": job.priority,
            "attempts": job.attempts,
            "due_ms": str(job.delivered.due_ms),
            "body": b64(job.body),
            "attributes": frames.attributes_json(job.attributes),
        }

    async def _settle(
        self, command: Json, settle: Callable[[Queue, Sequence[Settleable]], Awaitable[Settled]]
    ) -> Json:
        leases: list[Settleable] = []
        for one in command["leases"]:
            name = (int(one["job"]), int(one["fence"]))
            leases.append(self._held.get(name) or adjourn.LeaseRef(*name))
        results = await settle(self._clients[command["client"]], leases)
        return {"results": [{} if error is None else {"error": error_json(error)} for error in results]}


async def _obey(order: Json, job: Job) -> None:
    if "fail" in order and job.attempts <= order.get("until", job.attempts):
        raise RuntimeError(order["fail"])
    if "after_ms" in order:
        await asyncio.sleep(order["after_ms"] / 1000)
    elif order.get("hang"):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if order["hang"] != "until_stop" or job.cancellation.reason is not LostReason.STOPPING:
                raise


def _order(body: bytes) -> Json:
    try:
        order = json.loads(body)
    except ValueError:
        return {}
    return order if isinstance(order, dict) else {}


def _new_job(job: Json) -> rq.PushJob:
    is_at = "at_ms" in job
    return rq.PushJob(
        body=raw(job.get("body", "")),
        due_ms=int(job["at_ms"] if is_at else job.get("delay_ms", 0)),
        due_kind=DueKind.AT if is_at else DueKind.AFTER,
        priority=job.get("priority", PRIORITY_UNSAID),
        ttr_ms=job.get("ttr_ms", 0),
        if_exists=IfExists[job.get("if_exists", "reject").upper()],
        key=job.get("key") or None,
        attributes=frames.attributes_of(job.get("attributes", {})),
    )


def _pushed(result: adjourn.PushResult) -> Json:
    if result.error is not None:
        return {"error": error_json(result.error)}
    return {"outcome": enum_name(result.outcome), "job": str(result.id)}
