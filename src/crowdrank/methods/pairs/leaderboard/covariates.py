"""Covariates of votes: checked, and on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crowdrank.study import Floats, JudgmentError, Pairs

SAME = 1e-9  # relative: a covariate that varies less is constant
COLLINEAR = 1e-10  # share of its variance that the others do not explain
NEARLY = 0.01  # the same: it takes a hundred times as many votes to tell such effects apart
OF_ITEMS = 1e-6  # share of its variance within the pairs of items
NAMES_SHOWN = 5
MOST_ENTRIES = 2000  # with more, whether items decide a covariate is not checked


@dataclass(frozen=True, slots=True, eq=False)
class Standardised:
    """Covariates divided by their deviation from 0; 0 stays 0, which favours neither side."""

    x: Floats
    deviation: Floats
    notes: tuple[str, ...] = ()


def standardised(pairs: Pairs, names: Sequence[str], n_entries: int) -> Standardised:
    """Covariates on the scale of their deviations; those that cannot be estimated are refused by name."""
    if pairs.covariates is None:
        return Standardised(np.zeros((len(pairs), 0)), np.zeros(0))
    values = np.ascontiguousarray(pairs.covariates, dtype=np.float64)
    low, high = values.min(axis=0, initial=0.0), values.max(axis=0, initial=0.0)
    finite = np.isfinite(low) & np.isfinite(high)
    if not finite.all():
        bad = [name for name, is_finite in zip(names, finite, strict=True) if not is_finite]
        raise JudgmentError(f"{_listed(bad, 'covariate')} not finite in every vote: fill or remove these votes")
    largest = np.maximum(np.maximum(-low, high), 1e-300)
    constant = np.ptp(values, axis=0) <= SAME * largest
    if constant.any():
        bad = [name for name, same in zip(names, constant, strict=True) if same]
        raise JudgmentError(
            f"{_listed(bad, 'covariate')} the same in every vote, so its effect cannot be estimated: remove it "
            "(order_bias=true of crowd-bt estimates a preference for the left item)"
        )
    x = values / largest
    products = x.T @ x
    size = np.sqrt(np.diag(products) / len(x))
    x /= size
    notes = _check_collinear(x, products / np.outer(size, size), names)
    within = _within_pairs(x, pairs, n_entries) if n_entries <= MOST_ENTRIES else np.ones(len(names))
    fixed = [name for name, share in zip(names, within, strict=True) if share < OF_ITEMS]
    if fixed:
        notes.append(
            f"{_listed(fixed, 'covariate')} decided by which two items are compared: the votes cannot tell its effect "
            "from the items' scores, and only the priors share it out"
        )
    return Standardised(x, largest * size, tuple(notes))


def _listed(names: Sequence[str], what: str) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" * (len(names) > NAMES_SHOWN)
    return f"{what} {', '.join(map(repr, names[:NAMES_SHOWN]))}{more} {'is' if len(names) == 1 else 'are'}"


def _check_collinear(x: Floats, products: Floats, names: Sequence[str]) -> list[str]:
    """Refuse a covariate that those before it explain wholly, and name them; notes on those explained nearly."""
    rest, notes = products.copy(), list[str]()
    for j, name in enumerate(names):
        own = float(rest[j, j] / products[j, j])
        if own <= NEARLY:
            others = _explaining(x, names, j, 1e-6 if own <= COLLINEAR else 0.1)
            if own <= COLLINEAR:
                says = f"already {'say' if len(others) > 1 else 'says'} all that it says; remove one of them"
                raise JudgmentError(f"covariate {name!r} is collinear: {', '.join(map(repr, others))} {says}")
            notes.append(
                f"covariate {name!r} is nearly collinear with {', '.join(map(repr, others))}: votes tell what these "
                "do together, but hardly what each does; leave one out, unless you need only the ranking"
            )
        rest -= np.outer(rest[j], rest[j]) / rest[j, j]  # what this one does not explain of the others
    return notes


def _explaining(x: Floats, names: Sequence[str], j: int, least: float) -> list[str]:
    """The covariates before this one that explain it, each with at least this weight."""
    weights = np.linalg.lstsq(x[:, :j], x[:, j], rcond=None)[0]
    return [names[i] for i in np.flatnonzero(np.abs(weights) > least).tolist()]


def _within_pairs(x: Floats, pairs: Pairs, n: int) -> Floats:
    """The share of each covariate's square that a number for each item does not explain."""
    gram = np.zeros((n, n))
    for one, other, sign in ((pairs.left, pairs.left, 1), (pairs.right, pairs.right, 1), (pairs.left, pairs.right, -1)):
        cells = np.bincount(one.astype(np.int64) * n + other, minlength=n * n).reshape(n, n) * sign
        gram += cells if one is other else cells + cells.T
    sums = np.stack([np.bincount(pairs.left, column, n) - np.bincount(pairs.right, column, n) for column in x.T], 1)
    value = np.linalg.lstsq(gram, sums, rcond=None)[0]
    return np.asarray(1 - np.einsum("ij,ij->j", value, sums) / np.einsum("vj,vj->j", x, x))
