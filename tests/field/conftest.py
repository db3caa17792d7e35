"""What the tests of awkward studies share."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def quick(few_draws: None) -> None:
    """Nothing that is checked here depends on the number of draws."""
