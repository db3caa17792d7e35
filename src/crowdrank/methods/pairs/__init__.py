"""Methods for pairs: votes on which of two items is better. They convert lists and grades to pairs.

Methods: `bradley-terry`, `thurstone`, `majority-bradley-terry`, `variance-bt`, `mpm`, `crowd-bt`, `crowd-thurstone`,
`online-crowd-bt`, `elo`, `em-elo`, `trueskill`, `condorcet`, `greedy-order`, `svp`.

Those that estimate scores by maximum likelihood are cases of one model of votes, in `votes`. Others process votes one
after the other, or count contests.
"""
