"""Who may do what: every route, with every kind of wrong token."""

from __future__ import annotations

import re
import sqlite3

import pytest
from fastapi.routing import APIRoute

from crowdrank.server.limits import Rate, Rates
from crowdrank.store import access

PAGES = {("GET", "/"), ("GET", "/s/{name}"), ("GET", "/s/{name}/dashboard"), ("GET", "/static/{file}")}
PUBLIC = {("GET", "/study"), ("POST", "/join"), ("GET", "/media/{address}")} | PAGES
ANNOTATORS = {
    ("GET", "/questions"),
    ("POST", "/judgments"),
    ("GET", "/judgments"),
    ("DELETE", "/judgments/{key:path}"),
    ("PUT", "/judgments/{key:path}"),
}
API = "/api/v1/studies/{name}"


def routes(app) -> set[tuple[str, str]]:
    """Every route of the application, so that none can be forgotten; those of the API without what begins them all."""
    return {
        (method, route.path.removeprefix(API))
        for route in flat(app.routes)
        if isinstance(route, APIRoute)
        for method in route.methods
    }


def flat(given):
    for route in given:
        inner = getattr(route, "original_router", None)
        yield from flat(inner.routes) if inner is not None else [route]


@pytest.fixture
def two(hall, tmp_path, study_files):
    """Two studies on one server."""
    rates = Rates(failure=Rate(10_000, 1))
    return hall(paths=[study_files(tmp_path / "a", "one"), study_files(tmp_path / "b", "two")], rates=rates)


def test_every_route_refuses_wrong_tokens(two):
    annotator, other, owner = two.join("one"), two.join("two"), two.owner("one")
    served = two.app.state.studies["one"]
    with served.database.write() as connection:
        (row,) = [each for each in access.read_annotators(connection, served.id) if each.name == annotator.name]
        expired = [access.new_token(connection, served.id, who, -1) for who in (row.id, None)]
        revoked = access.new_token(connection, served.id, None, 1)
        access.revoke_tokens(connection, served.id, None, keep=None)
        owner.token = access.new_token(connection, served.id, None, 1)
    wrong = [None, "wrong", "", "x" * 5000, *expired, revoked, other.token, two.owner("two").token]
    found = routes(two.app)
    assert len(found) > 30
    assert found >= PUBLIC | ANNOTATORS
    for method, path in sorted(found - PUBLIC):
        address = re.sub(r"\{[\w:]+\}", "1", path).lstrip("/")
        for token in wrong:
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            answer = two.stranger().request(method, address, headers=headers, json={})
            assert answer.status_code == 401, (method, path, token, answer.text)
            assert answer.json()["code"] in ("no_token", "wrong_token", "expired_token")
        held = owner if (method, path) in ANNOTATORS else annotator
        answer = held.request(method, address, json={})
        assert answer.status_code == 403, (method, path, answer.text)


def test_an_address_that_no_study_has(two):
    assert two.join("one").client.get("/api/v1/studies/three/study").status_code == 404
    assert two.stranger().request("GET", "nothing").status_code == 404


def test_a_token_in_the_address_is_not_one(two):
    annotator = two.join("one")
    assert two.stranger().request("GET", f"questions?token={annotator.token}").status_code == 401


def test_invitations(hall):
    study = hall(rest='[access]\nmode = "invited"')
    owner, stranger = study.owner(), study.stranger()
    refused = stranger.request("POST", "join", json={})
    assert (refused.status_code, refused.json()["code"]) == (403, "invitation_needed")
    assert stranger.request("POST", "join", json={"invite": "wrong"}).status_code == 403
    made = owner.ok("POST", "invitations", json={"names": ["ann", "bob"]})["invitations"]
    code = made[0]["link"].partition("#invite=")[2]
    ann = study.join(invite=code)
    assert ann.name == "ann"
    assert study.join(invite=code).name == "ann"  # the link works again, for the same person
    states = [each["state"] for each in owner.ok("GET", "invitations")["invitations"]]
    assert states == ["used", "unused"]
    assert ann.questions(1)
    owner.ok("DELETE", f"invitations/{made[0]['id']}")
    assert ann.request("GET", "questions").status_code == 401
    assert stranger.request("POST", "join", json={"invite": code}).status_code == 403
    assert owner.request("DELETE", "invitations/999").status_code == 404


def test_listed_annotators(hall):
    study = hall(rest='[access]\nmode = "listed"\nannotators = ["ann", "bob"]')
    stranger = study.stranger()
    assert stranger.request("POST", "join", json={}).status_code == 403
    assert stranger.request("POST", "join", json={"annotator": "eve"}).status_code == 403
    assert study.join(annotator="ann").name == "ann"
    taken = stranger.request("POST", "join", json={"annotator": "ann"})
    assert (taken.status_code, taken.json()["code"]) == (409, "name_taken")


def test_the_database_holds_no_secret(hall, tmp_path):
    study = hall(rest='[access]\nmode = "invited"')
    owner = study.owner()
    link = owner.ok("POST", "invitations", json={"count": 1})["invitations"][0]["link"]
    code = link.partition("#invite=")[2]
    token = study.join(invite=code).token
    assert len(token) >= 22  # 128 bits in base64
    connection = sqlite3.connect(tmp_path / "study.db")
    text = "\n".join(connection.iterdump()).encode()
    connection.close()
    assert not any(secret.encode() in text for secret in (owner.token, code, token))


def test_revoked_tokens(hall):
    study = hall()
    ann, owner, other = study.join(), study.owner(), study.owner()
    owner.ok("POST", f"annotators/{ann.name}/revoke")
    assert ann.request("GET", "questions").status_code == 401
    assert owner.ok("POST", "owners/revoke")["revoked"] >= 1
    assert other.request("GET", "status").status_code == 401
    assert owner.request("GET", "status").status_code == 200


def test_reading_never_changes_anything(hall):
    """A scanner that opens every link without a token joins nothing."""
    study = hall(rest='[access]\nmode = "invited"')
    owner = study.owner()
    link = owner.ok("POST", "invitations", json={"count": 1})["invitations"][0]["link"]
    before = owner.ok("GET", "status")["sequence"]
    for address in ("/", "/s/fruit", "/s/fruit/dashboard", "/api/v1/openapi.json", "/api/v1/studies/fruit/study", link):
        study.client.get(address)
    assert owner.ok("GET", "status")["sequence"] == before
    assert [each["state"] for each in owner.ok("GET", "invitations")["invitations"]] == ["unused"]
