"""Rankers of gradient-boosted trees (LightGBM): they learn from labels, or from the grades of annotators.

Methods: `lambdamart`, `gda-pw-mart`.
"""
