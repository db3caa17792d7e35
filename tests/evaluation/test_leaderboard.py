from crowdrank.evaluation.leaderboard import leaderboard

MEANS = {"a": {"map": 0.5, "tau": float("nan")}, "a-long-name": {"map": 0.25, "tau": -0.125}}


def test_columns_line_up_and_marks_have_a_legend():
    text = leaderboard(MEANS, {"a": 1.5, "a-long-name": 12.25}, {("a-long-name", "map")}, ["one thing"]).splitlines()
    assert text[:3] == [
        "method          map       tau   seconds",
        "a            0.5000       nan      1.50",
        "a-long-name  0.2500†  -0.1250     12.25",
    ]
    assert text[3].startswith("† significantly below the best of its column")
    assert text[4:] == ["note: one thing"]


def test_without_marks_there_is_no_legend():
    assert "†" not in leaderboard(MEANS, {"a": 1.5, "a-long-name": 12.25}, set())
