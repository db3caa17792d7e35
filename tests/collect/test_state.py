import json

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.collect.state import FORMAT, State, joined
from crowdrank.study import TIE, entries_in


@pytest.fixture(scope="module")
def study():
    return cr.simulate.pairs(items=15, annotators=6, votes=300, ties=0.3, seed=2)


def part(build, study, rows):
    return build.rows_of(study.judgments, rows)


def same(one, other):
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("mean", "variance", "alpha", "beta", "counts")
    )


def test_it_agrees_with_the_method(study):
    state = State.start(prior=2.0, quality_prior=(2.0, 1.0)).update(study.judgments)
    found = cr.OnlineCrowdBT().fit(study.judgments)
    np.testing.assert_array_equal(state.mean, found.score)
    np.testing.assert_array_equal(state.quality, found.annotator_columns["quality"])
    np.testing.assert_allclose(state.consensus().high, found.high)
    assert state.consensus().ranking.equals(found.ranking)


def test_one_by_one_is_all_at_once(build, study):
    whole, pairs, words = State.start().update(study.judgments), study.judgments.pairs, study.judgments.vocabulary
    halves = State.start().update(part(build, study, np.arange(150))).update(part(build, study, np.arange(150, 300)))
    assert same(halves, whole)
    single = State.start(words)
    for k, i, j, outcome in zip(pairs.annotator, pairs.left, pairs.right, pairs.outcome, strict=True):
        left, right = words.items[words.entry_item[i]], words.items[words.entry_item[j]]
        winner = {1: left, -1: right, 0: "tie"}[int(outcome)]
        single = single.answer(words.annotators[k], left, right, winner, task="task1")
    assert same(single, whole)


def test_new_names_join(build):
    first = State.start().answer("ann", "b", "c", "b", task="one").answer("ann", "b", "c", "b")
    later = first.answer("bob", "a", "c", "a").answer("ann", "x", "y", "tie", task="other")
    names = list(later.vocabulary.items)
    assert set(names) == {"a", "b", "c", "x", "y"}
    assert list(later.vocabulary.annotators) == ["ann", "bob"]
    assert list(later.vocabulary.tasks) == ["one", "other"]
    assert (np.diff(later.vocabulary.entry_task) >= 0).all()
    entry = {
        (later.vocabulary.tasks[t], names[i]): e
        for e, (t, i) in enumerate(zip(later.vocabulary.entry_task, later.vocabulary.entry_item, strict=True))
    }
    assert later.mean[entry["one", "b"]] == first.mean[entries_in(first.vocabulary, first.vocabulary)[0]]
    assert later.mean[entry["other", "x"]] == pytest.approx(0)
    rows = [("one", "ann", "b", "c", "b")] * 2 + [("one", "bob", "a", "c", "a"), ("other", "ann", "x", "y", "tie")]
    whole = State.start().update(build.judgments(pairs=rows))
    to = entries_in(later.vocabulary, whole.vocabulary)
    np.testing.assert_allclose(later.mean, whole.mean[to], atol=1e-15)
    np.testing.assert_allclose(later.variance, whole.variance[to], atol=1e-15)


def test_an_answer_without_a_task_is_about_the_only_task(study):
    state = State.start().refit(study.judgments)
    named = state.answer("annotator1", "item01", "item02", "item01", task="task1")
    unnamed = state.answer("annotator1", "item01", "item02", "item01")
    assert list(unnamed.vocabulary.tasks) == ["task1"]
    assert same(unnamed, named)
    new = state.answer("somebody", "item01", "new", "new")
    assert list(new.vocabulary.tasks) == ["task1"]
    assert new.vocabulary.n_entries == 16


def test_an_answer_without_a_task_is_refused_where_there_are_several():
    study = cr.simulate.pairs(items=4, annotators=3, votes=60, tasks=2, seed=0)
    state = State.start().refit(study.judgments)
    with pytest.raises(cr.JudgmentError, match=r"the state has 2 tasks; say which one: answer.*task='task1'"):
        state.answer("annotator1", "item1", "item2", "item1")


def test_judgments_without_a_task_are_about_the_only_task(study):
    """Whichever comes first, the named task or the unnamed one."""
    votes = {"annotator": ["annotator1"], "left": ["item01"], "right": ["item02"], "winner": ["item01"]}
    unnamed, named = cr.judgments(votes), cr.judgments({**votes, "task": ["task1"]})
    state = State.start().update(study.judgments)
    assert list(state.update(unnamed).vocabulary.tasks) == ["task1"]
    assert same(state.update(unnamed), state.update(named))
    assert same(state.refit(unnamed), state.refit(named))
    later = State.start().update(unnamed).update(study.judgments)
    assert list(later.vocabulary.tasks) == ["task1"]
    assert later.vocabulary.n_entries == 15


