"""Small exports of Label Studio and Argilla, with what real ones have; exports.py has those of other tools."""

from __future__ import annotations

import io
from typing import Any

import polars as pl


def label_studio(**changes: Any) -> list[dict[str, Any]]:
    """Two pairwise tasks by three users, one skipped, one answered by nobody; and a prediction."""
    return [
        {
            "id": 101,
            "data": {"model_a": "gpt", "model_b": "llama", "prompt": "Où?", "lang": "fr"},
            "annotations": [
                _pairwise(1, 7, "left", "2024-05-31T12:00:00.000Z"),
                _pairwise(2, {"id": 8, "email": "zoë@example.org"}, "right", "2024-05-31T12:05:00.000Z"),
                {**_pairwise(3, 9, "left", "2024-05-31T12:06:00Z"), "was_cancelled": True},
                {**_pairwise(4, 9, "left", "2024-05-31T12:07:00Z"), "result": []},
            ],
            "predictions": [
                {"model_version": "judge-1", "score": 0.8, "result": _pairwise(5, 0, "left", "")["result"]}
            ],
            **changes,
        },
        {
            "id": 102,
            "data": {"model_a": "llama", "model_b": "mistral", "prompt": "Why?", "lang": "en"},
            "annotations": [_pairwise(6, 7, "right", "2024-06-01T12:00:00.000Z")],
            "predictions": [],
        },
        {"id": 103, "data": {"model_a": "gpt", "model_b": "mistral", "prompt": "", "lang": "en"}, "annotations": []},
    ]


def _pairwise(number: int, user: Any, side: str, time: str) -> dict[str, Any]:
    result = {"from_name": "pw", "to_name": "left,right", "type": "pairwise", "value": {"selected": side}}
    common = {"id": number, "completed_by": user, "was_cancelled": False, "ground_truth": False, "lead_time": 3.5}
    return {**common, "created_at": time, "result": [result]}


CANCELLED = {"was_cancelled": True}


def ratings() -> list[dict[str, Any]]:
    """Ratings of documents, one of them known to be right, and a comment."""
    rows = [("d1", 4, 5), ("d2", 1, 2), ("d3", 3, 3)]
    return [
        {
            "id": number,
            "data": {"doc": name, "query": "q"},
            "annotations": [
                *(_rating(10 * number + user, user, grade) for user, grade in enumerate(grades, 1)),
                {
                    **_rating(10 * number + 9, 99, max(grades)),
                    "ground_truth": name == "d1",
                    "was_cancelled": name != "d1",
                },
            ],
        }
        for number, (name, *grades) in enumerate(rows, 1)
    ]


def _rating(number: int, user: int, grade: int) -> dict[str, Any]:
    results = [
        {"from_name": "stars", "to_name": "doc", "type": "rating", "value": {"rating": grade}},
        {"from_name": "why", "to_name": "doc", "type": "textarea", "value": {"text": ["so"]}},
    ]
    return {"id": number, "completed_by": user, "was_cancelled": False, "ground_truth": False, "result": results}


def choices(words: dict[tuple[int, int], str]) -> list[dict[str, Any]]:
    """(task, user) → the word chosen."""
    tasks = sorted({task for task, _ in words})
    return [
        {
            "id": task,
            "data": {"text": f"text {task}"},
            "annotations": [
                {
                    "id": 100 * task + user,
                    "completed_by": user,
                    "result": [
                        {"from_name": "quality", "to_name": "text", "type": "choices", "value": {"choices": [word]}}
                    ],
                }
                for (other, user), word in words.items()
                if other == task
            ],
        }
        for task in tasks
    ]


def ranker(value: Any) -> list[dict[str, Any]]:
    result = {"from_name": "order", "to_name": "list", "type": "ranker", "value": {"ranker": value}}
    return [{"id": 1, "data": {"items": []}, "annotations": [{"id": 5, "completed_by": 1, "result": [result]}]}]


def argilla() -> list[dict[str, Any]]:
    """Ratings and rankings of three users, a text question, and suggestions by a model."""
    return [
        {
            "id": f"rec-{number}",
            "fields": {"text": "été", "doc": name},
            "metadata": {"lang": "fr" if number == 1 else "en"},
            "suggestions": {"relevance": {"value": grades[0], "score": 0.9, "agent": "gpt-4o"}},
            "responses": {
                "relevance": [{"value": grade, "user_id": f"user-{user}"} for user, grade in enumerate(grades)],
                "order": [{"value": ["b", "a", "c"], "user_id": "user-0"}],
                "comment": [{"value": "nice", "user_id": "user-0"}],
            },
            "vectors": {},
            "status": "completed",
            "_server_id": f"s{number}",
        }
        for number, (name, grades) in enumerate([("d1", [5, 4]), ("d2", [1, 2]), ("d3", [3])], 1)
    ]


ARGILLA_1 = [
    {
        "id": "1",
        "fields": {"text": "x"},
        "responses": [
            {"user_id": "u1", "status": "submitted", "values": {"rating": {"value": 3}, "note": {"value": "so"}}},
            {"user_id": "u2", "status": "discarded", "values": {"rating": {"value": 1}}},
        ],
        "suggestions": [{"question_name": "rating", "value": 4, "agent": "gpt"}],
    }
]
ARGILLA_HUB = [
    {
        "id": f"r{n}",
        "q.responses": [n, 2],
        "q.responses.users": ["a", "b"],
        "q.suggestion": 3,
        "q.suggestion.agent": "g",
    }
    for n in (1, 4)
]
STUDIO_0 = [
    {
        "id": 1,
        "data": {"model_a": "gpt", "model_b": "llama"},
        "completions": [
            {
                "id": 1,
                "completed_by": 7,
                "result": [{"from_name": "p", "type": "pairwise", "value": {"selected": "left"}}],
            },
            {"id": 2, "skipped": True, "result": []},
        ],
    }
]


def argilla_table(users: int = 2) -> bytes:
    frame = pl.DataFrame(
        {
            "id": ["r1", "r2", "r3"],
            "text": ["x", "y", "z"],
            "lang": ["fr", "en", "en"],
            "relevance.responses": [[5, 4], [1, 2], [3]],
            "relevance.responses.users": [["u1", "u2"][:users], ["u1", "u2"], ["u1"]],
            "relevance.responses.status": [["submitted", "submitted"], ["submitted", "draft"], ["discarded"]],
            "relevance.suggestion": [5, None, 2],
            "relevance.suggestion.agent": ["gpt", None, "gpt"],
        }
    )
    return parquet(frame)


def parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
