"""A study as its TOML file describes it. Mistakes are reported with the file and the key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from crowdrank.server.item_table import read_rows, read_table
from crowdrank.settings import InputError, did_you_mean, is_number
from crowdrank.store.questions import Candidate, Caps
from crowdrank.store.studies import NewItem

KINDS = ("pairs", "grades", "rankings")
MODES = ("open", "invited", "listed")
SINGULAR = {"pair": "pairs", "grade": "grades", "ranking": "rankings"}
# Those of `crowdrank.collect`, which takes long to import.
POLICIES = (
    "mutual-information", "information-gain", "random", "least-compared", "uncertainty", "thompson", "top-k", "asap",
    "hybrid-mst", "sorting", "swiss", "grades", "rankings",
)  # fmt: skip
USUAL_POLICY = {"pairs": "mutual-information", "grades": "grades", "rankings": "rankings"}
# What a study that names no question and no scale asks, in the languages of the pages (pages/words.js).
QUESTIONS = {
    "en": {"pairs": "Which is better?", "grades": "How good is this?", "rankings": "Rank these, best first."},
    "de": {"pairs": "Was ist besser?", "grades": "Wie gut ist das?", "rankings": "Ordnen Sie, das Beste zuerst."},
    "fr": {
        "pairs": "Lequel est meilleur ?",
        "grades": "Que vaut ceci ?",
        "rankings": "Classez, le meilleur d’abord.",
    },
}
SCALES = {
    "en": ("bad", "fair", "good", "excellent"),
    "de": ("schlecht", "mittel", "gut", "sehr gut"),
    "fr": ("mauvais", "moyen", "bon", "excellent"),
}
TIE_WORDS = ("tie", "both_bad", "tie (bothbad)")  # as in `crowdrank.formats`
MOST = 1e15  # as of weights: sums of whole numbers stay exact
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Access:
    """Who may take part."""

    mode: str = "open"
    annotators: tuple[str, ...] = ()  # of the mode listed
    days: float = 30.0  # until a token or an invitation expires


@dataclass(frozen=True, slots=True)
class Collection:
    """What is asked, how often, and when to stop."""

    policy: str
    settings: Mapping[str, Any]  # of the policy
    caps: Caps
    gold: tuple[Candidate, ...] = ()  # questions with known answers
    gold_share: float = 0.1  # of the questions of each annotator
    stopping: Mapping[str, Any] = field(default_factory=dict)  # width, top_k, probability
    cost: float | None = None  # of a judgment
    currency: str = ""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class StudyFile:
    """A study, checked."""

    path: Path
    media: Path  # the folder of the table of items, in which images are
    name: str
    title: str
    question: str
    kind: str
    instructions: str
    ties: bool
    scale: tuple[tuple[float, str], ...]  # grades and their labels
    list_size: int  # items of a ranking
    language: str
    items: tuple[NewItem, ...]
    practice: tuple[NewItem, ...]
    access: Access
    collection: Collection


class TomlSection:
    """A table of the TOML file, whose keys are taken one by one; those that are left are mistakes."""

    def __init__(self, path: Path, name: str, values: Any) -> None:
        self.path, self.name = path, name
        self.known: list[str] = []
        if not isinstance(values, Mapping):
            raise InputError(f"{path}: [{name}] must be a table")
        self.values = dict(values)

    def error(self, key: str, message: str) -> InputError:
        return InputError(f"{self.path}: {key} in [{self.name}] {message}")

    def _take(self, key: str, default: Any) -> Any:
        self.known.append(key)
        return self.values.pop(key, default)

    def text(self, key: str, default: str | None = None) -> str:
        value = self._take(key, default)
        if value is None:
            raise InputError(f'{self.path}: {key} is missing in [{self.name}]; add: {key} = "…"')
        if not isinstance(value, str):
            raise self.error(key, f"is {value!r}; it must be a text")
        return value.strip()

    def choice(
        self, key: str, among: tuple[str, ...], default: str, also: Mapping[str, str] = MappingProxyType({})
    ) -> str:
        """One of some words; `also` are other words for them."""
        value = self.text(key, default)
        value = also.get(value, value)
        if value not in among:
            raise self.error(key, f"is {value!r}{did_you_mean(value, among)}; it must be one of {', '.join(among)}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self._take(key, default)
        if not isinstance(value, bool):
            raise self.error(key, f"is {value!r}; it must be true or false")
        return value

    def number(self, key: str, default: float | None, low: float, high: float = MOST) -> float | None:
        value = self._take(key, default)
        if value is not None and not (is_number(value) and low <= value <= high):
            wanted = f"a number from {low:g} to {high:g}"
            raise self.error(key, f"is {value!r}; it must be {wanted}")
        return None if value is None else float(value)

    def whole(self, key: str, default: int | None, low: int, high: float = MOST) -> int | None:
        value = self.number(key, default, low, high)
        if value is not None and value != int(value):
            raise self.error(key, f"is {value!r}; it must be a whole number")
        return None if value is None else int(value)

    def names(self, key: str) -> tuple[str, ...]:
        value = self._take(key, [])
        if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
            raise self.error(key, 'must be a list of names: ["ann", "bob"]')
        return tuple(each.strip() for each in value)

    def section(self, key: str) -> TomlSection:
        return TomlSection(self.path, f"{self.name}.{key}", self._take(key, {}))

    def table(self, key: str) -> TomlSection:
        return TomlSection(self.path, key, self._take(key, None if key == "study" else {}))

    def any(self, key: str) -> Any:
        return self._take(key, None)

    def end(self) -> None:
        for key in self.values:
            raise InputError(
                f"{self.path}: unknown key {key!r} in [{self.name}]{did_you_mean(key, self.known)}; "
                f"it may have {', '.join(self.known)}"
            )


def read_study(path: Path) -> StudyFile:
    """The study that a TOML file describes, with its items."""
    top = TomlSection(path, "file", _toml(path))
    study, access, collection = (top.table(key) for key in ("study", "access", "collection"))
    top.end()
    kind = study.choice("kind", KINDS, "pairs", also=SINGULAR)
    name = study.text("name")
    if not NAME.fullmatch(name):
        raise study.error("name", f"is {name!r}; it is part of addresses: use letters, digits, '-', '_' and '.' only")
    items_path = _beside(study, path, "items", study.text("items"))
    items = tuple(read_table(items_path))
    practice = study.text("practice", "")
    language = study.text("language", "en")
    spoken = language[:2].lower() if language[:2].lower() in QUESTIONS else "en"
    scale = _scale(study, kind, SCALES[spoken])
    made = StudyFile(
        path=path,
        media=items_path.parent,
        name=name,
        title=study.text("title", name) or name,
        question=study.text("question", QUESTIONS[spoken][kind]),
        kind=kind,
        instructions=study.text("instructions", ""),
        ties=study.flag("ties", True),
        scale=scale,
        list_size=study.whole("list_size", 5, 3, 20) or 5,
        language=language,
        items=items,
        practice=tuple(read_table(_beside(study, path, "practice", practice))) if practice else (),
        access=_access(access),
        collection=_collection(collection, path, kind, items, scale),
    )
    for section in (study, access, collection):
        section.end()
    _check_tasks(made, items_path)
    return made


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not a text in UTF-8") from None
    except (ValueError, RecursionError) as error:  # of a number of 5,000 digits, and of 5,000 brackets
        raise InputError(f"{path}: is not TOML: {error}") from None


def _beside(section: TomlSection, path: Path, key: str, name: str) -> Path:
    """A file that the study names, in its own folder or below."""
    found = path.parent / name
    if not found.is_file():
        raise section.error(key, f"names the file {name!r}, which does not exist in {path.parent or '.'}")
    return found


def _scale(study: TomlSection, kind: str, usual: tuple[str, ...]) -> tuple[tuple[float, str], ...]:
    """The grades: labels from the worst to the best, or tables of grade and label."""
    given = study.any("scale")
    if given is None:
        return tuple((float(grade), label) for grade, label in enumerate(usual))
    if kind != "grades":
        raise study.error("scale", "is for studies of kind grades")
    wanted = 'must be labels from the worst to the best, ["bad", "good"], or [{grade = 0, label = "bad"}, …]'
    if not isinstance(given, list) or not 2 <= len(given) <= 20:
        raise study.error("scale", wanted)
    found = []
    for place, each in enumerate(given):
        if isinstance(each, str):
            each = {"grade": place, "label": each}
        if not isinstance(each, Mapping) or set(each) != {"grade", "label"} or not is_number(each["grade"]):
            raise study.error("scale", wanted)
        found.append((float(each["grade"]), str(each["label"])))
    if len({grade for grade, _ in found}) < len(found):
        raise study.error("scale", "has a grade twice")
    return tuple(sorted(found))


def _access(section: TomlSection) -> Access:
    mode = section.choice("mode", MODES, "open")
    annotators = section.names("annotators")
    if mode == "listed" and not annotators:
        raise section.error("annotators", 'is missing: the mode "listed" needs annotators = ["ann", "bob"]')
    return Access(mode, annotators, section.number("days", 30.0, 0.0, 3650) or 30.0)


def _collection(
    section: TomlSection, path: Path, kind: str, items: tuple[NewItem, ...], scale: tuple[tuple[float, str], ...]
) -> Collection:
    policy = section.choice("policy", POLICIES, USUAL_POLICY[kind])
    if policy in KINDS and policy != kind:
        raise section.error("policy", f"is {policy!r}, which is for studies of kind {policy}")
    limits = section.section("caps")
    caps = Caps(
        seconds=section.number("lease", 300.0, 1.0, 86400.0) or 300.0,
        budget=section.whole("budget", None, 1),
        annotator=limits.whole("annotator", None, 1),
        item=limits.whole("item", None, 1),
        repeat=section.flag("repeat", kind == "grades"),
    )
    limits.end()
    stopping = section.section("stopping")
    rules = {
        "width": stopping.number("width", None, 1e-9),
        "top_k": stopping.whole("top_k", None, 1),
        "probability": stopping.number("probability", None, 0.5, 0.999999),
    }
    stopping.end()
    settings = section.any("settings") or {}
    if not isinstance(settings, Mapping):
        raise section.error("settings", "must be a table of settings of the policy: { gamma = 1.0 }")
    _check_settings(section, policy, settings)
    gold = section.text("gold", "")
    return Collection(
        policy=policy,
        settings=settings,
        caps=caps,
        gold=_gold(_beside(section, path, "gold", gold), kind, items, scale) if gold else (),
        gold_share=section.number("gold_share", 0.1, 0.0, 1.0) or 0.0,
        stopping={key: value for key, value in rules.items() if value is not None},
        cost=section.number("cost", None, 0.0),
        currency=section.text("currency", ""),
        seed=section.whole("seed", 0, 0) or 0,
    )


def _check_settings(section: TomlSection, policy: str, settings: Mapping[str, Any]) -> None:
    if settings:
        from crowdrank.collect.policies import policy_of

        try:
            policy_of(policy, settings)
        except InputError as error:
            raise section.error("settings", f"cannot be used: {error}") from None


def _gold(
    path: Path, kind: str, items: tuple[NewItem, ...], scale: tuple[tuple[float, str], ...]
) -> tuple[Candidate, ...]:
    """Questions with known answers: left, right, winner of pairs; item, grade of grades."""
    if kind == "rankings":
        raise InputError(f"{path}: gold is for studies of kind pairs or grades")
    task_of: dict[str, list[str]] = {}
    for each in items:
        task_of.setdefault(each.name, []).append(each.task)
    found = []
    for place, row in read_rows(path, {"pairs": ("left", "right", "winner"), "grades": ("item", "grade")}[kind]):
        shown = (row["left"], row["right"]) if kind == "pairs" else (row["item"],)
        for name in shown:
            if name not in task_of:
                raise InputError(f"{place}: item {name!r} is not in the table of items")
        task = row.get("task") or task_of[shown[0]][0]
        if any(task not in task_of[name] for name in shown):
            raise InputError(f"{place}: {' and '.join(shown)} are not both in the task {task!r}")
        found.append(Candidate(task, shown, _known_answer(place, kind, row, shown, scale)))
    return tuple(found)


def _known_answer(
    place: str, kind: str, row: Mapping[str, str], shown: tuple[str, ...], scale: tuple[tuple[float, str], ...]
) -> dict[str, Any]:
    if kind == "pairs":
        if row["winner"] not in (*shown, "tie"):
            raise InputError(f"{place}: winner {row['winner']!r} is neither {shown[0]!r} nor {shown[1]!r} nor 'tie'")
        return {"tie": True} if row["winner"] == "tie" else {"winner": row["winner"]}
    for grade, label in scale:
        if row["grade"] == label or _as_number(row["grade"]) == grade:
            return {"grade": grade}
    raise InputError(f"{place}: grade {row['grade']!r} is not on the scale: {', '.join(f'{g:g}' for g, _ in scale)}")


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def check_name(kind: str, name: str, place: str) -> None:
    """Refuse an item whose name means something else in files of pairs."""
    if kind == "pairs" and name in TIE_WORDS:
        raise InputError(f"{place}: an item is called {name!r}, but in files of pairs this word is a tie; rename it")


def _check_tasks(study: StudyFile, path: Path) -> None:
    """Pairs need two items of a task, rankings three."""
    count: dict[str, int] = {}
    for each in study.items:
        count[each.task] = count.get(each.task, 0) + 1
    for each in study.items:
        check_name(study.kind, each.name, str(path))
    least = {"pairs": 2, "grades": 1, "rankings": 2}[study.kind]
    if not count:
        raise InputError(f"{path}: has no items")
    if max(count.values()) < least:
        raise InputError(f"{path}: a study of {study.kind} needs at least {least} items in a task")
