"""What the methods for pairs are made of: the model of votes with its kernels, the choice of its prior, its posterior and intervals."""
