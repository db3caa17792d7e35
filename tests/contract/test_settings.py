"""Settings are the method: frozen, printable, equal when equal, and refused when they make no sense."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from typing import get_args, get_type_hints

import pytest

import crowdrank as cr

NO_NUMBER = float("nan")


def bad_values(method):
    """For each setting a value it cannot have, by its declared type."""
    hints = get_type_hints(method)
    for field in fields(method):
        declared = hints[field.name]
        if declared is float:
            yield from ((field.name, NO_NUMBER), (field.name, -1.0))
        elif declared is int:
            yield field.name, -1
        elif isinstance(field.default, str):
            yield field.name, "nonsense"
        elif isinstance(field.default, tuple):
            yield field.name, (NO_NUMBER,) * len(get_args(declared))
            yield from ((field.name, (*field.default, field.default[0])), (field.name, field.default[0]))


def test_frozen(main_case):
    """Nothing can be changed after the method was made."""
    method = main_case.method()
    for field in fields(method):
        with pytest.raises(FrozenInstanceError):
            setattr(method, field.name, field.default)
    with pytest.raises((AttributeError, TypeError)):
        method.surprise = 1


def test_printable(main_case):
    """It prints as what makes it again."""
    method = main_case.method()
    assert repr(method).startswith(f"{main_case.method.__name__}(")
    assert all(f"{field.name}={field.default!r}" in repr(method) for field in fields(method))


def test_equal_when_equal(main_case):
    """Methods with the same settings are the same, those with others are not."""
    method = main_case.method()
    assert method == main_case.method()
    assert hash(method) == hash(main_case.method())
    if "max_iter" in {field.name for field in fields(method)}:
        assert replace(method, max_iter=7) != method


def test_name_and_kinds(main_case):
    """The row of METHODS has the method's own name, and it says which kinds it takes."""
    assert main_case.method.description.name == main_case.name
    assert set(main_case.method.description.takes) <= {"grades", "pairs", "rankings"}
    assert main_case.method.description.takes


def test_every_setting_has_a_default_and_a_type(main_case):
    """`crowdrank rank --set` and the docs are made from these."""
    assert get_type_hints(main_case.method).keys() >= {field.name for field in fields(main_case.method)}
    main_case.method()


def test_unknown_settings_are_refused(main_case, studies):
    """The error names the method, the setting, and those there are."""
    judgments = studies.study(studies.table(main_case.kind))
    with pytest.raises(cr.SettingError, match=f"{main_case.name} has no setting 'nonsense'"):
        cr.fit(main_case.name, judgments, nonsense=1)


def test_bad_values_are_refused(main_case):
    """When the method is made, not when it is fitted, and by name."""
    for name, value in bad_values(main_case.method):
        with pytest.raises(cr.SettingError, match=name):
            main_case.method(**{name: value})
