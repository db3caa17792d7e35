import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crowdrank.methods.grades.curves.grade_table import grade_table

ROWS = st.lists(
    st.tuples(
        st.sampled_from("tu"), st.sampled_from(["ann", "bob"]), st.sampled_from("abc"), st.sampled_from([-1.5, 0, 2])
    ),
    min_size=1,
    max_size=30,
)


@given(rows=ROWS)
def test_every_grade_once_and_sorted(build, rows):
    study = build.judgments(grades=rows)
    words, table = study.vocabulary, grade_table(study)
    found = [
        (words.tasks[words.entry_task[e]], words.annotators[k], words.items[words.entry_item[e]], table.levels.value[g])
        for e, k, g in zip(table.entry, table.annotator, table.level, strict=True)
    ]
    assert found == sorted(set(rows), key=lambda row: (row[0], row[2], row[1], row[3]))
    assert np.diff(table.entry_starts).tolist() == np.bincount(table.entry, minlength=words.n_entries).tolist()
    assert (table.n_entries, table.n_annotators) == (words.n_entries, len(words.annotators))
