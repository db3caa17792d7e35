"""LightGBM's trees from their text, checked first: LightGBM follows the numbers of a damaged text into foreign memory.

Only what was checked is handed over: the text is written anew from its parts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from crowdrank.settings import SettingError

NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?", re.ASCII)
WHOLE = re.compile(r"-?\d{1,9}", re.ASCII)
OBJECTIVES = ("rank_xendcg", "regression", "lambdarank")  # without one, scores are sums of leaves all the same
# One number for each leaf, or for each split. The first ones of each are needed to predict, the others to inspect.
LEAVES = ("leaf_value", "leaf_weight", "leaf_count")
SPLITS = (
    "split_feature", "threshold", "decision_type", "left_child", "right_child",
    "split_gain", "internal_value", "internal_weight", "internal_count",
)  # fmt: skip
NEEDED = {"leaf_value", "split_feature", "threshold", "decision_type", "left_child", "right_child"}
CHOICES = {default_left | missing << 2 for default_left in (0, 2) for missing in (0, 1, 2)}  # among numbers
NO_NUMBER_ABOVE = 1e300


def booster(text: Any, n_features: int) -> Any:
    """The trees of this text over so many features; ValueError where it is not whole, or does not hold together."""
    lightgbm = lightgbm_module()
    try:
        return lightgbm.Booster(model_str=checked(text, n_features))
    except lightgbm.basic.LightGBMError as error:
        raise ValueError(f"the trees cannot be read: {error}") from None


def checked(text: Any, n_features: int) -> str:
    """The text of the trees, written anew from its parts."""
    if not isinstance(text, str):
        raise ValueError("the trees are not a text")
    body, end, _ = text.partition("\nend of trees")
    head, *trees = re.split(r"\nTree=\d+\n", body)
    if not (end and trees):
        raise ValueError("the text of the trees is cut off")
    objective = _fields(head).get("objective", "").split(" ")[0]
    if _fields(head).get("max_feature_idx") != str(n_features - 1):
        raise ValueError("the trees are over another number of features")
    names = " ".join(f"Column_{number}" for number in range(n_features))
    lines = [
        "tree", "version=v4", "num_class=1", "num_tree_per_iteration=1", "label_index=0",
        f"max_feature_idx={n_features - 1}", *([f"objective={objective}"] if objective in OBJECTIVES else []),
        f"feature_names={names}", f"feature_infos={' '.join(['none'] * n_features)}", "",
    ]  # fmt: skip
    for number, tree in enumerate(trees):
        lines += [f"Tree={number}", *_tree(_fields(tree), n_features), "", ""]
    return "\n".join([*lines, "end of trees", ""])


def _fields(text: str) -> dict[str, str]:
    return dict(line.partition("=")[::2] for line in text.splitlines() if "=" in line)


def _tree(found: Mapping[str, str], n_features: int) -> list[str]:
    """The lines of one tree."""
    (leaves,) = _whole(found["num_leaves"])
    if leaves < 1 or found["num_cat"] != "0" or found.get("is_linear", "0") != "0":
        raise ValueError("a tree has no leaves, or leaves of an unknown kind")
    sizes = {**dict.fromkeys(LEAVES, leaves), **dict.fromkeys(SPLITS, leaves - 1)}
    numbers = {name: found[name].split() for name in sizes if name in NEEDED or name in found}
    # A tree of a single leaf has no splits, and leaves out the lines that count.
    wrong = [name for name, texts in numbers.items() if len(texts) != sizes[name] and (texts or name in NEEDED)]
    if wrong or not all(_is_number(text) for texts in numbers.values() for text in texts):
        raise ValueError(f"the numbers of a tree are damaged: {', '.join(wrong) or 'some are no numbers'}")
    if not all(0 <= feature < n_features for feature in _whole(found["split_feature"])):
        raise ValueError("a tree splits by a feature that there is not")
    if not CHOICES.issuperset(_whole(found["decision_type"])):
        raise ValueError("a tree decides in an unknown way")
    _check_children(_whole(found["left_child"]), _whole(found["right_child"]), leaves)
    shrinkage = found.get("shrinkage", "1")
    if not _is_number(shrinkage):
        raise ValueError("the shrinkage of a tree is damaged")
    lines = [f"{name}={' '.join(texts)}" for name, texts in numbers.items() if texts or name in NEEDED]
    return [f"num_leaves={leaves}", "num_cat=0", *lines, "is_linear=0", f"shrinkage={shrinkage}"]


def _check_children(left: list[int], right: list[int], leaves: int) -> None:
    """Refuse splits that do not lead to every other split and leaf exactly once; leaf l is written −1 − l."""
    if sorted([*left, *right]) != [*range(-leaves, 0), *range(1, leaves - 1)] * (leaves > 1):
        raise ValueError("the splits of a tree are damaged")
    reached, waiting = 0, [0] if left else []
    while waiting:  # each child has one parent, so this ends; splits in a circle are not reached
        split = waiting.pop()
        reached += 1
        waiting += [child for child in (left[split], right[split]) if child >= 0]
    if reached != len(left):
        raise ValueError("the splits of a tree go in a circle")


def _whole(text: str) -> list[int]:
    if not all(WHOLE.fullmatch(part) for part in text.split()):
        raise ValueError(f"{text[:40]!r} are not whole numbers")
    return [int(part) for part in text.split()]


def _is_number(text: str) -> bool:
    return NUMBER.fullmatch(text) is not None and abs(float(text)) < NO_NUMBER_ABOVE


def lightgbm_module() -> Any:
    """LightGBM, an optional dependency."""
    try:
        import lightgbm
    except ImportError:
        raise SettingError(
            "boosted trees need LightGBM, which is not installed: pip install 'crowdrank[learn]'"
        ) from None
    return lightgbm
