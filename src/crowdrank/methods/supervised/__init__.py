"""Methods that learn from gold first, and then rank judgments of any kind. Their shared parts are in `cells`.

Methods: `crf`, `svd`, `boosted`, `ensemble`, `weighted-borda`, `weighted-rrf`.
"""
