"""The joint models with their sums computed on a cluster: the driver holds the parameters, and takes the steps.

Each has the interface of the model that it replaces (`numerics.engine`). Its shards are contiguous parts of the
judgments, as many as the cluster has cores, and their sums are added in this order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.grades.curves.curves import CurveFit
from crowdrank.methods.grades.curves.kernels import CurveParameters, CurvePrior, NewtonSteps
from crowdrank.methods.grades.dawid_skene import GradesByCell
from crowdrank.methods.pairs.votes.marginal import MarginalEvaluation, MarginalModel
from crowdrank.methods.pairs.votes.marginal_kernels import Qualities
from crowdrank.methods.pairs.votes.model import VoteModel
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.threads import parallel_map
from crowdrank.scale.cluster import Cluster, SharedModel
from crowdrank.scale.shards import CellShard, CurveShard, MarginalShard, VoteShard
from crowdrank.study import Floats

Range = tuple[int, int]


def replacements(cluster: Cluster) -> Mapping[Any, Any]:
    """What `numerics.engine.placed` finds on this cluster."""
    return {
        VoteModel: partial(ClusterVotes, cluster),
        MarginalModel: partial(ClusterMarginal, cluster),
        GradesByCell: partial(ClusterCells, cluster),
        CurveFit: partial(ClusterCurves, cluster),
        parallel_map: cluster.map,
    }


def equal_parts(starts: NDArray[np.int64], parts: int) -> list[Range]:
    """Ranges of groups with about as many rows each; group g has the rows from `starts[g]`."""
    edges = np.searchsorted(starts, np.linspace(0, starts[-1], parts + 1)[1:-1])
    return list(pairwise([0, *np.minimum(edges, len(starts) - 1).tolist(), len(starts) - 1]))


def _ignored(_: Any, __: Any) -> None:
    """The curvatures of votes are on the cluster: room for them here is not kept."""


class ClusterVotes(VoteModel):
    """Minus the log-posterior with a value for every parameter."""

    curvatures = property(lambda self: self._curvatures(), _ignored)

    def __init__(self, cluster: Cluster, *arguments: Any) -> None:
        super().__init__(*arguments)
        votes, profile, n_entries, n_profiles, link, free, _ = arguments
        columns = votes.annotator, votes.winner, votes.loser, votes.kind, votes.weight, profile
        edges = np.linspace(0, len(votes), cluster.n_workers + 1).astype(int)
        shards = [
            (*(column[first:last] for column in columns), n_entries, n_profiles, link, free)
            for first, last in pairwise(edges)
        ]
        self.number, self.x = 0, np.zeros(0)
        self.shared = cluster.share(VoteShard, shards)

    def likelihood(self, x: Floats) -> tuple[float, Floats]:
        self.number, self.x = self.number + 1, x.copy()

        def compute() -> tuple[Any, ...]:
            return _added(self.shared("likelihood", self.number, x))

        value, sums = self.shared.remembered((self._size, x), compute)
        return float(value), sums

    def vote_product(self, v: Floats) -> Floats:
        compute = lambda: _added([(part,) for part in self.shared("product", self.number, self.x, v)])  # noqa: E731
        product: Floats = self.shared.remembered((self._size, v), compute)[0]
        return product

    def _curvatures(self) -> Floats:
        return np.concatenate(self.shared("curvatures", self.number, self.x))

    @property
    def _size(self) -> tuple[int, ...]:
        return len(self.votes), self.layout.size, len(self.shared.shards)


class ClusterMarginal(MarginalModel):
    """Minus the log-posterior with quality integrated out."""

    gap_curvature = property(lambda self: self._gaps()[0], _ignored)
    gap_quality = property(lambda self: self._gaps()[1], _ignored)

    def __init__(self, cluster: Cluster, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.ranges = equal_parts(self.starts, cluster.n_workers)
        shards = []
        for first, last in self.ranges:
            rows = self.rows.part(slice(self.starts[first], self.starts[last]))
            profile = rows.profile - np.int32(first)
            columns = profile, rows.winner, rows.loser, rows.kind, rows.weight, profile
            shards.append((*columns, self.n_entries, last - first, self.normal, self.free))
        self.number = 0
        self.shared = cluster.share(MarginalShard, shards)

    def likelihood(self, x: Floats, qualities: Qualities, curved: bool) -> MarginalEvaluation:
        *of_profiles, tie_sharpness = qualities
        own = [
            (self._own(x, part), *(each[slice(*part)] for each in of_profiles), tie_sharpness) for part in self.ranges
        ]
        if curved:
            self.number, self.at = self.number + 1, own
        size = self.layout.size

        def compute() -> tuple[Any, ...]:
            found = self.shared("likelihood", self.number, curved, own=own)
            value, sums, diagonal = 0.0, np.zeros((2, size)), np.zeros(size if curved else 0)
            for part, (own_value, own_sums, _, own_diagonal) in zip(self.ranges, found, strict=True):
                value += own_value
                for total, added in zip(sums, own_sums.reshape(2, -1), strict=True):
                    self._add(total, added, part)
                if curved:
                    self._add(diagonal, own_diagonal, part)
            return value, sums.ravel(), np.concatenate([posterior for _, _, posterior, _ in found]), diagonal

        arguments = len(self.rows.winner), len(self.ranges), curved, x, *qualities
        value, sums, posterior, diagonal = self.shared.remembered(arguments, compute)
        if curved:
            self.vote_diagonal = diagonal
        return MarginalEvaluation(float(value), sums, posterior)

    def evidence(self, x: Floats, qualities: Qualities) -> MarginalEvaluation:
        return self.likelihood(x, qualities, curved=False)

    def diagonal(self) -> Floats:
        diagonal = np.asarray(self.vote_diagonal + self.prior_curvature)
        for side in (self.rows.winner, self.rows.loser):
            row = np.broadcast_to(self.gap_prior, len(side))
            diagonal[: self.n_entries] += sum_by(side, row, self.n_entries)
        return diagonal

    def _blocks_of(self, part: Range) -> list[slice]:
        """Where the tie thresholds and biases of some profiles are among the parameters."""
        starts = [self.layout.slices[name].start for name in self.free]
        return [slice(start + part[0], start + part[1]) for start in starts]

    def _own(self, x: Floats, part: Range) -> Floats:
        """The parameters that some profiles' votes depend on."""
        return np.concatenate([x[: self.n_entries], *(x[where] for where in self._blocks_of(part))])

    def _add(self, total: Floats, added: Floats, part: Range) -> None:
        n, size = self.n_entries, part[1] - part[0]
        total[:n] += added[:n]
        for number, where in enumerate(self._blocks_of(part)):
            total[where] += added[n + number * size : n + (number + 1) * size]

    def _gaps(self) -> list[Floats]:
        found = self.shared("gaps", self.number, own=self.at)
        return [np.concatenate(column) for column in zip(*found, strict=True)]


