"""The measures by name. A measure is declared here; how it is computed is in `kernels` (gain) and `order`.

| name | what it is |
|---|---|
| `ndcg`, `ndcg@k` | gain 2^g − 1, discount 1/log2(i + 1) |
| `trec-ndcg`, `trec-ndcg@k` | gain g, as trec_eval's ndcg and ndcg_cut |
| `letor-ndcg`, `letor-ndcg@k` | gain 2^g − 1, no discount at positions 1 and 2 (1/log2(i) from i = 2), as LETOR's script |
| `p@k` | precision |
| `recall@k` | the share of all relevant items of the gold that is among the first k, as trec_eval's recall |
| `map`, `map@k` | average precision; recall base: all relevant items of the gold, as trec_eval's map and map_cut |
| `rbp`, `rbp.95`, … `@k` | rank-biased precision, persistence .8 unless told; an item is relevant or not, as in ir-measures' RBP(rel=1) |
| `err`, `err@k` | expected reciprocal rank; (2^g − 1) / 2^top is the chance to stop, top the largest grade in gold |
| `mrr`, `mrr@k` | reciprocal rank of the first relevant item |
| `acc` | share of pairs of different gold that the scores put strictly in that order (Chen et al., WSDM 2013, eq. 20) |
| `tau` | Kendall's τ-b |
| `spearman` | Spearman's rank correlation |

trec_eval's own names (ndcg_cut_10, P_10, recip_rank, recall_100) are understood, and shown as ours. docs/measures.md
says it all at length.

Relevant is a grade of at least 1. Negative grades (spam, broken pages) have no gain. gdeval's err takes 4 for the top
grade whatever the gold; ours is the same where the gold has a 4.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from crowdrank.evaluation import kernels, order
from crowdrank.evaluation.kernels import GradedLists
from crowdrank.evaluation.order import Orders
from crowdrank.settings import SettingError
from crowdrank.study import Floats, Gold, GoldKind, JudgmentError


@dataclass(frozen=True, slots=True)
class Family:
    """A measure before its depth is chosen. It looks at graded lists, or at two orders of the items."""

    compute: Callable[..., Floats]
    looks_at: Literal["grades", "orders"] = "grades"
    depth: Literal["optional", "needed", "none"] = "optional"
    persistence: float | None = None


FAMILIES: dict[str, Family] = {
    "ndcg": Family(kernels.ndcg),
    "trec-ndcg": Family(partial(kernels.ndcg, gain=kernels.linear_gain)),
    "letor-ndcg": Family(partial(kernels.ndcg, discount=kernels.letor_discount)),
    "p": Family(kernels.precision, depth="needed"),
    "recall": Family(kernels.recall, depth="needed"),
    "map": Family(kernels.average_precision),
    "rbp": Family(kernels.rank_biased_precision, persistence=0.8),
    "err": Family(kernels.expected_reciprocal_rank),
    "mrr": Family(kernels.reciprocal_rank),
    "acc": Family(order.accuracy, looks_at="orders", depth="none"),
    "tau": Family(order.kendall, looks_at="orders", depth="none"),
    "spearman": Family(order.spearman, looks_at="orders", depth="none"),
}
# Names that others have for them: trec_eval's, which write the depth as _10 or .10, and ir-measures'.
ELSEWHERE = {"ndcg_cut": "trec-ndcg", "map_cut": "map", "recip_rank": "mrr", "ap": "map", "rr": "mrr", "r": "recall"}
ORDER_MEASURES = [name for name, family in FAMILIES.items() if family.looks_at == "orders"]
DEFAULTS: dict[GoldKind, tuple[str, ...]] = {
    "grade": ("ndcg@10", "map", "acc", "tau"),
    "score": ("acc", "tau", "spearman"),
    "rank": ("acc", "tau", "spearman"),
}


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure with its depth, by our name for it."""

    name: str
    family: Family
    depth: int | None = None
    persistence: float | None = None

    def per_task(self, lists: GradedLists | None, orders: Orders | None) -> Floats:
        """Its value in each task."""
        if self.family.looks_at == "orders":
            return self.family.compute(orders)
        settings: dict[str, Any] = {} if self.persistence is None else {"persistence": self.persistence}
        return self.family.compute(lists, self.depth, **settings)


