"""The profiles of annotators: one set of parameters for each annotator, or for each annotator in each task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crowdrank.study import Codes, Judgments


@dataclass(frozen=True, slots=True, eq=False)
class Profiles:
    """Whose parameters each profile holds."""

    annotator: Codes  # of each profile, ascending
    task: Codes | None  # of each profile, where there is one per annotator and task

    def of(self, annotator: Codes, task: Codes) -> Codes:
        """The profile of each of these annotators on these tasks."""
        if self.task is None:
            return annotator
        return np.searchsorted(_packed(self.annotator, self.task), _packed(annotator, task)).astype(np.int32)

    def __len__(self) -> int:
        return len(self.annotator)


POOLED = Profiles(np.zeros(1, np.int32), None)  # one profile for all annotators


def profiles_of(judgments: Judgments, per: Literal["study", "task"]) -> Profiles:
    """One profile for each annotator of the study, or for each task that an annotator judged."""
    if per == "study":
        return Profiles(np.arange(len(judgments.vocabulary.annotators), dtype=np.int32), None)
    keys = np.unique(_packed(*judgments.annotator_and_task()))
    return Profiles((keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32))


def _packed(annotator: Codes, task: Codes) -> NDArray[np.int64]:
    """Annotator and task as one number, which sorts by both."""
    return np.asarray((annotator.astype(np.int64) << 32) | task)
