"""Linear rankers: they learn from one label per item, or from positions in lists.

Methods: `listmle`, `lregma`.
"""
