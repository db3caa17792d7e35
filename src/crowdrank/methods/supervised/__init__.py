"""Methods that learn from gold first, and then rank judgments of any kind.

`crf`, `svd`, `boosted`, `ensemble`, `weighted-borda`, `weighted-rrf`. Their shared parts are in `cells`.
"""
