"""What a list adds to the likelihood of the Plackett-Luce model, and to its derivatives.

A list is a series of groups of tied rows, the best first. From a group of m, the items are chosen one after the other:
after r of them, m − r are left, each a share (m − r) / m of itself, beside `below`, the worth of all that follow. The
last choice of all is none, and left out; where `unlisted` is −1, nothing is chosen from the last group at all. `lists`
are where each list starts, its task, how many items it puts below without naming them, its weight; and over all rows
the entry, and whether it is tied with the row before. `into` is cut into two vectors over the entries and two numbers
per task, which stand for what goes to all unlisted items of the task: the listed ones take it away again.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

DOUBTFUL = 1e-6  # share of a total below which a difference from it is summed anew


@nb.njit(cache=True, nogil=True)
def list_terms(lists, score, worth, total, task_starts, chance, into):
    """Minus the log-likelihood; adds its gradient, the diagonal of its Hessian, and for unlisted items Σ 1/D and Σ
    1/D².

    Writes 1/D of the choice made at each row to `chance`, 0 where there was none to make.
    """
    starts, task, unlisted, weight, entry, same = lists
    n = len(worth)
    value = 0.0
    below = _room_for_longest(starts)
    for number in range(len(starts) - 1):
        start, end, w = starts[number], starts[number + 1], weight[number]
        _worth_below(start, end, task[number], unlisted[number], entry, worth, total, worth, total, task_starts, below)
        once, twice, group = 0.0, 0.0, start  # Σ 1/D and Σ 1/D² of the choices made so far
        while group < end:
            after = _end_of_group(group, end, same)
            size, rest = after - group, below[after - start]
            own = _sum(entry, group, after, worth)
            choices = _choices(size, after < end, unlisted[number])
            part = 1.0 / size
            group_once, group_twice, full_once, full_twice = 0.0, 0.0, 0.0, 0.0
            for r in range(choices):
                share = 1.0 - r * part
                among = rest + share * own
                odds = 1.0 / among
                chance[group + r] = odds
                value += w * math.log(among)
                group_once += share * odds
                group_twice += (share * odds) ** 2
                full_once += odds
                full_twice += odds * odds
            for row in range(group, after):
                e = entry[row]
                value -= w * choices * part * score[e]
                into[e] += w * (worth[e] * (once + group_once) - choices * part)
                into[n + e] += w * (worth[e] * (once + group_once) - worth[e] ** 2 * (twice + group_twice))
            once += full_once
            twice += full_twice
            group = after
        if unlisted[number] > 0:
            into[2 * n + task[number]] += w * once
            into[2 * n + len(total) + task[number]] += w * twice
            for row in range(start, end):
                e = entry[row]
                into[e] -= w * worth[e] * once
                into[n + e] -= w * (worth[e] * once - worth[e] ** 2 * twice)
    return value


@nb.njit(cache=True, nogil=True)
def list_hessian_product(lists, worth, moved, chance, total, total_moved, task_starts, into):
    """Adds the product of the Hessian with v, where `moved` is worth times v; for unlisted items Σ 1/D and Σ (mean of v)/D."""
    starts, task, unlisted, weight, entry, same = lists
    n = len(worth)
    below = _room_for_longest(starts)
    for number in range(len(starts) - 1):
        start, end, w = starts[number], starts[number + 1], weight[number]
        _worth_below(
            start, end, task[number], unlisted[number], entry, worth, total, moved, total_moved, task_starts, below
        )
        once, mean_once, group = 0.0, 0.0, start
        while group < end:
            after = _end_of_group(group, end, same)
            size, rest = after - group, below[after - start]
            own, part = _sum(entry, group, after, moved), 1.0 / size
            group_once, group_mean, full_once, full_mean = 0.0, 0.0, 0.0, 0.0
            for r in range(size):
                share, odds = 1.0 - r * part, chance[group + r]
                mean = (rest + share * own) * odds
                group_once += share * odds
                group_mean += share * mean * odds
                full_once += odds
                full_mean += mean * odds
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


@nb.njit(cache=True, nogil=True)
def list_joint_curvatures(lists, worth, total, task_starts, row_of, place, table, everywhere):
    """Adds Σ 1/D² over the choices among both of two items to the cell of every two; `everywhere` goes to all cells of a task."""
    starts, task, unlisted, weight, entry, same = lists
    below = _room_for_longest(starts)
    listed = np.full(len(worth), -1)
    for number in range(len(starts) - 1):
        start, end, w, t = starts[number], starts[number + 1], weight[number], task[number]
        _worth_below(start, end, t, unlisted[number], entry, worth, total, worth, total, task_starts, below)
        all_twice = _all_twice(start, end, entry, same, worth, below) if unlisted[number] > 0 else 0.0
        everywhere[t] += w * all_twice
        for row in range(start, end):
            listed[entry[row]] = number
        twice, group = 0.0, start
        while group < end:
            after = _end_of_group(group, end, same)
            size, rest, own = after - group, below[after - start], _sum(entry, group, after, worth)
            choices = _choices(size, after < end, unlisted[number])
            part = 1.0 / size
            mixed, both, full = (
                0.0,
                0.0,
                0.0,
            )  # one item of the group with a later one, two of the group, two later ones
            for r in range(choices):
                share = 1.0 - r * part
                chance = 1.0 / (rest + share * own)
                mixed += share * chance**2
                both += (share * chance) ** 2
                full += chance**2
            for row in range(group, after):
                i = entry[row]
                for other in range(row + 1, end):
                    j = entry[other]
                    curvature = w * (twice + (both if other < after else mixed) - all_twice)
                    table[row_of[i] + place[j]] += curvature
                    table[row_of[j] + place[i]] += curvature
                if unlisted[number] > 0:
                    for j in range(task_starts[t], task_starts[t + 1]):
                        if listed[j] != number:
                            curvature = w * (twice + mixed - all_twice)
                            table[row_of[i] + place[j]] += curvature
                            table[row_of[j] + place[i]] += curvature
            twice += full
            group = after


@nb.njit(cache=True, nogil=True)
def _all_twice(start, end, entry, same, worth, below):
    """Σ 1/D² over all choices of a list with unlisted items."""
    total, group = 0.0, start
    while group < end:
        after = _end_of_group(group, end, same)
        size, own = after - group, _sum(entry, group, after, worth)
        for r in range(size):
            total += 1 / (below[after - start] + (1.0 - r / size) * own) ** 2
        group = after
    return total


@nb.njit(cache=True, nogil=True)
def _worth_below(start, end, task, unlisted, entry, worth, total, value, total_value, task_starts, below):
    """For each row of a list, the sum of `value` over it, those behind it, and unlisted items."""
    last = 0.0
    if unlisted > 0:
        last = total_value[task] - _sum(entry, start, end, value)
        # Little may be left of a large total but rounding: then the unlisted items are summed themselves.
        if total[task] - _sum(entry, start, end, worth) < DOUBTFUL * total[task]:
            last = _sum_of_unlisted(start, end, task, entry, value, task_starts)
    below[end - start] = last
    for row in range(end - 1, start - 1, -1):
        last += value[entry[row]]
        below[row - start] = last


@nb.njit(cache=True, nogil=True)
def _sum_of_unlisted(start, end, task, entry, value, task_starts):
    listed = np.zeros(task_starts[task + 1] - task_starts[task], dtype=np.bool_)
    for row in range(start, end):
        listed[entry[row] - task_starts[task]] = True
    total = 0.0
    for e in range(task_starts[task], task_starts[task + 1]):
        if not listed[e - task_starts[task]]:
            total += value[e]
    return total


@nb.njit(cache=True, nogil=True)
def _choices(size, followed, unlisted):
    """How many choices are made from a group."""
    if followed or unlisted > 0:
        return size
    return 0 if unlisted < 0 else size - 1


@nb.njit(cache=True, nogil=True)
def _end_of_group(group, end, same):
    after = group + 1
    while after < end and same[after]:
        after += 1
    return after


@nb.njit(cache=True, nogil=True)
def _sum(entry, start, end, value):
    total = 0.0
    for row in range(start, end):
        total += value[entry[row]]
    return total


@nb.njit(cache=True, nogil=True)
def _room_for_longest(starts):
    longest = 0
    for number in range(len(starts) - 1):
        longest = max(longest, starts[number + 1] - starts[number])
    return np.empty(longest + 1)
