"""Settings are checked when they are made, and errors say what would be right."""

from __future__ import annotations

from collections.abc import Sequence


class SettingError(ValueError):
    """A setting has a value it cannot have."""


def check(holds: bool, name: str, value: object, wanted: str) -> None:
    """Refuse a value that does not hold."""
    if not holds:
        raise SettingError(f"{name} is {value!r}; it must be {wanted}")


def choice(name: str, value: object, among: Sequence[str]) -> None:
    """Refuse a value that is not one of a few."""
    check(value in among, name, value, f"one of {', '.join(among)}")
