"""Votes with covariates, categories and biases: a mixed model of what decides a vote beside the items' scores."""
