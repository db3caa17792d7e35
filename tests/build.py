"""Studies from a few rows of names, and slow, obvious measures, without `crowdrank.formats`."""

from dataclasses import replace

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from crowdrank.study import LEFT, RIGHT, TIE, Gold, Grades, Judgments, Pairs, Rankings, Vocabulary, ids


def judgments(*, pairs=(), grades=(), lists=(), entries=(), frame="polars") -> Judgments:
    """A study from rows.

    pairs: (task, annotator, left, right, winner or "tie"); grades: (task, annotator, item, grade);
    lists: (task, annotator, [items of the first place, of the second, …], unlisted below);
    entries: (task, item) that take part though nobody may have judged them.
    """
    listed = [
        (task, annotator, place, item) for task, annotator, places, _ in lists for place in places for item in place
    ]
    annotators = sorted({row[1] for rows in (pairs, grades, lists) for row in rows})
    seen = {(t, i) for t, _, left, right, _ in pairs for i in (left, right)}
    seen |= {(t, i) for t, _, i, _ in grades} | {(t, i) for t, _, _, i in listed} | set(entries)
    words = vocabulary(sorted(seen), annotators, frame)
    entry = {
        (words.tasks[t], words.items[i]): e
        for e, (t, i) in enumerate(zip(words.entry_task, words.entry_item, strict=True))
    }
    who = {name: code for code, name in enumerate(annotators)}
    return Judgments(
        words,
        Grades(
            codes(who[a] for _, a, _, _ in grades),
            codes(entry[t, i] for t, _, i, _ in grades),
            np.array([g for *_, g in grades], dtype=float),
        ),
        Pairs(
            codes(who[row[1]] for row in pairs),
            codes(entry[t, left] for t, _, left, _, _ in pairs),
            codes(entry[t, right] for t, _, _, right, _ in pairs),
            np.array([{left: LEFT, right: RIGHT, "tie": TIE}[w] for _, _, left, right, w in pairs], dtype=np.int8),
        ),
        rankings(lists, words, who, entry),
    )


def vocabulary(task_items, annotators, frame="polars") -> Vocabulary:
    tasks, items = sorted({t for t, _ in task_items}), sorted({i for _, i in task_items})
    return Vocabulary(
        ids(tasks),
        ids(items),
        ids(annotators),
        codes(tasks.index(t) for t, _ in task_items),
        codes(items.index(i) for _, i in task_items),
        frame,
    )


def rankings(lists, words, who, entry) -> Rankings:
    rows = [
        (number, entry[task, item], float(position))
        for number, (task, _, places, _) in enumerate(lists)
        for position, place in enumerate(places)
        for item in place
    ]
    return Rankings(
        codes(who[annotator] for _, annotator, _, _ in lists),
        codes(list(words.tasks).index(task) for task, *_ in lists),
        np.array([below for *_, below in lists], dtype=bool),
        codes(number for number, _, _ in rows),
        codes(e for _, e, _ in rows),
        np.array([position for *_, position in rows], dtype=float),
    )


def codes(values) -> np.ndarray:
    return np.array(list(values), dtype=np.int32)


def with_pairs(study: Judgments, **columns) -> Judgments:
    """The same study with some columns of its pairs changed."""
    return replace(study, pairs=replace(study.pairs, **columns))


def rows_of(study: Judgments, rows) -> Judgments:
    """The same study with some of its pairs, in the order given."""
    columns = {name: getattr(study.pairs, name) for name in Pairs.__slots__}
    return with_pairs(study, **{name: column if column is None else column[rows] for name, column in columns.items()})


def gold(study: Judgments, value) -> Gold:
    return Gold(study.vocabulary, np.asarray(value, dtype=float), "score")


def pair_accuracy(score, truth) -> float:
    """Share of the pairs of items with different truth that the scores put right; equal scores are half right (one
    task).
    """
    truly, found = np.sign(np.subtract.outer(truth, truth)), np.sign(np.subtract.outer(score, score))
    return float((truly * found)[truly != 0].mean() + 1) / 2


