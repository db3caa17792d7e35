"""Tables as spreadsheets export them: semicolons, decimal commas, empty columns, a line that names the separator."""

import gzip

import pytest

import crowdrank as cr

VOTES = "annotator,left,right,winner\nann,a,b,a\nbob,b,c,c\n"


def items(path, text, read=cr.read):
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    study = read(path)
    return list(study.vocabulary.items), study


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["v.csv", "v.tsv", "v.csv.gz"])
@pytest.mark.parametrize("first", ["", "sep={}\r\n", "\n\nSEP={}\n", "\ufeffsep={}\n"])
def test_any_usual_separator(tmp_path, mark, name, first):
    found, study = items(tmp_path / name, first.format(mark) + VOTES.replace(",", mark))
    assert found == ["a", "b", "c"]
    assert len(study.pairs) == 2


def test_decimal_commas_stand_in_tables_with_semicolons(tmp_path):
    found, study = items(
        tmp_path / "v.csv", "annotator;item;grade\nann;Smith, Ann;1,5\nann;7,5;-0,25 \nann;z;2.5\nann;u;3\n"
    )
    assert found == ["7,5", "Smith, Ann", "u", "z"]  # names stay as they are
    assert study.grades.grade.tolist() == [1.5, -0.25, 2.5, 3.0]


def test_gold_and_rankings_too(tmp_path):
    _, gold = items(tmp_path / "g.csv", "item;score\na;0,5\nb;1,5\n", cr.read_gold)
    assert gold.value.tolist() == [0.5, 1.5]
    _, ranking = items(tmp_path / "r.csv", "item\tscore\na\t0.5\nb\t1.5\n", cr.read_ranking)
    assert ranking.rank.tolist() == [2, 1]


@pytest.mark.parametrize("name", ["v.csv", "v.tsv"])
def test_empty_columns_behind_the_others(tmp_path, name):
    mark = "\t" if name == "v.tsv" else ","
    text = "annotator,item,grade,,\nann,x,1,,\n,,,,\nann,y,2,,\n".replace(",", mark)
    found, study = items(tmp_path / name, text)
    assert (found, len(study.grades)) == (["x", "y"], 2)
    found, study = items(tmp_path / name, "annotator,item,grade\nann,x,1,,\nann,y,2\n".replace(",", mark))
    assert (found, len(study.grades)) == (["x", "y"], 2)


def test_a_column_without_name_before_the_others_is_an_index(tmp_path):
    found, _ = items(tmp_path / "v.csv", ",annotator,item,grade\n0,ann,x,1\n1,ann,y,2\n")
    assert found == ["x", "y"]
