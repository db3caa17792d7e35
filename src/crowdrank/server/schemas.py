"""What clients send."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]
Key = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Seconds = Annotated[float, Field(ge=0, le=1e7, allow_inf_nan=False)]
MOST = 1000  # judgments or items in one request


class Body(BaseModel):
    """A body without unknown fields; ids may be written as numbers."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)


class JoinBody(Body):
    """Who joins: with an invitation, by a listed name, or just so."""

    invite: Annotated[str, Field(max_length=200)] | None = None
    annotator: Name | None = None
    details: dict[Name, Any] = Field(default_factory=dict, max_length=50, description="What an LLM tells about itself")


class AnswerBody(Body):
    """An answer: one of winner, tie, grade, ranking and skip."""

    winner: str | None = Field(None, description="The id of the better item")
    tie: bool = False
    grade: float | None = Field(None, allow_inf_nan=False)
    ranking: list[str | list[str]] | None = Field(None, max_length=100, description="Ids, best first")
    skip: bool = False
    seconds: Seconds | None = None
    details: dict[Name, Any] | None = Field(None, max_length=50, description="Of an LLM: model, prompt version")

    def answer(self) -> dict[str, Any]:
        """The answer alone."""
        return {key: getattr(self, key) for key in ("winner", "tie", "grade", "ranking", "skip")}


class JudgmentBody(AnswerBody):
    """A judgment. The client chooses the key; the same key is stored once."""

    key: Key
    question: Annotated[str, Field(max_length=40)]


class JudgmentsBody(Body):
    """Several judgments."""

    judgments: list[JudgmentBody] = Field(max_length=MOST)


class ItemBody(Body):
    """A new item."""

    id: Annotated[str, Field(min_length=1, max_length=200)]
    title: Annotated[str, Field(max_length=1000)] | None = None
    text: str | None = None
    markdown: str | None = None
    image: str | None = Field(None, description="data:image/png;base64,…")
    html: str | None = None
    task: Annotated[str, Field(min_length=1, max_length=400)] | None = None
    owner: Name | None = None
    place: Name | None = None


class ItemsBody(Body):
    """New items."""

    items: list[ItemBody] = Field(min_length=1, max_length=MOST)


class StateBody(Body):
    """The state that a study is to have."""

    state: Annotated[str, Field(pattern="^(open|paused|closed|frozen)$")]


class InvitationsBody(Body):
    """How many invitations, or for whom."""

    count: Annotated[int, Field(ge=1, le=MOST)] | None = None
    names: list[Name] | None = Field(None, max_length=MOST)


class DemoBody(Body):
    """Whether simulated annotators answer."""

    on: bool
