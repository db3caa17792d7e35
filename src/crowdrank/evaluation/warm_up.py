"""A tiny study of the same kinds as another: fitting it compiles what fitting the other needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdrank.study import LEFT, RIGHT, TIE, Grades, Judgments, Pairs, Rankings, Vocabulary, ids


def tiny_study(like: Judgments) -> Judgments:
    """Three annotators and three items of one task, judged in the same ways as in the other study."""
    code = np.arange(3, dtype=np.int32)
    words = Vocabulary(ids(["t"]), ids("xyz"), ids("abc"), np.zeros(3, np.int32), code)
    who, entry = np.repeat(code, 3), np.tile(code, 3)
    outcome = np.array([LEFT, RIGHT, TIE], np.int8)
    has: dict[str, Any] = {
        name: None if getattr(like.pairs, name) is None else np.ones(3) for name in ("weight", "strength")
    }
    below = np.full(3, bool(like.rankings.unlisted_below.any()))
    study = Judgments(
        words,
        Grades(who, entry, ((who + entry) % 3).astype(np.float64)),
        Pairs(code, code, np.roll(code, 1), outcome, **has),
        Rankings(code, np.zeros(3, np.int32), below, who, entry, entry.astype(np.float64)),
    )
    return study.only(*like.kinds)