def chances(gap, link="logistic", quality=1.0, slope=1.0, threshold=0.0, bias=0.0):
    """The chances of left, right and a tie at a gap between the scores of the left and the right item: the model,
    written out.
    """

    def mixed(seen):
        return quality * seen(slope * gap + bias) + (1 - quality) * seen(-slope * gap + bias)

    if link == "logistic":  # Davidson's ties
        tie = threshold / (threshold + 2 * np.cosh((2 * quality - 1) * slope * gap / 2))
        return (1 - tie) * mixed(expit), (1 - tie) * mixed(lambda u: expit(-u)), tie
    below = norm(scale=np.sqrt(2)).cdf  # a tie where what is seen stays below the threshold
    left, right = mixed(lambda u: below(u - threshold)), mixed(lambda u: below(-u - threshold))
    return left, right, mixed(lambda u: below(u + threshold) - below(u - threshold))


def usual_ties(study: Judgments, link="logistic") -> float:
    """The logarithm of the readiness to tie at which equal items tie as often as the pairs of a study do."""
    tied = (study.pairs.outcome == TIE).mean()
    return float(np.log(2 * tied / (1 - tied) if link == "logistic" else np.sqrt(2) * norm.ppf((1 + tied) / 2)))


def log_posterior(study: Judgments, score, prior, link="logistic", **profile) -> float:
    """The log-likelihood of a study's pairs and of the virtual item; profiles: one for all, or one per pair."""
    votes = study.pairs
    left, right, tie = chances(score[votes.left] - score[votes.right], link, **profile)
    chance = np.select([votes.outcome == LEFT, votes.outcome == RIGHT], [left, right], tie)
    weight = np.ones(len(votes)) if votes.weight is None else votes.weight
    virtual = np.log(chances(np.asarray(score), link)[0]) + np.log(chances(np.asarray(score), link)[1])
    return float(weight @ np.log(chance) + prior * virtual.sum())


def slope(function, x, step=1e-6) -> np.ndarray:
    """The gradient (or, of a vector function, the Jacobian) by central differences."""
    unit = np.eye(len(x)) * step
    return np.array([(np.asarray(function(x + u)) - np.asarray(function(x - u))) / (2 * step) for u in unit])


def with_long_grades(count) -> Judgments:
    """One annotator who graded this many items of one task."""
    items = np.arange(count, dtype=np.int32)
    words = Vocabulary(ids(["t"]), ids(range(count)), ids(["ann"]), np.zeros(count, np.int32), items)
    empty = judgments()
    return Judgments(words, Grades(np.zeros(count, np.int32), items, np.ones(count)), empty.pairs, empty.rankings)


def class_crowd(seed, shares, tables, items, labels) -> tuple[Judgments, np.ndarray]:
    """Items with true grades, and annotators who give grade g to true grade t with chance tables[annotator][t][g]."""
    rng = np.random.default_rng(seed)
    tables = np.asarray(tables)
    truth = rng.choice(len(shares), items, p=shares)
    entry = np.repeat(np.arange(items, dtype=np.int32), labels)
    who = np.concatenate([rng.permutation(len(tables))[:labels] for _ in range(items)]).astype(np.int32)
    below = np.cumsum(tables[who, truth[entry]], axis=1)
    grade = (below < rng.random((len(entry), 1)) * below[:, -1:]).sum(axis=1)
    words = vocabulary([("t", f"d{item:05}") for item in range(items)], [f"a{a:04}" for a in range(len(tables))])
    empty = judgments()
    return Judgments(words, Grades(who, entry, grade.astype(float)), empty.pairs, empty.rankings), truth


def one_coin(accuracy, size) -> np.ndarray:
    """The table of an annotator who errs evenly."""
    wrong = (1 - accuracy) / (size - 1)
    return wrong + (accuracy - wrong) * np.eye(size)


def opinions(seed, items=12, annotators=300, levels=5) -> Judgments:
    """People who grade all items by their own taste, in two dimensions, beside what is common to all."""
    rng = np.random.default_rng(seed)
    common, place, taste = rng.normal(size=items), rng.normal(size=(items, 2)), rng.normal(size=(annotators, 2))
    liking = common + 0.6 * taste @ place.T + rng.normal(0, 0.7, (annotators, 1))
    liking += rng.logistic(0, 1, (annotators, items))
    cuts = np.quantile(liking, [0.7] if levels == 2 else np.arange(1, levels) / levels)
    words = vocabulary([("t", f"d{item:02}") for item in range(items)], [f"a{who:04}" for who in range(annotators)])
    who, item = np.divmod(np.arange(liking.size, dtype=np.int32), np.int32(items))
    empty = judgments()
    return Judgments(
        words, Grades(who, item, np.searchsorted(cuts, liking).ravel().astype(float)), empty.pairs, empty.rankings
    )
