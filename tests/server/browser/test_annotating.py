"""The annotator's page: by keyboard and by touch, undone, changed, reloaded, offline, and by two people at once."""

import urllib.error
from collections import Counter

import pytest

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def answer_of(judgment):
    return {key: judgment[key] for key in ("winner", "tie") if judgment.get(key)}


def test_judging_by_keyboard(server, visit):
    study = server["pairs"]
    view = visit(study.join).start()
    first = view.press("ArrowRight")
    second = view.press("ArrowLeft")
    view.press("ArrowDown")
    view.press("s")
    rows = study.stored(3)
    assert [answer_of(row) for row in rows] == [{"winner": first[1]}, {"winner": second[0]}, {"tie": True}]
    assert view.page.locator("#count").text_content() == "3 done"
    study.skipped(1)
    assert all(0 < row["seconds"] < 60 for row in rows)
    view.healthy(study.url)


def test_judging_by_touch_on_a_phone(server, visit):
    study = server["touch"]
    view = visit(study.join, **PHONE).start()
    upper, lower = (view.page.locator(".card").nth(n).bounding_box() for n in (0, 1))
    assert upper["y"] + upper["height"] <= lower["y"]  # one below the other
    assert view.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    first = view.act(lambda: view.page.locator(".card").nth(1).tap())
    second = view.act(lambda: view.page.locator(".choice").first.tap())
    view.act(lambda: view.page.get_by_role("button", name="About equal").tap())
    assert [answer_of(row) for row in study.stored(3)] == [{"winner": first[1]}, {"winner": second[0]}, {"tie": True}]
    view.healthy(study.url)


def test_a_double_click_answers_one_question(server, visit):
    study = server["twice"]
    view = visit(study.join).start()
    view.act(lambda: view.page.locator(".choice").first.dblclick())
    view.page.wait_for_timeout(300)
    assert len(study.stored(1)) == 1
    view.page.keyboard.down("ArrowLeft")
    view.page.keyboard.down("ArrowLeft")  # held down: repeats
    view.page.keyboard.up("ArrowLeft")
    view.page.wait_for_timeout(300)
    assert len(study.stored(2)) == 2


def test_without_ties_the_arrow_down_does_nothing(server, visit):
    study = server["strict"]
    view = visit(study.join).start()
    before = view.question()
    assert view.page.get_by_role("button", name="About equal").count() == 0
    view.page.keyboard.press("ArrowDown")
    view.page.wait_for_timeout(200)
    assert view.question() == before


def test_undo_asks_the_same_question_again(server, visit):
    study = server["undo"]
    view = visit(study.join).start()
    before = view.question()
    items = view.press("ArrowLeft")
    study.stored(1)
    view.press("u")
    assert view.question() == before
    assert view.items() == items
    assert study.stored(0) == []
    view.press("ArrowRight")
    assert study.stored(1)[0]["winner"] == items[1]
    assert view.page.locator("#count").text_content() == "1 done"
    view.page.reload()  # after a reload the last answer is found in the history
    view.question()
    view.press("U")
    assert view.items() == items
    assert study.stored(0) == []
    view.healthy(study.url)


def test_answers_are_changed_in_the_history(server, visit):
    study = server["edit"]
    view = visit(study.join).start()
    items = view.press("ArrowLeft")
    waiting = view.question()
    view.page.get_by_role("button", name="My answers").click()
    view.page.get_by_role("button", name="Change").click()
    assert view.items() == items
    assert view.page.locator(".choice.chosen").count() == 1
    view.page.keyboard.press("ArrowRight")
    view.shows(waiting)
    assert [row["winner"] for row in study.stored(1)] == [items[1]]
    view.press("s")
    view.page.get_by_role("button", name="My answers").click()
    view.page.get_by_role("button", name="Change: Skipped").click()  # what was skipped is asked again
    view.shows(waiting)
    view.press("ArrowLeft")
    assert len(study.stored(2)) == 2
    view.healthy(study.url)


def test_a_reload_shows_the_same_question(server, visit):
    study = server["reload"]
    view = visit(study.join).start()
    view.press("ArrowLeft")
    before, items = view.question(), view.items()
    for _ in range(2):
        view.page.reload()
        assert view.question() == before
        assert view.items() == items
    assert len(study.stored(1)) == 1


def test_answers_given_offline_are_sent_once(server, visit):
    study = server["offline"]
    view = visit(study.join).start()
    view.press("ArrowLeft")
    view.sent()  # the page has three more questions in stock
    view.context.set_offline(True)
    view.press("ArrowLeft")
    view.press("ArrowRight")
    assert view.page.locator("#unsent").text_content() == "2 unsent"
    view.page.keyboard.press("u")  # what was not sent is taken back at once
    view.page.wait_for_function("() => document.querySelector('#unsent').textContent === '1 unsent'")
    view.press("ArrowRight")
    assert len(study.stored()) == 1
    view.page.close()  # unsent answers outlive the page
    view.context.set_offline(False)
    again = visit(study.join, context=view.context)
    rows = study.stored(3)
    again.sent()
    assert len({row["key"] for row in rows}) == 3
    again.press("ArrowLeft")
    assert len(study.stored(4)) == 4


