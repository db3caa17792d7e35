"""Errors about input and settings, and checks of settings; messages say what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from numbers import Integral, Real


class InputError(ValueError):
    """Input that cannot be used; the message says what is wrong, where, and what to do."""


class SettingError(InputError):
    """A setting with a value that is not allowed."""


def check(holds: bool, name: str, value: object, wanted: str) -> None:
    """Raise a SettingError that says what the value must be, unless `holds`."""
    if not holds:
        raise SettingError(f"{name} is {value!r}; it must be {wanted}")


def check_whole_number(name: str, value: object, least: int = 1, most: int | None = None) -> None:
    """Refuse a value that is not a whole number, or out of range."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    fits = whole and least <= value and (most is None or value <= most)  # type: ignore[operator]
    allowed = f"of at least {least}" if most is None else f"from {least} to {most}"
    check(fits, name, value, f"a whole number {allowed}")


def check_not_negative(name: str, value: object) -> None:
    """Refuse a value that is not a finite number of at least 0."""
    check(is_number(value) and 0 <= value < float("inf"), name, value, "a number of at least 0")  # type: ignore[operator]


def check_positive(name: str, value: object) -> None:
    """Refuse a value that is not a finite number above 0."""
    check(is_number(value) and 0 < value < float("inf"), name, value, "a number above 0")  # type: ignore[operator]


def check_fraction(name: str, value: object) -> None:
    """Refuse a value that is not a number between 0 and 1, neither of which is allowed."""
    check(is_number(value) and 0 < value < 1, name, value, "a number between 0 and 1")  # type: ignore[operator]


def check_share(name: str, value: object) -> None:
    """Refuse a value that is not a number from 0 to 1."""
    check(is_number(value) and 0 <= value <= 1, name, value, "a share from 0 to 1")  # type: ignore[operator]


def check_flag(name: str, value: object) -> None:
    """Refuse a value that is not True or False: the text "no" would count as True."""
    of_numpy = str(getattr(value, "dtype", "")) == "bool" and getattr(value, "shape", None) == ()
    check(isinstance(value, bool) or of_numpy, name, value, "true or false")


def check_fit(prior: float | None, max_iter: int, tol: float) -> None:
    """Refuse values that are not allowed in any fit; a prior of None is chosen by the method, or it has none."""
    if prior is not None:
        check_not_negative("prior", prior)
    check_whole_number("max_iter", max_iter)
    check_positive("tol", tol)


def check_beta(name: str, value: object) -> None:
    """Refuse a value that is not two parameters of a Beta prior, each at least 1; None is allowed."""
    pair = isinstance(value, tuple) and len(value) == 2
    holds = pair and all(is_number(part) and 1 <= part < float("inf") for part in value)  # type: ignore[attr-defined]
    check(value is None or holds, name, value, "a tuple of two numbers of at least 1")


def is_number(value: object) -> bool:
    """Whether this is a number of Python or NumPy, and not True or False."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_choice(name: str, value: object, among: Sequence[str]) -> None:
    """Refuse a value that is not one of a few."""
    check(value in among, name, value, f"one of {', '.join(among)}")


def check_setting_names(owner: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Refuse settings that a method or policy does not have."""
    for name in given:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise SettingError(f"{owner} has no setting {name!r}{did_you_mean(name, known)}; {has}")


def did_you_mean(name: str, known: Iterable[str], *, most: int = 1, cutoff: float = 0.6, suffix: str = "") -> str:
    """A hint for a message: the known names closest to a misspelt one, each with a suffix; nothing where none is close.

    >>> did_you_mean("ndgc", ["ndcg", "map"], suffix="@10")
    " (did you mean 'ndcg@10'?)"
    """
    close = difflib.get_close_matches(name, list(known), n=most, cutoff=cutoff)
    return f" (did you mean {' or '.join(repr(each + suffix) for each in close)}?)" if close else ""
