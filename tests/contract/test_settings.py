"""Settings are the method: frozen, printable, equal when equal, and refused when they make no sense."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from typing import get_args, get_type_hints

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.methods.catalogue import ALL, with_settings

NO_NUMBER = float("nan")


def bad_values(method):
    """For each setting a value it cannot have, by its declared type."""
    hints = get_type_hints(method)
    for field in fields(method):
        declared = hints[field.name]
        if declared in (float, int):
            yield from ((field.name, value) for value in (NO_NUMBER, -1, float("inf"), "1", True, None, [1]))
        elif declared is bool:
            yield from ((field.name, value) for value in ("no", 1, None))
        elif declared in (float | None, int | None):
            yield from ((field.name, value) for value in (NO_NUMBER, -1, "1", True))
        elif isinstance(field.default, str):
            yield field.name, "nonsense"
        elif isinstance(field.default, tuple):
            yield field.name, (NO_NUMBER,) * len(get_args(declared))
            yield from ((field.name, (*field.default, field.default[0])), (field.name, field.default[0]))


def test_numbers_of_numpy_are_numbers(settings_class):
    """As in `for k in np.arange(10, 50, 10)`."""
    given = {}
    for field in fields(settings_class):
        if isinstance(field.default, int | float) and not isinstance(field.default, bool):
            given[field.name] = np.array([field.default])[0]
    assert settings_class(**given) == settings_class()


def test_frozen(settings_class):
    """Nothing can be changed after the method was made."""
    method = settings_class()
    for field in fields(method):
        with pytest.raises(FrozenInstanceError):
            setattr(method, field.name, field.default)
    with pytest.raises((AttributeError, TypeError)):
        method.surprise = 1


def test_printable(settings_class):
    """It prints as what makes it again."""
    method = settings_class()
    assert repr(method).startswith(f"{settings_class.__name__}(")
    assert all(f"{field.name}={field.default!r}" in repr(method) for field in fields(method))


def test_equal_when_equal(settings_class):
    """Methods with the same settings are the same, those with others are not."""
    method = settings_class()
    assert method == settings_class()
    assert hash(method) == hash(settings_class())
    if "max_iter" in {field.name for field in fields(method)}:
        assert replace(method, max_iter=7) != method


def test_every_setting_has_a_default_and_a_type(settings_class):
    """`crowdrank rank --set` and the docs are made from these."""
    assert get_type_hints(settings_class).keys() >= {field.name for field in fields(settings_class)}
    settings_class()


def test_unknown_settings_are_refused(settings_class):
    """The error names the method, the setting, and those there are."""
    name = settings_class.description.name
    with pytest.raises(cr.SettingError, match=f"{name} has no setting 'nonsense'"):
        with_settings({**ALL, **cr.LEARNERS}, name, {"nonsense": 1})


def test_bad_values_are_refused(settings_class):
    """When the method is made, not when it is fitted, and by name."""
    for name, value in bad_values(settings_class):
        with pytest.raises(cr.SettingError, match=name):
            settings_class(**{name: value})
