"""The owner's dashboard: live without a reload, and everything an owner may do."""

import re

import numpy as np
import zxingcpp
from playwright.sync_api import expect


def judge(study, count, choose, name=None):
    """Judgments of an annotator through the API."""
    joined = study.call("POST", "/join", {"annotator": name} if name else {})
    for number in range(count):
        (asked,) = study.call("GET", "/questions?count=1", token=joined["token"])["questions"]
        winner = choose([each["id"] for each in asked["items"]])
        judgment = {"key": f"k{number}", "question": asked["id"], "winner": winner, "seconds": 4}
        study.call("POST", "/judgments", [judgment], token=joined["token"])
    return joined["annotator"]


def opened(visit, study, tab=None, **options):
    view = visit(study.owner, **options)
    view.page.locator("#facts div").first.wait_for()
    if tab:
        view.page.get_by_role("link", name=tab, exact=True).click()
    return view


def fact(view, name):
    return view.page.locator("#facts div", has=view.page.get_by_text(name, exact=True)).locator("dd")


def shows(view, locator, text):
    """Wait for a text without reloading the page."""
    expect(locator).to_contain_text(text, timeout=60_000)


def test_the_ranking_appears_and_moves_without_a_reload(server, visit):
    study = server["live"]
    view = opened(visit, study)
    assert view.page.url == study.join + "/dashboard"  # the token is not in the address any more
    view.page.evaluate("window.stays = true")
    shows(view, view.page.locator("#ranking"), "appears with the first judgments")
    judge(study, 12, min)  # the item with the lowest id always wins
    shows(view, fact(view, "Judgments"), "12")
    rows = view.page.locator("#ranking tbody tr")
    rows.first.wait_for(timeout=60_000)
    person = visit(study.join).start()
    person.press("ArrowLeft")
    shows(view, fact(view, "Judgments"), "13")
    shows(view, fact(view, "Cost"), "1.3")
    shows(view, view.page.locator("#forecast"), "Widest interval")
    shows(view, view.page.locator("#now"), "Rain gardens" if "i0" in person.items() else "")
    expect(rows).to_have_count(8, timeout=60_000)
    ranks = [int(text) for text in view.page.locator("#ranking .rank b").all_text_contents()]
    assert ranks == sorted(ranks)
    assert rows.first.locator("svg .range").count() == 1
    assert re.search(r"between −?[\d.]+ and", rows.first.locator("svg").get_attribute("aria-label"))
    assert view.page.evaluate("window.stays")
    assert len([url for url in view.requests if url.endswith("/events")]) == 1
    view.healthy(study.url)


def test_a_hidden_page_has_no_stream(server, visit):
    study = server["axe"]
    view = opened(visit, study)
    view.page.get_by_text("Live", exact=True).wait_for()
    assert len([url for url in view.requests if url.endswith("/events")]) == 1
    hide = """(state) => {
        Object.defineProperty(document, 'hidden', {value: state, configurable: true});
        document.dispatchEvent(new Event('visibilitychange'));
    }"""
    with view.page.expect_event("requestfailed", lambda request: request.url.endswith("/events")):
        view.page.evaluate(hide, True)
    with view.page.expect_request("**/events"):
        view.page.evaluate(hide, False)


def test_voiding_an_annotator_and_bringing_them_back(server, visit):
    study = server["void"]
    judge(study, 28, min, "ann")  # all pairs of eight items
    judge(study, 12, max, "spam")
    view = opened(visit, study, "Annotators")
    row = view.page.locator("[data-annotator=spam]")
    row.get_by_role("button", name="Void").hover()
    view.page.mouse.down()
    judge(study, 1, min, "late")  # a judgment that arrives while the button is pressed
    view.page.wait_for_timeout(1500)
    view.page.mouse.up()
    row.get_by_role("button", name="Restore").wait_for()
    assert {each["annotator"] for each in study.stored()} == {"ann", "late"}
    view.page.get_by_role("link", name="Overview").click()
    shows(view, view.page.locator("#ranking tbody tr").first, "Rain gardens")  # i0, which ann always prefers
    view.page.get_by_role("link", name="Log").click()
    shows(view, view.page.locator("#log"), "spam")
    view.page.get_by_role("link", name="Annotators").click()
    row.get_by_role("button", name="Restore").click()
    row.get_by_role("button", name="Void").wait_for()
    assert len(study.stored()) == 41  # nothing was deleted
    view.healthy(study.url)


