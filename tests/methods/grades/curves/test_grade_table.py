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
    vocabulary, table = study.vocabulary, grade_table(study)
    found = [
        (
            vocabulary.tasks[vocabulary.entry_task[e]],
            vocabulary.annotators[k],
            vocabulary.items[vocabulary.entry_item[e]],
            table.levels.value[g],
        )
        for e, k, g in zip(table.entry, table.annotator, table.level, strict=True)
    ]
    assert found == sorted(set(rows), key=lambda row: (row[0], row[2], row[1], row[3]))
    assert np.diff(table.entry_starts).tolist() == np.bincount(table.entry, minlength=vocabulary.n_entries).tolist()
    assert (table.n_entries, table.n_annotators) == (vocabulary.n_entries, len(vocabulary.annotators))
