"""Names from files stand in charts as what they are: nothing in a page runs, nothing is loaded from another host."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.settings import InputError

HOSTILE = "\x1b[31m\uffff</script><script>alert(1)</script><img src=x onerror=alert(2)>&\"'"
CHARTS = ("weights", "curves", "narrowing", "intervals", "replay")


def tags_of(page):
    """The elements that a browser finds."""
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, _: found.append(tag)
    parser.feed(page)
    return found


@pytest.fixture(scope="module", params=CHARTS)
def chart(request):
    """Each chart, of a study in which everybody and everything has the same bad name."""
    if request.param == "replay":
        study = cr.simulate.pairs(items=10, annotators=5, votes=200, seed=0)
        curves = cr.replay(study.judgments, study.gold, "random", budget=50)
        return cr.report.replay_curves(curves.with_columns(policy=np.full(len(curves), HOSTILE)))
    rng = np.random.default_rng(0)
    columns = {
        "annotator": np.repeat([f"{HOSTILE}{number}" for number in range(3)], 10),
        "item": [f"{HOSTILE}{number}" for number in range(10)] * 3,
        "grade": rng.integers(0, 3, 30),
    }
    judgments = cr.judgments(columns)
    if request.param == "weights":
        gold = cr.gold({"item": [f"{HOSTILE}{number}" for number in range(10)], "grade": rng.integers(0, 3, 10)})
        return cr.report.annotator_weights(cr.train("crf", judgments, gold, weights="own", max_iter=3))
    consensus = cr.fit("gda", judgments)
    if request.param == "intervals":
        return cr.report.intervals(consensus)
    return cr.report.grade_curves(consensus) if request.param == "curves" else cr.report.narrowing(consensus, judgments)


def test_no_name_leaves_its_place_in_a_page(chart, tmp_path):
    chart.save(tmp_path / "chart.html")
    page = (tmp_path / "chart.html").read_text()
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert tags_of(page) == ["html", "head", "meta", "meta", "title", "body", "div", "script", "script"]
    assert "(2)>&" in page  # the name is there, as text


def test_a_page_loads_nothing(chart):
    page = chart.to_html()
    assert "default-src 'none'" in page
    assert not re.search(r"""<(script|link|img)[^>]*\b(src|href)=""", page.split("<body>")[0])
    assert not re.search(r"<script[^>]+src", page)
    assert "vegaEmbed" in page


def test_a_picture_is_well_formed(chart, tmp_path):
    chart.save(tmp_path / "chart.svg")
    tree = ElementTree.parse(tmp_path / "chart.svg")
    assert not [each for each in tree.iter() if each.tag.endswith(("script", "foreignObject", "image"))]


def test_changes_of_a_chart_keep_its_pages_safe(chart):
    assert "<script>alert" not in chart.properties(title="mine").to_html()


def test_notebooks_get_the_chart_alone(chart):
    bundle = chart._repr_mimebundle_()
    assert "text/html" not in bundle
    assert "(2)>&" in json.dumps(bundle)


def test_other_kinds_of_file_are_refused(chart, tmp_path):
    with pytest.raises(InputError, match=r"a chart cannot be written as 'doc'; name the file \.html, \.svg"):
        chart.save(tmp_path / "chart.doc")


def test_a_missing_library_is_named():
    code = """
import sys
sys.modules["vl_convert"] = None
import crowdrank as cr
from crowdrank.report.charts import check_kind
try:
    check_kind("html")
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'crowdrank[report]'" in done.stdout
