"""Global variables of two servers, set against each other. Pure.

What a change means is data (`configuration.toml`).
"""

import tomllib
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib.resources import files

from mysqlprof.changes import SettingChange, SettingKind
from mysqlprof.frozen import Frozen

_SWITCHES = frozenset({"optimizer_switch", "sql_mode"})
"""Variables that are lists: their members are compared one by one."""


class Knowledge(Frozen):
    of_the_instance: list[str]
    """Names that differ between any two servers."""
    matters: dict[str, str]


@cache
def knowledge() -> Knowledge:
    text = (files("mysqlprof.upgrade") / "configuration.toml").read_text(encoding="utf-8")
    return Knowledge.model_validate(tomllib.loads(text))


def changes(
    before: Mapping[str, str], after: Mapping[str, str], ours: Collection[str]
) -> list[SettingChange]:
    """The variables that differ, those that are known to matter first, in the order of the data.

    `ours` are the names that mysqlprof set itself: a difference there is of our making.
    """
    known = knowledge()
    found = [
        SettingChange(
            name=name,
            before=was,
            after=now,
            kind=_kind(name, was, now, ours),
            matters=known.matters.get(name.partition(":")[0], ""),
        )
        for name, was, now in _differing(before, after)
    ]
    order = ("default_changed", "set_by_us", "removed", "added", "of_the_instance")
    weight = {name: place for place, name in enumerate(known.matters)}
    return sorted(
        found,
        key=lambda c: (
            order.index(c.kind),
            weight.get(c.name.partition(":")[0], len(weight)),
            c.name,
        ),
    )


def _differing(
    before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[tuple[str, str | None, str | None]]:
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was == now:
            continue
        if name in _SWITCHES and was is not None and now is not None:
            yield from _members(name, was, now)
        else:
            yield name, was, now


def _members(name: str, was: str, now: str) -> Iterator[tuple[str, str | None, str | None]]:
    """`optimizer_switch:hash_join`: on, off, or None where the server does not know it."""
    old, new = _switches(was), _switches(now)
    for member in sorted(old.keys() | new.keys()):
        if old.get(member) != new.get(member):
            yield f"{name}:{member}", old.get(member), new.get(member)


def _switches(value: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in value.split(",") if part)
    return {member: state or "set" for member, _, state in pairs}


def _kind(name: str, was: str | None, now: str | None, ours: Collection[str]) -> SettingKind:
    variable = name.partition(":")[0]
    if variable in knowledge().of_the_instance or variable.startswith("version"):
        return "of_the_instance"
    if variable in ours:
        return "set_by_us"
    if now is None:
        return "removed"
    return "added" if was is None else "default_changed"
