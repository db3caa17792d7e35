import evalica
import numpy as np
import pytest

from crowdrank import simulate
from crowdrank.methods.pairs.elo import Elo
from crowdrank.settings import SettingError
from crowdrank.study import LEFT, RIGHT, TIE

WINNER = {LEFT: evalica.Winner.X, RIGHT: evalica.Winner.Y, TIE: evalica.Winner.Draw}


@pytest.mark.parametrize("settings", [{}, {"k": 30.0}, {"initial": 1500.0, "base": np.e, "scale": 173.7, "k": 16.0}])
def test_equals_evalica(settings):
    votes = simulate.pairs(items=40, votes=3000, ties=0.4, seed=1).judgments
    pairs = votes.pairs
    winners = [WINNER[int(outcome)] for outcome in pairs.outcome]
    theirs = evalica.elo(pairs.left.tolist(), pairs.right.tolist(), winners, **settings).scores.sort_index()
    assert theirs.index.tolist() == list(range(40))
    assert Elo(**settings).fit(votes).score == pytest.approx(theirs.to_numpy(), abs=1e-6)


def test_one_game_by_hand(build):
    found = Elo(k=32.0).fit(build.judgments(pairs=[("t", "k", "a", "b", "a")], entries=[("t", "c")]))
    assert found.score.tolist() == [1016, 984, 1000]  # equals expect half a point each; nobody met c
    tie = Elo(k=32.0).fit(build.judgments(pairs=[("t", "k", "a", "b", "a"), ("t", "k", "b", "a", "tie")]))
    expected = 1 / (1 + 10 ** (32 / 400))  # what b could expect, 32 points behind
    assert tie.score == pytest.approx([1016 - 32 * (0.5 - expected), 984 + 32 * (0.5 - expected)], abs=1e-9)


def test_points_are_neither_made_nor_lost_and_tasks_do_not_mix():
    study = simulate.pairs(items=9, votes=900, tasks=3, ties=0.2, seed=4).judgments
    score = Elo(k=30).fit(study).score.reshape(3, 9)
    assert score.mean(axis=1) == pytest.approx(np.full(3, 1000.0))


def test_later_votes_count_more(build):
    rows = [("t", "k", "a", "b", "a")] * 5 + [("t", "k", "a", "b", "b")] * 5
    first, last = Elo(k=100).fit(build.judgments(pairs=rows)), Elo(k=100).fit(build.judgments(pairs=rows[::-1]))
    assert first.rank.tolist() == [2, 1]
    assert last.rank.tolist() == [1, 2]


def test_huge_leads_do_not_overflow():
    study = simulate.pairs(items=3, votes=2000, spread=50.0, seed=1).judgments
    assert np.isfinite(Elo(k=1e6, scale=1.0).fit(study).score).all()


def test_finds_the_order(build):
    study = simulate.pairs(items=20, votes=20_000, seed=3)
    assert build.pair_accuracy(Elo().fit(study.judgments).score, study.gold.value) > 0.95


def test_parts_never_compared_are_reported(build):
    assert Elo().fit(build.judgments(pairs=[("t", "k", "a", "b", "a"), ("t", "k", "c", "d", "c")])).disconnected == {
        "t": 2
    }


@pytest.mark.parametrize("setting", [{"k": 0.0}, {"base": 1.0}, {"scale": 0.0}, {"initial": np.inf}])
def test_bad_settings(setting):
    with pytest.raises(SettingError, match=next(iter(setting))):
        Elo(**setting)
