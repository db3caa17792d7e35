"""What all tests share. Tests are imported one by one (`--import-mode=importlib`), so `build.py` reaches them as a
fixture.
"""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

# The first call of a kernel compiles it, on a fresh machine for longer than hypothesis allows an example to take.
settings.register_profile("crowdrank", deadline=None)
settings.load_profile("crowdrank")


@pytest.fixture(scope="session")
def build() -> ModuleType:
    """The functions of tests/build.py."""
    spec = spec_from_file_location("crowdrank_tests_build", Path(__file__).with_name("build.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
