"""Methods for pairs: votes on which of two items is better. They turn lists and grades into pairs where that is all
there is.

`bradley-terry`, `thurstone`, `majority-bradley-terry`, `variance-bt`, `mpm`, `crowd-bt`, `crowd-thurstone` are cases of
one model of votes; `online-crowd-bt`, `elo`, `trueskill` take the votes one after the other; `em-elo`, `condorcet`,
`greedy-order`, `svp` count contests. Their machinery stands in `votes`.
"""
