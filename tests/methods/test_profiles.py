"""Profiles: one per annotator, or one per annotator and task."""

import crowdrank as cr
from crowdrank.methods.profiles import profiles_of

GRADES = {
    "task": ["s", "t", "t", "s"],
    "annotator": ["ann", "ann", "bob", "cy"],
    "item": ["x", "y", "y", "x"],
    "grade": [1, 2, 3, 4],
}


def test_one_profile_for_each_annotator():
    judgments = cr.judgments(GRADES)
    profiles = profiles_of(judgments, "study")
    assert profiles.annotator.tolist() == [0, 1, 2]
    assert profiles.of(*judgments.annotator_and_task()).tolist() == judgments.grades.annotator.tolist()


def test_one_profile_for_each_task_that_an_annotator_judged():
    judgments = cr.judgments(GRADES)
    profiles = profiles_of(judgments, "task")
    assert list(zip(profiles.annotator.tolist(), profiles.task.tolist(), strict=True)) == [
        (0, 0),
        (0, 1),
        (1, 1),
        (2, 0),
    ]
    annotator, task = judgments.annotator_and_task()
    of = profiles.of(annotator, task)
    assert profiles.annotator[of].tolist() == annotator.tolist()
    assert profiles.task[of].tolist() == task.tolist()