def test_states_items_and_invitations(server, visit):
    study = server["manage"]
    view = opened(visit, study)
    state = view.page.locator(".state")
    for action, words in (("Pause", "Paused"), ("Open", "Open")):
        view.page.locator("#states").get_by_role("button", name=action, exact=True).click()
        shows(view, state, words)
    for action, words in (("Close", "Closed"), ("Freeze", "Frozen"), ("Close", "Closed")):
        view.page.locator("#states").get_by_role("button", name=action, exact=True).click()
        view.page.locator("#dialog").get_by_role("button", name=action, exact=True).click()
        shows(view, state, words)
    view.page.locator("#states").get_by_role("button", name="Open", exact=True).click()
    shows(view, state, "Open")

    view.page.get_by_role("link", name="Items").click()
    view.page.get_by_role("button", name="Add an item").click()
    view.page.get_by_label("Id").fill("new <b>")
    view.page.get_by_label("Title").fill("A late idea")
    view.page.get_by_role("button", name="Add", exact=True).click()
    late = view.page.locator("#items tr", has_text="A late idea")
    late.get_by_role("button", name="Ask").click()
    shows(view, late, "next")
    assert "new <b>" in visit(study.join).start().items()  # the next annotator is asked about it
    late.get_by_role("button", name="Withdraw").click()
    shows(view, late, "withdrawn")

    view.page.get_by_role("link", name="Invite").click()
    view.page.get_by_label("Names").fill("Ada\nBen")
    view.page.get_by_role("button", name="Make links").click()
    links = view.page.locator(".links .link")
    links.nth(1).wait_for()
    assert "#invite=" in links.first.text_content()
    invited = visit(links.first.text_content()).start()
    shows(view, view.page.locator("#invitations tbody tr").first, "used")
    view.page.get_by_role("button", name="Revoke the invitation of Ada").click()
    shows(view, view.page.locator("#invitations tbody tr").first, "revoked")
    invited.page.reload()
    invited.page.get_by_text("not valid").or_(invited.page.get_by_text("revoked")).first.wait_for()
    view.healthy(study.url)


def test_exports_and_imports(server, visit, tmp_path):
    study = server["void"]
    judge(study, 2, min)  # JSON lines of no judgments are empty
    view = opened(visit, study, "Data")
    for name in ("CSV", "Parquet", "JSON lines", "JSON", "Report"):
        with view.page.expect_download(timeout=60_000) as saved:
            view.page.get_by_role("button", name=f"Export {name}", exact=True).click()
        assert saved.value.path().stat().st_size > 0
    (tmp_path / "votes.csv").write_text("annotator,left,right,winner\nzoe,i0,i1,i0\nzoe,i2,i3,i3\n")
    view.page.get_by_label("File").set_input_files(tmp_path / "votes.csv")
    view.page.get_by_role("button", name="Import").click()
    shows(view, view.page.locator("#notice"), "2 judgments imported")
    (tmp_path / "bad.csv").write_text("annotator,left,right,winner\nzoe,i0,i1,i9\n")
    view.page.get_by_label("File").set_input_files(tmp_path / "bad.csv")
    view.page.get_by_role("button", name="Import").click()
    shows(view, view.page.locator("#notice"), "i9")


def test_the_qr_code_is_read_by_another_program(server, visit):
    page = opened(visit, server["live"]).page
    code_of = "link => import('/static/qr.js').then(({qrModules}) => qrModules(link))"
    links = [server["live"].join, *(f"https://rank.example.org/s/study#invite={'aB3_-' * n}" for n in range(1, 36, 4))]
    for link in links:
        light = np.pad(~np.array(page.evaluate(code_of, link)), 4, constant_values=True)
        (code,) = zxingcpp.read_barcodes(np.kron(light, np.ones((4, 4))).astype(np.uint8) * 255)
        assert code.text == link
    assert page.evaluate(code_of, "x" * 214) is None


def test_a_wrong_token_shows_nothing(server, visit):
    study = server["live"]
    view = visit(study.join + "/dashboard#token=wrong")
    view.page.get_by_text("no longer valid").wait_for()
    assert not view.page.locator("main").is_visible()
    bare = visit(study.join + "/dashboard")
    bare.page.get_by_text("Open the owner's link").wait_for()
