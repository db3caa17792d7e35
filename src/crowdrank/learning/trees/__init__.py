"""Rankers of gradient-boosted trees (LightGBM): `lambdamart`, from labels; `gda-pw-mart`, from grades of annotators."""
