"""PrefLib's elections: votes with their numbers of voters."""

import pytest

import crowdrank as cr
import exports

X_FILES, EPISODE = "The X-Files: Season 2", "Épisode «2»"


def test_orders_have_counts_and_names(read):
    study = read("00004-00000001.soc", exports.SOC)
    lists = study.rankings
    assert study.counts["rankings"] == 515
    assert lists.list_count.tolist() == [263, 200, 52]
    names = [study.vocabulary.items[study.vocabulary.entry_item[entry]] for entry in lists.entry[:3]]
    assert names == [EPISODE, X_FILES, "Troy"]
    assert study.vocabulary.tasks.tolist() == ["00004-00000001"]
    assert "PrefLib" in study.origin[0]


def test_ties_and_short_orders(read, rows):
    found = rows(read("t.toi", exports.TOI), "item", "rank", "list", "weight")
    assert found == [
        ("a", 1, 0, 6), ("d", 1, 0, 6), ("b", 2, 0, 6), ("c", 1, 1, 3),
        ("b", 1, 2, 1), ("a", 2, 2, 1), ("c", 2, 2, 1), ("d", 2, 2, 1),
    ]  # fmt: skip


def test_categories_are_grades_of_every_voter(read, rows):
    found = rows(read("f.cat", exports.CAT), "annotator", "item", "grade")
    assert found[:3] == [("voter 1", "Megret", 2), ("voter 1", "Lepage", 1), ("voter 1", "Gluckstein", 1)]
    assert found[9:] == [("voter 4", "Megret", 0), ("voter 4", "Lepage", 0), ("voter 4", "Gluckstein", 0)]


def test_old_files(read, rows):
    found = rows(read("old.soi", exports.OLD_SOI), "item", "rank", "weight")
    assert found == [("b", 1, 3), ("a", 2, 3), ("a", 1, 2), ("b", 2, 2), ("c, the third", 2, 2)]


@pytest.mark.parametrize("name", ["election.txt", "election", "election.csv", "election.data"])
def test_the_header_is_enough(read, name):
    assert read(name, exports.SOC).counts["rankings"] == 515


def test_what_an_order_leaves_out_is_the_users_to_say(read):
    assert not read("t.toi", exports.TOI).rankings.unlisted_below.any()
    assert read("t.toi", exports.TOI, top_k=True).rankings.unlisted_below.all()


def test_equal_names_get_their_numbers(read, rows):
    text = exports.OLD_SOI.replace("2,b", "2,a")
    assert {row[0] for row in rows(read("o.soi", text), "item")} == {"a (1)", "a (2)", "c, the third"}


def test_a_single_order_is_gold(tmp_path):
    path = tmp_path / "truth.soc"
    path.write_text("# DATA TYPE: soc\n# ALTERNATIVE NAME 1: x\n# ALTERNATIVE NAME 2: y\n1: 2,1\n")
    gold = cr.read_gold(path)
    assert (gold.kind, gold.value.tolist()) == ("rank", [-2, -1])
    path.write_text("# DATA TYPE: soc\n# ALTERNATIVE NAME 1: x\n# ALTERNATIVE NAME 2: y\n1: 2,1\n3: 1,2\n")
    with pytest.raises(cr.JudgmentError, match="holds 2 orders; gold must be a single one"):
        cr.read_gold(path)


def test_several_elections_are_several_tasks(tmp_path):
    for name in ("one.soc", "two.soc"):
        (tmp_path / name).write_text(exports.SOC)
    assert cr.read(tmp_path / "one.soc", tmp_path / "two.soc").vocabulary.tasks.tolist() == ["one", "two"]
