"""Learning to rank from crowds: a ranking function from the features of items and judgments about them.

- `linear`: linear rankers, one label per item or per place in a list
- `trees`: gradient-boosted trees (LightGBM)
- `ltrma`: linear rankers that estimate true orders and the annotators' expertise at the same time

A learner is a frozen dataclass of settings with a `description`, a `model` and `learn(features, data) -> Ranker`
(`ranker.py`). The training data are judgments, or for learners from one label per item also the consensus of any
method, or gold (`labels.py`):

- `judgments_over(features, data, description)` gives the judgments in the codes of the features' entries:
  `features.value[entry]` is the row of an entry;
- `labels_over(features, data, description, method)` gives one label per entry, and the same labels as grades.

A `Ranker` holds the model (`Linear`, `Trees`: anything with `score`, `state` and `restore`), the columns it was trained
on, the estimates about the annotators (the columns of a `Consensus`), and how the fit ended. Its `rank(features)` is a
`Consensus`; `cr.save` and `cr.load_ranker` write and read it.
"""
