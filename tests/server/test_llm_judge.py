"""The example of an LLM as an annotator, with a fake model and a real server."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from crowdrank.client import Client, ClientError

PATH = Path(__file__).parents[2] / "examples" / "llm_judge.py"


@pytest.fixture(scope="module")
def example():
    spec = spec_from_file_location("llm_judge", PATH)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prefers_low(prompt: str) -> str:
    """A model that knows the truth: the text with the lower number is better."""
    one, other = (int(line.split()[-1]) for line in prompt.splitlines() if line.startswith(("A: ", "B: ")))
    return "A" if one < other else "B"


def test_a_batch_in_both_orders(process, study_files, tmp_path, example):
    server = process(study_files(tmp_path / "s", items=4), "--port", "0")
    client = Client(server.url, "fruit")
    assert client.join(annotator="fake-v1", details={"model": "fake"}) == "fake-v1"
    asked = []

    def ask(prompt):
        asked.append(prompt)
        return prefers_low(prompt)

    details = {"model": "fake", "prompt": "v1"}
    assert example.judge(client, "Which?", ask, details) == 6  # all pairs of four items
    assert len(asked) == 6 * 2 * example.REPEATS
    owner = Client(server.url, "fruit", server.owner_token)
    found = owner.get("export.json")["judgments"]
    assert all(each["winner"] == min(each["items"]) for each in found)
    assert all(each["details"]["model"] == "fake" and each["details"]["prompt"] == "v1" for each in found)
    history = client.get("judgments")["judgments"]
    client.edit(history[0]["key"], tie=True)
    client.undo(history[1]["key"])
    assert len(owner.get("export.json")["judgments"]) == 5
    with pytest.raises(ClientError) as refused:
        client.get("consensus")
    assert (refused.value.status, refused.value.code) == (403, "owner_only")
    # A model that always prefers the first position has no preference.
    (question,) = client.questions(1)
    assert example.answer(question, "Which?", lambda _: "A", details)["tie"] is True
    assert server.end() in (0, -15)
