"""First calls on small files compile nothing: that would take seconds. They do not even import Numba."""

import json
import subprocess
import sys

FRESH = """
import json
import sys
import numpy as np
import crowdrank as cr
from crowdrank.numerics import compiled

compiled.KernelCache.kept = lambda self: False  # as on a new machine
votes = cr.simulate.pairs(items=10, annotators=5, votes=200, seed=1).judgments
tied = cr.simulate.pairs(items=10, annotators=5, votes=200, ties=0.3, seed=1).judgments
many_tied = cr.simulate.pairs(items=20, annotators=10, votes=1900, ties=0.3, seed=1).judgments
grades = cr.simulate.grades(items=10, annotators=5, labels=3, seed=1).judgments
rng = np.random.default_rng(0)
def lists_of(items, size):
    orders = [rng.permutation(items)[:size].tolist() for _ in range(50)]
    rows = [(who, item, place) for who, order in enumerate(orders) for place, item in enumerate(order)]
    return cr.judgments({name: [row[k] for row in rows] for k, name in enumerate(("annotator", "item", "rank"))})
lists, long_lists, of_many = lists_of(10, 10), lists_of(15, 15), lists_of(100, 10)
calls = {
    "crowd-bt": lambda: cr.fit("crowd-bt", votes),
    "crowd-bt with ties": lambda: cr.fit("crowd-bt", tied),
    "crowd-bt on two thousand votes with ties": lambda: cr.fit("crowd-bt", many_tied),
    "gda": lambda: cr.fit("gda", grades),
    "plackett-luce": lambda: cr.fit("plackett-luce", lists),
    "borda": lambda: cr.fit("borda", lists),
    "next on votes": lambda: cr.next_questions(votes, count=3),
    "next on lists": lambda: cr.next_questions(lists, count=3),
    "next on long lists": lambda: cr.next_questions(long_lists, count=3),
    "next on lists of many items": lambda: cr.next_questions(of_many, count=3),
}
found = {}
for name, call in calls.items():
    compiled.DONE.clear()  # a process of its own would take longer to start than this takes
    call()
    found[name] = [kernel.py_func.__name__ for kernel in compiled.KERNELS if kernel.overloads]
    found[name] += [module for module in ("numba", "llvmlite") if module in sys.modules]
print(json.dumps(found))
"""


def test_nothing_is_compiled():
    done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert {name: kernels for name, kernels in json.loads(done.stdout).items() if kernels} == {}
