import numpy as np
import pytest
from scipy.special import logsumexp

from crowdrank import simulate
from crowdrank.methods.grades.curves.grade_table import grade_table
from crowdrank.methods.grades.mean import Mean
from crowdrank.methods.grades.rasch import Rasch, RaschModel
from crowdrank.settings import SettingError

N_ENTRIES, N_ANNOTATORS = 12, 4


@pytest.fixture(scope="module")
def model():
    study = simulate.grades(items=6, annotators=N_ANNOTATORS, labels=3, tasks=2, scales=(4,), seed=0).judgments
    return RaschModel(grade_table(study), Rasch(relevance_spread=1.1, threshold_spread=0.7, difficulty_spread=0.6))


def written_out(model, x):
    """The log-posterior, grade by grade."""
    theta, table = model.layout.unpack(x), model.table
    thresholds = theta.thresholds.reshape(N_ANNOTATORS, 3)
    total = 0.0
    for e, k, g in zip(table.entry, table.annotator, table.level, strict=True):
        weight = [sum(theta.relevance[e] - thresholds[k, step] for step in range(h)) for h in range(4)]
        weight = np.array(weight) / np.exp(theta.log_difficulty[e])
        total += weight[g] - logsumexp(weight)
    total -= (theta.relevance**2).sum() / (2 * 1.1**2) + (theta.log_difficulty**2).sum() / (2 * 0.6**2)
    total -= ((thresholds - theta.crowd) ** 2).sum() / (2 * 0.7**2) + (theta.crowd**2).sum() / 200
    return total


@pytest.mark.parametrize("scale", [0.0, 1.0, 3.0])
def test_the_value_is_the_log_posterior_written_out(model, scale):
    x = scale * np.random.default_rng(1).normal(size=model.layout.size)
    assert model.evaluate(x)[0] == pytest.approx(-written_out(model, x), rel=1e-10)


@pytest.mark.parametrize("scale", [0.0, 1.0, 2.0])
def test_derivatives_agree_with_finite_differences(build, model, scale):
    rng = np.random.default_rng(2)
    x, v = scale * rng.normal(size=model.layout.size), rng.normal(size=model.layout.size)
    slopes = build.slope(lambda at: model.evaluate(at)[1], x, step=1e-5)
    assert model.evaluate(x)[1] == pytest.approx(
        build.slope(lambda at: model.evaluate(at)[0], x, step=1e-5), rel=1e-5, abs=1e-5
    )
    model.evaluate(x)
    assert model.hessian_product(v) == pytest.approx(slopes @ v, rel=1e-5, abs=1e-4)
    assert model.diagonal() == pytest.approx(np.diag(slopes), rel=1e-5, abs=1e-4)


def test_extreme_parameters_give_finite_values(model):
    x = model.layout.pack(relevance=np.linspace(-800, 800, N_ENTRIES), log_difficulty=-3.0, thresholds=5.0, crowd=0.0)
    value, gradient = model.evaluate(x)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def simulated(seed, entries=150, annotators=15, labels=8, difficulty=0.5):
    """A study drawn from the model and its priors; the truth is the relevance."""
    rng = np.random.default_rng(seed)
    relevance, inverse_difficulty = rng.normal(size=entries), np.exp(-rng.normal(0, difficulty, entries))
    crowd = np.array([-1.5, -0.5, 0.5, 1.5])
    thresholds = crowd + rng.normal(0, 1.0, (annotators, 4))
    rows = []
    for e in range(entries):
        for k in rng.choice(annotators, labels, replace=False):
            exponent = np.r_[0, np.cumsum(relevance[e] - thresholds[k])] * inverse_difficulty[e]
            rows.append(("t", f"k{k:02}", f"i{e:03}", int(rng.choice(5, p=np.exp(exponent - logsumexp(exponent))))))
    return rows, relevance, (thresholds - crowd).mean(axis=1)


@pytest.mark.parametrize("labels", [3, 10])
@pytest.mark.parametrize("difficulty", [False, True])
def test_intervals_cover_what_the_model_drew(build, difficulty, labels):
    covered = []
    for seed in range(6):
        rows, relevance, _ = simulated(seed, entries=100, annotators=30, labels=labels, difficulty=0.25 * difficulty)
        found = Rasch(difficulty=difficulty).fit(build.judgments(grades=rows))
        assert found.fit.converged
        covered.append((found.low <= relevance) & (relevance <= found.high))
    assert 0.93 - 0.01 <= np.mean(covered) <= 0.97  # 0.01: the standard error of six crowds


@pytest.mark.parametrize("difficulty", [False, True])
def test_in_large_studies_thresholds_are_taken_as_known(build, monkeypatch, difficulty):
    study = build.judgments(grades=simulated(1, entries=300, annotators=30, labels=5)[0])
    exact = Rasch(difficulty=difficulty).fit(study)
    monkeypatch.setattr("crowdrank.methods.grades.rasch.LARGEST_PRODUCTS", 0)
    known = Rasch(difficulty=difficulty).fit(study)
    shorter = (known.high - known.low) / (exact.high - exact.low)
    assert shorter.max() <= 1 + 1e-9
    assert shorter.min() > 0.85
    assert shorter.mean() > 0.93


def test_severity_is_found_and_corrected_for(build):
    rows, relevance, severity = simulated(3, difficulty=0.0)
    study = build.judgments(grades=rows)
    found = Rasch(difficulty=False).fit(study)
    assert np.corrcoef(found.annotators["severity"].to_numpy(), severity)[0, 1] > 0.9
    assert build.pair_accuracy(found.score, relevance) > build.pair_accuracy(Mean().fit(study).score, relevance)
    assert found.difficulty is None


def test_difficult_items_are_those_whose_grades_scatter(build):
    rows = [("t", f"k{k}", f"easy{i}", 2) for k in range(10) for i in range(5)]
    rows += [("t", f"k{k}", f"hard{i}", 4 * (k % 2)) for k in range(10) for i in range(5)]
    difficulty = Rasch().fit(build.judgments(grades=rows)).difficulty
    assert difficulty[:5].max() < 1 < difficulty[5:].min()


@pytest.mark.parametrize("name", ["relevance_spread", "threshold_spread", "difficulty_spread"])
def test_bad_settings(name):
    with pytest.raises(SettingError, match=name):
        Rasch(**{name: 0.0})
