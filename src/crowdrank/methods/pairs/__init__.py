"""Methods for pairs: votes on which of two items is better. They convert lists and grades to pairs.

`bradley-terry`, `thurstone`, `majority-bradley-terry`, `variance-bt`, `mpm`, `crowd-bt`, `crowd-thurstone` are cases of
one model of votes; `online-crowd-bt`, `elo`, `trueskill` process votes one after the other; `em-elo`, `condorcet`,
`greedy-order`, `svp` count contests. The code they share is in `votes`.
"""
