"""What the methods for rankings are made of: kernels over lists, Kemeny orders, distributions of ranks, weights of annotators."""
