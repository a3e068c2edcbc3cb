"""Groups: which names they have, and what a caller changes of one."""

from __future__ import annotations

from .errors import UsageError
from .protocol.numbers import GROUP_BYTES_MAX, GROUP_WEIGHT_MAX, PauseChange
from .protocol.requests import GroupSet


def checked_group(group: str) -> str:
    """The name of a group."""
    if not isinstance(group, str):
        raise UsageError(f"a group is a text, not {group!r}")
    if not 0 < len(group.encode("utf-8", "surrogatepass")) <= GROUP_BYTES_MAX:
        raise UsageError(f"a group has 1 to {GROUP_BYTES_MAX} bytes")
    return group


def group_set(topic: str, group: str, weight: int | None, paused: bool | None) -> GroupSet:
    """The request that changes these settings of a group, and no others."""
    if weight is None and paused is None:
        raise UsageError("change what of the group? Name weight or paused: group_set('t', 'ann', weight=5), for example")
    if weight is not None and (type(weight) is not int or not 1 <= weight <= GROUP_WEIGHT_MAX):
        raise UsageError(f"the weight of a group is a whole number from 1 to {GROUP_WEIGHT_MAX}, not {weight!r}")
    if paused is not None and not isinstance(paused, bool):
        raise UsageError(f"paused is True or False, not {paused!r}")
    pause = PauseChange.KEEP if paused is None else PauseChange.PAUSE if paused else PauseChange.RESUME
    return GroupSet(weight or 0, pause, topic, checked_group(group))
