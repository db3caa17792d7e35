"""An LLM as an annotator of `crowdrank serve`: leases questions, asks in both orders, several times, and submits.

    python examples/llm_judge.py http://127.0.0.1:8000 my-study --model gpt-5 --prompt-version v2

`ask` is the only part that knows a provider: replace it by a call of yours. It gets a prompt and returns "A", "B" or
"tie". An LLM often prefers what it reads first. So each pair is asked in both orders, `REPEATS` times each: what wins
most answers wins, and an even split is a tie. Model and version of the prompt are stored with every judgment, so
that `GET /export.json` tells them apart.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.request import Request, urlopen

from crowdrank.client import Client

BATCH = 5  # questions at a time
REPEATS = 2  # of each order
PROMPT = """{question}

A: {a}

B: {b}

Answer with one word: A, B or tie."""

Ask = Callable[[str], str]


def judge(client: Client, question_text: str, ask: Ask, details: dict[str, Any], most: int = 10**9) -> int:
    """Answer questions until there are none left; how many judgments were stored."""
    done = 0
    while done < most:
        questions = client.questions(count=min(BATCH, most - done))
        if not questions:
            return done
        done += len(client.submit([answer(question, question_text, ask, details) for question in questions]))
    return done


def answer(question: dict[str, Any], question_text: str, ask: Ask, details: dict[str, Any]) -> dict[str, Any]:
    """The judgment about a pair: the majority of all answers in both orders."""
    left, right = question["items"]
    started, votes = time.monotonic(), Counter()
    for first, second in ((left, right), (right, left)) * REPEATS:
        said = ask(PROMPT.format(question=question_text, a=text_of(first), b=text_of(second))).strip().lower()
        votes[{"a": first["id"], "b": second["id"]}.get(said, "tie")] += 1
    by_item = votes[left["id"]] - votes[right["id"]]
    result = {"tie": True} if by_item == 0 else {"winner": left["id"] if by_item > 0 else right["id"]}
    seconds = time.monotonic() - started
    return {"question": question["id"], **result, "seconds": seconds, "details": {**details, "votes": dict(votes)}}


def text_of(item: dict[str, Any]) -> str:
    """What the model reads of an item."""
    return item.get("text") or item.get("html") or item["title"]


def ask_provider(prompt: str, model: str) -> str:
    """One answer of a server that speaks OpenAI's protocol; LLM_URL and LLM_KEY say which."""
    body = {"model": model, "messages": [{"role": "user", "content": prompt}], "temperature": 1.0}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['LLM_KEY']}"}
    request = Request(f"{os.environ['LLM_URL']}/chat/completions", json.dumps(body).encode(), headers)
    with urlopen(request, timeout=60) as answered:
        return json.load(answered)["choices"][0]["message"]["content"]


def main() -> None:
    """Join the study, or go on with the token in LLM_TOKEN, and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("study")
    parser.add_argument("--model", required=True)
    parser.add_argument("--prompt-version", default="v1")
    parser.add_argument("--most", type=int, default=10**9)
    given = parser.parse_args()
    details = {"model": given.model, "prompt": given.prompt_version, "repeats": REPEATS}
    client = Client(given.url, given.study, os.environ.get("LLM_TOKEN"))
    if client.token is None:
        client.join(annotator=f"{given.model}-{given.prompt_version}", details=details)
    question = client.get("study")["question"]
    judge(client, question, lambda prompt: ask_provider(prompt, given.model), details, given.most)


if __name__ == "__main__":
    main()