def test_names_match_by_their_text():
    state = State.start().answer("ann", 1, 2, 1).answer("ann", "1", "2", "1")
    assert state.vocabulary.n_entries == 2
    assert state.counts.tolist() == [2, 0]


def test_mistakes_are_refused():
    with pytest.raises(cr.JudgmentError, match="winner 'x'"):
        State.start().answer("ann", "a", "b", "x")
    with pytest.raises(cr.JudgmentError):
        State.start().answer("ann", "a", "a", "a")
    with pytest.raises(cr.SettingError, match="prior"):
        State.start(prior=0.0)
    with pytest.raises(cr.SettingError, match="quality_prior"):
        State.start(quality_prior=(0.0, 1.0))


def test_it_cannot_be_changed(study):
    state = State.start().update(study.judgments)
    before = state.mean.copy()
    state.update(study.judgments)
    np.testing.assert_array_equal(state.mean, before)
    with pytest.raises(ValueError, match="read-only"):
        state.mean[0] = 1.0
    with pytest.raises(AttributeError):
        state.prior = 1.0


def test_refit_is_crowd_bt(study):
    state = State.start(prior=1.0, quality_prior=(10.0, 1.0)).refit(study.judgments)
    full = cr.CrowdBT(prior=1.0, quality_prior=(10.0, 1.0), intervals=False).fit(study.judgments)
    np.testing.assert_allclose(state.mean, full.score)
    assert np.corrcoef(state.quality, full.annotator_columns["quality"])[0, 1] > 0.9
    assert state.counts.tolist() == [
        (study.judgments.pairs.outcome != TIE).sum(),
        (study.judgments.pairs.outcome == TIE).sum(),
    ]
    assert (state.variance < 2.0).all()


@pytest.fixture(scope="module")
def fitted(study):
    return State.start().refit(study.judgments)


def test_a_refit_believes_what_crowd_bt_reports(study, fitted):
    """Scores, intervals, qualities and verdicts, bit by bit."""
    full = cr.CrowdBT().fit(study.judgments)
    found = fitted.consensus()
    for name in ("score", "low", "high"):
        np.testing.assert_allclose(getattr(found, name), getattr(full, name), atol=1e-12)
    np.testing.assert_allclose(fitted.quality, full.annotator_columns["quality"], atol=1e-3)
    assert found.annotator_columns["verdict"].tolist() == full.annotator_columns["verdict"].tolist()
    np.testing.assert_allclose(fitted.draws, full.draws, atol=1e-4)
    assert fitted.prior == pytest.approx(2 / full.settings["spread"] ** 2)


def test_answers_move_draws_and_intervals_with_the_means(fitted):
    later = fitted
    for _ in range(5):
        later = later.answer("annotator1", "item01", "item02", "item02", task="task1")
    np.testing.assert_allclose(
        later.draws.mean(axis=0) - fitted.draws.mean(axis=0), later.mean - fitted.mean, atol=0.03
    )
    np.testing.assert_allclose(later.draws.var(axis=0), later.variance, rtol=1e-3)
    low, high = later.interval
    assert ((low <= later.mean) & (later.mean <= high)).all()
    before = fitted.interval[1] - fitted.interval[0]
    np.testing.assert_allclose((high - low) / before, np.sqrt(later.variance / fitted.variance))


def test_a_new_fit_is_due_after_some_answers(study, fitted):
    assert not fitted.needs_refit
    assert fitted.update(study.judgments).needs_refit
    assert not fitted.answer("annotator1", "item01", "item02", "item02", task="task1").needs_refit
    assert State.start().update(study.judgments).needs_refit
    assert not State.start().needs_refit


def test_online_beliefs_stay_close_to_a_fit(build):
    """Twenty answers after a fit, beliefs are nearly those of a new fit; both fits are drawn, so several studies."""
    errors, ratios = [], []
    for seed in range(4):
        whole = cr.simulate.pairs(items=10, annotators=8, votes=420, seed=seed)
        before = State.start().refit(build.rows_of(whole.judgments, np.arange(400)))
        online = before.update(build.rows_of(whole.judgments, np.arange(400, 420)))
        new = State.start().refit(whole.judgments)
        errors.append(np.sqrt(np.mean((online.mean - new.mean) ** 2 / new.variance)))
        ratios.append(np.median(online.variance / new.variance))
    assert np.mean(errors) < 0.35
    assert 0.8 < np.exp(np.mean(np.log(ratios))) < 1.25


