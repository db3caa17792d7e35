"""crowdrank beside what people use for pairwise votes: `python benchmarks/pairwise.py`. Writes
docs/benchmarks-pairwise.md.

Every run is a process of its own on the same simulated votes: the tool is imported and warmed up on a small study
(compilation does not count), given the votes in the form it handles best, and timed on the fit alone; peak memory is
what the fit adds to the process. A tool that took longer than the limit is not tried on larger studies.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from harness import Case, side_by_side, timed

import crowdrank as cr

SIZES = {
    "10k": (10_000, 100, 100),
    "100k": (100_000, 1_000, 1_000),
    "1M": (1_000_000, 10_000, 10_000),
    "10M": (10_000_000, 100_000, 10_000),
}
DESIGNS = {
    "uniform": {"spread": 1.5},
    "neighbours only": {"spread": 5.0, "neighbours": 2},
    "hostile": {"spread": 1.0, "spammers": 0.3, "malicious": 0.2},
}
Study = cr.simulate.SimulatedStudy
Scores = tuple[np.ndarray, np.ndarray | None]  # of the items, and of the annotators where a tool has them


def ours(name: str, **settings: object) -> Callable[[Study], Callable[[], Scores]]:
    """A method of ours, as a tool: takes a study, gives the fit to be timed."""

    def tool(study: Study) -> Callable[[], Scores]:
        def fit() -> Scores:
            consensus = cr.fit(name, study.judgments, **settings)
            return consensus.score, consensus.annotator_columns["quality"] if "crowd" in name else None

        return fit

    return tool


def won_and_lost(study: Study) -> tuple[np.ndarray, np.ndarray]:
    """The winner and the loser of each vote."""
    votes = study.judgments.pairs
    left = votes.outcome > 0
    return np.where(left, votes.left, votes.right), np.where(left, votes.right, votes.left)


def sparse_logistic(study: Study) -> Callable[[], Scores]:
    """scikit-learn's logistic regression, a row per vote with +1 and −1."""
    from scipy.sparse import csr_array
    from sklearn.linear_model import LogisticRegression

    votes, n = study.judgments.pairs, study.judgments.vocabulary.n_entries
    rows = np.repeat(np.arange(len(votes)), 2)
    columns = np.stack([votes.left, votes.right], axis=1).ravel()
    design = csr_array((np.tile([1.0, -1.0], len(votes)), (rows, columns)), shape=(len(votes), n))
    model = LogisticRegression(fit_intercept=False, tol=1e-9, max_iter=1000)
    return lambda: (model.fit(design, votes.outcome > 0).coef_[0], None)


def crowd_kit(name: str) -> Callable[[Study], Callable[[], Scores]]:
    """crowd-kit's aggregators, from the data frame they take."""

    def tool(study: Study) -> Callable[[], Scores]:
        import crowdkit.aggregation
        import pandas as pd

        votes, n = study.judgments.pairs, study.judgments.vocabulary.n_entries
        winner, _ = won_and_lost(study)
        frame = pd.DataFrame({"worker": votes.annotator, "left": votes.left, "right": votes.right, "label": winner})
        model = getattr(crowdkit.aggregation, name)(n_iter=100)

        def fit() -> Scores:
            scores = model.fit(frame).scores_.reindex(np.arange(n)).to_numpy()
            skills = getattr(model, "skills_", None)
            return scores, None if skills is None else skills.reindex(np.arange(len(study.quality))).to_numpy()

        return fit

    return tool


def choix_ilsr(study: Study) -> Callable[[], Scores]:
    """I-LSR of choix with a little regularisation, from the list of pairs it takes."""
    import choix

    data = list(zip(*(side.tolist() for side in won_and_lost(study)), strict=True))
    return lambda: (choix.ilsr_pairwise(study.judgments.vocabulary.n_entries, data, alpha=0.01), None)


def evalica_tool(name: str) -> Callable[[Study], Callable[[], Scores]]:
    """The methods of evalica, with its own defaults."""

    def tool(study: Study) -> Callable[[], Scores]:
        import evalica

        votes, n = study.judgments.pairs, study.judgments.vocabulary.n_entries
        left, right = votes.left.tolist(), votes.right.tolist()
        winners = [evalica.Winner.X if outcome > 0 else evalica.Winner.Y for outcome in votes.outcome.tolist()]
        return lambda: (getattr(evalica, name)(left, right, winners).scores.reindex(range(n)).to_numpy(), None)

    return tool


def arena_rank(intervals: bool) -> Callable[[Study], Callable[[], Scores]]:
    """arena-rank's Bradley-Terry, with or without its (sandwich) intervals."""

    def tool(study: Study) -> Callable[[], Scores]:
        import pandas as pd
        from arena_rank.models.bradley_terry import BradleyTerry
        from arena_rank.utils.data_utils import PairDataset

        votes, n = study.judgments.pairs, study.judgments.vocabulary.n_entries
        winner = np.where(votes.outcome > 0, "model_a", "model_b")
        names = np.array([f"{number:08}" for number in range(n)])
        frame = pd.DataFrame({"model_a": names[votes.left], "model_b": names[votes.right], "winner": winner})
        data = PairDataset.from_pandas(frame)
        model = BradleyTerry(n_competitors=len(data.competitors))

        def fit() -> Scores:
            if intervals:
                model.compute_ratings_and_cis(data)
            else:
                model.fit(data)
            scores = np.full(n, np.nan)
            scores[[int(name) for name in data.competitors]] = np.asarray(model.params["ratings"])
            return scores, None

        return fit

    return tool


