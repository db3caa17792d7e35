"""The measures by name. A measure is declared here; how it is computed is in `kernels` (gain) and `order`.

| name | what it is |
|---|---|
| `ndcg`, `ndcg@k` | gain 2^g − 1, discount 1/log2(i + 1) |
| `trec-ndcg`, `trec-ndcg@k` | gain g, as trec_eval's ndcg and ndcg_cut |
| `letor-ndcg`, `letor-ndcg@k` | gain 2^g − 1, discount 1/log2(i), none at positions 1 and 2, as in LETOR's script |
| `p@k` | precision |
| `recall@k` | the share of all relevant items of the gold that is among the first k, as trec_eval's recall |
| `map`, `map@k` | average precision; recall base: all relevant items of the gold, as trec_eval's map and map_cut |
| `rbp`, `rbp.95`, … `@k` | rank-biased precision, persistence .8 by default; as ir-measures' RBP(rel=1) |
| `err`, `err@k` | expected reciprocal rank; users stop with probability (2^g − 1) / 2^top, top: the largest grade |
| `mrr`, `mrr@k` | reciprocal rank of the first relevant item |
| `acc` | share of pairs of different gold that the scores order the same way (Chen et al., WSDM 2013, eq. 20) |
| `tau` | Kendall's τ-b |
| `spearman` | Spearman's rank correlation |

trec_eval's own names (ndcg_cut_10, P_10, recip_rank, recall_100) are understood, and shown as ours. docs/measures.md
has the details.

Items of grade 1 or more are relevant; rbp does not distinguish their grades. Negative grades (spam, broken pages) have
no gain. gdeval's err always uses 4 as the top grade; ours is the same if the gold has a 4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from crowdrank.evaluation import kernels, order
from crowdrank.evaluation.kernels import GradedLists
from crowdrank.evaluation.order import KnownPairs, RankingAndGold
from crowdrank.settings import SettingError, did_you_mean
from crowdrank.study import Floats, Gold, GoldKind, JudgmentError


@dataclass(frozen=True, slots=True)
class MeasureFamily:
    """A measure without its depth. It is computed from graded lists, or from two orders of the items."""

    compute: Callable[..., Floats]
    computed_from: Literal["grades", "orders"] = "grades"
    depth: Literal["optional", "needed", "none"] = "optional"
    persistence: float | None = None


FAMILIES: dict[str, MeasureFamily] = {
    "ndcg": MeasureFamily(kernels.ndcg),
    "trec-ndcg": MeasureFamily(partial(kernels.ndcg, gain=kernels.linear_gain)),
    "letor-ndcg": MeasureFamily(partial(kernels.ndcg, discount=kernels.letor_discount)),
    "p": MeasureFamily(kernels.precision, depth="needed"),
    "recall": MeasureFamily(kernels.recall, depth="needed"),
    "map": MeasureFamily(kernels.average_precision),
    "rbp": MeasureFamily(kernels.rank_biased_precision, persistence=0.8),
    "err": MeasureFamily(kernels.expected_reciprocal_rank),
    "mrr": MeasureFamily(kernels.reciprocal_rank),
    "acc": MeasureFamily(order.accuracy, computed_from="orders", depth="none"),
    "tau": MeasureFamily(order.kendall, computed_from="orders", depth="none"),
    "spearman": MeasureFamily(order.spearman, computed_from="orders", depth="none"),
}
# Names in other tools: trec_eval, which writes the depth as _10 or .10, and ir-measures.
OTHER_NAMES = {"ndcg_cut": "trec-ndcg", "map_cut": "map", "recip_rank": "mrr", "ap": "map", "rr": "mrr", "r": "recall"}
ORDER_MEASURES = [name for name, family in FAMILIES.items() if family.computed_from == "orders"]
DEFAULTS: dict[GoldKind, tuple[str, ...]] = {
    "grade": ("ndcg@10", "map", "acc", "tau"),
    "score": ("acc", "tau", "spearman"),
    "rank": ("acc", "tau", "spearman"),
    "pair": ("acc", "tau"),
}


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure with its depth, by our name for it."""

    name: str
    family: MeasureFamily
    depth: int | None = None
    persistence: float | None = None

    def per_task(self, lists: GradedLists | None, orders: RankingAndGold | KnownPairs | None) -> Floats:
        """Its value in each task."""
        if self.family.computed_from == "orders":
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
        raise SettingError(f"no measure {name!r}{_hint(wanted)}; the measures are {', '.join(known_names())}")
    depth = int(parts[3]) if parts[3] else None
    if family.depth == "none" and depth is not None:
        raise SettingError(f"{parts[1]} has no depth: write {parts[1]!r}, not {name!r}")
    if depth == 0:
        raise SettingError(f"the depth of {name!r} is 0; the smallest is 1, as in {parts[1]}@1")
    if family.depth == "needed" and depth is None:
        raise SettingError(f"{name!r} needs a depth; write for example {parts[1]}@10")
    return Measure(wanted, family, depth, float(parts[2]) if parts[2] else family.persistence)


def _hint(wanted: str) -> str:
    """The measures whose names are closest, with the same depth."""
    family, at, depth = wanted.partition("@")
    return did_you_mean(re.sub(r"[^a-z-]", "", family), FAMILIES, most=2, cutoff=0.5, suffix=at + depth)


def _ours(name: str) -> str:
    """Our name for a measure that has another name in other tools.

    >>> _ours("p_10"), _ours("ndcg_cut.10"), _ours("recip_rank"), _ours("rbp.95")
    ('p@10', 'trec-ndcg@10', 'mrr', 'rbp.95')
    """
    named, at, depth = name.partition("@")
    if not at and (trec := re.fullmatch(r"(p|recall|ndcg_cut|map_cut)[._](\d+)", name)):
        named, at, depth = trec[1], "@", trec[2]
    return f"{OTHER_NAMES.get(named, named)}{at}{depth}"


def choose(names: str | Iterable[str] | None, gold: Gold) -> list[Measure]:
    """The measures of these names, or the default ones; refuse those that need another kind of gold."""
    if names is None:
        names = DEFAULTS[gold.kind]
    found = [measure(name) for name in ([names] if isinstance(names, str) else names)]
    chosen = list({each.name: each for each in found}.values())
    if not chosen:
        raise SettingError(f"no measure is named; the measures are {', '.join(known_names())}")
    for each in chosen:
        if gold.kind == "pair" and each.name not in DEFAULTS["pair"]:
            raise JudgmentError(
                f"{each.name} needs a gold value of each item; this gold has pairs: use {', '.join(DEFAULTS['pair'])}"
            )
        if each.family.computed_from == "grades" and gold.kind != "grade":
            raise JudgmentError(
                f"{each.name} needs gold grades; this gold has {gold.kind}s: use {', '.join(ORDER_MEASURES)}"
            )
    return chosen


def known_names() -> list[str]:
    """Every measure as it can be written."""
    written = {"optional": "{0}[@k]", "needed": "{0}@k", "none": "{0}"}
    return [written[family.depth].format(name) for name, family in FAMILIES.items()]


def quality_divergence(estimated: Floats, truth: Floats, bins: int = 10) -> float:
    """Kullback-Leibler divergence of the estimated from the true distribution of annotator quality, in nats.

    Both are histograms over [0, 1] with half an annotator added to every bin, so that empty bins do not make it
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
