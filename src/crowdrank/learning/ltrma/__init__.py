"""Linear rankers estimated with true orders and the expertise of annotators.

Methods: `ltrma-d`, `ltrma-mle`, `ltrma-s1`, `ltrma-s2`, `ltrma-s3`.
"""
