"""Reports in a real browser: charts are drawn, tables sort and filter, nothing is asked of any host, hostile ids are
harmless, and axe-core finds no serious fault.
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest

import build
import crowdrank as cr
from chromium import serious
from crowdrank.report import RankReport, compare_page, describe_page, rank_page, replay_page, train_page

DATA = os.environ.get("CROWDRANK_DATA")
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    '"><img src=x onerror=alert(3)>',
    "'; alert(4); //",
    "<!-- ]]> &amp; &lt;",
    "🦄 naïve ‮evil",
    "javascript:alert(5)",
    "{{7*7}} datum['x'] ${1}",
    "x" * 10_000,
    "line\nbreak\ttab \x00\x1b[31m",
]


@pytest.fixture(scope="module", autouse=True)
def quick(few_draws: None) -> None:
    """Nothing that is checked here depends on the number of draws."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


def written(folder, name, text):
    path = folder / f"{name}.html"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def ranked(folder):
    study = cr.simulate.pairs(items=60, annotators=20, votes=1500, spammers=0.2, ties=0.1, seed=1)
    method = cr.BradleyTerry()
    report = RankReport(
        method.fit(study.judgments), study.judgments, method, study.gold, command="crowdrank rank v.csv"
    )
    return written(folder, "ranked", rank_page(report))


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 740}}])
def test_a_ranking_is_shown_by_day_by_night_and_on_a_phone(ranked, opened, options):
    view = opened(ranked, **options)
    assert view.healthy() >= 6
    assert view.page.evaluate("document.documentElement.scrollWidth <= innerWidth")  # only tables scroll sideways
    assert serious(view.page) == []


def test_the_page_says_everything(ranked, opened):
    headings = opened(ranked).page.locator("h2").all_text_contents()
    assert headings == [
        "Ranking", "Close calls", "What would change the result", "Annotators", "Disputed items", "Reliability",
        "Against gold", "Data and fit", "How it was computed",
    ]  # fmt: skip


def test_tables_sort_and_filter(ranked, opened):
    page = opened(ranked).page
    rows = page.locator("#ranking tbody tr")
    assert rows.count() == 25
    page.get_by_role("button", name="Show more").first.click()
    assert rows.count() == 60
    page.locator("#ranking th button", has_text="judgments").click()
    counts = [int(text) for text in page.locator("#ranking tbody tr td:nth-child(8)").all_text_contents()]
    assert counts == sorted(counts, reverse=True)
    page.locator("#ranking th button", has_text="judgments").click()
    counts = [int(text) for text in page.locator("#ranking tbody tr td:nth-child(8)").all_text_contents()]
    assert counts == sorted(counts)
    page.locator("#ranking-tools input").fill("item07")
    assert rows.count() == 1
    assert "item07" in rows.first.text_content()


def test_it_prints_in_black_on_white_and_without_tools(ranked, opened):
    view = opened(ranked, color_scheme="dark")
    view.page.emulate_media(media="print")
    assert view.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not view.page.locator(".tools").first.is_visible()
    assert view.page.pdf(format="A4")[:4] == b"%PDF"


def test_fifty_rows_are_printed_in_the_order_chosen(ranked, opened):
    from playwright.sync_api import expect

    page = opened(ranked).page
    rows = page.locator("#ranking tbody tr")
    count = "matchMedia('print').addEventListener('change', () => { window.printed ??= %s })"
    page.evaluate(count % "document.querySelectorAll('#ranking tbody tr').length")
    page.pdf(format="A4")
    assert page.evaluate("window.printed") == 50
    assert rows.count() == 25  # as before
    page.locator("#ranking th button", has_text="judgments").click()
    page.emulate_media(media="print")
    expect(rows).to_have_count(50)  # after the next frame
    counts = [int(text) for text in page.locator("#ranking tbody tr td:nth-child(8)").all_text_contents()]
    assert counts == sorted(counts, reverse=True)
    assert page.locator(".printed").first.text_content() == "The first 50 of 60 rows are printed."


