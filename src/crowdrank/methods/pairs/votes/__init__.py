"""The machinery of the methods for pairs: the vote model and its kernels, its prior, posterior and intervals."""
