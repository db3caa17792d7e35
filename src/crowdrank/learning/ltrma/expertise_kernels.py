"""The kernel of the M-step of θ, for lists of which only the first places count."""

from __future__ import annotations

import numpy as np

from crowdrank.numerics.compiled import kernel
from crowdrank.numerics.mallows import part_moments


@kernel
def add_parts(shapes, who, theta, log_total, mean_total, log, mean):
    """Add the log-normalisers and expected distances of lists of which only the first places count."""
    of_annotator, places, count, shape_starts, group = shapes
    room = np.empty((4, places.max() + 1))
    for i in range(len(who)):
        for shape in range(of_annotator[who[i]], of_annotator[who[i] + 1]):
            starts = shape_starts[shape : shape + 2]
            one_log, one_mean = part_moments(places[shape], starts, group, -theta[i], log_total[i], mean_total[i], room)
            log[i] += count[shape] * one_log
            mean[i] += count[shape] * one_mean
