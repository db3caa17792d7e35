"""The pages of grades and of rankings."""


def test_grades_by_key_and_by_button(server, visit):
    study = server["grades"]
    view = visit(study.join).start()
    (first,) = view.press("3")
    (second,) = view.act(lambda: view.page.get_by_role("button", name="bad").click())
    rows = study.stored(2)
    assert [(row["items"], row["grade"]) for row in rows] == [([first], 2), ([second], 0)]
    view.page.get_by_role("button", name="My answers").click()
    view.page.get_by_role("button", name="Change").first.click()
    assert view.page.locator(".choice.chosen").text_content().startswith("1bad")
    view.page.keyboard.press("2")
    view.page.locator("#banner").wait_for(state="hidden")
    assert sorted(row["grade"] for row in study.stored(2)) == [1, 2]
    view.healthy(study.url)


def test_a_ranking_by_keys_buttons_and_dragging(server, visit):
    study = server["rankings"]
    view = visit(study.join).start()
    a, b, c, d = view.items()
    handles = view.page.locator(".handle")
    handles.nth(0).focus()
    view.page.keyboard.press("ArrowDown")
    assert view.items() == [b, a, c, d]
    view.page.keyboard.press("ArrowDown")  # the focus goes with the row
    assert view.items() == [b, c, a, d]
    view.page.locator(f"[data-item={d}]").get_by_role("button", name="up").last.click()
    assert view.items() == [b, c, d, a]
    view.page.locator(f"[data-item={d}] .same").click()  # shares the place of the one above
    handles.nth(0).focus()
    view.press("Enter")
    assert study.stored(1)[0]["ranking"] == [[b], [c, d], [a]]

    a, b, c, d = view.items()
    grip, last = handles.nth(0).bounding_box(), view.page.locator(".row").nth(3).bounding_box()
    view.page.mouse.move(grip["x"] + 10, grip["y"] + 10)
    view.page.mouse.down()
    view.page.mouse.move(grip["x"] + 10, last["y"] + last["height"], steps=8)
    view.page.mouse.up()
    assert view.items() == [b, c, d, a]
    places = view.page.locator(".row > .place").all_text_contents()
    assert places == ["1", "2", "3", "4"]
    view.act(lambda: view.page.get_by_role("button", name="Store this order").click())
    assert study.stored(2)[1]["ranking"] == [[b], [c], [d], [a]]
    view.healthy(study.url)


def test_a_ranking_by_touch(server, visit):
    study = server["rankings"]
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    view = visit(study.join, **phone).start()
    a, b, c, d = view.items()
    drag = """([from, to]) => {
        const handle = document.querySelector('.handle');
        const box = handle.getBoundingClientRect();
        const fire = (name, y) => handle.dispatchEvent(new PointerEvent(name, {
            pointerId: 1, pointerType: 'touch', isPrimary: true, bubbles: true, cancelable: true,
            clientX: box.x + 5, clientY: y, button: name === 'pointermove' ? -1 : 0}));
        handle.setPointerCapture = () => {};  // made-up pointers cannot be captured
        fire('pointerdown', box.y + 5);
        const rows = [...document.querySelectorAll('.row')].map((row) => row.getBoundingClientRect());
        for (let step = 1; step <= 6; step += 1) fire('pointermove', box.y + 5 + (rows[1].bottom - box.y) * step / 6);
        fire('pointerup', rows[1].bottom);
    }"""
    view.page.evaluate(drag, [0, 1])
    assert view.items() == [b, a, c, d]
    assert view.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    view.healthy(study.url)
