"""Settings are checked when they are made, and errors say what would be right."""

from __future__ import annotations

from collections.abc import Sequence


class InputError(ValueError):
    """Something that came in cannot be used; the message says what is wrong, where, and what to do."""


class SettingError(InputError):
    """A setting has a value it cannot have."""


def check(holds: bool, name: str, value: object, wanted: str) -> None:
    """Refuse a value that does not hold."""
    if not holds:
        raise SettingError(f"{name} is {value!r}; it must be {wanted}")


def check_fit(prior: float, max_iter: int, tol: float) -> None:
    """Refuse what no fit can have."""
    check(0 <= prior < float("inf"), "prior", prior, "a number of at least 0")
    check(max_iter >= 1, "max_iter", max_iter, "at least 1")
    check(tol > 0, "tol", tol, "above 0")


def choice(name: str, value: object, among: Sequence[str]) -> None:
    """Refuse a value that is not one of a few."""
    check(value in among, name, value, f"one of {', '.join(among)}")
