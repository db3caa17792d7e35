"""Kernels, the optimisation loop, and what is shared by methods and knows nothing of judgments."""
