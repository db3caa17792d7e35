"""Words for annotators: what they say, and how often they are wrong."""

import numpy as np
import pytest

from crowdrank.methods.verdicts import QUALITY, beta_shares, crowd_posterior, verdicts, words_for


@pytest.mark.parametrize(
    ("quality", "evidence", "verdict"),
    [
        (0.9, 100, "informative"),
        (0.6, 1000, "weak"),
        (0.5, 200, "random"),
        (0.5, 4, "unclear"),
        (0.1, 100, "reversed"),
        (0.0, 2, "unclear"),
        (np.nan, 0, "unclear"),
        (np.nan, 100, "unclear"),
    ],
)
def test_verdicts(quality, evidence, verdict):
    assert verdicts(np.array([quality]), np.array([float(evidence)])).tolist() == [verdict]


@pytest.mark.parametrize("votes", [1, 5, 15, 50, 200])
def test_at_most_one_honest_annotator_in_a_hundred_is_accused(votes):
    """3,000 annotators right in 70 to 100 % of their answers, with and without spammers among them."""
    rng = np.random.default_rng(votes)
    honest = 0.7 + 0.3 * rng.random(3000)
    for spammers in (0, 1000):
        right = rng.binomial(votes, np.r_[honest, np.full(spammers, 0.5)])
        words = verdicts(right / votes, np.full(len(right), float(votes)))[: len(honest)]
        assert np.isin(words, ("random", "reversed")).mean() <= 0.01


def test_spammers_and_reversed_annotators_are_found_with_fifty_answers():
    rng = np.random.default_rng(0)
    quality = np.r_[rng.beta(8, 2, 1000), np.full(200, 0.5), np.full(200, 0.05)]
    words = verdicts(rng.binomial(50, quality) / 50, np.full(len(quality), 50.0))
    assert (words[1000:1200] == "random").mean() >= 0.7
    assert (words[1200:] == "reversed").mean() >= 0.95


def test_shares_of_a_beta_distribution():
    from scipy.stats import beta

    edges = np.linspace(0, 1, len(QUALITY) + 1)
    assert beta_shares(8, 2) == pytest.approx(np.diff(beta(8, 2).cdf(edges)), abs=0.005)


def test_the_posterior_of_one_annotator_is_bayes_theorem():
    """With so many answers that the crowd does not matter, the posterior is the likelihood."""
    right, wrong = 700.0, 300.0
    log_chance = (right * np.log(QUALITY) + wrong * np.log(1 - QUALITY))[None]
    likelihood = np.exp(log_chance - log_chance.max())
    posterior = crowd_posterior(likelihood)
    assert posterior == pytest.approx(likelihood / likelihood.sum(), abs=0.05)
    assert words_for(QUALITY[None], posterior, likelihood).tolist() == ["informative"]


def test_nobody_is_informative_only_because_the_others_are():
    """Of 100 annotators in a good crowd, one has given one answer."""
    quality, evidence = np.full(100, 0.9), np.r_[1.0, np.full(99, 100.0)]
    assert verdicts(quality, evidence).tolist() == ["unclear"] + ["informative"] * 99
