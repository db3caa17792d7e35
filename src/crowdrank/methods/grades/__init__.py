"""Methods for grades: every annotator gives items a grade on a scale. Their shared parts are in `curves`.

Methods: `mean`, `majority-vote`, `dawid-skene`, `rasch`, `gda`, `gda-pw`.
"""
