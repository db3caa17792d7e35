"""Methods for rankings: lists of items, best first, whole or in part.

`borda`, `median-rank`, `rrf`, `plackett-luce`, `mallows`, `crowdagg`, `cps`. Their shared parts are in `lists`.
"""
