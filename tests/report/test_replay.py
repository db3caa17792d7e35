import polars as pl

from crowdrank.report import replay_curves


def test_a_line_and_a_band_for_each_policy():
    curves = pl.DataFrame(
        {"policy": ["b", "b", "a", "a"], "seed": [0, 1, 0, 1], "votes": [50] * 4, "acc": [0.5, 0.7, 0.6, 0.6]}
    )
    chart = replay_curves(curves).to_dict()
    assert [layer["mark"]["type"] for layer in chart["layer"]] == ["area", "line"]
    assert chart["layer"][1]["encoding"]["color"]["sort"] == ["b", "a"]
    (values,) = chart["datasets"].values()
    assert len(values) == 4
    assert replay_curves(curves.to_pandas()).to_dict() == chart


def test_it_can_be_drawn(tmp_path):
    curves = pl.DataFrame({"policy": ["a"] * 3, "seed": [0] * 3, "votes": [50, 100, 150], "acc": [0.5, 0.7, 0.8]})
    replay_curves(curves).save(tmp_path / "curve.svg")
    assert "<svg" in (tmp_path / "curve.svg").read_text()[:500]