def test_an_answer_whose_receipt_was_lost_counts_once(server, visit):
    study = server["lost"]
    view = visit(study.join).start()
    lost = []

    def lose(route):
        if route.request.method == "POST" and len(lost) < 2:
            lost.append(route.fetch().status)  # it is stored, but the page does not hear of it
            route.abort()
        else:
            route.continue_()

    view.page.route("**/judgments", lose)
    view.press("ArrowLeft")
    view.page.wait_for_function("() => document.querySelector('#unsent').textContent === ''", timeout=20_000)
    assert lost == [200, 200]
    assert len(study.stored(1)) == 1


def test_two_annotators_at_once(server, visit):
    study = server["two"]
    one, two = visit(study.join).start(), visit(study.join).start()
    assert one.question() != two.question()
    for _ in range(3):
        assert set(one.items()) != set(two.items())  # nobody is asked what another is being asked
        one.press("ArrowLeft")
        two.press("ArrowRight")
    rows = study.stored(6)
    assert sorted(Counter(row["annotator"] for row in rows).values()) == [3, 3]


def test_practice_is_never_sent(server, visit):
    study = server["practice"]
    view = visit(study.join)
    view.page.get_by_role("button", name="Practise first").click()
    assert "Practice" in view.page.locator("#banner").text_content()
    view.page.keyboard.press("ArrowLeft")
    view.page.get_by_role("button", name="Start").wait_for()
    assert not [url for url in view.requests if url.endswith(("/judgments", "/join"))]
    view.start()
    assert not view.page.locator("#banner").is_visible()


def test_an_invitation_is_for_one_annotator_and_leaves_the_address_bar(server, visit):
    study = server["invited"]
    (made,) = study.call("POST", "/invitations", {"names": ["Ada"]})["invitations"]
    view = visit(made["link"])
    view.page.get_by_role("button", name="Start").wait_for()
    assert view.page.url == study.join  # nobody reads the code from the screen or the history
    assert study.call("GET", "/invitations")["invitations"][0]["state"] == "unused"  # looking is not joining
    view.start()
    view.page.reload()
    view.question()
    visit(made["link"]).start()  # on another device the same annotator
    assert [each["id"] for each in study.call("GET", "/annotators")["annotators"]] == ["Ada"]
    study.call("DELETE", f"/invitations/{made['id']}")
    view.page.reload()
    view.page.get_by_text("by invitation").wait_for()  # a token that was revoked is forgotten
    late = visit(made["link"])
    late.page.get_by_role("button", name="Start").click()
    late.page.get_by_text("not valid").wait_for()
    bare = visit(study.join)
    bare.page.get_by_text("by invitation").wait_for()
    assert bare.page.get_by_role("button", name="Start").count() == 0


def test_listed_annotators_say_who_they_are(server, visit):
    study = server["listed"]
    view = visit(study.join)
    view.page.get_by_label("Your name").fill("carol")
    view.page.get_by_role("button", name="Start").click()
    view.page.get_by_text("not on the list").wait_for()
    view.page.get_by_label("Your name").fill("ann")
    view.page.keyboard.press("Enter")
    view.question()
    view.press("ArrowLeft")
    assert study.stored(1)[0]["annotator"] == "ann"


@pytest.mark.parametrize(
    ("name", "language", "start", "skip", "tie"),
    [
        ("german", "de", "Beginnen", "Überspringen", "Etwa gleich"),
        ("french", "fr", "Commencer", "Passer", "À peu près égaux"),
    ],
)
def test_languages(name, language, start, skip, tie, server, visit):
    view = visit(server[name].join)
    view.page.get_by_role("button", name=start).click()
    view.page.get_by_role("button", name=skip).wait_for()
    assert view.page.get_by_role("button", name=tie).is_visible()
    assert view.page.evaluate("document.documentElement.lang") == language


def test_a_limit_a_pause_and_the_end(server, visit):
    few = visit(server["few"].join).start()
    few.press("ArrowLeft")
    assert few.page.locator("#count").text_content() == "1 of 2"
    few.page.keyboard.press("ArrowLeft")
    few.page.get_by_text("You have answered all questions").wait_for()
    study = server["pause"]
    study.call("POST", "/state", {"state": "paused"})
    view = visit(study.join)
    view.page.get_by_role("button", name="Start").click()
    view.page.get_by_text("The study is paused").wait_for()
    study.call("POST", "/state", {"state": "open"})
    view.page.reload()
    view.question()
    study.call("POST", "/state", {"state": "closed"})
    view.page.keyboard.press("ArrowLeft")
    view.page.get_by_text("The study is closed").wait_for()
    with pytest.raises(urllib.error.HTTPError):
        study.call("POST", "/join", {})
