"""`crowdrank warm-up` works without the extras."""

import subprocess
import sys

WITHOUT_EXTRAS = """
import sys
for name in ("sqlalchemy", "fastapi", "ray", "pyarrow", "lightgbm", "altair", "fastexcel"):
    sys.modules[name] = None
from crowdrank.warming import import_everything
from crowdrank.numerics.compiled import KERNELS
import_everything()
print(len(KERNELS))
"""


def test_parts_whose_libraries_are_missing_are_left_out():
    done = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], capture_output=True, text=True, check=False)
    assert not done.stderr
    assert int(done.stdout) > 150
