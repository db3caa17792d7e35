"""Sizes, rates, origins, headers, and content that cannot run."""

from __future__ import annotations

import base64
import logging

import pytest

from crowdrank.server.errors import ApiError
from crowdrank.server.limits import Rate, RateLimits, Rates

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def study(hall):
    return hall()


@pytest.mark.parametrize(
    "address", ["/", "/s/fruit", "/static/annotate.js", "/static/none", "/api/v1/studies/fruit/study"]
)
def test_headers_of_every_answer(study, address):
    headers = study.client.get(address, follow_redirects=False).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    ("origin", "status"),
    [("http://testserver", 200), ("https://evil.example", 403), ("null", 403), ("http://testserver.evil.example", 403)],
)
def test_requests_of_other_sites_are_refused(study, origin, status):
    assert study.stranger().request("POST", "join", json={}, headers={"Origin": origin}).status_code == status


def test_large_requests_are_refused(study):
    ann = study.join()
    assert ann.request("POST", "judgments", content=b"[" + b" " * 3_000_000 + b"]").status_code == 413
    chunks = (b" " * 100_000 for _ in range(30))  # without a header that says how much will come
    assert ann.request("POST", "judgments", content=chunks).status_code == 413
    many = [{"key": str(number), "question": "1", "tie": True} for number in range(1001)]
    assert ann.request("POST", "judgments", json=many).status_code == 422
    assert ann.request("GET", "questions?count=101").status_code == 422


def test_rates_by_token_address_and_failure(hall):
    study = hall(rates=Rates(token=Rate(5, 0), address=Rate(40, 0), join=Rate(3, 0), failure=Rate(4, 0)))
    ann, bob = study.join(), study.join()
    assert [ann.request("GET", "judgments").status_code for _ in range(6)] == [200] * 5 + [429]
    assert bob.request("GET", "judgments").status_code == 200
    study.join()
    assert study.stranger().request("POST", "join", json={}).status_code == 429
    wrong = study.stranger("wrong")
    assert [wrong.request("GET", "judgments").status_code for _ in range(5)] == [401] * 4 + [429]
    assert bob.request("GET", "judgments").status_code == 200  # who has a token is not locked out
    codes = [study.client.get("/api/v1/studies/fruit/study").status_code for _ in range(40)]
    assert codes[-1] == 429


def test_rates_recover():
    limits = RateLimits(Rates(join=Rate(1, 1e9)))
    for _ in range(3):
        limits.check_join("here")
    with pytest.raises(ApiError, match="too many"):
        RateLimits(Rates(join=Rate(0, 0))).check_join("here")


@pytest.fixture
def content(hall, tmp_path):
    """A study with dangerous content."""
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "pixel.png").write_bytes(PIXEL)
    (folder / "secret.txt").write_text("secret")
    (folder / "items.csv").write_text(
        "id,markdown,html,image\n"
        'a,"<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://evil.example/y.png)",,pixel.png\n'
        'b,,"<script>alert(1)</script><img src=https://evil.example/y.png>",\n'
    )
    (folder / "s.toml").write_text('[study]\nname = "s"\nkind = "pairs"\nitems = "items.csv"\n')
    return hall(paths=[folder / "s.toml"])


def test_content_cannot_run_or_load(content):
    (question,) = content.join().questions(1)
    items = {item["id"]: item for item in question["items"]}
    html = items["a"]["html"]
    assert "<script" not in html
    assert "<img" not in html
    assert 'href="javascript' not in html
    page = content.client.get(items["b"]["frame"])
    policy = page.headers["content-security-policy"]
    assert policy.endswith("sandbox")  # no scripts, no origin
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert "img-src data:" in policy
    assert page.headers["x-frame-options"] == "SAMEORIGIN"
    assert content.client.get(items["a"]["image"]).content == PIXEL


def test_media_have_no_other_addresses(content):
    (question,) = content.join().questions(1)
    address = next(item["image"] for item in question["items"] if "image" in item)
    start = address.rpartition("/")[0]
    for wrong in (
        "a",
        "b.html",
        "pixel.png",
        "../secret.txt",
        "%2e%2e%2fsecret.txt",
        address.rpartition("/")[2] + ".html",
    ):
        assert content.client.get(f"{start}/{wrong}").status_code == 404
    for wrong in ("..%2fapp.py", "../app.py", "%2fetc%2fpasswd"):
        assert content.client.get(f"/static/{wrong}").status_code == 404


def test_secrets_are_never_logged(study, caplog):
    caplog.set_level(logging.DEBUG)
    owner, ann = study.owner(), study.join()
    ann.judge(2)
    ann.request("GET", "questions", headers={"Authorization": f"Bearer {ann.token}x"})
    link = owner.ok("POST", "invitations", json={"count": 1})["invitations"][0]["link"]
    owner.ok("GET", "consensus?wait=20")
    said = "\n".join(
        record.getMessage()
        for record in caplog.records
        if record.name.startswith(("crowdrank", "sqlalchemy", "uvicorn"))
    )
    assert not any(secret in said for secret in (owner.token, ann.token, link.rpartition("=")[2]))


def test_errors_are_sentences_with_codes(study):
    for answer in (
        study.client.get("/api/v1/studies/none/study"),
        study.client.get("/nothing"),
        study.client.post("/api/v1/studies/fruit/study"),
        study.stranger().request("POST", "join", content=b"{"),
        study.stranger().request("POST", "join", json={"unknown": 1}),
        study.stranger().request("GET", "questions"),
    ):
        assert answer.status_code >= 400
        assert set(answer.json()) == {"error", "code"}
