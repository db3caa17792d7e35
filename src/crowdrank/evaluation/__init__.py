"""Measures of rankings against gold, significance tests, comparison of methods, bootstrap."""
