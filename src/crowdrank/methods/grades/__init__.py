"""Methods for grades: every annotator gives items a grade on a scale.

`mean`, `majority-vote`, `dawid-skene`, `rasch`, `gda`, `gda-pw`. Their shared parts are in `curves`.
"""
