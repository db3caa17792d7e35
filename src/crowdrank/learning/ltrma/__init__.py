"""Linear rankers estimated with true orders and expertise: `ltrma-d`, `ltrma-mle`, `ltrma-s1`, `-s2`, `-s3`."""
