"""`crowdrank warm-up` works without the extras."""

import subprocess
import sys

import crowdrank as cr
from crowdrank.convert import as_pairs, votes
from crowdrank.methods.pairs.votes import few_votes
from crowdrank.methods.pairs.votes.marginal import MarginalModel
from crowdrank.warming import kernels_only

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


def test_small_studies_use_the_kernels_while_they_are_compiled(monkeypatch):
    monkeypatch.setattr(few_votes, "_was_compiled", lambda _: False)  # as on a new machine
    study = cr.simulate.pairs(items=5, annotators=3, votes=40, seed=1).judgments
    table = votes(as_pairs(study), study.vocabulary)

    def model(free: tuple[str, ...]) -> MarginalModel:
        return MarginalModel(table, table.annotator, 5, 3, False, free)

    assert model(()).few is not None
    with kernels_only():
        assert model(()).few is None
        assert model(("ties",)).few is None
    assert model(("ties",)).few is not None
