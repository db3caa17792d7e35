"""Every check runs for every row of the catalogue: methods on every kind of judgment they take, and the settings of
all.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import crowdrank as cr
from crowdrank.study import KINDS


@dataclass(frozen=True)
class Case:
    """A method, and a kind of judgment to try it on."""

    name: str
    kind: str

    @property
    def method(self) -> Any:
        return cr.METHODS[self.name]

    def fit(self, judgments: cr.Judgments, **settings: Any) -> cr.Consensus:
        return self.method(**settings).fit(judgments)


def _cases(kinds_of: Any) -> list[Any]:
    return [
        pytest.param(Case(n, kind), id=f"{n}-{kind}") for n, method in cr.METHODS.items() for kind in kinds_of(method)
    ]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise by the catalogue.

    `case`: every kind a method takes; `main_case`: the first that fits it best; `wrong_case`: those it cannot take;
    `settings_class`: the classes of all methods, supervised ones and learners.
    """
    if "settings_class" in metafunc.fixturenames:
        every = {**cr.METHODS, **cr.SUPERVISED, **cr.LEARNERS}
        metafunc.parametrize("settings_class", [pytest.param(each, id=name) for name, each in every.items()])
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", _cases(lambda method: method.description.takes))
    if "main_case" in metafunc.fixturenames:
        metafunc.parametrize(
            "main_case",
            _cases(lambda method: ("pairs",) if "pairs" in method.description.takes else method.description.takes[:1]),
        )
    if "wrong_case" in metafunc.fixturenames:
        metafunc.parametrize(
            "wrong_case", _cases(lambda method: [kind for kind in KINDS if kind not in method.description.takes])
        )


@pytest.fixture(scope="session")
def studies() -> ModuleType:
    """The functions of studies.py: tests are imported one by one, so they cannot import it."""
    spec = spec_from_file_location("crowdrank_contract_studies", Path(__file__).with_name("studies.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", autouse=True)
def quick(few_draws: None) -> None:
    """Nothing that is checked here depends on the number of draws."""
