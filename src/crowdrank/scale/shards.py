"""The work on one shard of the judgments, by the same models and kernels that work on all of them in one process."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdrank.convert import Votes
from crowdrank.methods.grades.curves import kernels
from crowdrank.methods.grades.curves.kernels import CurveParameters, CurvePrior, NewtonSteps, Nodes, ProfileJudgments
from crowdrank.methods.grades.dawid_skene import GradesByCell
from crowdrank.methods.pairs.votes.marginal import MarginalModel
from crowdrank.methods.pairs.votes.marginal_kernels import Qualities
from crowdrank.methods.pairs.votes.model import Priors, VoteModel
from crowdrank.study import Codes, Floats


class VoteShard:
    """Some votes, with a value for every parameter."""

    def __init__(self, *columns: Any) -> None:
        *votes, profile, n_entries, n_profiles, link, free = columns
        self.model = VoteModel(Votes(*votes), profile, n_entries, n_profiles, link, free, Priors(None))
        self.at = -1

    def likelihood(self, number: int, x: Floats) -> tuple[float, Floats]:
        """`VoteModel.likelihood`; remembers the curvature at point `number`."""
        self.at = number
        return self.model.likelihood(x)

    def product(self, number: int, x: Floats, v: Floats) -> Floats:
        """The Hessian at point `number`, which is x, times v."""
        self._move_to(number, x)
        return self.model.vote_product(v)

    def curvatures(self, number: int, x: Floats) -> Floats:
        """The curvatures of all votes at point `number`."""
        self._move_to(number, x)
        return self.model.curvatures

    def _move_to(self, number: int, x: Floats) -> None:
        if self.at != number:  # an actor that was restarted
            self.likelihood(number, x)


class MarginalShard:
    """All votes of some profiles, with quality integrated out."""

    def __init__(self, *columns: Any) -> None:
        *votes, profile, n_entries, n_profiles, normal, free = columns
        self.model, self.at = MarginalModel(Votes(*votes), profile, n_entries, n_profiles, normal, free), -1

    def likelihood(self, number: int, curved: bool, x: Floats, *qualities: Any) -> tuple[Any, ...]:
        """`MarginalModel.likelihood`, and the diagonal of the curvature of the votes."""
        found = self.model.likelihood(x, Qualities(*qualities), curved)
        if not curved:
            return (*found, np.zeros(0))
        self.at = number
        self.model.profile_curvature = found.gradient.reshape(2, -1)[1]
        self.model.prior_curvature = np.zeros(self.model.layout.size)
        return (*found, self.model.diagonal())

    def gaps(self, number: int, x: Floats, *qualities: Any) -> tuple[Floats, Floats]:
        """The curvatures of all votes at point `number`, and their covariance with quality."""
        if self.at != number:
            self.likelihood(number, True, x, *qualities)
        return self.model.gap_curvature, self.model.gap_quality


class CellShard:
    """The grades of some entries, and those of some cells (an annotator and a grade)."""

    def __init__(self, *columns: Any) -> None:
        self.grades = GradesByCell(*columns)

    def counts(self, chance: Floats) -> tuple[Floats, Floats]:
        """`GradesByCell.counts` of the cells."""
        return self.grades.counts(chance)

    def update(self, tables: Floats, log_share: Floats, chance: Floats) -> tuple[Any, ...]:
        """`GradesByCell.update` of the entries, with their new probabilities."""
        value, moved, total = self.grades.update(tables, log_share, chance)
        return value, moved, total, chance


class CurveShard:
    """The grades of some entries, and those of some profiles."""

    def __init__(self, entry_starts: Any, profile: Codes, level: Codes, *judgments: Any) -> None:
        self.entries = entry_starts, profile, level
        self.judgments = ProfileJudgments(*judgments)

    def posteriors(self, table: Floats, log_prior: Floats) -> tuple[float, Floats]:
        """The logarithm of the evidence, and the posterior of each entry."""
        posterior = np.empty((len(self.entries[0]) - 1, len(log_prior)))
        value = kernels.posteriors(0, len(posterior), *self.entries, table, log_prior, posterior)
        return float(value), posterior

    def steps(self, posterior: Floats, x: Floats, sharpness: Floats, precision: Floats, *own: Any) -> tuple[Any, ...]:
        """The Newton steps of the profiles, and their part of the equations of the crowd."""
        *parameters, table, deviation, size = own
        curves, (n, wide) = CurveParameters(*parameters), deviation.shape
        found, total = NewtonSteps(np.zeros((n, wide)), np.zeros((n, wide)), np.zeros((n, wide, wide))), np.zeros(size)
        nodes, prior = Nodes(x, sharpness, np.zeros(len(x))), CurvePrior(deviation, precision)
        kernels.newton_steps(0, n, self.judgments, posterior, curves, nodes, table, prior, found, total)
        return (*found, total)
