"""Linear rankers learned together with true orders and the annotators' expertise: `ltrma-d`, `ltrma-mle`, `ltrma-s1`, `-s2`, `-s3`."""
