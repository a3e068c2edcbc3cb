"""What an edit sends: the parts that are named, each as a push encodes it."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

import adjourn
from adjourn import Attributes, Backoff, Expiry, UsageError
from adjourn.body import DEFAULT_CODEC
from adjourn.edit import edit_request
from adjourn.protocol.numbers import PRIORITY_UNSAID, DueKind
from adjourn.protocol.requests import Edit
from adjourn.protocol.values import JobRef

AT = datetime(2030, 1, 1, tzinfo=timezone.utc)
AT_MS = 1_893_456_000_000
PARTS = [field.name.removeprefix("edits_") for field in fields(Edit) if field.name.startswith("edits_")]
SAMPLES: dict[str, list[dict[str, Any]]] = {
    "due": [{"delay": 5}, {"at": AT}],
    "priority": [{"priority": 0}, {"priority": None}],
    "ttr": [{"ttr": 5}, {"ttr": None}],
    "body": [{"body": b""}, {"body": None}],
    "headers": [{"headers": {"a": "b"}}, {"headers": {}}, {"headers": None}],
    "expires": [{"expires_after": 5}, {"expires_at": AT}, {"expires_after": None}, {"expires_at": None}],
    "attempts_max": [{"attempts_max": 3}, {"attempts_max": None}],
    "backoff": [{"backoff": adjourn.backoff.fixed(1)}, {"backoff": None}],
    "dedupe_retention": [{"remember": 5}, {"remember": None}],
    "group": [{"group": "ann"}, {"group": None}],
}
"""The options that change each part."""


def request(**parts: Any) -> Edit:
    return edit_request(JobRef(job=1), parts, 0, DEFAULT_CODEC)  # type: ignore[arg-type]


def edited(made: Edit) -> list[str]:
    return [part for part in PARTS if getattr(made, f"edits_{part}")]


@pytest.mark.parametrize("part", PARTS)
def test_each_part_is_edited_alone(part: str) -> None:
    for options in SAMPLES[part]:
        assert edited(request(**options)) == [part]


def test_parts_are_encoded_as_in_a_push() -> None:
    made = request(
        delay=1.5,
        priority=7,
        ttr=timedelta(minutes=1),
        body={"a": 1},
        headers={"x": "y"},
        expires_at=AT,
        attempts_max=3,
        backoff=adjourn.backoff.fixed(2),
        remember=60,
        group="ann",
    )
    assert edited(made) == PARTS
    assert (made.due_ms, made.due_kind, made.priority, made.ttr_ms) == (1_500, DueKind.AFTER, 7, 60_000)
    assert made.body == b'{"a":1}'
    assert made.attributes == Attributes(
        headers=(("content-type", "application/json"), ("x", "y")),
        expires=Expiry(True, AT_MS),
        attempts_max=3,
        backoff=Backoff("fixed", (2_000,)),
        dedupe_retention_ms=60_000,
        group="ann",
    )
    assert request(at=AT).due_ms == AT_MS and request(at=AT).due_kind is DueKind.AT


def test_none_takes_a_part_away() -> None:
    made = request(priority=None, ttr=None, headers=None, expires_after=None, attempts_max=None, backoff=None, remember=None, group=None)
    assert (made.priority, made.ttr_ms) == (PRIORITY_UNSAID, 0)
    assert made.attributes == Attributes()
    assert request(expires_after=5, expires_at=None).attributes.expires == Expiry(False, 5_000)


def test_the_content_type_goes_with_the_body() -> None:
    assert request(body=b"bytes").attributes == Attributes()
    assert request(body="text").attributes.headers == (("content-type", "text/plain; charset=utf-8"),)
    json = (("content-type", "application/json"),)
    assert (request(body=None).body, request(body=None).attributes.headers) == (b"null", json)
    assert request(body={}, headers={}).attributes.headers == json
    assert request(body={}, headers=None).attributes.headers == json
    assert request(body={}, headers={"content-type": "own"}).attributes.headers == (("content-type", "own"),)
    assert request(body=b"bytes", headers={"a": "b"}).attributes.headers == (("a", "b"),)
    assert request(headers={"a": "b"}).attributes.headers == (("a", "b"),)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({}, "at least one part"),
        ({"delay": None}, "always due at some time"),
        ({"at": None}, "always due at some time"),
        ({"delay": 1, "at": AT}, "not both"),
        ({"expires_after": 1, "expires_at": AT}, "not both"),
        ({"headers": [("a", "b")]}, "a mapping of names to texts"),
        ({"headers": {"a": "x" * 1_024}}, "at most 1024 bytes"),
        ({"priority": "high"}, "cannot be written"),
        ({"remember": "5"}, "seconds or a timedelta"),
        ({"group": ""}, "a group has 1 to 255 bytes"),
    ],
)
def test_a_wrong_edit_is_refused(parts: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        request(**parts)


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(TypeError, match="no part created_at, prioriti"):
        request(prioriti=5, created_at=AT)
