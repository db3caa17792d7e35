"""Shared parts of the methods for rankings: likelihoods of lists, Kemeny orders, rank distributions, weights."""
