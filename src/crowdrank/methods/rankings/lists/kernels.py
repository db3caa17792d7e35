"""Likelihood of lists under the Plackett-Luce model, and its derivatives.

A list is a series of groups of tied rows, best first. From a group of m, the items are chosen one after the other:
after r choices, m − r are left; each item then counts a share (m − r) / m of its worth, in addition to the worth of all
items that follow (`below`). D is the total worth that a choice is made among. The last item of a list is no choice;
where `unlisted` is −1, no choice is made within the last group.

`lists` (ListData) are the lists. `into` has two vectors over the entries and two numbers per task: a number per task is
what all unlisted items of the task get; it is subtracted again from the listed ones.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.compiled import kernel
from crowdrank.study import Codes, Floats

SMALL_REST = 1e-6  # share of a total; a smaller difference from the total is summed directly


class ListData(NamedTuple):
    """Some lists: rows of list l are `starts[l]:starts[l + 1]`."""

    starts: NDArray[np.int64]
    task: Codes
    unlisted: NDArray[np.int64]  # how many items a list puts below its own without listing them
    weight: Floats
    entry: Codes  # of each row of all lists
    tied: NDArray[np.bool_]  # whether a row is tied with the row before


@kernel
def list_terms(lists, score, worth, total, task_starts, inverse_worth, into):
    """Minus the log-likelihood; adds its gradient, the diagonal of its Hessian, and per task Σ 1/D and Σ 1/D².

    Writes 1/D of the choice made at each row to `inverse_worth`; rows without a choice keep 0.
    """
    starts, task, unlisted, weight, entry, tied = lists
    n = len(worth)
    value = 0.0
    below = _longest_list_buffer(starts)
    for number in range(len(starts) - 1):
        start, end, w = starts[number], starts[number + 1], weight[number]
        _worth_below(start, end, task[number], unlisted[number], entry, worth, total, worth, total, task_starts, below)
        once, twice, group = 0.0, 0.0, start  # Σ 1/D and Σ 1/D² of the choices made so far
        while group < end:
            after = end_of_group(group, end, tied)
            size, rest = after - group, below[after - start]
            own = _sum(entry, group, after, worth)
            choices = choices_made(size, after < end, unlisted[number])
            part = 1.0 / size
            group_once, group_twice, full_once, full_twice = 0.0, 0.0, 0.0, 0.0
            for r in range(choices):
                share = 1.0 - r * part
                among = rest + share * own
                inverse = 1.0 / among
                inverse_worth[group + r] = inverse
                value += w * math.log(among)
                group_once += share * inverse
                group_twice += share * inverse * share * inverse
                full_once += inverse
                full_twice += inverse * inverse
            for row in range(group, after):
                e = entry[row]
                value -= w * choices * part * score[e]
                into[e] += w * (worth[e] * (once + group_once) - choices * part)
                into[n + e] += w * (worth[e] * (once + group_once) - worth[e] * worth[e] * (twice + group_twice))
            once += full_once
            twice += full_twice
            group = after
        if unlisted[number] > 0:
            into[2 * n + task[number]] += w * once
            into[2 * n + len(total) + task[number]] += w * twice
            for row in range(start, end):
                e = entry[row]
                into[e] -= w * worth[e] * once
                into[n + e] -= w * (worth[e] * once - worth[e] * worth[e] * twice)
    return value


@kernel
def list_hessian_product(lists, worth, moved, inverse_worth, total, total_moved, task_starts, into):
    """Adds the product of the Hessian and v, where `moved` is worth times v, and per task Σ 1/D and Σ (mean of v)/D."""
    starts, task, unlisted, weight, entry, tied = lists
    n = len(worth)
    below = _longest_list_buffer(starts)
    for number in range(len(starts) - 1):
        start, end, w = starts[number], starts[number + 1], weight[number]
        _worth_below(
            start, end, task[number], unlisted[number], entry, worth, total, moved, total_moved, task_starts, below
        )
        once, mean_once, group = 0.0, 0.0, start
        while group < end:
            after = end_of_group(group, end, tied)
            size, rest = after - group, below[after - start]
            own, part = _sum(entry, group, after, moved), 1.0 / size
            group_once, group_mean, full_once, full_mean = 0.0, 0.0, 0.0, 0.0
            for r in range(size):
                share, inverse = 1.0 - r * part, inverse_worth[group + r]
                mean = (rest + share * own) * inverse
                group_once += share * inverse
                group_mean += share * mean * inverse
                full_once += inverse
                full_mean += mean * inverse
            for row in range(group, after):
                e = entry[row]
                into[e] += w * (moved[e] * (once + group_once) - worth[e] * (mean_once + group_mean))
            once += full_once
            mean_once += full_mean
            group = after
        if unlisted[number] > 0:
            into[2 * n + task[number]] += w * once
            into[2 * n + len(total) + task[number]] += w * mean_once
            for row in range(start, end):
                e = entry[row]
                into[e] -= w * (moved[e] * once - worth[e] * mean_once)


@kernel
def list_joint_curvatures(lists, worth, total, task_starts, row_of, place, table, everywhere):
    """Adds Σ 1/D² over the choices made among both of two items; `everywhere` counts for all cells of a task."""
    starts, task, unlisted, weight, entry, tied = lists
    below = _longest_list_buffer(starts)
    listed = np.full(len(worth), -1)
    for number in range(len(starts) - 1):
        start, end, w, t = starts[number], starts[number + 1], weight[number], task[number]
        _worth_below(start, end, t, unlisted[number], entry, worth, total, worth, total, task_starts, below)
        total_twice = _sum_of_inverse_squares(start, end, entry, tied, worth, below) if unlisted[number] > 0 else 0.0
        everywhere[t] += w * total_twice
        for row in range(start, end):
            listed[entry[row]] = number
        twice, group = 0.0, start
        while group < end:
            after = end_of_group(group, end, tied)
            size, rest, own = after - group, below[after - start], _sum(entry, group, after, worth)
            choices = choices_made(size, after < end, unlisted[number])
            part = 1.0 / size
            # One item of the group with a later one; two of the group; two later ones.
            mixed, both, full = 0.0, 0.0, 0.0
            for r in range(choices):
                share = 1.0 - r * part
                inverse = 1.0 / (rest + share * own)
                mixed += share * inverse * inverse
                both += share * inverse * share * inverse
                full += inverse * inverse
            for row in range(group, after):
                i = entry[row]
                for other in range(row + 1, end):
                    j = entry[other]
                    curvature = w * (twice + (both if other < after else mixed) - total_twice)
                    table[row_of[i] + place[j]] += curvature
                    table[row_of[j] + place[i]] += curvature
                if unlisted[number] > 0:
                    for j in range(task_starts[t], task_starts[t + 1]):
                        if listed[j] != number:
                            curvature = w * (twice + mixed - total_twice)
                            table[row_of[i] + place[j]] += curvature
                            table[row_of[j] + place[i]] += curvature
            twice += full
            group = after


@kernel
def _sum_of_inverse_squares(start, end, entry, tied, worth, below):
    """Σ 1/D² over all choices of a list with unlisted items."""
    total, group = 0.0, start
    while group < end:
        after = end_of_group(group, end, tied)
        size, own = after - group, _sum(entry, group, after, worth)
        for r in range(size):
            among = below[after - start] + (1.0 - r / size) * own
            total += 1 / (among * among)
        group = after
    return total


@kernel
def _worth_below(start, end, task, unlisted, entry, worth, total, value, total_value, task_starts, below):
    """For each row of a list, the sum of `value` over it, the rows after it, and unlisted items."""
    last = 0.0
    if unlisted > 0:
        last = total_value[task] - _sum(entry, start, end, value)
        # A small rest of a large total is mostly rounding error: then the unlisted items are summed directly.
        if total[task] - _sum(entry, start, end, worth) < SMALL_REST * total[task]:
            last = _sum_of_unlisted(start, end, task, entry, value, task_starts)
    below[end - start] = last
    for row in range(end - 1, start - 1, -1):
        last += value[entry[row]]
        below[row - start] = last


@kernel
def _sum_of_unlisted(start, end, task, entry, value, task_starts):
    listed = np.zeros(task_starts[task + 1] - task_starts[task], dtype=np.bool_)
    for row in range(start, end):
        listed[entry[row] - task_starts[task]] = True
    total = 0.0
    for e in range(task_starts[task], task_starts[task + 1]):
        if not listed[e - task_starts[task]]:
            total += value[e]
    return total


@kernel
def choices_made(size, followed, unlisted):
    """How many choices are made from a group."""
    if followed or unlisted > 0:
        return size
    return 0 if unlisted < 0 else size - 1


@kernel
def end_of_group(group, end, tied):
    """The row after the last one that is tied with the row `group`."""
    after = group + 1
    while after < end and tied[after]:
        after += 1
    return after


@kernel
def _sum(entry, start, end, value):
    total = 0.0
    for row in range(start, end):
        total += value[entry[row]]
    return total


@kernel
def _longest_list_buffer(starts):
    longest = 0
    for number in range(len(starts) - 1):
        longest = max(longest, starts[number + 1] - starts[number])
    return np.empty(longest + 1)