def test_camps_leave_both_orders_possible():
    """Half of the annotators vote in the opposite way: intervals contain both orders, as crowd-bt says."""
    study = cr.simulate.pairs(items=8, annotators=10, votes=400, malicious=0.5, quality=(50.0, 1.0), seed=1)
    state, full = State.start().refit(study.judgments), cr.CrowdBT().fit(study.judgments)
    assert state.upright == full.upright < 0.95
    low, high = state.interval
    assert ((low < 0) & (high > 0)).mean() > 0.7
    found = cr.stopping(state, width=3.0, top_k=2)
    assert found["reached"].to_list() == [False, False]
    assert all("opposite" in note for note in found["note"])


def test_refit_keeps_names_without_judgments(build):
    state = State.start().answer("ann", "a", "b", "a").answer("bob", "c", "d", "c")
    again = state.refit(build.judgments(pairs=[("all", "ann", "a", "b", "b")]))
    assert list(again.vocabulary.annotators) == ["ann", "bob"]
    assert again.vocabulary.n_entries == 4
    names = list(again.vocabulary.items[again.vocabulary.entry_item])
    assert again.mean[names.index("b")] > 0 > again.mean[names.index("a")]
    assert again.variance[names.index("c")] == pytest.approx(2 / again.prior)
    assert again.counts.tolist() == [1, 0]


def test_saved_and_loaded(study, tmp_path):
    state = State.start(prior=3.0).update(study.judgments).answer("new", 7, "item01", 7, task="task1")
    state.save(tmp_path / "state.json")
    again = State.load(tmp_path / "state.json")
    assert same(again, state)
    assert (again.prior, again.quality_prior) == (state.prior, state.quality_prior)
    assert list(again.vocabulary.items) == list(state.vocabulary.items)
    assert same(again.update(study.judgments), state.update(study.judgments))


def test_a_fit_is_saved_with_its_draws(fitted, tmp_path):
    state = fitted.answer("new", "item01", "item02", "item02", task="task1")
    state.save(tmp_path / "state.json")
    again = State.load(tmp_path / "state.json")
    assert same(again, state)
    np.testing.assert_array_equal(again.draws, state.draws)
    np.testing.assert_array_equal(again.interval, state.interval)
    assert (again.learned, again.upright, again.needs_refit) == (True, state.upright, state.needs_refit)


def test_files_of_the_version_before_are_read(study, tmp_path):
    state = State.start(prior=4.0, quality_prior=(30.0, 2.0)).update(study.judgments)
    state.save(tmp_path / "state.json")
    saved = json.loads((tmp_path / "state.json").read_text())
    for new in ("checksum", "learned", "fitted"):
        del saved[new]
    (tmp_path / "state.json").write_text(json.dumps({**saved, "format": "crowdrank state 1"}))
    again = State.load(tmp_path / "state.json")
    assert same(again, state)
    assert again.learned  # these were the values of a state without settings


def test_files_of_other_versions_and_broken_ones_are_refused(study, tmp_path):
    path = tmp_path / "state.json"
    State.start().update(study.judgments).save(path)
    whole = json.loads(path.read_text())
    del whole["checksum"]
    assert whole["format"] == FORMAT == "crowdrank state 2"  # what this version writes, later ones must read
    path.write_text(json.dumps({**whole, "format": "crowdrank state 99"}))
    with pytest.raises(cr.JudgmentError, match="is a 'crowdrank state 99'; this version reads 'crowdrank state 2'"):
        State.load(path)
    for broken in ("", "{", "[]", json.dumps({**whole, "mean": [0.0]}), json.dumps({"format": FORMAT})):
        path.write_text(broken)
        with pytest.raises(cr.JudgmentError, match="is damaged, or is no state"):
            State.load(path)
    with pytest.raises(cr.JudgmentError, match="No such file"):
        State.load(tmp_path / "none.json")


def test_it_is_small_and_prints(study):
    state = State.start().update(study.judgments)
    assert repr(state) == "State(300 judgments; 15 entries, 6 annotators)"
    assert sum(getattr(state, name).nbytes for name in ("mean", "variance", "alpha", "beta", "counts")) == 8 * (
        2 * 15 + 2 * 6 + 2
    )


def test_joined_vocabularies_keep_codes(study):
    words = study.judgments.vocabulary
    assert joined(words, words) is words
    more = cr.simulate.pairs(items=20, annotators=8, votes=50, seed=0).judgments.vocabulary
    both = joined(words, more)
    assert list(both.annotators[:6]) == list(words.annotators)
    assert both.n_entries == 20
    assert entries_in(words, both).tolist() == list(range(15))
