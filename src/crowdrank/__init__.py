"""crowdrank: from judgments that cannot all be trusted to rankings that can."""

from importlib import import_module
from typing import Any

from crowdrank.catalogue import ROWS as _ROWS
from crowdrank.catalogue import imported as _imported

__version__ = "0.2.0"

# What is public beside the methods. Imported when first used: `import crowdrank` stays fast.
_PUBLIC = (
    "collect.policies.POLICIES",
    "collect.questions.next_questions",
    "collect.replay.replay",
    "collect.state.State",
    "collect.stopping.stopping",
    "consensus.Consensus",
    "consensus.Fit",
    "evaluation.bootstrap.bootstrap",
    "evaluation.comparison.Comparison",
    "evaluation.comparison.compare",
    "evaluation.evaluate.Evaluation",
    "evaluation.evaluate.evaluate",
    "evaluation.neighbours.neighbours",
    "formats.gold",
    "formats.judgments",
    "formats.read",
    "formats.read_by",
    "formats.read_folds",
    "formats.read_gold",
    "formats.read_ranking",
    "formats.write",
    "grading.labels",
    "learning.catalogue.LEARNERS",
    "learning.catalogue.learn",
    "learning.features.Features",
    "learning.features.features",
    "learning.features.read_features",
    "learning.ltrma.side_information.Better",
    "learning.ltrma.side_information.Range",
    "learning.ltrma.side_information.Side",
    "learning.ltrma.side_information.read_side",
    "learning.ranker.Ranker",
    "methods.catalogue.METHODS",
    "methods.catalogue.SUPERVISED",
    "methods.catalogue.train",
    "saved.load",
    "saved.load_ranker",
    "saved.save",
    "scale.fit.fit",
    "settings.SettingError",
    "statistics.description.StudyDescription",
    "statistics.description.describe",
    "study.Gold",
    "study.JudgmentError",
    "study.Judgments",
)
_MODULES = ("report", "simulate", "statistics")
_HOME = {row.rpartition(".")[2]: row for row in (*_ROWS, *_PUBLIC)}

__all__ = sorted([*_HOME, *_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"crowdrank.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'crowdrank' has no attribute {name!r}")
    return _imported(_HOME[name])


def __dir__() -> list[str]:
    return __all__
