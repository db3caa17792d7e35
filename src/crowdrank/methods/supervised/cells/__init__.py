"""Shared parts of the supervised methods: features per annotator and entry, training data, linear training."""
