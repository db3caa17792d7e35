"""Trained aggregators and rankers in files: `save`, `load` and `load_ranker`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from crowdrank.consensus import Consensus
from crowdrank.formats import write_files
from crowdrank.formats.saved_json import load_saved, saved_bytes
from crowdrank.methods.catalogue import BY_FEATURES, SUPERVISED
from crowdrank.methods.protocols import Trained
from crowdrank.study import JudgmentError

if TYPE_CHECKING:
    from crowdrank.learning.ranker import Ranker

FORMAT = "crowdrank model 1"
WHAT = "trained model, as `rank --save` and `train --out` write it"

# Settings that files of earlier versions have by another name: method → old name → the settings that it became.
RENAMED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "gda-pw-mart": {"prior": ("shrinkage",)},
    "listmle": {"prior": ("penalty",)},
    "lregma": {"prior": ("prior", "penalty")},
    "ltrma-d": {"prior": ("penalty",)},
    "ltrma-mle": {"prior": ("penalty",)},
    "ltrma-s1": {"prior": ("penalty",)},
    "ltrma-s2": {"prior": ("penalty",)},
    "ltrma-s3": {"prior": ("penalty",)},
}


def save(trained: Trained | Ranker, path: str | os.PathLike[str]) -> None:
    """Write a trained aggregator or a ranker to a .json file; whole, or not at all."""
    write_files({path: as_bytes(trained)})


def as_bytes(trained: Trained | Ranker) -> bytes:
    """The content of the file of a trained aggregator or a ranker."""
    if not hasattr(trained, "state"):
        consensus = isinstance(trained, Consensus)
        how = "cr.write(consensus, 'ranking.csv') writes a ranking" if consensus else "cr.train and cr.learn return it"
        raise JudgmentError(f"what was trained can be saved, not a {type(trained).__name__}; {how}")
    return saved_bytes(FORMAT, {"method": trained.name, **trained.state()})


def load(path: str | os.PathLike[str]) -> Trained:
    """A trained aggregator from the file it was saved to."""

    def restored(saved: Mapping[str, Any]) -> Trained:
        name = saved["method"]
        if name in BY_FEATURES:
            raise JudgmentError("is a ranker, which ranks by features: use cr.load_ranker or `crowdrank predict`")
        return SUPERVISED[name].restore(_with_new_names(saved))

    return load_saved(path, FORMAT, WHAT, restored)


def load_ranker(path: str | os.PathLike[str]) -> Ranker:
    """A ranker from the file it was saved to."""

    def restored(saved: Mapping[str, Any]) -> Ranker:
        from crowdrank.learning.ranker import Ranker  # here, not above: `load` needs no rankers

        name = saved["method"]
        if name in SUPERVISED:
            raise JudgmentError("ranks by judgments, not by features: use cr.load or `crowdrank rank --load`")
        return Ranker.restore(BY_FEATURES[name], _with_new_names(saved))

    return load_saved(path, FORMAT, WHAT, restored)


def _with_new_names(saved: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was saved, with the settings' names of this version."""
    settings = dict(saved["settings"])
    for old, names in RENAMED.get(saved["method"], {}).items():
        if old in settings and not settings.keys() >= set(names):  # otherwise the names are new already
            value = settings.pop(old)
            settings.update(dict.fromkeys(names, value))
    return {**saved, "settings": settings}
