"""Shared parts of the methods for grades: scales, tables of grades, and curves of the probability of each grade."""