def measure(name: str) -> Measure:
    """The measure of that name.

    >>> measure("ndcg@10").depth, measure("rbp.95").persistence
    (10, 0.95)
    """
    wanted = _ours(name.strip().lower())
    parts = re.fullmatch(r"([a-z-]+)(\.\d+)?(?:@(\d+))?", wanted)
    family = FAMILIES.get(parts[1]) if parts else None
    if parts is None or family is None or (parts[2] and family.persistence is None):
        raise SettingError(f"no measure {name!r}{_nearest(wanted)}; there are {', '.join(known_names())}")
    depth = int(parts[3]) if parts[3] else None
    if family.depth == "none" and depth is not None:
        raise SettingError(f"{parts[1]} looks at whole lists: {parts[1]!r}, not {name!r}")
    if depth == 0:
        raise SettingError(f"{name!r} has no depth: the least is 1, as in {parts[1]}@1")
    if family.depth == "needed" and depth is None:
        raise SettingError(f"{parts[1]} needs a depth, as in {parts[1]}@10; it is {name!r}")
    return Measure(wanted, family, depth, float(parts[2]) if parts[2] else family.persistence)


def _ours(name: str) -> str:
    """Our name for a measure that has another one elsewhere.

    >>> _ours("p_10"), _ours("ndcg_cut.10"), _ours("recip_rank"), _ours("rbp.95")
    ('p@10', 'trec-ndcg@10', 'mrr', 'rbp.95')
    """
    named, at, depth = name.partition("@")
    if not at and (trec := re.fullmatch(r"(p|recall|ndcg_cut|map_cut)[._](\d+)", name)):
        named, at, depth = trec[1], "@", trec[2]
    return f"{ELSEWHERE.get(named, named)}{at}{depth}"


def choose(names: str | Iterable[str] | None, gold: Gold) -> list[Measure]:
    """The measures of these names, or the usual ones; refuse those the gold cannot serve."""
    if names is None:
        names = DEFAULTS[gold.kind]
    found = [measure(name) for name in ([names] if isinstance(names, str) else names)]
    chosen = list({each.name: each for each in found}.values())
    if not chosen:
        raise SettingError(f"no measures are named; there are {', '.join(known_names())}")
    for each in chosen:
        if each.family.looks_at == "grades" and gold.kind != "grade":
            raise JudgmentError(
                f"{each.name} needs gold grades; this gold has {gold.kind}s, which serve {', '.join(ORDER_MEASURES)}"
            )
    return chosen


def known_names() -> list[str]:
    """Every measure as it may be written."""
    written = {"optional": "{0}[@k]", "needed": "{0}@k", "none": "{0}"}
    return [written[family.depth].format(name) for name, family in FAMILIES.items()]


def quality_divergence(estimated: Floats, truth: Floats, bins: int = 10) -> float:
    """Kullback-Leibler divergence of the estimated from the true distribution of annotator quality, in nats.

    Both are histograms over [0, 1] with half an annotator added to every bin, so that an empty bin does not make it
    infinite.

    >>> quality_divergence(np.array([0.1, 0.9]), np.array([0.9, 0.1]))
    0.0
    """
    if bins < 1:
        raise SettingError(f"bins is {bins}; it must be at least 1")
    p, q = _smoothed_histogram(truth, bins), _smoothed_histogram(estimated, bins)
    return float((p * np.log(p / q)).sum())


def _smoothed_histogram(quality: Floats, bins: int) -> Floats:
    known = np.asarray(quality, dtype=float)
    known = known[~np.isnan(known)]
    if len(known) and (known.min() < 0 or known.max() > 1):
        raise SettingError(f"quality must lie between 0 and 1; it goes from {known.min():g} to {known.max():g}")
    count = np.histogram(known, bins, (0, 1))[0] + 0.5
    return np.asarray(count / count.sum(), dtype=np.float64)


def _nearest(wanted: str) -> str:
    family, at, depth = wanted.partition("@")
    near = difflib.get_close_matches(re.sub(r"[^a-z-]", "", family), FAMILIES, n=2, cutoff=0.5)
    return f" (did you mean {' or '.join(repr(name + at + depth) for name in near)}?)" if near else ""