class ClusterCells(GradesByCell):
    """The grades of Dawid and Skene's model."""

    def __init__(self, cluster: Cluster, *columns: Any) -> None:
        super().__init__(*columns)
        entries, cells = (equal_parts(starts, cluster.n_workers) for starts in (self.entry_starts, self.cell_starts))
        shards = [
            (
                *_part(entry, self.entry_starts, self.cell)[::-1],
                *_part(cell, self.cell_starts, self.entry)[::-1],
                self.cell_level[slice(*cell)],
                self.annotator_starts,
                self.n_levels,
            )
            for entry, cell in zip(entries, cells, strict=True)
        ]
        self.__dict__.update(entries=entries, shared=cluster.share(CellShard, shards))  # the dataclass is frozen

    def counts(self, chance: Floats) -> tuple[Floats, Floats]:
        shared: SharedModel = self.__dict__["shared"]

        def compute() -> tuple[Any, ...]:
            counts, totals = zip(*shared("counts", chance), strict=True)
            return np.concatenate(counts), _total(totals)

        counts, total = shared.remembered((len(self.cell), chance), compute)
        return counts, total

    def update(self, tables: Floats, log_share: Floats, chance: Floats) -> tuple[float, float, Floats]:
        shared, entries = self.__dict__["shared"], self.__dict__["entries"]

        def compute() -> tuple[Any, ...]:
            own = [(chance[slice(*part)],) for part in entries]
            values, moved, totals, chances = zip(*shared("update", tables, log_share, own=own), strict=True)
            return sum(values), sum(moved), _total(totals), np.concatenate(chances)

        value, moved, total, chance[:] = shared.remembered((len(self.cell), tables, log_share), compute)
        return float(value), float(moved), total


class ClusterCurves(CurveFit):
    """The curves of GDA."""

    def __init__(self, cluster: Cluster, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        rows, judgments = self.rows, self.judgments
        self.entries = equal_parts(rows.entry_starts, cluster.n_workers)
        self.profiles = equal_parts(rows.profile_starts, cluster.n_workers)
        shards = [
            (
                *_part(entry, rows.entry_starts, rows.profile, rows.level),
                *_part(profile, judgments.starts, judgments.entry, judgments.level),
                judgments.scale[slice(*profile)],
            )
            for entry, profile in zip(self.entries, self.profiles, strict=True)
        ]
        self.shared = cluster.share(CurveShard, shards)

    def update_posteriors(self) -> float:
        def compute() -> tuple[Any, ...]:
            values, posteriors = zip(*self.shared("posteriors", self.table, self.nodes.log_prior), strict=True)
            return sum(values), np.concatenate(posteriors)

        value, self.posterior = self.shared.remembered((len(self.rows.entry), self.table), compute)
        return float(value)

    def update_steps(self, parameters: CurveParameters, prior: CurvePrior) -> Floats:
        size = self.by_profile.buffers.shape[1]

        def compute() -> tuple[Any, ...]:
            own = [
                (*(each[slice(*part)] for each in (*parameters, self.table, prior.deviation)), size)
                for part in self.profiles
            ]
            nodes = self.nodes.x, self.nodes.inverse_difficulty
            found = list(zip(*self.shared("steps", self.posterior, *nodes, prior.precision, own=own), strict=True))
            return (*(np.concatenate(column) for column in found[:-1]), _total(found[-1]))

        arguments = len(self.rows.entry), *parameters[:2], self.table
        *steps, equations = self.shared.remembered(arguments, compute)
        self.steps = NewtonSteps(*steps)
        return np.asarray(equations)


def _part(groups: Range, starts: NDArray[np.int64], *columns: Any) -> tuple[Any, ...]:
    """The rows of some groups, with their own starts."""
    first, last = groups
    rows = slice(starts[first], starts[last])
    return (starts[first : last + 1] - starts[first], *(column[rows] for column in columns))


def _total(parts: Sequence[Floats]) -> Floats:
    """The sum, in the order of the shards."""
    return np.asarray(np.stack(parts).sum(axis=0))


def _added(found: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The results of all shards, added up in their order."""
    return tuple(sum(column[1:], start=column[0]) for column in zip(*found, strict=True))
