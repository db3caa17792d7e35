"""axe-core finds no serious fault by day and by night, on phone and desktop; the keyboard reaches everything."""

import pytest

from chromium import serious

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark", **PHONE}], ids=["day", "night"])
@pytest.mark.parametrize("name", ["practice", "axe-grades", "axe-rankings"])
def test_the_annotators_page(name, options, server, visit):
    view = visit(server[name].join, **options)
    view.page.get_by_role("button", name="Start").wait_for()
    if name == "practice":
        assert serious(view.page) == []
        view.page.get_by_role("button", name="Practise first").click()
        view.question()
        assert serious(view.page) == []
        view.page.get_by_role("button", name="End practice").click()
    view.start()
    assert serious(view.page) == []
    if name == "axe-grades":
        view.press("1")
        view.page.get_by_role("button", name="My answers").click()
        view.page.get_by_role("button", name="Change").first.wait_for()
        assert serious(view.page) == []


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark", **PHONE}], ids=["day", "night"])
def test_the_dashboard(options, server, visit):
    study = server["axe"]
    if not study.stored():
        person = visit(study.join).start()
        for _ in range(4):
            person.press("ArrowLeft")
        study.call("POST", "/invitations", {"names": ["Ada"]})
    view = visit(study.owner, **options)
    view.page.locator("#ranking tbody tr").first.wait_for(timeout=60_000)
    for tab in ("Overview", "Annotators", "Items", "Invite", "Data", "Log"):
        view.page.get_by_role("link", name=tab, exact=True).click()
        view.page.locator("main > section:visible h2").first.wait_for()
        assert serious(view.page) == [], tab
        assert view.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), tab
    for tab, action in (("Items", "Add an item"), ("Invite", "Show on screen")):
        view.page.get_by_role("link", name=tab, exact=True).click()
        view.page.get_by_role("button", name=action).click()
        assert serious(view.page) == [], action
        view.page.keyboard.press("Escape")


def test_the_keyboard_alone_is_enough(server, visit):
    view = visit(server["axe-rankings"].join)
    view.page.get_by_role("button", name="Start").wait_for()
    view.page.keyboard.press("Tab")
    view.page.keyboard.press("Enter")
    view.question()
    focused = "() => document.activeElement.id || document.activeElement.className || document.activeElement.tagName"
    assert view.page.evaluate(focused) == "question"  # a screen reader begins with the question
    names = []
    for _ in range(4):
        view.page.keyboard.press("Tab")
        names.append(view.page.evaluate("() => document.activeElement.getAttribute('aria-label')"))
    assert [name.split()[0] for name in names] == ["Move"] * 4
    assert "place 1 of 4" in names[0]
    view.page.keyboard.press("ArrowDown")
    assert view.page.locator("#live").text_content()  # the new place is said


def test_motion_is_reduced_where_people_ask_for_it(server, visit):
    view = visit(server["pairs"].join, reduced_motion="reduce").start()
    assert view.page.locator(".stage").evaluate("stage => getComputedStyle(stage).animationName") == "none"


def test_long_texts_scroll_and_the_answers_stay_in_sight(server, visit):
    view = visit(server["long"].join).start()
    height = view.page.viewport_size["height"]
    for button in view.page.locator(".choice").all():
        box = button.bounding_box()
        assert box["y"] + box["height"] < height
    text = view.page.locator(".content").first
    before = view.question()
    text.focus()
    view.page.keyboard.press("ArrowDown")  # scrolls, and does not answer "equal"
    view.page.wait_for_function("() => document.querySelector('.content').scrollTop > 0")
    assert view.question() == before
    assert serious(view.page) == []
    view.press("ArrowLeft")
