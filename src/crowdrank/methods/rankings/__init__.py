"""Methods for rankings: lists of items, best first, whole or in part. Their shared parts are in `lists`.

Methods: `borda`, `median-rank`, `rrf`, `plackett-luce`, `mallows`, `crowdagg`, `cps`.
"""