def one_by_one(package: str) -> Callable[[Study], Callable[[], Scores]]:
    """Vote by vote: trueskill and openskill."""

    def tool(study: Study) -> Callable[[], Scores]:
        winner, loser = (side.tolist() for side in won_and_lost(study))
        n = study.judgments.vocabulary.n_entries
        if package == "trueskill":
            import trueskill

            rate, ratings = trueskill.rate_1vs1, [trueskill.Rating() for _ in range(n)]
        else:
            from openskill.models import PlackettLuce

            model = PlackettLuce()
            ratings = [model.rating() for _ in range(n)]

            def rate(first: object, second: object) -> tuple[object, object]:
                (first,), (second,) = model.rate([[first], [second]])
                return first, second

        def fit() -> Scores:
            for one, other in zip(winner, loser, strict=True):
                ratings[one], ratings[other] = rate(ratings[one], ratings[other])
            return np.array([rating.mu for rating in ratings]), None

        return fit

    return tool


TOOLS: dict[str, Callable[[Study], Callable[[], Scores]]] = {
    "crowdrank bradley-terry, prior 1": ours("bradley-terry", prior=1.0, intervals=False),
    "crowdrank bradley-terry, spread learned": ours("bradley-terry", intervals=False),
    "crowdrank bradley-terry, prior 1, intervals": ours("bradley-terry", prior=1.0),
    "crowdrank crowd-bt, prior 1": ours("crowd-bt", prior=1.0, intervals=False),
    "crowdrank crowd-bt, crowd learned": ours("crowd-bt", intervals=False),
    "crowdrank bradley-terry, as users call it": ours("bradley-terry"),
    "crowdrank crowd-bt, as users call it": ours("crowd-bt"),
    "crowdrank elo": ours("elo"),
    "crowdrank trueskill": ours("trueskill"),
    "scikit-learn sparse logistic": sparse_logistic,
    "arena-rank bradley-terry": arena_rank(intervals=False),
    "arena-rank bradley-terry, intervals": arena_rank(intervals=True),
    "evalica bradley-terry": evalica_tool("bradley_terry"),
    "crowd-kit BradleyTerry": crowd_kit("BradleyTerry"),
    "choix ilsr": choix_ilsr,
    "crowd-kit NoisyBradleyTerry": crowd_kit("NoisyBradleyTerry"),
    "evalica elo": evalica_tool("elo"),
    "trueskill": one_by_one("trueskill"),
    "openskill": one_by_one("openskill"),
}


def run_one(tool: str, size: str, design: str) -> None:
    """Time one tool on one study, in this process; prints what it measured."""
    votes, items, annotators = SIZES[size]
    TOOLS[tool](cr.simulate.pairs(50, 10, 1000, seed=1))()  # so many that ours needs its kernels
    study = cr.simulate.pairs(items, annotators, votes, seed=0, **DESIGNS[design])
    (scores, quality), result = timed(TOOLS[tool](study))
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, items, (2, 200_000))
    truth = study.gold.value
    decided = truth[one] != truth[other]
    right = ((truth[one] > truth[other]) == (scores[one] > scores[other])) & (scores[one] != scores[other])
    result["pair accuracy"] = float(right[decided].mean())
    if quality is not None:
        result["quality correlation"] = float(np.corrcoef(np.nan_to_num(quality, nan=0.5), study.quality)[0, 1])
    print(json.dumps(result))


def cases(sizes: Iterable[str], designs: Iterable[str]) -> Iterator[Case]:
    """The studies, smaller ones first."""
    for design in designs:
        for size in sizes:
            if design == "uniform" or size != "10M":
                _, items, annotators = SIZES[size]
                yield Case(
                    f"{size} votes, {items:,} items, {annotators:,} annotators, {design}", (size, design), design
                )


def main() -> None:
    """Run everything, print and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=3, metavar=("TOOL", "SIZE", "DESIGN"), help="measure one tool in this process")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--designs", nargs="+", choices=DESIGNS, default=list(DESIGNS))
    parser.add_argument("--limit", type=float, default=180.0, help="seconds for one run, its preparation included")
    given = parser.parse_args()
    if given.one:
        run_one(*given.one)
        return
    columns = {"pair accuracy": ".3f", "quality correlation": ".3f"}
    studies = cases(given.sizes, given.designs)
    side_by_side(__file__, "Pairwise votes, beside other tools", __doc__ or "", TOOLS, studies, columns, given.limit)


if __name__ == "__main__":
    main()