def test_without_scripts_the_whole_ranking_is_there(ranked, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(ranked.as_uri())
    assert page.locator("#ranking tbody tr").count() == 60
    context.close()


def test_the_drawing_library_is_embedded_once(ranked):
    text = ranked.read_text(encoding="utf-8")
    assert text.count("<script>(() => {") == 1
    assert len(text) < 3_000_000


def test_hostile_ids_are_harmless(folder, opened):
    votes = [
        (f"task {HOSTILE[0]}", who, a, b, a if (i + j) % 3 else b)
        for who in HOSTILE[:4]
        for i, a in enumerate(HOSTILE)
        for j, b in enumerate(HOSTILE)
        if i < j
    ]
    study = build.judgments(pairs=votes)
    method = cr.BradleyTerry()
    title = "</title><script>alert(6)</script>"
    report = RankReport(method.fit(study), study, method, title=title, command="crowdrank rank '<b>.csv'")
    view = opened(written(folder, "hostile", rank_page(report)))
    view.healthy()
    assert view.page.title() == title
    assert view.page.locator("img").count() == 0
    assert HOSTILE[0] in view.page.locator("#ranking").text_content()
    other = opened(written(folder, "hostile-data", describe_page(cr.describe(study))))
    other.healthy()


def test_scripts_from_elsewhere_do_not_run(ranked, folder, opened):
    """The content security policy refuses whatever is not ours: the last line of defence."""
    text = ranked.read_text(encoding="utf-8").replace("<footer>", "<script>document.title = 'run'</script><footer>")
    view = opened(written(folder, "injected", text))
    assert view.page.title() != "run"


@pytest.mark.parametrize("kind", ["grades", "rankings", "several tasks", "no intervals", "no judgments"])
def test_every_kind_of_study_has_a_report(kind, folder, opened):
    studies = {
        "grades": (cr.GDA(), cr.simulate.grades(items=30, annotators=8, labels=4, seed=0)),
        "rankings": (cr.PlackettLuce(), cr.simulate.rankings(8, 6, tasks=1, seed=0)),
        "several tasks": (cr.CrowdBT(), cr.simulate.pairs(items=5, annotators=6, votes=600, tasks=5, seed=0)),
        "no intervals": (cr.Borda(), cr.simulate.rankings(8, 6, tasks=2, seed=0)),
        "no judgments": (cr.CrowdBT(), cr.simulate.pairs(items=5, annotators=6, votes=60, seed=0)),
    }
    method, study = studies[kind]
    consensus = method.fit(study.judgments)
    report = (
        RankReport(consensus) if kind == "no judgments" else RankReport(consensus, study.judgments, method, study.gold)
    )
    view = opened(written(folder, kind, rank_page(report)))
    assert view.healthy() >= 1
    assert serious(view.page) == []
    if kind == "several tasks":
        view.page.locator("#ranking-tools select").select_option(index=2)
        assert view.page.locator("#ranking tbody tr").count() == 5


def test_camps_are_shown_side_by_side(folder, opened):
    study = cr.simulate.pairs(items=12, annotators=30, votes=1200, malicious=0.45, seed=3)
    consensus = cr.CrowdBT().fit(study.judgments)
    assert consensus.camps is not None
    view = opened(written(folder, "camps", rank_page(RankReport(consensus, study.judgments))))
    view.healthy()
    assert "camps" in view.page.locator("main").text_content()
    one, other = (view.page.locator(f"#camp-{number}-table tbody tr").all_text_contents() for number in (1, 2))
    assert len(one) == len(other) == 10
    assert one != other


def test_the_other_pages(folder, opened):
    study = cr.simulate.pairs(items=8, annotators=6, votes=900, tasks=4, seed=0)
    one = cr.simulate.pairs(items=8, annotators=6, votes=300, seed=0)
    compared = cr.compare(study.judgments, study.gold, ["elo", "crowd-bt", "bradley-terry"])
    pages = {
        "compare": compare_page(compared),
        "describe": describe_page(cr.describe(study.judgments)),
        "replay": replay_page(
            cr.replay(one.judgments, one.gold, ["information-gain", "random"], budget=100, refit=False)
        ),
    }
    for name, text in pages.items():
        view = opened(written(folder, name, text))
        assert view.healthy() >= 1
        assert serious(view.page) == [], name


def test_a_trained_ranker(folder, opened):
    lists = cr.simulate.rankings(6, 4, tasks=8, seed=1)
    items = cr.fit("borda", lists.judgments).ranking
    ranker = cr.learn("ltrma-mle", cr.features(items.select("task", "item", place="rank")), lists.judgments)
    view = opened(written(folder, "trained", train_page(ranker)))
    view.healthy()
    assert view.page.locator("h1").text_content() == "Trained ranker"


def test_a_hundred_thousand_items(folder, opened):
    study = cr.simulate.pairs(items=100_000, annotators=100, votes=300_000, seed=0).judgments
    consensus = cr.Elo().fit(study)
    path = written(folder, "large", rank_page(RankReport(consensus, study)))
    assert path.stat().st_size < 3_000_000
    view = opened(path)
    view.healthy()
    assert (
        "the best of each task, and a random sample of the others"
        in view.page.locator("#ranking caption").text_content()
    )


@pytest.mark.skipif(DATA is None, reason="needs the real data: CROWDRANK_DATA")
@pytest.mark.parametrize(
    ("name", "table", "method"),
    [
        ("readability_crowdbt", "pairwise", "bradley-terry"), ("trec_rf10", "grades", "mean"),
        ("llmjudge24", "grades", "mean"), ("rag_crowd25", "pairwise", "bradley-terry"),
        ("wmt13_fr_en", "rankings", "borda"), ("letor_mq2008_agg", "rankings", "rrf"),
    ],
)  # fmt: skip
def test_reports_of_real_studies(name, table, method, folder, opened):
    """With methods that are quick to fit: the page is tested here, not the method."""
    source = Path(DATA) / name
    judgments = cr.read(source / f"{table}.csv.gz", columns={"list": "hit"} if name.startswith("wmt") else {})
    gold = cr.read_gold(source / "gold.csv.gz") if (source / "gold.csv.gz").exists() else None
    path = written(folder, name, rank_page(RankReport(cr.fit(method, judgments), judgments, gold=gold)))
    assert path.stat().st_size < 3_500_000
    view = opened(path)
    assert view.healthy() >= 2
    assert name != "trec_rf10" or serious(view.page) == []  # axe-core takes long, and the parts are the same


def test_one_ranking_over_all_tasks_is_offered_at_the_top():
    """Six models on 20 prompts, each a task of its own: who opens the page wants to know who is best."""
    study = cr.simulate.pairs(items=6, annotators=5, votes=400, tasks=20, seed=1).judgments
    same = replace(study.vocabulary, items=study.vocabulary.items[:6], entry_item=study.vocabulary.entry_item % 6)
    judgments = replace(study, vocabulary=same)
    page = rank_page(RankReport(cr.fit("bradley-terry", judgments), judgments))
    verdict = page.split('class="verdict">')[1].split("</div>")[0]
    assert "the same items occur in many tasks (6 items, 20 tasks)" in verdict
    assert "for one ranking over all tasks" in verdict


def test_how_it_was_computed_has_reference_model_and_all_settings():
    votes = build.judgments(pairs=[("t", "ann", "x", "y", "x"), ("t", "bob", "y", "x", "x")])
    method = cr.BradleyTerry(prior=0.25)
    page = rank_page(RankReport(method.fit(votes), votes, method))
    computed = page.split('id="how-it-was-computed"')[1]
    assert "Biometrika 1952" in computed.split("<details>")[0]
    assert "The model in detail" in computed
    assert "prior = 0.25\n" in computed
    assert f"max_iter = {method.max_iter}\n" in computed
    assert "Biometrika 1952" in rank_page(RankReport(method.fit(votes)))  # a saved ranking knows its method's name


def test_nothing_is_said_twice():
    apart = build.judgments(pairs=[("t", "ann", "a", "b", "a"), ("t", "bob", "c", "d", "c")])
    consensus = cr.fit("bradley-terry", apart)
    assert any(note.startswith("comparisons do not connect") for note in consensus.notes)
    page = rank_page(RankReport(consensus, apart))
    assert page.count("not connected: ") == 1
    assert "comparisons do not connect" not in page
    assert "comparisons do not connect" in rank_page(RankReport(consensus))  # without judgments no warnings


def test_annotators_are_explained_and_only_quality_has_an_interval():
    study = cr.simulate.pairs(items=5, annotators=4, votes=200, ties=0.2, seed=0).judgments
    page = rank_page(RankReport(cr.fit("crowd-bt", study), study))
    section = page.split('id="annotators"')[1].split("</section>")[0]
    heads = section.split("</thead>")[0]
    assert "tie threshold<" in heads
    assert "tie threshold low" not in heads
    assert ">low<" in heads
    assert "Infit and outfit say" in section
    assert "Seconds are" not in section  # there is no such column


@pytest.mark.parametrize(("votes", "computed"), [(400, True), (600, False)])
def test_many_votes_with_categories_are_not_fitted_again(votes, computed):
    """Each fit takes seconds, and the search for what would change the result needs dozens."""
    rows = range(votes)
    table = {
        "left": [f"model{n % 3}" for n in rows],
        "right": [f"model{(n + 1) % 3}" for n in rows],
        "winner": [("left", "left", "right")[n % 7 % 3] for n in rows],
        "category": [("code", "chat")[n % 2] for n in rows],
    }
    study = cr.judgments(table, by="category")
    text = rank_page(RankReport(cr.fit("bradley-terry", study), study, cr.BradleyTerry()))
    assert ("Not computed, because it would take minutes" not in text) == computed
